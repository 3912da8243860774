"""Backends whose out kernels implement the functional and in-place overloads too."""

from __future__ import annotations

from opwright.backends.wrapper_options import EntryOptions, HeadOptions
from opwright.model.dispatch_key import Allocation
from tests.emit.external_backends import backend_files, slot

ENTRIES = """
- func: scale.Tensor(Tensor self, Scalar by) -> Tensor
  dispatch:
    CPU: scale
- func: scale_.Tensor(Tensor(a!) self, Scalar by) -> Tensor(a!)
  dispatch:
    CPU: scale_
- func: scale.out(Tensor self, Scalar by, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    CPU: scale_out
- func: split_off(int at, Tensor input) -> (Tensor first, Tensor rest)
  dispatch:
    CPU: split_off
- func: split_off.out(int at, Tensor input, *, Tensor(a!) first, Tensor(b!) rest) -> (Tensor(a!), Tensor(b!))
  dispatch:
    CPU: split_off_out
- func: parts(Tensor self) -> Tensor[]
  dispatch:
    CPU: parts
- func: parts.out(Tensor self, *, Tensor(a!)[] out) -> ()
  dispatch:
    CPU: parts_out
- func: whole(Tensor self) -> Tensor
- func: whole.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    CPU: whole_out
- func: grid(int size) -> Tensor
  dispatch:
    CPU: grid
- func: grid.out(int size, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    CPU: grid_out
"""
DERIVING = HeadOptions(derives_from_out=True)


def source_text(*operators: str, options: HeadOptions = DERIVING, out_is_primary: bool = True) -> str:
    """The wrappers and registrations of a backend with these operators."""
    entries = dict.fromkeys(operators, EntryOptions())
    files = backend_files(ENTRIES, entries, options=options, out_is_primary=out_is_primary)
    names = ("dispatch_anonymous_definitions", "static_init_dispatch_registrations", "dispatch_helpers")
    return "\n".join([slot(files.source, name) for name in names])


def test_functional_overload_passes_a_new_tensor() -> None:
    """The functional overload makes an empty tensor like `self`, which the out kernel resizes and fills."""
    assert """\
at::Tensor wrapper_Acme_Tensor_scale(const at::Tensor & self, const at::Scalar & by) {
  std::optional<Device> common_device = std::nullopt;
(void)common_device; // Suppress unused variable warning
  c10::impl::check_and_update_common_device(common_device, self, "wrapper_Acme_Tensor_scale", "self");
  const OptionalDeviceGuard device_guard(device_of(self));
  at::Tensor out = at::empty({0}, self.options());
  acme::native::AcmeNativeFunctions::scale_out(self, by, out);
  return out;
}
""" in source_text("scale.out")


def test_inplace_overload_passes_self() -> None:
    """The in-place overload passes `self` as the output, and copies nothing."""
    text = source_text("scale.out")
    assert "  acme::native::AcmeNativeFunctions::scale_out(self, by, self);\n  return self;\n" in text
    assert "_copy_from" not in text


def test_all_forms_are_registered() -> None:
    """One entry for the out overload registers all three."""
    text = source_text("scale.out")
    for name in ("scale.Tensor", "scale_.Tensor", "scale.out"):
        assert f'm.impl("{name}",' in text


def test_several_outputs() -> None:
    """Each output is a new tensor, like the first tensor if no argument is `self`."""
    text = source_text("split_off.out")
    assert "at::Tensor first = at::empty({0}, input.options());" in text
    assert "at::Tensor rest = at::empty({0}, input.options());" in text
    assert (
        "split_off_out(at, input, first, rest);\n  return ::std::make_tuple(std::move(first), std::move(rest));" in text
    )


def test_overload_with_its_own_kernel_keeps_it() -> None:
    """An overload that the file lists calls its own kernel."""
    text = source_text("scale.out", "scale_.Tensor")
    assert "return acme::native::AcmeNativeFunctions::scale_(self, by);" in text
    assert "scale_out(self, by, self)" not in text


def test_overloads_that_no_out_kernel_can_serve() -> None:
    """Lists of outputs, composite operators and functions without tensors have only the wrapper of the out kernel."""
    for name in ("parts", "whole", "grid"):
        text = source_text(f"{name}.out")
        assert f'm.impl("{name}.out"' in text
        assert f'm.impl("{name}",' not in text


def test_only_overloads_with_an_entry() -> None:
    """Without derived overloads, an entry registers its own overload, whether the out overload is primary or not."""
    options = HeadOptions(derives_from_out=True, derived_overloads=False)
    for is_primary in (True, False):
        for name in ("scale.out", "scale.Tensor"):
            text = source_text(name, options=options, out_is_primary=is_primary)
            assert f'm.impl("{name}",' in text
            assert text.count("m.impl(") == 1


def test_files_of_the_reference_derive_nothing() -> None:
    """Without the option only the listed overload has a wrapper, as PyTorch's generator writes it."""
    text = source_text("scale.out", options=HeadOptions())
    assert text.count("m.impl(") == 1
    assert "create_out" not in text


def test_backend_allocates_new_tensors() -> None:
    """New tensors come from the backend's allocation function."""
    options = HeadOptions(derives_from_out=True, allocation=Allocation("acme::blank{}", "acme/blank.h"))
    assert "at::Tensor out = acme::blank({0}, self.options());" in source_text("scale.out", options=options)
