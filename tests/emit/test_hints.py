"""Type hints of Python functions: how declarations look, and in what releases differ."""

from __future__ import annotations

import pytest

from opwright.convention.python.hints import Hints, corrected
from opwright.convention.python.signature import python_signature
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from opwright.schema import parse_schema

HINTS = Hints(Rules(parse_version("2.13")))


def declared(schema: str, release: str = "2.13") -> str:
    """The declaration of a function in a release."""
    return Hints(Rules(parse_version(release))).declaration(python_signature(parse_schema(schema)))


def test_long_declarations_are_broken() -> None:
    """A declaration that is too long for a line has a line for each parameter, as PyTorch's formatter writes it."""
    schema = parse_schema("mix_all(Tensor self, Tensor[] others, *, float rate=0.5, int[2] by=[1, 2]) -> Tensor[]")
    assert (
        HINTS.declaration(python_signature(schema))
        == """\
def mix_all(
    input: Tensor,
    others: tuple[Tensor, ...] | list[Tensor],
    *,
    rate: _float = 0.5,
    by: _int | _size = (1, 2),
) -> tuple[Tensor, ...]: ..."""
    )


def test_sizes_may_be_spread() -> None:
    """Where a list of integers is the only positional argument, its items may be passed one by one."""
    method = python_signature(parse_schema("shrink(Tensor self, SymInt[] size) -> Tensor"), method=True)
    assert HINTS.spread_declaration(method) == "def shrink(self, *size: _int | SymInt) -> Tensor: ..."
    assert HINTS.spread_declaration(python_signature(parse_schema("shrink(Tensor self, int[] size) -> Tensor"))) is None


def test_words_of_python_are_not_used_as_names() -> None:
    """`from` gets an underscore; `out` may be left out, whatever its name."""
    schema = parse_schema("draw.to(int from, *, Tensor(a!) into) -> Tensor(a!)")
    text = HINTS.declaration(python_signature(schema, category="dummy"))
    assert text == "def draw(from_: _int, *, into: Tensor = None) -> Tensor: ..."
    assert corrected(text) == "def draw(from_: _int, *, into: Tensor | None = None) -> Tensor: ..."


def test_class_of_named_results_has_its_fields() -> None:
    """The class is a tuple with a property per field."""
    signature = python_signature(parse_schema("top(Tensor self) -> (Tensor values, int count)"))
    text = HINTS.result_class(signature)
    assert text is not None
    assert text.startswith(
        "class top(tuple[Tensor, _int]):  # fmt: skip\n    @property\n    def values(self) -> Tensor"
    )
    assert HINTS.declaration(signature).endswith(" -> torch.return_types.top: ...")


@pytest.mark.parametrize(
    ("release", "lists"),
    [("2.11", "tuple[Tensor, ...] | list[Tensor] | None"), ("2.12", "tuple[Tensor, ...] | list[Tensor]")],
)
def test_lists_of_tensors_could_be_none(release: str, lists: str) -> None:
    """Until 2.11, no release told lists of tensors from those that may be None."""
    assert declared("cat(Tensor[] tensors) -> Tensor", release) == f"def cat(tensors: {lists}) -> Tensor: ..."


def test_lists_with_missing_tensors_have_their_own_hint() -> None:
    """From 2.12 on, a list whose items may be missing says so."""
    schema = "pick(Tensor?[] indices) -> Tensor"
    assert "(indices: tuple[Tensor, ...] | list[Tensor] | None)" in declared(schema, "2.11")
    assert "indices: tuple[Tensor | None, ...] | list[Tensor | None] | None," in declared(schema, "2.12")


def test_numbers_may_be_symbolic() -> None:
    """From 2.14 on, parameters of type Scalar take symbolic numbers."""
    schema = "scale(Tensor self, Scalar by) -> Tensor"
    assert "by: Number | _complex) ->" in declared(schema, "2.13")
    assert "by: Number | _complex | PySymType) ->" in declared(schema, "2.14")


def test_operators_over_lists_return_what_they_write_to() -> None:
    """From 2.15 on; the line is broken as if it still had the shorter result."""
    schema = "_foreach_mix_(Tensor(a!)[] self) -> ()"
    assert declared(schema, "2.14").endswith("(self: tuple[Tensor, ...] | list[Tensor]) -> None: ...")
    line = declared(schema, "2.15")
    assert line.endswith("(self: tuple[Tensor, ...] | list[Tensor]) -> tuple[Tensor, ...] | list[Tensor]: ...")
    assert len(line) > 80
