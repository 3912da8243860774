"""What a report says of operators, of gradients, and of mistakes, for small backend files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opwright.backends.operator_names import NEEDED
from opwright.backends.operator_records import BackwardStatus, CoverageReport, OperatorStatus, TrapKind
from opwright.cli.main import main
from tests.tools.coverage.reports import EVERY_NEEDED, record_of, report_of


def status_of(report: CoverageReport, name: str) -> OperatorStatus:
    """What runs for an operator."""
    return record_of(report, name).status


def traps_of(report: CoverageReport, kind: TrapKind) -> dict[str, str]:
    """The messages of the traps of a kind, by operator."""
    return {trap.operator: trap.message for trap in report.traps if trap.kind is kind}


def test_every_way_to_run_has_a_status() -> None:
    """Entries, generated wrappers, PyTorch's composite kernels and operators without any are told apart."""
    report = report_of("add.Tensor mul.out")
    assert {
        name: status_of(report, name)
        for name in ("add.Tensor", "add_.Tensor", "mul.Tensor", "reshape", "bincount", "cudnn_convolution")
    } == {
        "add.Tensor": OperatorStatus.kernel,
        "add_.Tensor": OperatorStatus.by_functional,
        "mul.Tensor": OperatorStatus.composite,
        "reshape": OperatorStatus.composite,
        "bincount": OperatorStatus.missing,
        "cudnn_convolution": OperatorStatus.elsewhere,
    }
    assert record_of(report, "add.Tensor").reach.kernel == "acme::add"
    assert record_of(report, "add_.Tensor").reach.through == "add.Tensor"


def test_generated_kernels_need_the_operator_that_they_call() -> None:
    """A structured operator without its out kernel is missing, and so is what only copies the result of one."""
    report = report_of("relu")
    sub = record_of(report, "sub.Tensor")
    assert (sub.status, sub.reach.lacks) == (OperatorStatus.missing, "sub.out")
    # PyTorch generates `bincount.out`, which calls `bincount`, and `view_copy`, which calls `view`.
    assert record_of(report, "bincount.out").reach.lacks == "bincount"
    assert record_of(report, "view_copy").reach.lacks == "view"
    # The functional form of an in-place operator clones its argument and calls the in-place one.
    assert record_of(report, "_fused_adam").reach.lacks == "_fused_adam_"
    assert status_of(report, "relu.out") is OperatorStatus.by_functional


def test_a_fallback_serves_what_the_cpu_has() -> None:
    """With a fallback, operators with a kernel for dense tensors on the CPU run, and those for other devices do not."""
    report = report_of("relu", fallback="cpu")
    assert status_of(report, "bincount") is OperatorStatus.fallback
    assert status_of(report, "sub.Tensor") is OperatorStatus.fallback
    assert status_of(report, "sub.out") is OperatorStatus.fallback
    assert status_of(report, "cudnn_convolution") is OperatorStatus.elsewhere


def test_convolutions_end_in_the_operator_for_other_devices() -> None:
    """`convolution` runs if and only if the backend has `convolution_overrideable`."""
    assert record_of(report_of("relu"), "convolution").reach.lacks == "convolution_overrideable"
    assert status_of(report_of("convolution_overrideable"), "convolution") is OperatorStatus.composite


def test_structured_kernels_do_not_serve_functionalized_devices() -> None:
    """A functional operator of XLA does not run through the out overload, as it does on other devices."""
    assert status_of(report_of("add.out"), "add.Tensor") is OperatorStatus.composite
    assert status_of(report_of("add.out", key="XLA"), "add.Tensor") is OperatorStatus.missing


@pytest.mark.parametrize(
    ("supported", "name", "status", "lacks"),
    [
        ("tanh", "tanh", BackwardStatus.lacks, ("tanh_backward.grad_input",)),
        ("tanh tanh_backward", "tanh", BackwardStatus.works, ()),
        ("tanh tanh_backward.grad_input", "tanh", BackwardStatus.works, ()),
        ("reciprocal", "reciprocal", BackwardStatus.lacks, ("neg.out", "mul.out")),
        ("tanh", "reshape", BackwardStatus.composite, ()),
        ("reshape", "reshape", BackwardStatus.lost, ()),
        ("argmax", "argmax", BackwardStatus.none, ()),
        ("isfinite", "isfinite", BackwardStatus.none, ()),
        ("tanh.out", "tanh.out", BackwardStatus.none, ()),
        ("_aminmax", "_aminmax", BackwardStatus.unimplemented, ()),
        ("tanh", "bincount", BackwardStatus.missing, ()),
    ],
)
def test_backward_says_what_happens_to_gradients(
    supported: str, name: str, status: BackwardStatus, lacks: tuple[str, ...]
) -> None:
    """Formulas are followed to the operators that they call, and to the kernels that these need."""
    backward = record_of(report_of(supported), name).backward
    assert backward.status is status
    assert backward.lacks == lacks


def test_calls_of_formulas_are_listed() -> None:
    """A record names the operators that the formulas call, arithmetic on the gradient included, and the helpers."""
    backward = record_of(report_of("mul.Tensor sub.Tensor"), "mul.Tensor").backward
    assert backward.helpers == ("mul_tensor_backward",)
    assert record_of(report_of("atan"), "atan").backward.calls == ("conj", "div")


def test_autograd_kernels_of_the_backend_are_its_own() -> None:
    """An operator in the section `autograd` is differentiated by the backend."""
    report = report_of("relu", "autograd:\n- reshape\n")
    record = record_of(report, "reshape")
    assert record.backward.status is BackwardStatus.own
    assert record.keys == ("AutogradPrivateUse1",)
    assert not traps_of(report, TrapKind.composite_override)


def test_a_backend_with_everything_needed_has_no_such_trap() -> None:
    """If a file lists all operators that a device needs, none of them breaks."""
    report = report_of(EVERY_NEEDED, fallback="cpu")
    assert not [needed.record.name for needed in report.needed if needed.breaks]
    assert not traps_of(report, TrapKind.needed)
    assert not traps_of(report, TrapKind.view_fallback)


@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted(NEEDED.in_any_release))
def test_each_needed_operator_is_missed(name: str) -> None:
    """With each operator that a device needs left out, the report says what breaks, with a fallback and without."""
    supported = " ".join([other for other in EVERY_NEEDED.split() if other != name])
    without = {needed.record.name: needed.breaks for needed in report_of(supported).needed if needed.breaks}
    assert without.keys() == {name}
    assert without[name].startswith("NotImplementedError at ")
    assert name in traps_of(report_of(supported), TrapKind.needed)
    report = report_of(supported, fallback="cpu")
    with_fallback = {needed.record.name for needed in report.needed if needed.breaks}
    harmless = name in ("empty.memory_format", "_local_scalar_dense", "set_")
    assert with_fallback == (set() if harmless else {name})
    traps = traps_of(report, TrapKind.needed) | traps_of(report, TrapKind.view_fallback)
    assert (name in traps) is not harmless


def test_views_that_a_fallback_copies_are_traps() -> None:
    """A view without a kernel is a trap; composite views and devices that functionalize are none."""
    assert traps_of(report_of("relu", fallback="cpu"), TrapKind.view_fallback).keys() >= {
        "as_strided",
        "view",
        "unfold",
    }
    assert "transpose.int" not in traps_of(report_of("relu", fallback="cpu"), TrapKind.view_fallback)
    assert not traps_of(report_of("relu", fallback="none"), TrapKind.view_fallback)
    assert not traps_of(report_of("relu", key="XLA", fallback="cpu"), TrapKind.view_fallback)


def test_overridden_composites_are_traps_unless_they_are_differentiated() -> None:
    """A kernel for an operator made of others is a trap unless PyTorch or the backend differentiates it."""
    report = report_of("reshape linear flatten.using_ints", "autograd:\n- expand_as\n")
    assert traps_of(report, TrapKind.composite_override).keys() == {"reshape", "flatten.using_ints"}


def test_inplace_kernels_without_functional_ones_are_traps() -> None:
    """An in-place kernel is a trap if its functional form is missing or left to a fallback."""
    assert traps_of(report_of("relu_"), TrapKind.inplace_alone).keys() == {"relu_"}
    assert traps_of(report_of("relu_", fallback="cpu"), TrapKind.inplace_alone).keys() == {"relu_"}
    assert not traps_of(report_of("relu_ relu"), TrapKind.inplace_alone)
    # PyTorch has a functional form of its own.
    assert not traps_of(report_of("fill_.Scalar clone"), TrapKind.inplace_alone)


def test_forward_kernels_without_their_backward_operators_are_traps() -> None:
    """A kernel whose backward formula calls a missing operator is a trap with its place in the file."""
    trap = next(trap for trap in report_of("relu tanh").traps if trap.operator == "tanh")
    assert trap.kind is TrapKind.backward
    assert trap.message == "backward of `tanh` calls `tanh_backward.grad_input`, which the backend lacks"
    assert str(trap.span) == "acme.yaml:5:3"


def test_the_report_counts_what_is_registered(tmp_path: Path) -> None:
    """The operators that the report says the backend implements are those that the generated code registers."""
    head = "use_out_as_primary: true\n"
    supported = "add.out mul.out abs.out relu_ tanh tanh_ sigmoid.out _foreach_add.Scalar view fill_.Scalar"
    report = report_of(supported, head + "default_args: true\n")
    own = {
        *(OperatorStatus.kernel, OperatorStatus.structured, OperatorStatus.stub),
        *(OperatorStatus.by_out, OperatorStatus.by_functional, OperatorStatus.inherited),
    }
    file = tmp_path / "acme.yaml"
    entries = "".join([f"- {name}\n" for name in supported.split()])
    text = f"backend: PrivateUse1\ncpp_namespace: acme\n{head}default_args: true\nsupported:\n{entries}"
    file.write_text(text, encoding="utf-8")
    assert main(["generate", "--backend", str(file), "--out", str(tmp_path / "out")]) == 0
    source = (tmp_path / "out" / "RegisterPrivateUse1.cpp").read_text(encoding="utf-8")
    registered = set(re.findall(r'm\.impl\("([\w.]+)"', source))
    assert {record.name for record in report.records if record.status in own} == registered
    assert {"add.out", "abs.out", "tanh_"} <= registered


def test_operators_that_other_devices_call() -> None:
    """Convolutions and recurrent networks run if a fallback serves what the CPU lacks, and are missing without one."""
    names = ("convolution_overrideable", "conv2d", "_thnn_fused_lstm_cell", "lstm.input", "gru_cell")
    report, fallen = report_of("relu"), report_of("relu", "fallback: cpu\n", fallback="cpu")
    assert {record_of(report, name).status for name in names[::2]} == {OperatorStatus.missing}
    assert record_of(report, "lstm.input").reach.lacks == "_thnn_fused_lstm_cell"
    assert record_of(fallen, "convolution_overrideable").status is OperatorStatus.fallback
    assert record_of(fallen, "_thnn_fused_lstm_cell").status is OperatorStatus.fallback


def test_refused_operators_are_missing() -> None:
    """An operator that the head of the file refuses is missing, whatever runs for the others."""
    report = report_of("relu", "fallback: {to: cpu, error: [nonzero]}\n", fallback="cpu")
    assert record_of(report, "nonzero").status is OperatorStatus.missing
