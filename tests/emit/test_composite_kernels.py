"""Kernels that are written in terms of other operators."""

from __future__ import annotations

from opwright.emit.aten.composite_kernels import emitters, functional_kernel, out_kernel, view_copy_kernel
from opwright.model.native_function import NativeFunctionsGroup, ViewGroup
from tests.emit.emitting import job_of, slots_of
from tests.emit.entries import COUNT, PARTS, SCALE, TURN


def _group(entries: str, name: str) -> NativeFunctionsGroup:
    group = job_of(entries).catalog[name].group
    assert group is not None
    return group


def _view_group(entries: str, name: str) -> ViewGroup:
    group = job_of(entries).catalog[name].view_group
    assert group is not None
    return group


def test_copying_form_clones_the_view() -> None:
    """The kernel has the name that its entry gives, and takes symbolic integers where that name says so."""
    assert (
        view_copy_kernel(_view_group(TURN, "turn"))
        == """
at::Tensor turn_copy_symint(const at::Tensor & self, c10::SymIntArrayRef by, ::std::optional<c10::SymInt> n) {
  auto output = at::_ops::turn::call(self, by, n);
    return output.clone(/*memory_format=*/at::MemoryFormat::Contiguous);
}
"""
    )


def test_copying_form_clones_each_output() -> None:
    """A list of views is cloned one by one."""
    text = view_copy_kernel(_view_group(PARTS, "parts"))
    assert text is not None
    assert "    ::std::vector<at::Tensor> out_clone;\n  for (const auto i : c10::irange(output.size())) {\n" in text


def test_partner_of_another_name_has_a_kernel_of_its_own() -> None:
    """The functional partner of an inverse view is a scatter operator, and is not made here."""
    entries = (
        "- func: cut_inverse(Tensor(a) self, Tensor src) -> Tensor(a)\n  dispatch:\n    CPU: cut_inverse\n"
        "- func: cut_scatter(Tensor self, Tensor src) -> Tensor\n  dispatch:\n    CPU: cut_scatter\n  tags: view_copy\n"
    )
    assert view_copy_kernel(_view_group(entries, "cut_inverse")) is None


def test_functional_form_clones_what_is_written() -> None:
    """A synthesized functional form returns what the operator returned, then the clones it wrote to."""
    assert (
        functional_kernel(_group(COUNT, "count"))
        == """
::std::tuple<at::Tensor,at::Tensor> count_functional(const at::Tensor & self, const at::Tensor & seen) {
  auto seen_clone = clone_arg(seen);
  auto output = at::_ops::count::call(self, const_cast<Tensor&>(seen_clone));
  return ::std::tuple<at::Tensor,at::Tensor>(output, seen_clone);
}
"""
    )


def test_out_form_copies_results() -> None:
    """A synthesized out form resizes each out, copies into it, and returns it."""
    assert (
        out_kernel(_group(COUNT, "count"))
        == """
at::Tensor & count_out(const at::Tensor & self, at::Tensor & seen, at::Tensor & out) {
  auto tmp_output = at::_ops::count_functional::call(self, seen);
    resize_out_helper(out, std::get<0>(tmp_output));
  copy_arg(out, std::get<0>(tmp_output));
  return out;
}
"""
    )


def test_forms_with_entries_have_their_own_kernels() -> None:
    """Nothing is made for overloads that stand in the YAML, and their headers are included in group order."""
    group = _group(SCALE, "scale")
    assert functional_kernel(group) is None
    assert out_kernel(group) is None
    slots = slots_of(emitters, "CompositeViewCopyKernels.cpp", job_of(SCALE))
    assert slots["GeneratedCompositeOut_Definitions"] == []
    (includes,) = list(slots["ops_headers"])
    assert includes.count("#include <ATen/ops/scale_ops.h>") == 2
