"""Errors of the C++ compiler in code that is generated from formulas, at their places in `derivatives.yaml`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from opwright.libraries.operator_library import OperatorLibrary
from opwright.source import codes
from opwright.source.diagnostic import Diagnostic, Diagnostics, Severity
from opwright.source.span import Span

_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
#: What a formula is the value of, in generated code.
_VALUE: Final = re.compile(r"grad_result = |_new_fw_grad_opt = |_fw_grad = ")
#: The share of a formula's tokens that the code of it has, besides those that stand for saved values.
_LEAST: Final = 0.6


#: What is a warning while a build may succeed, and a mistake once it has failed.
_DOUBTS: Final = (codes.UNKNOWN_NAME, codes.UNKNOWN_FUNCTION)


def failed_findings(sink: Diagnostics) -> Iterator[Diagnostic]:
    """Findings about the files of a build whose compiler reports errors: doubts about names are errors then."""
    for diagnostic in sink.sorted():
        is_mistake = diagnostic.code in _DOUBTS and diagnostic.severity is Severity.WARNING
        yield diagnostic._replace(severity=Severity.ERROR) if is_mistake else diagnostic


class _Formula(NamedTuple):
    """A formula in its file, and the class of generated code that has it."""

    span: Span
    node_name: str | None


def _formulas(libraries: Sequence[OperatorLibrary]) -> Iterator[_Formula]:
    for library in libraries:
        for info in library.derivatives.matched.infos:
            spans = [derivative.span for derivative in info.derivatives]
            spans += [derivative.span for derivative in info.forward_derivatives]
            yield from [_Formula(span, info.node_name) for span in spans]


def formula_at(libraries: Sequence[OperatorLibrary], code: str, line: int, column: int) -> Span | None:
    """The place in a formula that a place of generated code is made from; None if there is none."""
    lines = code.split("\n")
    first = next((row for row in range(line - 1, max(line - 40, -1), -1) if _VALUE.search(lines[row])), None)
    if first is None:
        return None
    start = sum(len(text) + 1 for text in lines[:first])
    value = _VALUE.search(code, start)
    assert value is not None, "the line has it"
    offset = sum(len(text) + 1 for text in lines[: line - 1]) + column - 1
    end = code.find(";\n", value.end())
    if not value.end() <= offset <= end:
        return None
    tokens = [*_TOKEN.finditer(code, value.end(), end)]
    number = max((index for index, token in enumerate(tokens) if token.start() <= offset), default=0)
    best: tuple[float, int, Span] | None = None
    for formula in _formulas(libraries):
        span = formula.span
        written = [*_TOKEN.finditer(span.file.text, span.start, span.end)]
        matcher = SequenceMatcher(None, [token[0] for token in tokens], [token[0] for token in written], False)
        ratio = matcher.ratio()
        # Of two operators with the same formula, it is that whose class was named last.
        named = code.rfind(formula.node_name, 0, offset) if formula.node_name else -1
        if ratio < _LEAST or (best is not None and (ratio, named) <= best[:2]):
            continue
        place = span
        for block in matcher.get_matching_blocks():
            if block.a <= number < block.a + block.size:
                token = written[block.b + number - block.a]
                place = Span(span.file, token.start(), token.end())
        best = (ratio, named, place)
    return None if best is None else best[2]
