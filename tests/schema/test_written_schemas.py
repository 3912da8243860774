"""Schemas as libraries write them: PyTorch's dispatcher is the judge of what they may be."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import pytest
import torch

import opwright
from opwright import DefaultValue, NamedConstant
from opwright.schema.base_types import BASE_TYPE_ROWS
from opwright.schema.fault import SchemaFault
from opwright.schema.parser import read_schema
from opwright.syntax import normal_form
from opwright.syntax.dispatcher_schemas import read_written_schema
from tests.schema.written_texts import DEFAULTS, WrittenTexts, difference, texts_of_parts

#: Schemas with their normal form, their kind, and whether they keep the rules of PyTorch's files.
FORMS = [
    ("scale( Tensor x,float by = 2.0 )->Tensor", "scale(Tensor x, float by=2.0) -> Tensor", "functional", True),
    ("f(Tensor! out, Tensor! b) -> ()", "f(Tensor(a!) out, Tensor(c!) b) -> ()", "mutable", True),
    ("f(Tensor!? out=None) -> ()", "f(Tensor(a!)? out=None) -> ()", "mutable", True),
    ("f(Tensor[]! out) -> ()", "f(Tensor(a!)[] out) -> ()", "mutable", True),
    ("f(Tensor x) -> (Tensor)", "f(Tensor x) -> Tensor", "functional", True),
    ("f(Tensor x) -> ((int, Tensor))", "f(Tensor x) -> ((int, Tensor))", "functional", True),
    ("f(\n    Tensor x\n) -> ()\n", "f(Tensor x) -> ()", "functional", True),
    ("add_(Tensor(a!) self) -> Tensor(a!)", "add_(Tensor(a!) self) -> Tensor(a!)", "inplace", True),
    ("add_(Tensor! self) -> Tensor!", "add_(Tensor(a!) self) -> Tensor(b!)", "mutable", False),
    ("f.out(Tensor x, *, Tensor(a!) out) -> ()", "f.out(Tensor x, *, Tensor(a!) out) -> ()", "mutable", False),
    ("f(*, Tensor(a!) out, int n) -> Tensor(a!)", "f(*, Tensor(a!) out, int n) -> Tensor(a!)", "mutable", False),
    ("f(Tensor(o!)? o) -> Tensor(o!)", "f(Tensor(o!)? o) -> Tensor(o!)", "mutable", False),
    ("f_out(Tensor x) -> Tensor", "f_out(Tensor x) -> Tensor", "functional", True),
    ("f(int! n, int[] k=[ 1,02 ]) -> ()", "f(int n, int[] k=[1, 2]) -> ()", "functional", True),
    ("f(Dict(str,Tensor) x) -> Any", "f(Dict(str, Tensor) x) -> Any", "functional", True),
    ("f(Tensor(a) x) -> Tensor(a)", "f(Tensor(a) x) -> Tensor(a)", "functional", True),
    ("f(Tensor(a|*|) x) -> ()", "f(Tensor(a|*) x) -> ()", "functional", True),
    ("f(int n) -> Tensor[](a)", "f(int n) -> Tensor(a)[]", "functional", False),
]


@pytest.mark.parametrize("seed", range(3))
def test_the_dispatcher_takes_the_same_schemas(seed: int) -> None:
    """A text is accepted if and only if PyTorch registers it, and its normal form is the same operator."""
    assert [found for text in WrittenTexts(seed).texts(150) if (found := difference(text))] == []


@pytest.mark.thorough
def test_the_dispatcher_takes_the_same_parts() -> None:
    """So it is with each name, each type, each annotation, and each default for each type."""
    assert [found for text in texts_of_parts() if (found := difference(text))] == []


def test_types_are_nested_eight_deep() -> None:
    """Parentheses in a type may stand in seven others, not in eight."""
    nested = ["int"]
    for _ in range(9):
        nested.append(f"Dict(str, {nested[-1]})")
    assert str(read_written_schema(f"f({nested[8]} x) -> ()")) == f"f({nested[8]} x) -> ()"
    with pytest.raises(SchemaFault):
        read_written_schema(f"f({nested[9]} x) -> ()")


@pytest.mark.parametrize(("text", "normal", "kind", "is_regular"), FORMS)
def test_normal_forms(text: str, normal: str, kind: str, is_regular: bool) -> None:
    """A schema is printed in its normal form, and keeps the text that is registered."""
    schema = read_written_schema(text)
    assert (str(schema), schema.kind.name, schema.is_regular) == (normal, kind, is_regular)
    assert schema.written_text == text.strip()
    assert difference(text) == ""


def test_scratch_arguments_keep_no_rules() -> None:
    """Scratch memory beside an out argument is for PyTorch's files alone, whose rules a library's schema then lacks."""
    schema = read_written_schema("f.out(Tensor x, *, Tensor(a!) out, Tensor(b!) _scratch_x) -> Tensor(a!)")
    assert (schema.kind.name, schema.is_regular) == ("mutable", False)


def test_plain_texts_are_in_normal_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is taken as it is, because its spelling is plain, is the same as the normal form of its parts."""
    own = [str(function.schema) for function in opwright.load()]
    texts = [*own, *[normal for _, normal, _, _ in FORMS], *WrittenTexts(0).texts(300), "f(Future(a!) x) -> Tensor"]
    plain = [text for text in texts if normal_form._PLAIN.fullmatch(text)]
    assert len(own) * 0.9 < len(plain) < len(texts)
    monkeypatch.setattr(normal_form, "_PLAIN", re.compile("never"))
    assert [text for text in plain if normal_form.normal_form(text, 0).text != text] == []


@pytest.mark.parametrize("text", [text for text, normal, _, is_regular in FORMS if text != normal or not is_regular])
def test_own_files_of_pytorch_are_strict(text: str) -> None:
    """PyTorch's files have one spelling, also after a library has had another one."""
    read_written_schema(text)
    with pytest.raises(SchemaFault):
        read_schema(text)


@pytest.mark.parametrize(
    ("text", "code", "part"),
    [
        ("f( Tensr x ) -> ()", "E0202", "Tensr"),
        ("f(Tensor! x,  int  n = no) -> ()", "E0205", "no"),
        ("f(int mask=0x2F) -> ()", "E0205", "0x2F"),
        ("f(Tensor!  x , flaot y) -> ()", "E0202", "flaot"),
        ("f(Tensor x, ...) -> ()", "E0221", "..."),
        ("f(Tensor x)\n  -> ()", "E0201", "\n"),
        ("f.default(Tensor x) -> ()", "E0203", "default"),
        ('f(str  x="a) -> ()', "E0205", '"a) -> ()'),
        ("f(str  x='a) -> ()", "E0205", "'a) -> ()"),
    ],
)
def test_faults_are_where_they_were_written(text: str, code: str, part: str) -> None:
    """A fault is placed in the text as it was written, not in its normal form."""
    with pytest.raises(SchemaFault) as raised:
        read_written_schema(text)
    fault = raised.value
    assert (fault.code, text[fault.start : fault.end]) == (code, part)


def test_irregular_schemas_say_nothing_by_their_names() -> None:
    """An operator that breaks a rule of PyTorch's files has no other as its functional form."""
    schemas = [read_written_schema(text) for text in ("add_(Tensor! self) -> Tensor!", "add(Tensor self) -> Tensor")]
    assert [schema.name.base for schema in schemas] == ["add_", "add"]


@pytest.mark.parametrize("text", ["", "  ", "\x00"])
def test_a_text_without_parts_is_a_fault(text: str) -> None:
    """The fault stands at the start, for there is no part that it could be of."""
    with pytest.raises(SchemaFault) as caught:
        read_written_schema(f"acme::{text}", len("acme::"))
    assert caught.value.start == len("acme::")


def accepted_defaults() -> Iterator[tuple[str, object]]:
    """Arguments of each type with each default that the dispatcher takes, and the value that it passes then."""
    types = [row.name for row in BASE_TYPE_ROWS if row.in_dispatcher]
    for type, suffix, default in itertools.product(types, ("", "?", "[]", "[3]"), DEFAULTS):
        text = f"{type}{suffix} x={default}"
        try:
            (argument,) = torch._C.parse_schema(f"f({text}) -> ()", allow_typevars=False).arguments
            read_written_schema(f"f({text}) -> ()")
        except (RuntimeError, ValueError, IndexError, SchemaFault):
            continue
        yield text, argument.default_value


def _number(value: DefaultValue) -> object:
    """A value as the dispatcher has it: constants are numbers, and devices are devices."""
    if isinstance(value, tuple):
        return [_number(item) for item in value]
    if not isinstance(value, NamedConstant):
        return value
    type = "int" if value.name == "Mean" else "ScalarType"
    return torch._C.parse_schema(f"f({type} x={value.name}) -> ()").arguments[0].default_value


def test_defaults_have_the_values_that_the_dispatcher_passes() -> None:
    """Each default that the dispatcher takes has its value, be it a value of the type or not."""
    compared = 0
    for text, wanted in accepted_defaults():
        (argument,) = read_written_schema(f"f({text}) -> ()").arguments.all
        value = _number(argument.default_value)
        wanted = str(wanted) if isinstance(wanted, torch.device) else wanted
        assert value == wanted, text
        compared += 1
    assert compared > 300


def test_each_mistake_of_a_schema_is_reported() -> None:
    """A text has as many faults as parts that PyTorch refuses, each at its part, and no fault that follows from one."""
    parts = [("Tensr", "Tensor"), ("nope", "1"), ("flaot", "float"), ("[1, x]", "[1, 2]")]
    form = "f( {} x, int n = {}, {} y=1.0, int[] k={} ) -> {}"
    results = [("Tesnor", "Tensor")]
    for wrong in itertools.product((True, False), repeat=len(parts) + 1):
        chosen = [pair[0] if is_wrong else pair[1] for pair, is_wrong in zip(parts + results, wrong, strict=True)]
        text = form.format(*chosen)
        expected = [word for word, is_wrong in zip(chosen, wrong, strict=True) if is_wrong]
        try:
            read_written_schema(text)
            found = []
        except SchemaFault as fault:
            found = [text[own.start : own.end] for own in (fault, *fault.others)]
        assert found == expected
        try:
            torch._C.parse_schema(text, allow_typevars=False)
            is_taken = True
        except RuntimeError:
            is_taken = False
        assert is_taken == (not expected)
