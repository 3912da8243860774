"""What becomes of formulas of C++ in Python, as a text that `make cases` updates: the formula, then its translation.

The formulas are those of `self` of one operator, whose schema has a value of each kind.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from tests.dialects.test_library_derivatives import loaded

FILE = Path(__file__).with_name("python_formulas.txt")

SCHEMA = (
    "f(Tensor self, Tensor? bias, Tensor[] items, float k, int n, bool flag, int[] dims, Scalar s, str mode, "
    "ScalarType? dtype, float? p) -> (Tensor a, Tensor b)"
)
OTHERS = "  bias, items: non_differentiable\n"
LIBRARY = f"""\
namespace: acme
abi: stable
torch: ">=2.10"
derivatives: formulas.yaml
derivative_includes: [acme.h]
operators:
- {{func: "{SCHEMA}", outputs: [like(self), like(self)], dispatch: {{CPU: f}}}}
- {{func: "twice(Tensor x) -> Tensor", outputs: like(x), dispatch: {{CPU: twice}}}}
- {{func: "pair(Tensor x) -> (Tensor, int)", dispatch: {{CPU: pair}}}}
"""


def translation(formula: str) -> Iterator[str]:
    """The translation with the values that it keeps and the gradients that it reads, or why there is none."""
    libraries, sink = loaded(f"- name: {SCHEMA}\n  self: {json.dumps(formula)}\n{OTHERS}", LIBRARY)
    for diagnostic in sink.sorted():
        span = diagnostic.span
        assert span is not None
        yield f"{diagnostic.code} at `{span.text}`: {diagnostic.message}"
        if diagnostic.help:
            yield f"help: {diagnostic.help}"
    derivatives = libraries[0].derivatives if libraries else None
    for gradient in derivatives.python if derivatives is not None else ():
        for made in gradient.formulas:
            yield f"= {made.text}"
            yield from (f"{value.name} = {value.expression} ({value.form.name})" for value in made.saved)
            yield f"gradients {sorted(made.gradients)}, asked {sorted(made.asked)}"


def translations(formulas: list[str]) -> str:
    """The text of some formulas."""
    lines = [[formula, *[f"    {line}" for line in translation(formula)]] for formula in formulas]
    return "\n".join(line for part in lines for line in part) + "\n"


def formulas() -> list[str]:
    """The formulas of the file."""
    return [line for line in FILE.read_text(encoding="utf-8").splitlines() if not line.startswith(" ")]


def update() -> None:
    """Write what becomes of the formulas now."""
    FILE.write_text(translations(formulas()), encoding="utf-8")
