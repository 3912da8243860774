"""Types that libraries cannot have as arguments: what refuses each is PyTorch's parser, or C++, as the message says."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

import pytest

from opwright.schema.base_types import BASE_TYPE_ROWS
from opwright.source.diagnostic import Diagnostic, FaultsFound, Severity
from tests.emit.test_library_checks import checked

#: A type alone, and in optional types and lists up to two levels deep.
FORMS: Final = ("{}", "{}?", "{}[]", "{}[]?", "{}?[]", "{}?[]?", "{}[][]", "{}[]?[]", "{}[][]?", "{}[]?[]?")

#: A list of lists of each type whose values Python has.
VALUES: Final[dict[str, list[list[float]]]] = {"Scalar": [[1, 2.5], []], "DeviceIndex": [[0, 1], []]}


def faults(type: str) -> list[Diagnostic]:
    """What is wrong with an operator that takes an argument of a type."""
    head = "namespace: acme\noperators:\n"
    entry = f"- func: f(Tensor x, {type} v) -> Tensor\n  tags: nondeterministic_seeded\n"
    try:
        found = checked(head + entry + '  dispatch: {"CPU, Meta": f}\n').sorted()
    except FaultsFound as raised:
        found = raised.diagnostics
    return [fault for fault in found if fault.severity is Severity.ERROR]


def refused() -> Iterator[tuple[str, str, str]]:
    """The base type, the type, and the message of each type that is refused."""
    for row in BASE_TYPE_ROWS:
        for form in FORMS:
            type = form.format(row.name)
            for fault in faults(type)[:1]:
                yield row.name, type, fault.message


def is_parsed(type: str) -> bool:
    """Whether PyTorch's parser knows a type."""
    torch = pytest.importorskip("torch")
    try:
        torch._C.parse_schema(f"acme::f(Tensor x, {type} v) -> Tensor")
    except RuntimeError:
        return False
    return True


def test_each_refusal_says_whether_pytorch_or_cpp_cannot() -> None:
    """The message names C++ where PyTorch parses the schema, and only there."""
    rows = list(refused())
    assert len(rows) > 90
    for _, type, message in rows:
        assert ("C++" in message) is is_parsed(type), f"{type}: {message}"


@pytest.mark.thorough
def test_what_only_cpp_refuses_is_held_by_the_dispatcher() -> None:
    """If the message says that the dispatcher holds the values, Python defines, calls and compiles such operators."""
    held = [(name, type) for name, type, message in refused() if "which PyTorch's dispatcher holds" in message]
    assert {name for name, _ in held} == {"Scalar", "DeviceIndex"}
    torch = pytest.importorskip("torch")
    library = torch.library.Library("refused", "DEF")
    for index, (name, type) in enumerate(held):
        library.define(f"f{index}(Tensor x, {type} v) -> Tensor")
        library.impl(f"f{index}", lambda x, v: x + len(v), "CompositeExplicitAutograd")
        program = partial(getattr(torch.ops.refused, f"f{index}").default, torch.ones(2), VALUES[name])
        compiled = torch.compile(lambda program=program: program(), backend="aot_eager", fullgraph=True)
        assert program().tolist() == compiled().tolist() == [3, 3], type
    library._destroy()
