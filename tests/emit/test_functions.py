"""The public functions and methods, and their redispatching forms."""

from __future__ import annotations

from opwright.emit.aten.functions import definition, emitters, method_slots, redispatch_definitions
from opwright.emit.emitter import Options
from opwright.model.dispatch_key import CPU
from tests.emit.emitting import job_of, slots_of

OUT = """
- func: scale(Tensor self, *, Scalar by=1) -> Tensor
  dispatch:
    CPU: scale_cpu
- func: scale.out(Tensor self, *, Scalar by=1, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    CPU: scale_out
"""


def test_out_function_has_a_friendly_and_a_faithful_form() -> None:
    """The friendly form takes outs first and keeps defaults; the faithful one follows the schema."""
    assert (
        definition(job_of(OUT).catalog["scale.out"])
        == """
// aten::scale.out(Tensor self, *, Scalar by=1, Tensor(a!) out) -> Tensor(a!)
inline at::Tensor & scale_out(at::Tensor & out, const at::Tensor & self, const at::Scalar & by=1) {
    return at::_ops::scale_out::call(self, by, out);
}
// aten::scale.out(Tensor self, *, Scalar by=1, Tensor(a!) out) -> Tensor(a!)
inline at::Tensor & scale_outf(const at::Tensor & self, const at::Scalar & by, at::Tensor & out) {
    return at::_ops::scale_out::call(self, by, out);
}"""
    )


def test_symbolic_integers_add_templates() -> None:
    """A function with symbolic integers has both forms, each with a template that picks it by the integer's type."""
    text = definition(job_of("- func: grow(Tensor self, SymInt n) -> Tensor\n").catalog["grow"])
    plain, symbolic = text.split("\n\n// aten")
    assert "inline at::Tensor grow(const at::Tensor & self, int64_t n) {" in plain
    assert "std::is_same_v<T, int64_t>>>\n  at::Tensor grow(const at::Tensor & self, int64_t n) {" in plain
    assert "inline at::Tensor grow_symint(const at::Tensor & self, c10::SymInt n) {" in symbolic
    assert "std::is_same_v<T, c10::SymInt>>>\n  at::Tensor grow(const at::Tensor & self, c10::SymInt n) {" in symbolic


def test_methods_alone_still_have_templates() -> None:
    """A method without function form keeps its templates, and a method without symbolic integers leaves nothing."""
    job = job_of(
        "- func: grow(Tensor self, SymInt n) -> Tensor\n  variants: method\n"
        "- func: turn(Tensor self) -> Tensor\n  variants: method\n"
    )
    grow = definition(job.catalog["grow"])
    assert grow.count("namespace symint {") == 2
    assert "inline" not in grow
    assert definition(job.catalog["turn"]) == ""


def test_options_are_unpacked_for_the_operator() -> None:
    """The packed tensor options of the friendly form become the operator's four arguments."""
    options = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
    text = definition(
        job_of(f"- func: make(int n, *, {options}) -> Tensor\n  dispatch:\n    CPU: make\n").catalog["make"]
    )
    assert (
        "return at::_ops::make::call(n, c10::optTypeMetaToScalarType(options.dtype_opt()), options.layout_opt(), "
        "options.device_opt(), options.pinned_memory_opt());"
    ) in text


def test_method_declaration_and_definition_agree() -> None:
    """A method leaves `self` out, is const, and has defaults in its declaration only."""
    job = job_of("- func: turn(Tensor self, bool left=True) -> Tensor\n  variants: function, method\n")
    assert method_slots(job.catalog["turn"], job) == {
        "tensor_method_declarations": ["at::Tensor turn(bool left=true) const;"],
        "tensor_method_definitions": [
            """
// aten::turn(Tensor self, bool left=True) -> Tensor
inline at::Tensor Tensor::turn(bool left) const {
    return at::_ops::turn::call(const_cast<Tensor&>(*this), left);
}
"""
        ],
    }


def test_hand_written_methods_are_reached_under_another_name() -> None:
    """A method that is bound by hand is declared with a prefix, for the hand-written one to call."""
    job = job_of("- func: turn(Tensor self) -> Tensor\n  variants: function, method\n  manual_cpp_binding: True\n")
    slots = method_slots(job.catalog["turn"], job)
    assert slots["tensor_method_declarations"] == ["at::Tensor __dispatch_turn() const;"]


def test_redispatch_takes_the_key_set_first() -> None:
    """Each public form has a redispatching one, and a function without arguments passes the key set alone."""
    job = job_of(OUT + "- func: zip() -> Tensor\n  dispatch:\n    CPU: zip_cpu\n")
    friendly, faithful = redispatch_definitions(job.catalog["scale.out"])
    assert "scale_out(c10::DispatchKeySet dispatchKeySet, at::Tensor & out, " in friendly
    assert "scale_outf(c10::DispatchKeySet dispatchKeySet, const at::Tensor & self, " in faithful
    assert redispatch_definitions(job.catalog["zip"]) == [
        """
// aten::zip() -> Tensor
inline at::Tensor zip(c10::DispatchKeySet dispatchKeySet) {
    return at::_ops::zip::redispatch(dispatchKeySet);
}
"""
    ]


def test_static_dispatch_includes_what_is_called() -> None:
    """The header of an operator includes the headers of the kernels that its static calls may name."""
    entries = """
- func: turn(Tensor self) -> Tensor
- func: turn.by(Tensor self, int n) -> Tensor
  dispatch:
    CPU: turn_cpu
- func: turn.on(Tensor self, Device where) -> Tensor
  dispatch:
    CUDA: turn_cuda
"""
    slots = slots_of(emitters, "turn.h", job_of(entries, Options(static_dispatch=(CPU,))))
    assert slots["static_dispatch_ops_headers"] == [
        "#include <ATen/ops/turn_compositeimplicitautograd_dispatch.h>",
        "#include <ATen/ops/turn_cpu_dispatch.h>",
    ]
