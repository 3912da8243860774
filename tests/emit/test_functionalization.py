"""Kernels of functionalization."""

from __future__ import annotations

import pytest

from opwright.cpp import c_types
from opwright.emit.aten.functionalization import emitters, registered_functions
from opwright.emit.aten.functionalized_views import is_symbolic
from opwright.emit.emitter import Job
from opwright.model.native_function import NativeFunctionsGroup, ViewGroup
from opwright.model.selection import Selection
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from tests.emit.emitting import RULES, job_of, slots_of
from tests.emit.entries import COUNT, SCALE, TURN, WHOLE

_ALL = "RegisterFunctionalizationEverything.cpp"


def _definitions(entries: str) -> list[str]:
    return list(slots_of(emitters, _ALL, job_of(entries))["func_definitions"])


def _registrations(entries: str) -> list[str]:
    return list(slots_of(emitters, _ALL, job_of(entries))["func_registrations"])


def test_inplace_kernel_becomes_its_functional_form() -> None:
    """The functional form is called, and its result becomes the value of what is written."""
    _, inplace = _definitions(SCALE)
    assert inplace.startswith(
        "\n    at::Tensor & scale_(c10::DispatchKeySet dispatchKeySet, at::Tensor & self, "
        "const ::std::optional<at::Tensor> & by, ::std::optional<at::ScalarType> dtype) {\n"
    )
    assert "      if (true && !disable_meta_reference()) {" in inplace
    assert "        auto self_meta = to_meta(self);\n        auto by_meta = to_meta(by);\n" in inplace
    assert "at::_ops::scale_::call(self_meta, by_meta, dtype);" in inplace
    assert "      if (!(true && at::functionalization::impl::isFunctionalTensor(self))) {" in inplace
    assert "          tmp_output = at::_ops::scale::call(self_, by_, dtype);" in inplace
    assert "  at::functionalization::impl::replace_(self, tmp_output);" in inplace
    assert inplace.endswith("    return self;\n      }\n    }")


def test_out_kernel_runs_no_meta_reference() -> None:
    """Out overloads need not support meta tensors, and only tensors, not optional ones, are asked for XLA."""
    out, _ = _definitions(SCALE)
    assert "      if (false && !disable_meta_reference()) {" in out
    assert "if (!(false || self.device().type() == c10::DeviceType::XLA) && (false || " in out


def test_fresh_results_of_a_mutable_operator_are_wrapped() -> None:
    """What is returned and was not passed in becomes a functional tensor; what is written gets the other results."""
    mutable = _definitions(COUNT)[1]
    assert "auto output_0 = at::functionalization::impl::to_functional_tensor(std::get<0>(tmp_output));" in mutable
    assert "at::functionalization::impl::replace_(seen, std::get<1>(tmp_output));" in mutable
    assert (
        "         at::Tensor tmp_output = at::_ops::count::call(self_, seen_);\n         return tmp_output;" in mutable
    )
    assert mutable.endswith("    return output_0;\n      }\n    }")


def test_lists_of_tensors_are_copied_out() -> None:
    """A list that is not owned becomes a vector."""
    entries = SCALE.replace("Tensor? by", "Tensor[] by")
    out, _ = _definitions(entries)
    assert "      ::std::vector<at::Tensor> by_;\n" in out
    assert "        by_ = by.vec();\n" in out


def test_view_kernel_remembers_the_view() -> None:
    """A view is applied inside, and remembered with whether any of its sizes is symbolic."""
    view, inplace = _definitions(TURN)[-2:]
    assert "          tmp_output = at::_ops::turn_copy::call(self_, by, n);" in view
    assert (
        "      has_symbolic_inputs = has_symbolic_inputs | (n.has_value() ? (*n).is_symbolic() : false);\n"
        "      auto view_meta = std::make_shared<at::functionalization::turn_ViewMeta>"
        "(has_symbolic_inputs, reapply_views, inverse_return_mode, by, n);\n"
    ) in view
    assert "create_functional_tensor_with_view_meta(tmp_output, self, view_meta);" in view
    assert "      at::functionalization::impl::mutate_view_meta(self, view_meta);\n" in inplace
    assert inplace.endswith("      return self;\n    }\n")


def test_registrations_of_kernels_and_of_composites() -> None:
    """Kernels of functionalization are registered by name; views made of others as they are."""
    assert _registrations(SCALE) == [
        'm.impl("scale.out", TORCH_FN(functionalization::scale_out_out));',
        'm.impl("scale_", TORCH_FN(functionalization::scale_));',
    ]
    assert _registrations(WHOLE) == [
        'm.impl("whole", static_cast<at::Tensor (*)(const at::Tensor & self)>(at::native::whole));'
    ]


def test_older_releases_leave_composite_views_out() -> None:
    """Up to 2.9 nothing was registered for views that are made of others."""
    group = job_of(WHOLE).catalog["whole"].view_group
    assert isinstance(group, ViewGroup)
    assert len(registered_functions(group, RULES)) == 1
    assert registered_functions(group, Rules(parse_version("2.9.1"))) == []


@pytest.mark.parametrize("name", ["record_stream", "resize_as_"])
def test_operators_that_are_left_to_themselves(name: str) -> None:
    """Some operators write in ways that no functional form tells; they are named."""
    returns = "Tensor(a!)" if name.endswith("_") else "()"
    entries = f"- func: {name}(Tensor(a!) self, Tensor other) -> {returns}\n  dispatch:\n    CPU: kernel\n"
    job = job_of(entries.replace("resize_as_", "resize_as_"))
    (function,) = job.catalog.functions
    assert function.group is None
    assert registered_functions(function, RULES) == []


def test_cumulative_out_uses_the_dtype_of_out() -> None:
    """`cumsum.out` without dtype computes in that of `out`; older releases do not say so."""
    entries = SCALE.replace("scale", "cumsum")
    job = job_of(entries)
    wanted = "dtype.has_value() ? dtype : std::optional<at::ScalarType>(out_.scalar_type())"
    assert f"at::_ops::cumsum::call(self_, by_, {wanted});" in _definitions(entries)[0]
    older = Job(job.catalog, Rules(parse_version("2.11.0")), job.options)
    assert wanted not in slots_of(emitters, _ALL, older)["func_definitions"][0]


def test_selective_builds_have_no_kernels() -> None:
    """In a selective build only the includes remain."""
    slots = slots_of(emitters, _ALL, job_of(SCALE, selection=Selection(everything=False)))
    assert slots["func_definitions"] == slots["func_registrations"] == []
    assert len(slots["ops_headers"]) == 6


def test_group_of_set_is_written_by_hand() -> None:
    """The group around `set_.source_Tensor` registers nothing."""
    entries = (
        "- func: set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)\n  device_check: NoCheck\n"
        "  dispatch:\n    CPU: set_tensor_\n  autogen: set.source_Tensor, set.source_Tensor_out\n  tags: inplace_view\n"
    )
    job = job_of(entries)
    group = job.catalog["set_.source_Tensor"].group
    assert isinstance(group, NativeFunctionsGroup)
    assert registered_functions(group, RULES) == []


def test_symbolic_lists_are_searched() -> None:
    """Lists, optional ones too, are symbolic if any item is."""
    any_item = "std::any_of({0}.begin(), {0}.end(), [=](auto& arg) {{ return arg.is_symbolic(); }})"
    assert is_symbolic("by", c_types.SYMINT_ARRAY_REF) == any_item.format("by")
    assert is_symbolic("by", c_types.OPTIONAL_SYMINT_ARRAY_REF) == (
        f"by.has_value() ? {any_item.format('(*by)')} : false"
    )
