"""Each default that Opwright takes in PyTorch's files has the reference's expression in C++."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.convention.defaults import default_expression
from opwright.dialects.native_functions.loader import load_catalog
from opwright.release.local import from_installed
from opwright.release.rules import Rules
from opwright.release.version import version_of
from opwright.schema.types import BASE_TYPES
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from tests.dialects.loading import TAGS

PROGRAM = Path(__file__).with_name("reference_defaults.py")
FORMS = ("{}", "{}?", "{}[]", "{}[2]", "{}[]?", "{}[2]?", "{}?[]")
DEFAULTS = (
    *("None", "True", "False", "0", "1", "-1", "+1", "1.5", "-1.5", "1e-5", "1.", ".5", "0x10", "1_000", "inf", "nan"),
    *("[]", "[0,1]", "[0, 1]", "[0 ,1]", "[-1,0x1]", "[True,False]", "[0.5,1]", "[None]", "['x']", "{}", "()", "(0,1)"),
    *("'x'", '"x"', "''", '""', "'a, b'", "'a=b'", "'a b'", "'a) -> b'", "'*'", r"'a\'b'", '"it\'s"', r"'\n'"),
    *("Mean", "contiguous_format", "long", "float", "strided", "cpu", "per_tensor_affine", "at::kLong", "abc"),
)


@pytest.mark.thorough
def test_defaults_have_the_expressions_of_the_reference() -> None:
    """Every type with every default: an argument is refused, or the reference makes the same of it."""
    rules = Rules(version_of(from_installed()))
    texts = [f"{form.format(name)} x={default}" for name in BASE_TYPES for form in FORMS for default in DEFAULTS]
    taken: dict[str, list[str]] = {}
    for text in texts:
        entry = f"- func: take(Tensor self, {text}) -> Tensor\n  tags: nondeterministic_seeded\n"
        sink = Diagnostics()
        catalog = load_catalog(SourceFile("native.yaml", entry), SourceFile("tags.yaml", TAGS), sink, rules)
        if not sink.has_errors:
            argument = catalog.functions[0].schema.arguments.all[-1]
            default = argument.default or ""
            expressions = [default_expression(default, argument.type, symint=symint) for symint in (False, True)]
            taken[text] = expressions
    command = [sys.executable, str(PROGRAM)]
    done = subprocess.run(command, input=json.dumps([*taken]), check=True, capture_output=True, text=True)
    theirs = dict(zip(taken, json.loads(done.stdout), strict=True))
    assert {text: (ours, theirs[text]) for text, ours in taken.items() if ours != theirs[text]} == {}
    assert len(taken) > 450
