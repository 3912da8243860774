"""The names that a library's C++ namespace cannot have, compared with the headers that generated code includes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from opwright.dialects.names import namespace_conflict
from tests.compile.compiler import Compiler

INCLUDE = Path(__file__).parents[2] / "src" / "opwright" / "libraries" / "include"
HEADERS = (
    "torch/library.h",
    "ATen/TensorOperators.h",
    "opwright/structured.h",
    "opwright/outputs.h",
    "opwright/functionalization.h",
    "opwright/autograd.h",
)

pytestmark = pytest.mark.thorough


def test_every_accepted_name_can_be_a_namespace(program: str, tmp_path: Path) -> None:
    """Every name in the headers that C++ cannot use for a namespace is refused."""
    flags = Compiler(program, tmp_path, [INCLUDE]).flags()
    includes = "".join([f"#include <{header}>\n" for header in HEADERS])
    source = tmp_path / "names.cpp"
    source.write_text(includes)
    text = subprocess.run(
        [program, *flags, "-E", "-dD", source], capture_output=True, text=True, check=True, errors="replace"
    ).stdout
    names = sorted(set(re.findall(r"\b[A-Za-z]\w*", text)))
    assert len(names) > 10_000
    accepted = [name for name in names if not namespace_conflict(name)]
    assert 0.5 < len(accepted) / len(names) < 0.95
    spaces = [f'# 1 "name-{name}"\nnamespace {name} {{ inline int value_in_namespace; }}\n' for name in accepted]
    source.write_text(includes + "".join(spaces))
    done = subprocess.run(
        [program, *flags, "-fsyntax-only", "-fmax-errors=0", source], capture_output=True, text=True, check=False
    )
    assert re.findall(r"^name-(\w+):\d+:\d+: error", done.stderr, re.MULTILINE) == []
    assert done.returncode == 0, done.stderr
