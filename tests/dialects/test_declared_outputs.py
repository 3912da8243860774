"""Declared outputs: every mistake has a case, and what is declared has types and defaults."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.libraries.declared_outputs import DeclaredOutputs, OutputOperation, ValueKind
from opwright.libraries.dialect.outputs import load_outputs
from opwright.plugins.code_pages import code_names
from opwright.schema import parse_schema
from opwright.source.diagnostic import Diagnostics
from opwright.source.nodes import MappingNode, Scalar, SequenceNode
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from tests.dialects.cases import Case, load_cases
from tests.dialects.loading import found_faults

FOLDER = Path(__file__).with_name("library_cases")
CASES = load_cases("outputs.yaml", FOLDER)


def loaded(text: str) -> tuple[list[DeclaredOutputs | None], Diagnostics]:
    """The declared outputs of the entries of a document, and the faults."""
    sink = Diagnostics()
    outputs = []
    entries = load_yaml(SourceFile("ops.yaml", text))
    assert isinstance(entries, SequenceNode)
    for entry in entries:
        assert isinstance(entry, MappingNode)
        schema, field = entry.get("func"), entry.entry("outputs")
        assert isinstance(schema, Scalar)
        assert field is not None
        outputs.append(load_outputs(*field, parse_schema(schema.value), frozenset(), sink))
    return outputs, sink


def first_output(schema: str, outputs: str) -> DeclaredOutputs:
    """The outputs of one operator without faults."""
    (declared,), sink = loaded(f"- func: {schema}\n  outputs: {outputs}\n")
    assert declared is not None, [str(diagnostic.message) for diagnostic in sink]
    return declared


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_faults_stand_at_their_places(case: Case) -> None:
    """What is found in a document is what its comments mark, to the column."""
    _, sink = loaded(case.text)
    assert found_faults(sink) == case.faults, [str(diagnostic) for diagnostic in sink.sorted()]


def test_every_code_has_a_case() -> None:
    """Each code of declared outputs is marked in a case; E1159 is about several entries, so `heads.yaml` has it."""
    registered = {code for code in code_names() if "1150" <= code[1:] < "1160"}
    assert registered - {"E1159"} == {code for case in CASES for *_, code in case.faults if code[1:3] == "11"}


@pytest.mark.parametrize(
    ("schema", "outputs", "operation"),
    [
        ("f(Tensor self, Tensor other) -> Tensor", "broadcast(self, other)", OutputOperation.promote),
        ("f(Tensor self, Tensor other) -> Tensor", "broadcast(self, [1])", OutputOperation.dtype_of),
        ("f(Tensor self, Tensor other) -> Tensor", "[1]", OutputOperation.dtype_of),
        ("f(SymInt n) -> Tensor", "[n]", OutputOperation.default_dtype),
        ("f(Tensor self, ScalarType dtype) -> Tensor", "like(self)", OutputOperation.argument),
        ("f(Tensor self, ScalarType? dtype) -> Tensor", "like(self)", OutputOperation.value_or),
        ("f(Tensor self, ScalarType? dtype) -> Tensor", "{like: self, dtype: bool}", OutputOperation.dtype),
    ],
)
def test_the_dtype_has_a_default(schema: str, outputs: str, operation: OutputOperation) -> None:
    """Without `dtype`, a result has the dtype of the argument `dtype`, the operands of `broadcast` or a tensor."""
    assert first_output(schema, outputs)[0].dtype.operation is operation


def test_the_device_is_that_of_an_argument() -> None:
    """Without `device`, a result is on the device of the argument, of the first tensor, or else on the CPU."""
    for schema, operation in (
        ("f(Tensor self, Device? device) -> Tensor", OutputOperation.value_or),
        ("f(Tensor? bias, Tensor[] tensors) -> Tensor", OutputOperation.device_of),
        ("f(SymInt n) -> Tensor", OutputOperation.cpu),
    ):
        assert first_output(schema, "[1]")[0].device.operation is operation


def test_outputs_follow_the_order_of_the_schema() -> None:
    """A mapping by name gives the outputs in the order of the results, with their names."""
    schema = "f(Tensor self) -> (Tensor min, Tensor max)"
    outputs = first_output(schema, "{max: [2], min: like(self)}")
    assert [output.name for output in outputs] == ["min", "max"]
    assert outputs[0].like is not None
    assert outputs[1].size.kind is ValueKind.integers


def test_a_deep_expression_is_a_fault() -> None:
    """An expression that would exhaust the stack is reported."""
    _, sink = loaded(f"- func: f(Tensor self) -> Tensor\n  outputs: '[{'-' * 500}1]'\n")
    assert [code for *_, code in found_faults(sink)] == ["E1150"]
    _, sink = loaded(f"- func: f(Tensor self) -> Tensor\n  outputs: '[{'1 + ' * 500}1]'\n")
    assert [code for *_, code in found_faults(sink)] == ["E1150"]


@pytest.mark.parametrize("expression", ["self.size(0) % 0", "self.size(0) // 0"])
def test_division_by_zero_is_refused(expression: str) -> None:
    """The number 0 as a divisor would fail at each call, so it is marked in the file."""
    _, sink = loaded(f"- func: f(Tensor self) -> Tensor\n  outputs: '[{expression}]'\n")
    (fault,) = sink.sorted()
    assert (fault.code, fault.message) == ("E1154", f"`{expression}` divides by zero")
    assert fault.span is not None
    assert fault.span.file.text[fault.span.start : fault.span.end] == "0"
