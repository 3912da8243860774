"""Library files without faults, which are damaged to fuzz their loader."""

from __future__ import annotations

import re
from pathlib import Path

from tests.dialects.cases import load_cases

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "dialects" / "library_cases"
FIELDS = load_cases("fields.yaml", CASES)[0].text


def _with_kernel(match: re.Match[str]) -> str:
    key = "CPU" if "Tensor" in match[0].partition(" -> ")[0] else "CompositeExplicitAutograd"
    return f"{match[0]}\n  dispatch: {{{key}: {match[1].replace('.', '_')}}}"


def _with_kernels(entries: str) -> str:
    """A library of entries that have no kernels."""
    return "namespace: acme\noperators:\n" + re.sub(r"- func: ([\w.]+)\(.*", _with_kernel, entries)


_OUTPUTS = [_with_kernels(load_cases("outputs.yaml", CASES)[number].text) for number in (0, 2)]
_EXAMPLE = (ROOT / "examples" / "library" / "acme.yaml").read_text(encoding="utf-8")

#: The derivatives of the example are in a file of their own, which fuzzing does not read.
LIBRARIES = [FIELDS, *_OUTPUTS, re.sub(r"(?m)^derivative.*\n", "", _EXAMPLE)]
