"""Hostile values in the fields of files become no code, and end in no traceback."""

from __future__ import annotations

import pytest

from opwright.backends.dialect.entry_fields import ENTRY_FIELDS
from opwright.backends.dialect.head_fields import ALLOCATION_FIELDS, GUARD_FIELDS, HEAD_FIELDS
from opwright.backends.dialect.hooks import HOOK_FIELDS, WHERE_FIELDS
from opwright.backends.dialect.inherited import INHERITED_FIELDS
from opwright.backends.dialect.kernel_families import FAMILY_FIELDS
from opwright.backends.dialect.lazy import NODE_FIELDS
from opwright.dialects.field import Field
from opwright.libraries.dialect.fields import LIBRARY_FIELDS
from opwright.libraries.dialect.head import HEAD_FIELDS as LIBRARY_HEAD_FIELDS
from opwright.mobile.executorch_dialect.fields import KERNEL_FIELDS
from tests.hostile.check import check_value
from tests.hostile.documents import DOCUMENTS
from tests.hostile.lexing import tokens_of
from tests.hostile.run import fault_of, generate
from tests.hostile.values import MARK

#: The numbers of the values that are tried here. `make hostile` tries all up to 20,000.
NUMBERS = range(0, 20_000, 211)
LIBRARY = DOCUMENTS[0]


@pytest.mark.thorough
def test_no_hostile_value_is_code() -> None:
    """Outputs have the values in strings and comments, if they have them."""
    findings = [finding for number in NUMBERS if (finding := check_value(number)[1]) is not None]
    assert findings == []


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("register_0.cpp", f"static int {MARK} = 1;\n"),
        ("register_0.cpp", f"#include <{MARK}.h>\n#include <b.h>\n"),
        ("register_0.cpp", f"#define X {MARK}\n"),
        ("register_0.cpp", f"// {MARK}\\\nint x;\n"),
        ("register_0.cpp", f'const char* x = "{MARK}";'),
        ("_ops.py", f"import {MARK}\n"),
        ("_ops.py", f"x = '{MARK}'\n"),
    ],
)
def test_code_is_found(path: str, more: str) -> None:
    """The search sees code with the mark, and code around a string with it."""
    texts = generate(LIBRARY, LIBRARY.texts).texts
    assert texts is not None
    (own,) = [name for name in texts if name.endswith(path)]
    assert fault_of(LIBRARY, texts, tolerant=False) == ""
    assert fault_of(LIBRARY, {**texts, own: texts[own] + more}, tolerant=False) != ""


@pytest.mark.parametrize(
    ("path", "text", "code"),
    [
        ("a.cpp", 'int a = f("x\\"y", \'"\', R"(z")"); // b\n/* c */', "int a = f ( , , ) ;"),
        ("a.cpp", '#define A "x" + b // c\n', "#define A + b"),
        ("a.py", 'a = f(\'x\', """y\n""")  # b\n', "a = f ( , )"),
        ("a.bzl", 'a = ["x#", "y\\""] # b', "a = [ , ]"),
        ("meson.build", "a = ['x#', 'y\\''] # b", "a = [ , ]"),
        ("a.cmake", 'set(a "x#\\"y") # b', "set(a )"),
    ],
)
def test_strings_and_comments_are_told_from_code(path: str, text: str, code: str) -> None:
    """The lexers leave out what is in strings and comments of each language."""
    tokens = [token for kind, token in tokens_of(path, text) if kind == "code"]
    assert " ".join(" ".join(tokens).split()) == code


@pytest.mark.parametrize(
    "fields",
    [
        LIBRARY_HEAD_FIELDS,
        LIBRARY_FIELDS,
        HEAD_FIELDS,
        ENTRY_FIELDS,
        FAMILY_FIELDS,
        GUARD_FIELDS,
        ALLOCATION_FIELDS,
        HOOK_FIELDS,
        WHERE_FIELDS,
        INHERITED_FIELDS,
        KERNEL_FIELDS,
        NODE_FIELDS,
    ],
)
def test_every_field_gets_hostile_values(fields: tuple[Field, ...]) -> None:
    """A new field is in one of the documents. Plug-ins and their conventions are for users to allow."""
    places = {part for document in DOCUMENTS for place in document.places() for part in place}
    assert {field.name for field in fields} - places - {"plugins", "convention"} == set()
