"""Backward formulas: their words, and what they make the autograd node save from the forward call.

A formula may use only a fact about an argument or a result, such as `self.sym_sizes()`. The fact is then saved instead
of the tensor, and the formula reads `self_sym_sizes`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from opwright.model.derivatives import SavedAttribute, SavedKind, words_of
from opwright.schema.function import Argument, Return
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics
from opwright.source.lazy import lazy_pattern
from opwright.source.nodes import Scalar
from opwright.source.records import NamedTuple
from opwright.source.span import Span

_WORD: Final = lazy_pattern(r"\w+")
_GRADIENT_INDEX: Final = lazy_pattern(r"(?:^|\W)grads\[(\d+)\]")
_FIXED_SIZE: Final = lazy_pattern(r"(?:\.|->)size\(-?\d+\)")
#: A function or method that gets sizes alone: its name, of what, and the call that gives them.
_PASSED: Final = lazy_pattern(r"\b(\w+)\((\w+)(\.(?:sizes|strides)\(\))\)")
_SYM_SIZE: Final = lazy_pattern(r"\.sym_size\((-?\w+)\)")


def occurrences(formula: str, word: str) -> list[int]:
    """Occurrences of a word in a formula, each with the characters around it, which no other occurrence shares.

    PyTorch reads formulas this way: of `grad*grad` it sees only the first word, to which the asterisk belongs.

    >>> occurrences("grad * grad", "grad"), occurrences("grad*grad", "grad")
    ([0, 7], [0])
    """
    occurrences: list[int] = []
    if word in formula:
        taken = -1
        for match in _WORD.finditer(formula):
            start = match.start()
            if start > taken and match.group() == word:
                occurrences.append(start)
                taken = match.end() + 1
    return occurrences


def substitute_word(formula: str, word: str, text: str) -> str:
    """Formula with a word replaced by a text.

    >>> substitute_word("grad * self.sgn()", "self", "self_p")
    'grad * self_p.sgn()'
    """
    for start in reversed(occurrences(formula, word)):
        formula = formula[:start] + text + formula[start + len(word) :]
    return formula


def gradient_indices(formula: str) -> list[int]:
    """Indices in `grads[...]` in a formula.

    >>> gradient_indices("at::cat(grads[1], grads[0])")
    [1, 0]
    """
    return [int(index) for index in _GRADIENT_INDEX.findall(formula)] if "grads[" in formula else []


def part_span(scalar: Scalar, part: str) -> Span:
    """Span of a part of a scalar's value, preferably as a whole word; the whole scalar if it does not occur."""
    edge = r"\b" if part.isidentifier() else ""
    match = re.search(edge + re.escape(part) + edge, scalar.value)
    return scalar.span if match is None else scalar.span_of(match.start(), match.end())


class Savable(NamedTuple):
    """An argument or a result by the name that formulas use."""

    name: str
    source: Argument | Return | None


class _Fact(NamedTuple):
    """A fact about a value: the text around the value's name in formulas, and the suffix of the saved fact's name.

    `expression` reads the fact in the forward call, if it differs from the formula's text, and `reads` reads the saved
    fact in the backward formula, if it is more than its name.
    """

    kind: SavedKind
    before: str
    after: str
    suffix: str
    expression: str = ""
    reads: str = "{}"


_OPTIONAL_SIZES: Final = "{0}.has_value() ? std::optional<c10::SymIntArrayRef>({0}->sym_sizes()) : std::nullopt"

#: The facts, in the order of the search. SIZE has an argument and therefore a pattern of its own.
_FACTS: Final = (
    _Fact(SavedKind.SIZES, "", ".sym_sizes()", "_sym_sizes"),
    _Fact(SavedKind.OPTIONAL_SIZES, "", "->sym_sizes()", "_sym_sizes_opt", _OPTIONAL_SIZES),
    _Fact(
        SavedKind.BLOCK_SIZE,
        "",
        ".sym_blocksize()",
        "_self_sym_blocksize_opt",
        "at::sparse_csr::getSymIntBlockSize({0})",
    ),
    _Fact(SavedKind.OPTIONS, "", ".options()", "_options"),
    _Fact(SavedKind.INFO, "zeros_like(", ")", "_info", "{0}", "{}.zeros()"),
    _Fact(SavedKind.SIZE, "", ".sym_size(", "_sym_argsize_"),
    _Fact(SavedKind.NUMEL, "", ".numel()", "_numel"),
    _Fact(SavedKind.SYM_NUMEL, "", ".sym_numel()", "_sym_numel"),
    _Fact(SavedKind.LIST_SIZES, "to_args_sizes(", ")", "_args_sizes"),
    _Fact(SavedKind.LIST_SYM_SIZES, "to_args_sizes_symint(", ")", "_args_sizes_symint"),
    _Fact(SavedKind.LIST_SCALAR_TYPES, "to_args_scalartypes(", ")", "_args_scalartypes"),
    _Fact(SavedKind.GEOMETRY, "TensorGeometry(", ")", "_geometry"),
    _Fact(SavedKind.SCALAR_TYPE, "", ".scalar_type()", "_scalar_type"),
    _Fact(SavedKind.DIM, "", ".dim()", "_dim"),
    _Fact(SavedKind.STRIDES, "", ".sym_strides()", "_sym_strides", 'strides_or_error({0}, "{0}")'),
    _Fact(SavedKind.LAYOUT, "", ".layout()", "_layout"),
    _Fact(SavedKind.CONJUGATE, "", ".is_conj()", "_conjugate"),
)

#: Each fact with the text that marks it in a formula, and the word in that text.
_MARKS: Final = tuple(
    [((fact.before or fact.after).strip(".->()"), fact.before or fact.after, fact) for fact in _FACTS]
)
_FACT_WORDS: Final = frozenset(word for word, _, _ in _MARKS)

#: Calls that give plain integers -> the symbolic ones to use instead.
_FIXED: Final = (
    (".sizes()", "sym_sizes"),
    ("->sizes()", "sym_sizes"),
    (".strides()", "sym_strides"),
    ("->strides()", "sym_strides"),
)
_STRING: Final = "{0}.has_value() ? std::optional<std::string_view>({0}.value()) : std::nullopt"


def check_fixed_sizes(scalar: Scalar, report: Diagnostics) -> None:
    """Reports facts in plain integers: formulas must use symbolic ones."""
    formula = scalar.value
    if "size" not in formula and "strides" not in formula:
        return
    for asked, instead in _FIXED:
        if asked in formula:
            call = _PASSED.search(formula)
            is_passed = call is not None and call.group(3) == asked
            written = f"{call.group(1)}_symint({call.group(2)}.{instead}())" if call and is_passed else f"{instead}()"
            message, help = f"`{asked}` is not supported in formulas", f"write `{written}`, with symbolic integers"
            report.error(codes.FIXED_SIZES, message, part_span(scalar, asked), help=help)
    match = _FIXED_SIZE.search(formula)
    if match is not None:
        message, help = (
            f"`{match.group()}` is not supported in formulas",
            "write `sym_size`, which gives a symbolic integer",
        )
        report.error(codes.FIXED_SIZES, message, part_span(scalar, match.group()), help=help)


class Saving(NamedTuple):
    """A formula that reads saved attributes, its words, and the attributes."""

    formula: str
    words: frozenset[str]
    saved: tuple[SavedAttribute, ...]


def saved_by(
    scalar: Scalar,
    formula: str,
    words: frozenset[str],
    values: Sequence[Savable],
    var_names: tuple[str, ...],
    report: Diagnostics,
) -> Saving:
    """Formula, made from that of the scalar, that reads what the node saves of these values. `words` are its words."""
    asked = words & _FACT_WORDS
    facts = [fact for word, mark, fact in _MARKS if word in asked and mark in formula] if asked else []
    saved: list[SavedAttribute] = []
    for value in values:
        name = value.name
        if facts and name in formula:
            earlier = formula
            for fact in facts:
                before = formula
                formula = _with_fact(formula, fact, name, saved)
                if fact.kind is SavedKind.STRIDES and formula is not before and var_names != (name,):
                    text = f"{fact.before}{name}{fact.after}"
                    message = f"`{text}` is supported only in the formula of `{name}` alone"
                    report.error(codes.STRIDES_OF_OTHER, message, part_span(scalar, text))
            if formula is not earlier:
                words = words_of(formula)
        if name not in words:
            continue
        if value.source is not None and value.source.type.text == "str?":
            formula = re.sub(rf"\b{name}\b", _STRING.format(name), formula)
            words = words_of(formula)
        saved.append(SavedAttribute(name, name, SavedKind.VALUE, value.source))
    return Saving(formula, words, tuple(saved))


def _with_fact(formula: str, fact: _Fact, name: str, saved: list[SavedAttribute]) -> str:
    """Formula with a fact about a value replaced by the saved one, which is added to `saved`."""
    if fact.kind is SavedKind.SIZE:
        return _with_sizes(formula, name, saved)
    asked = f"{fact.before}{name}{fact.after}"
    count = formula.count(asked)
    if not count:
        return formula
    expression = fact.expression.format(name) if fact.expression else asked
    saved += [SavedAttribute(name + fact.suffix, expression, fact.kind, None)] * count
    return formula.replace(asked, fact.reads.format(name + fact.suffix))


def _with_sizes(formula: str, name: str, saved: list[SavedAttribute]) -> str:
    pieces: list[str] = []
    position = 0
    for match in _SYM_SIZE.finditer(formula):
        start = match.start() - len(name)
        if start < position or not formula.startswith(name, start):
            continue
        dimension = match.group(1).replace("-", "minus_")
        attribute = f"{name}_sym_argsize_{dimension}"
        saved.append(SavedAttribute(attribute, formula[start : match.end()], SavedKind.SIZE, None))
        pieces += [formula[position:start], attribute]
        position = match.end()
    return "".join(pieces) + formula[position:] if pieces else formula
