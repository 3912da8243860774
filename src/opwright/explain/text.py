"""Explanations for terminals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from opwright.explain.dispatch_text import dispatch_lines
from opwright.explain.paint import Painter
from opwright.explain.records import (
    DerivativeRecord,
    Explanation,
    FormulaRecord,
    GradientRecord,
    ImplementationRecord,
    MemberRecord,
    OperationRecord,
    PythonRecord,
    SchemaRecord,
    SignatureRecord,
    SymbolRecord,
)

__all__ = ["render", "render_overloads"]

_INDENT: Final = "  "
_MOST_OTHERS: Final = 8


def render(explanation: Explanation, painter: Painter) -> str:
    """An explanation as text."""
    return "\n".join([*_lines(explanation, painter), ""])


def render_overloads(name: str, explanations: Sequence[Explanation], painter: Painter) -> str:
    """The overloads of an operator, when it is not said which of them is meant."""
    lines = [painter.title(f"{name} has {len(explanations)} overloads:")]
    for explanation in explanations:
        lines.append("")
        lines += painter.wrap(_INDENT, explanation.schema, indent=6)
        origin = "synthesized; " if explanation.synthesized else ""
        lines.append(painter.note(f"      {origin}{painter.place(explanation.entry)}"))
    first = explanations[0].name
    lines += ["", *painter.wrap("", f"`opwright explain {first}` explains one of them, `--all` explains all."), ""]
    return "\n".join(lines)


def _lines(explanation: Explanation, painter: Painter) -> Iterator[str]:
    yield painter.title(explanation.name)
    yield from painter.wrap(_INDENT, explanation.schema, indent=6)
    origin = "synthesized from the entry at " if explanation.synthesized else ""
    yield f"{_INDENT}{origin}{painter.place(explanation.entry)}"
    yield f"{_INDENT}{painter.note(f'PyTorch {explanation.release}')}"
    others = explanation.others
    if others:
        more = f" and {len(others) - _MOST_OTHERS} more" if len(others) > _MOST_OTHERS else ""
        text = f"other overloads: {', '.join(others[:_MOST_OTHERS])}{more}"
        yield from painter.wrap(_INDENT, text, indent=4, note=True)
    sections: list[tuple[str, Iterable[str]]] = []
    if explanation.roles is not None:
        sections.append(("Arguments", _schema(explanation.roles, painter)))
    if explanation.operation is not None:
        sections.append(("Operation", _operation(explanation.operation, painter)))
    if explanation.dispatch is not None:
        sections.append(("Dispatch", dispatch_lines(explanation.dispatch, painter)))
    if explanation.implementations:
        sections.append(("Implementations", _implementations(explanation.implementations, painter)))
    if explanation.signatures is not None:
        sections.append(("C++ signatures", _signatures(explanation.signatures, painter)))
    if explanation.derivative is not None:
        sections.append(("Gradients", _derivative(explanation.derivative, painter)))
    if explanation.python is not None:
        sections.append(("Python", _python(explanation.python, painter)))
    if explanation.symbols is not None:
        sections.append(("Generated code", _symbols(explanation.symbols, painter)))
    for title, lines in sections:
        yield from ("", painter.title(title), *lines)


def _schema(record: SchemaRecord, painter: Painter) -> Iterator[str]:
    """A table of arguments, and the results."""
    rows = [
        (
            argument.name,
            argument.type + ("" if argument.default is None else f" = {argument.default}"),
            _ROLES[argument.role] + (f" ({argument.alias})" if argument.alias else ""),
            "keyword only" if argument.keyword_only and argument.role == "input" else "",
        )
        for argument in record.arguments
    ]
    widths = [max([len(row[column]) for row in rows], default=0) for column in range(2)]
    for name, type, role, keyword in rows:
        text = f"{type:<{widths[1]}}  {role}{f', {keyword}' if keyword else ''}"
        yield from painter.wrap(f"{_INDENT}{name:<{widths[0]}}  ", text)
    for result in record.results:
        name = f" {result.name}" if result.name else ""
        of = f"is or aliases `{result.of}`" if result.of else "a new value"
        yield f"{_INDENT}{painter.key('->')} {result.type}{name}, {of}"
    if not record.results:
        yield f"{_INDENT}{painter.key('->')} nothing"


_ROLES: Final = {
    "input": "input",
    "written": "is written",
    "viewed": "the result is a view of it",
    "out": "receives a result",
    "option": "tensor option",
}


def _implementations(records: Sequence[ImplementationRecord], painter: Painter) -> Iterator[str]:
    """The kernels of each key, in the order in which they are tried."""
    width = max(len(record.name) for record in records)
    for key, own in groupby(records, key=lambda record: record.key):
        yield f"{_INDENT}{painter.key(key)}"
        for record in own:
            serves = f"when {record.when}" if record.when else "always"
            built = f"; if {record.condition}" if record.condition else ""
            priority = f"; priority {record.priority}" if record.priority else ""
            yield from painter.wrap(f"{_INDENT * 2}{record.name:<{width}}  ", f"{serves}{built}{priority}", indent=8)


def _operation(record: OperationRecord, painter: Painter) -> Iterator[str]:
    synthesized = f", synthesized from {record.synthesized_from}" if record.synthesized_from else ""
    variants = " and ".join(record.variants)
    yield from painter.wrap(_INDENT, f"{record.role} overload{synthesized}; variants: {variants}", indent=4)
    if record.structured:
        yield from painter.wrap(_INDENT, f"structured: the kernels are those of {record.structured}", indent=4)
    members = dict.fromkeys((*record.members, *record.view_members))
    width = max([len(member.role) for member in members], default=0)
    for member in members:
        yield from _member(member, width, painter)
    if record.tags:
        yield from painter.wrap(f"{_INDENT}tags: ", ", ".join(record.tags))
    for fact in record.facts:
        yield from painter.wrap(_INDENT, fact, indent=4)


def _member(member: MemberRecord, width: int, painter: Painter) -> Iterator[str]:
    origin = f", synthesized from {member.synthesized_from}" if member.synthesized_from else ""
    place = "" if origin else f", line {member.place.line}"
    yield from painter.wrap(f"{_INDENT}{member.role:<{width}}  ", f"{member.name}{origin}{place}")


def _signatures(records: Sequence[SignatureRecord], painter: Painter) -> Iterator[str]:
    for convention, group in groupby(records, key=lambda record: record.convention):
        for record in group:
            note = f" ({record.note})" if record.note and record.text else ""
            yield from painter.wrap(f"{_INDENT}{convention}", note, indent=6, note=True)
            if record.text:
                yield from painter.wrap_signature("    ", record.text, indent=8)
            else:
                yield from painter.wrap("    ", f"none: {record.note}", indent=8)


def _derivative(record: DerivativeRecord, painter: Painter) -> Iterator[str]:
    yield from painter.wrap(_INDENT, record.text)
    for gradient in record.gradients:
        yield from _gradient(gradient, painter)


def _gradient(record: GradientRecord, painter: Painter) -> Iterator[str]:
    key = "" if record.key == "Default" else f" for {record.key}"
    yield from painter.wrap(_INDENT, f"{record.node or 'no node'}{key}")
    for formula in record.formulas:
        yield from _formula("gradient of", formula, painter)
    for saved in record.saved:
        source = "" if saved.expression == saved.name else f" = {saved.expression}"
        result = ", a result" if saved.is_result else ""
        yield from painter.wrap("    saves ", f"{saved.name}: {saved.type}{source}{result}", indent=8)
    for formula in record.forward:
        yield from _formula("tangent of", formula, painter)
    if not record.forward:
        yield "    no formula for forward mode"
    if record.not_differentiable:
        yield from painter.wrap("    ", f"not differentiable: {', '.join(record.not_differentiable)}")


def _formula(what: str, formula: FormulaRecord, painter: Painter) -> Iterator[str]:
    head = f"{what} {', '.join(formula.names)}"
    yield f"    {painter.key(head)}  {painter.note(painter.place(formula.place, is_short=True))}"
    yield from painter.wrap("        ", " ".join(formula.formula.split()), indent=10)


def _python(records: Sequence[PythonRecord], painter: Painter) -> Iterator[str]:
    if not records:
        yield f"{_INDENT}no generated binding; torch.ops has every operator"
    for record in records:
        deprecated = "" if record.place is None else f"deprecated, {painter.place(record.place, is_short=True)}"
        yield from painter.wrap(_INDENT, record.signature, indent=6)
        if deprecated:
            yield f"      {painter.note(deprecated)}"


def _symbols(records: Sequence[SymbolRecord], painter: Painter) -> Iterator[str]:
    """The symbols of each file; those with lines below each other."""
    for path, group in groupby(records, key=lambda record: record.file):
        symbols = list(group)
        yield f"{_INDENT}{painter.link(painter.shown_path(path), path)}"
        if any(symbol.line for symbol in symbols):
            width = max(len(str(symbol.line)) for symbol in symbols)
            for symbol in symbols:
                yield f"    {painter.note(f'{symbol.line:>{width}}')}  {symbol.name}".rstrip()
        elif any(symbol.name for symbol in symbols):
            yield from painter.wrap("    ", ", ".join([symbol.name for symbol in symbols if symbol.name]))
