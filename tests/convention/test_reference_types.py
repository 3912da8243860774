"""Each type of the schema language, alone and in optional types and lists, has the reference's type in C++."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from opwright.backends.lazy import convention as lazy
from opwright.backends.lazy.convention import NodeConvention
from opwright.convention import native, shared_types, structured
from opwright.convention.python.parameter import type_name
from opwright.model.native_function import TypeStyle
from opwright.schema import Type, parse_type
from opwright.schema.function import Return, make_argument
from opwright.schema.types import annotation

PROGRAM = Path(__file__).with_name("reference_types.py")
WRITTEN = annotation(("a",), True)
STYLES = {"False": TypeStyle.PLAIN, "True": TypeStyle.CONST_REF_MUTABLES | TypeStyle.ILIST_REF}


def spelt(convention: str, type: Type, style: TypeStyle) -> str:
    """A type under a convention, which the reference's program names the same."""
    name, *words = convention.split()
    symint, mutable = "symint" in words, "written" in words
    alias = WRITTEN if mutable else None
    match name:
        case "structured":
            return structured.argument_type(type).text
        case "python":
            return type_name(type)
        case "lazy":
            return lazy.argument_type(type, NodeConvention(symint=symint)).text
        case "native":
            return native.argument_type(make_argument("x", type, None, alias), symint=symint, style=style).text
        case "result":
            return shared_types.return_type(Return(None, type, alias), style).text
    owning = name == "owning"
    return shared_types.argument_type(type, mutable=mutable, symint=symint, style=style, owning=owning).text


def test_every_form_of_every_type_is_the_reference_s() -> None:
    """Arguments in the public API and the dispatcher, of kernels, shape functions, nodes and Python; and results."""
    printed = subprocess.run([sys.executable, str(PROGRAM)], check=True, capture_output=True, text=True).stdout
    reference = json.loads(printed)
    compared = 0
    for key, row in reference.items():
        text, _, const = key.rpartition(" ")
        for convention, wanted in row.items():
            found = spelt(convention, parse_type(text), STYLES[const])
            assert found == wanted, f"{text} under {convention}, with references to constants: {const}"
            compared += 1
    assert compared > 3000
