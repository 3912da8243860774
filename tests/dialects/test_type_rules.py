"""The types that loading accepts are those that C++ code can be made for: all of them, and no others."""

from __future__ import annotations

import re
from itertools import product

import pytest

from opwright.convention import public_api
from opwright.convention.shared_types import NoCppType, returns_type
from opwright.cpp.translation import Untranslatable, translate
from opwright.dialects.native_functions import rules
from opwright.dialects.native_functions.loader import load_catalog
from opwright.dialects.native_functions.rules import is_argument_type, is_return_type
from opwright.emit.registry import emitters
from opwright.files.plan import file_specs
from opwright.release.local import from_installed
from opwright.release.rules import Rules
from opwright.release.version import version_of
from opwright.schema import parse_type, types
from opwright.schema.types import BASE_TYPES, BaseType
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from tests.conformance.inputs import reference_package
from tests.dialects.loading import TAGS, load_text
from tests.emit.emitting import file_slots_of, job_of

CLASS = "__torch__.torch.classes.rnn.Cell"
SUFFIXES = ["".join(parts) for depth in range(4) for parts in product(("?", "[]", "[2]"), repeat=depth)]
TYPES = [parse_type(base + suffix) for base in (*BASE_TYPES, CLASS) for suffix in SUFFIXES]
FAMILIES = ("headers", "sources", "declarations_yaml")


def entries(schemas: list[str]) -> str:
    """A text of entries, each with both variants and a kernel for the CPU."""
    return "".join(f"- func: {schema}\n  variants: function, method\n  dispatch: {{CPU: cpu}}\n" for schema in schemas)


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_accepted_can_be_emitted(family: str) -> None:
    """Every emitter has code for every argument and return that loading lets pass."""
    takers = [f"_take{n}(Tensor self, {type} x) -> Tensor" for n, type in enumerate(TYPES) if is_argument_type(type)]
    givers = [f"give{n}(Tensor self) -> (Tensor, {type})" for n, type in enumerate(TYPES) if is_return_type(type)]
    seeded = [taker for taker in takers if "Generator" in taker]
    plain = [taker for taker in takers if "Generator" not in taker]
    text = entries([*plain, *givers]) + "".join(
        f"{entry}  tags: nondeterministic_seeded\n" for entry in map(entries, ([schema] for schema in seeded))
    )
    job = job_of(text)
    for emitter in emitters(job, [family]):
        for spec in file_specs(emitter, emitter.units(job)):
            assert file_slots_of(emitter, spec, job) is not None


@pytest.mark.parametrize("schema", ["take(Pulse x) -> Tensor", "give(Tensor self) -> Pulse", "all(Pulse?[] x) -> ()"])
def test_a_type_without_a_cpp_form_is_a_diagnostic(schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A type that only the schema language knows is reported where an entry names it."""
    monkeypatch.setitem(types.BASES, "Pulse", BaseType("Pulse"))
    _, sink = load_text(f"- func: {schema}\n")
    assert {diagnostic.code for diagnostic in sink} <= {codes.NATIVE_ARGUMENT_TYPE, codes.RETURN_TYPE}
    assert [diagnostic.message for diagnostic in sink if "Pulse" in diagnostic.message]


def test_base_types_are_those_of_the_release() -> None:
    """A base type that the generator of the release does not have is reported, wherever an entry names it."""
    text = (reference_package() / "model.py").read_text("utf-8")
    theirs = re.findall(r"(\w+) = auto\(\)", text.partition("class BaseTy(Enum):")[2].partition("\n\n")[0])
    assert len(theirs) > 15
    rules = Rules(version_of(from_installed()))
    for name in BASE_TYPES:
        schemas = [
            f"take({name} x) -> ()",
            f"take_some(Tensor self, *, {name}[]? x=None) -> ()",
            f"give(int x) -> {name}",
        ]
        sink, text = Diagnostics(), "".join([f"- func: {schema}\n  variants: function\n" for schema in schemas])
        load_catalog(SourceFile("native.yaml", text), SourceFile("tags.yaml", TAGS), sink, rules)
        unknown = [
            diagnostic.span.line for diagnostic in sink if diagnostic.code == codes.UNKNOWN_TYPE and diagnostic.span
        ]
        assert unknown == ([] if name in theirs else [1, 3, 5])
    assert set(theirs) < set(BASE_TYPES)


def test_what_is_refused_has_no_code() -> None:
    """An argument or return that even libraries refuse has no C++ type, or no way from its plain form to a symbolic."""
    for type in TYPES:
        if not is_argument_type(type, is_strict=False):
            with pytest.raises((NoCppType, Untranslatable)):
                emit_call(f"take(Tensor self, {type} x) -> Tensor")
        # C++ has a `c10::List` for any list, also for one of a size, which no return can have.
        if not is_return_type(type, is_strict=False) and "[" not in str(type):
            with pytest.raises(NoCppType):
                emit_call(f"give(Tensor self) -> (Tensor, {type})")


def emit_call(schema: str) -> None:
    """Makes the call of a function's symbolic form from its plain form, whatever loading says of its types."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules, "check_types", lambda *_: None)
        catalog, sink = load_text(f"- func: {schema}\n")
    sink.raise_if_errors()
    function = catalog.functions[0]
    returns_type(function.schema.returns)
    forms = public_api.function_signatures(function).all()
    for given, wanted in product(forms, forms):
        translate(given.bindings, wanted.bindings)
