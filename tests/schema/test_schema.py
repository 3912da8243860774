"""The signature language: every schema reads and prints back, and every mistake has its place."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from opwright.schema import FunctionSchema, SchemaKind, parse_schema, parse_type, signature
from opwright.schema.base_types import BaseTypeRow
from opwright.schema.fault import SchemaFault
from opwright.schema.function import Arguments, make_argument, make_return
from opwright.schema.names import AUGMENTED, OperatorName, parsed_operator_name
from opwright.schema.parser import LENIENT, read_schema
from opwright.schema.signature import signature_key
from opwright.schema.types import BASE_TYPES, Type, annotation, base, class_type, list_of, optional
from opwright.source.diagnostic import Fault
from opwright.syntax.dispatcher_schemas import read_written_schema

PROGRAM = Path(__file__).with_name("reference_schemas.py")


@pytest.fixture(scope="module")
def schemas(reference_inputs: Path) -> list[str]:
    """The schemas of PyTorch's entries, without their namespaces."""
    text = (reference_inputs / "native" / "native_functions.yaml").read_text(encoding="utf-8")
    return [entry["func"].rpartition("::")[2] for entry in yaml.load(text, Loader=yaml.CSafeLoader)]


def test_every_schema_prints_back(schemas: list[str]) -> None:
    """`print(parse(text)) == text` for all of PyTorch's entries."""
    assert len(schemas) > 2500
    assert [str(parse_schema(text)) for text in schemas] == schemas


def test_kinds_and_signatures_are_the_reference_s(schemas: list[str], tmp_path: Path) -> None:
    """Kind, and the signature under each of its options, of every entry equal what the reference says."""
    listed = tmp_path / "schemas.json"
    listed.write_text(json.dumps(schemas))
    command = [sys.executable, str(PROGRAM), str(listed)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert [facts(parse_schema(text)) for text in schemas] == json.loads(printed)


def facts(schema: FunctionSchema) -> dict[str, Any]:
    """What the reference's program says of a schema."""
    return {
        "kind": schema.kind.name,
        "plain": str(signature(schema)),
        "without defaults": str(signature(schema, strip_default=True)),
        "of the view": str(signature(schema, view_form=True)),
        "with return names": str(signature(schema, keep_return_names=True)),
    }


def test_a_key_is_equal_where_the_signature_is(schemas: list[str]) -> None:
    """The quick key of a signature tells apart exactly what the signature itself does."""
    for options in ({}, {"strip_default": True}, {"view_form": True}):
        parsed = [parse_schema(text) for text in schemas]
        keys = [signature_key(schema, **options) for schema in parsed]
        texts = [str(signature(schema, **options)) for schema in parsed]
        first_by_key = dict(zip(reversed(keys), reversed(texts), strict=True))
        assert [first_by_key[key] for key in keys] == texts
        assert len(set(keys)) == len(set(texts))


IDENTIFIER = st.from_regex(r"[a-z][a-z0-9_]{0,6}[a-z0-9]", fullmatch=True)
TYPES: st.SearchStrategy[Type] = st.recursive(
    st.sampled_from(BASE_TYPES).map(base)
    | st.from_regex(r"[a-z]{1,4}\.[A-Z][a-z]{0,4}", fullmatch=True).map(class_type),
    lambda inner: inner.map(optional) | st.builds(list_of, inner, st.none() | st.integers(1, 9)),
    max_leaves=3,
)


@given(TYPES)
def test_every_type_prints_back(type: Type) -> None:
    """Any nesting of optionals and lists reads as the same interned type."""
    assert parse_type(type.text) is type


@st.composite
def functional_schemas(draw: st.DrawFn) -> FunctionSchema:
    """Functional schemas of every shape: types, defaults where allowed, keyword-only parts, named returns."""
    names = draw(st.lists(IDENTIFIER.map(lambda name: name + "_x"), max_size=6, unique=True))
    arguments = [make_argument(name, draw(TYPES)) for name in names]
    split = draw(st.integers(0, len(arguments)))
    positional = arguments[:split]
    keyword_only = [
        make_argument(argument.name, optional(argument.type), "None") if draw(st.booleans()) else argument
        for argument in arguments[split:]
    ]
    returns = draw(st.lists(st.builds(make_return, st.none() | IDENTIFIER, TYPES), max_size=3))
    name = OperatorName(draw(IDENTIFIER), overload=draw(st.just("") | IDENTIFIER))
    return FunctionSchema(name, Arguments(tuple(positional), tuple(keyword_only), ()), tuple(returns))


@pytest.mark.thorough
@given(functional_schemas())
def test_every_generated_schema_prints_back(schema: FunctionSchema) -> None:
    """A schema made of values prints as a text that reads and prints back."""
    text = str(schema)
    if "_out(" in text or "_out." in text:
        return
    assert str(parse_schema(text)) == text


@given(st.text(alphabet="abT(a!)->|*,.[]?= \"'sx1", max_size=40))
def test_no_text_breaks_the_parser(text: str) -> None:
    """A text either is a schema that prints back, or a fault with a place inside it."""
    try:
        schema = parse_schema(text)
    except Fault as fault:
        place = fault.diagnostic.span
        assert place is not None
        assert 0 <= place.start <= place.end <= len(text) or place.start == len(text)
    else:
        assert parse_schema(str(schema)) is not None


@pytest.mark.parametrize(
    "name", [*(f"__i{base}__" for base in sorted(AUGMENTED)), "__and__", "__invert__", "add_", "x"]
)
def test_names_print_back(name: str) -> None:
    """In-place, dunder and plain names are taken apart and put together again."""
    assert parsed_operator_name(name, "").name == name


def test_what_names_say() -> None:
    """`__iand__` is the in-place form of `__and__`; `__invert__` starts with an i by chance."""
    assert parsed_operator_name("__iand__", "").base == "and"
    assert parsed_operator_name("__iand__", "").inplace
    assert not parsed_operator_name("__invert__", "").inplace
    functional = parsed_operator_name("norm_functional", "")
    assert (functional.base, functional.functional_overload) == ("norm", True)


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("f(Tensor self -> Tensor", " ->", "expected `=`, `,` or `)`"),
        ("f(Tensr self) -> Tensor", "Tensr", "unknown type `Tensr`"),
        ("f(Tensor self, int) -> Tensor", ")", "expected a blank"),
        ("f(Tensor self) Tensor", " ", "expected ` -> `"),
        ("f(Tensor(a|b!) self) -> Tensor", "a|b!", "exactly one alias set"),
        ("f(int(a!) n) -> int", "int(a!)", "cannot have an alias annotation"),
        ("f(Tensor(a!)?[] x) -> ()", "Tensor(a!)?[]", "cannot have an alias annotation"),
        ("f(Tensor self, *) -> Tensor", "*)", "no argument follows `*`"),
        ("f(Tensor self, *, int a, *, int b) -> Tensor", "*, int b", "second `*`"),
        ("f(Tensor a, Tensor a) -> Tensor", "Tensor a)", "second argument named `a`"),
        ("f(int a=1, int b) -> Tensor", "int b", "without default follows"),
        ("f(int a=x) -> Tensor", "x)", "not a default for type"),
        ("f(int[0] a) -> Tensor", "0]", "not the size of a list"),
        ("f_out(Tensor self) -> Tensor", "f_out", "ends with `_out`"),
        ("f(Tensor self, *, Tensor(a!) out, int b=1) -> Tensor(a!)", "int b=1", "follows the out arguments"),
        ("f.out(Tensor self, *, Tensor(a!) out) -> Tensor(b!)", "Tensor(b!)", "have different annotations"),
        ("f.out(Tensor self, *, Tensor(a!) out) -> ()", "()", "1 out argument(s), 0 return(s)"),
        ("f_(Tensor self) -> Tensor", "f_", "does not write `self`"),
        ("f(Tensor(a!) other, Tensor self) -> Tensor", "Tensor(a!) other", "precedes `self`"),
        ("f(Tensor class) -> Tensor", "class", "Python keyword"),
        ("__invert__(Tensor self) -> Tensor", "__invert__", "augmented assignment"),
        ("f(Tensor self, int n=1,*, int m=2) -> Tensor", ",*", "one blank stands after `,`"),
        ("f(Tensor self,int n) -> Tensor", ",int", "one blank stands after `,`"),
        ("f(Tensor self,  int n) -> Tensor", ",  int", "one blank stands after `,`"),
        ("f(Tensor self) -> (Tensor,Tensor)", ",Tensor", "one blank stands after `,`"),
        ("f(Tensor self)->Tensor", "->Tensor", "expected ` -> `"),
        ("f(Tensor self) -> (Tensor)", "(Tensor)", "has no parentheses"),
        ("f(int" + "?" * 100_000 + " a) -> Tensor", "?", "more than 8 of `?` and `[]`"),
        ("f(Tensor self) -> Tensor" + "[]" * 50_000, "[]", "more than 8 of `?` and `[]`"),
        (f"f(int[{'1' * 5_000}] a) -> Tensor", "111", "not the size of a list"),
        (f"{'a' * 201}(Tensor self) -> Tensor", "aaa", "a name of 201 characters"),
        (f"f.{'a' * 90_000}(Tensor self) -> Tensor", "aaa", "a name of 90,000 characters"),
        (f"f(int {'a' * 201}) -> Tensor", "aaa", "a name of 201 characters"),
        (f"f(int[] a=[{'1,' * 50_000}1]) -> Tensor", "[1", "a default of 100,003 characters"),
        (f"f(str a='{chr(92) * 501}') -> Tensor", "'", "a string that does not end"),
        ("f(str a='x\ny') -> Tensor", "\ny", "unprintable character"),
        ("f(str a='x\0y') -> Tensor", "\0y", "unprintable character"),
    ],
)
def test_a_mistake_is_shown_at_its_place(text: str, place: str, says: str) -> None:
    """Each kind of mistake points at the words to blame."""
    with pytest.raises(Fault) as caught:
        parse_schema(text)
    diagnostic = caught.value.diagnostic
    assert diagnostic.span is not None
    assert says in diagnostic.message
    assert text[diagnostic.span.start :].startswith(place)


@pytest.mark.parametrize(
    ("default", "help"),
    [("'x\ny'", "in a string, write it as an escape such as `\\n`"), ("1" * 2_000, "")],
    ids=["unprintable", "long"],
)
def test_help_for_defaults(default: str, help: str) -> None:
    """An unprintable character is answered by an escape; nothing serves in place of a long text."""
    with pytest.raises(Fault) as caught:
        parse_schema(f"f(str a={default}) -> Tensor")
    assert caught.value.diagnostic.help == help


def test_kinds() -> None:
    """Each kind is told by names and annotations alone."""
    kinds = {
        "f(Tensor self) -> Tensor": SchemaKind.functional,
        "f_(Tensor(a!) self) -> Tensor(a!)": SchemaKind.inplace,
        "f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)": SchemaKind.out,
        "f(Tensor self, Tensor(a!) running) -> Tensor": SchemaKind.mutable,
        "f.s(*, Tensor(a!) out, Tensor(b!) _scratch_x) -> Tensor(a!)": SchemaKind.scratch,
    }
    assert {text: parse_schema(text).kind for text in kinds} == kinds


def test_parts_print_as_they_are_written() -> None:
    """Each part of a schema prints as its text."""
    schema = parse_schema(
        "f.out(Tensor x, *, int[2] n=[1, 2], Tensor(a!) out, Tensor(b!) m) -> (Tensor(a!) o, Tensor(b!))"
    )
    assert str(schema.name) == "f.out"
    assert [str(argument) for argument in schema.arguments.all] == [
        *["Tensor x", "int[2] n=[1, 2]", "Tensor(a!) out", "Tensor(b!) m"],
    ]
    assert [str(result) for result in schema.returns] == ["Tensor(a!) o", "Tensor(b!)"]
    assert str(schema.returns[0].annotation) == "a!"
    assert [str(argument.type) for argument in schema.arguments.all[:2]] == ["Tensor", "int[2]"]


#: What stands in the parentheses of an annotated `Tensor`, and annotated types.
ANNOTATIONS = (
    *("a", "a!", "*", "*!", "a|b", "a|*", "*|a", "a|b!", "a -> *", "a! -> *", "* -> a", "a -> b", "a -> b|c"),
    *("a -> b|*", "a -> *|b", "a -> *|*", "a -> b|c|*", "a|b -> c", "a|b -> *", "a|b -> c|d"),
)
ANNOTATED = tuple(
    f"{base}({alias}){suffix}"
    for base, suffix in (
        ("Tensor", "?"),
        ("Tensor", "[]"),
        ("Tensor", "?[]"),
        ("Tensor", "[2]"),
        ("int", ""),
        ("int", "[]"),
    )
    for alias in ("a", "a!")
)


def test_annotations_are_those_of_the_reference() -> None:
    """Where Opwright reads schemas as PyTorch's generator does, it takes the same annotations and no other."""
    from torchgen.model import FunctionSchema as Reference

    def takes(parse: Callable[[str], object], text: str) -> bool:
        try:
            parse(text)
        except (AssertionError, RuntimeError, ValueError, SchemaFault):
            return False
        return True

    texts = [f"f({text} x) -> ()" for text in (*(f"Tensor({alias})" for alias in ANNOTATIONS), *ANNOTATED)]
    taken = [text for text in texts if takes(lambda text: read_schema(text, 0, LENIENT), text)]
    assert taken == [text for text in texts if takes(Reference.parse, text)]
    assert len(taken) == 13
    with pytest.raises(SchemaFault, match=r"`\*` stands alone after ` -> `"):
        read_schema("f(Tensor(a -> b|*) x) -> ()", 0, LENIENT)


def test_arguments_and_annotations_are_interned() -> None:
    """Equal parts are the same object, on which every table of the program relies."""
    schema, other = (parse_schema(f"{name}(Tensor(a!) self, int n=1) -> ()") for name in ("f", "g"))
    assert schema.arguments.all[0] is other.arguments.all[0]
    assert schema.arguments.all[0].annotation is annotation(("a",), True)


def test_tensor_options_are_found_between_other_arguments() -> None:
    """The four options are one group wherever they stand among the keyword-only arguments."""
    options = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
    arguments = parse_schema(f"f(int n, *, int a, {options}, int b=0) -> Tensor").arguments
    assert arguments.options is not None
    assert [option.name for option in arguments.pre_options] == ["a"]
    assert [option.name for option in arguments.post_options] == ["b"]


def test_a_new_type_has_no_forms() -> None:
    """A row with a name alone has no form in any language: stubs take any value, and defaults are words."""
    row = BaseTypeRow("Event")
    given = {name: value for name, value in zip(row._fields, row, strict=True) if value}
    assert given == {
        "name": "Event",
        "in_files": True,
        "in_dispatcher": True,
        "is_held": True,
        "default": "word",
        "stub": "_Any",
    }


def test_a_list_without_its_end_is_told_at_its_place() -> None:
    """Whatever was read before: the list of arguments is one that is known, but for the bracket."""
    for name in ("known", "again"):
        # The first reads the arguments, the second the list of them.
        parse_schema(f"{name}(Tensor self) -> Tensor")
    with pytest.raises(Fault) as raised:
        parse_schema("other(Tensor self]")
    (label,) = raised.value.diagnostic.labels
    assert (label.span.start, label.span.text) == (17, "]")


@pytest.mark.parametrize(
    ("written", "word"),
    [
        ("double", "float"),
        ("int64_t", "int"),
        ("std::string", "str"),
        ("c10::string_view", "str"),
        ("at::Tensor", "Tensor"),
        ("at::IntArrayRef", "int[]"),
        ("std::optional<at::Tensor>", "Tensor?"),
        ("std::vector<double>", "float[]"),
        ("c10::ArrayRef<int64_t>", "int[]"),
        ("std::vector<std::optional<at::Tensor>>", "Tensor?[]"),
        ("Optional[Tensor]", "Tensor?"),
        ("List[int]", "int[]"),
        ("torch.dtype", "ScalarType"),
        ("const Tensor&", "Tensor"),
        ("const at::Tensor &", "Tensor"),
        ("const std::optional<at::Tensor>&", "Tensor?"),
        ("const char*", "str"),
        ("std::array<bool, 3>", "bool[3]"),
        ("c10::complex<double>", "Scalar"),
    ],
)
@pytest.mark.parametrize("read", [read_schema, read_written_schema])
def test_types_of_cpp_and_python(written: str, word: str, read: Callable[[str], FunctionSchema]) -> None:
    """A type of C++ or Python is marked whole, and the schema language's word for it is named."""
    text = f"f({written} x) -> Tensor"
    with pytest.raises(SchemaFault) as caught:
        read(text)
    fault = caught.value
    assert text[fault.start : fault.end] == written
    assert str(fault.help) == f"did you mean `{word}`?"


@pytest.mark.parametrize(
    ("text", "marked", "help"),
    [
        ("f(std::tuple<int, int> x) -> ()", "std::tuple<int, int>", ""),
        ("f(Tensor& x) -> ()", "&", "types have no references; `Tensor(a!)` is a tensor that the operator writes to"),
        ("f(Tensor *x) -> ()", "*", "types have no references; `Tensor(a!)` is a tensor that the operator writes to"),
        ("f(Tensor x) -> void", "void", "results are written in parentheses: `()` if there is none"),
        ("f(const x) -> ()", "const", ""),
    ],
)
def test_types_of_cpp_without_a_word(text: str, marked: str, help: str) -> None:
    """What has no word in a schema is marked, and the help says what a schema has instead, if it has anything."""
    with pytest.raises(SchemaFault) as caught:
        read_schema(text)
    fault = caught.value
    assert (text[fault.start : fault.end].strip(), str(fault.help)) == (marked, help)


def test_each_faulty_argument_is_reported() -> None:
    """A schema of PyTorch's files with several faulty arguments has the fault of each, as it has alone, in order."""
    arguments = ("List[int] d", "bool b=true", "int x", "Tensor class", "str s=5")
    result = "Tensr"

    def faults(text: str) -> list[tuple[str, str]]:
        with pytest.raises(SchemaFault) as raised:
            read_schema(text)
        every = (raised.value, *raised.value.others)
        return [(fault.code, text[fault.start : fault.end]) for fault in every]

    alone = [faults(f"f(Tensor x, {argument}) -> Tensor")[0] for argument in arguments]
    alone += faults(f"f(Tensor x) -> {result}")
    assert len(alone) == 6
    assert faults(f"f(Tensor x, {', '.join(arguments)}) -> {result}") == alone
