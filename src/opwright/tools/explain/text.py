"""Explanations for terminals: their sections, the dispatch table, colours and links."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from opwright.backends.dispatch.runtime_keys import KeyKind, runtime_keys
from opwright.model.dispatch_key import META
from opwright.source.records import NamedTuple
from opwright.source.terminal import counted
from opwright.tools.explain.records import (
    DerivativeRecord,
    DispatchRecord,
    Explanation,
    FilePlace,
    FormulaRecord,
    GradientRecord,
    ImplementationRecord,
    MemberRecord,
    OperationRecord,
    PythonRecord,
    RequirementsRecord,
    SchemaRecord,
    SignatureRecord,
    SymbolRecord,
)

_BOLD: Final = "\x1b[1m"
_BLUE: Final = "\x1b[1;34m"
_DIM: Final = "\x1b[2m"
_RESET: Final = "\x1b[0m"


class Painter(NamedTuple):
    """Paints texts for a terminal of some columns.

    `links` says that the terminal has links (OSC 8). `home` is the folder to which paths are shown relative, if they
    are below it.
    """

    color: bool = False
    links: bool = False
    columns: int = 80
    home: str = ""

    def title(self, text: str) -> str:
        """Title of a section."""
        return self._paint(text, _BOLD)

    def key(self, text: str) -> str:
        """A word that stands for what follows it."""
        return self._paint(text, _BLUE)

    def note(self, text: str) -> str:
        """A text that says more about what precedes it."""
        return self._paint(text, _DIM)

    def place(self, place: FilePlace, *, is_short: bool = False) -> str:
        """A file with its line, which links to the file; the name of the file alone if it `is_short`."""
        shown = os.path.basename(place.file) if is_short else self.shown_path(place.file)
        return self.link(f"{shown}:{place.line}", place.file)

    def shown_path(self, path: str) -> str:
        """A path as it is printed: relative to the home folder if it is below it."""
        below = os.path.join(self.home, "")
        return path.removeprefix(below) if self.home else path

    def link(self, text: str, path: str) -> str:
        """A text that links to a file, if the file exists."""
        if not self.links or not os.path.isfile(path):
            return text
        return f"\x1b]8;;{Path(path).resolve().as_uri()}\x1b\\{text}\x1b]8;;\x1b\\"

    def _paint(self, text: str, style: str) -> str:
        return f"{style}{text}{_RESET}" if self.color and text else text

    def wrap_signature(self, lead: str, text: str, indent: int) -> Iterator[str]:
        """A C++ signature after a lead, in lines that end between parameters.

        >>> signature = "Tensor add(Tensor a, Tensor b, Scalar alpha, bool c)"
        >>> print(*Painter(columns=40).wrap_signature("at::  ", signature, 4), sep="\\n")
        at::  Tensor add(Tensor a, Tensor b,
            Scalar alpha, bool c)
        """
        name, bracket, rest = text.partition("(")
        parameters = rest.replace(", ", ",\n").split("\n")
        line = f"{lead}{name}{bracket}"
        is_first = True
        for parameter in parameters:
            joined = line + parameter if is_first or not line.strip() else f"{line} {parameter}"
            if len(joined) > self.columns and line.strip():
                yield line
                joined = " " * indent + parameter
            line, is_first = joined, False
        yield line

    def wrap(self, lead: str, text: str, *, indent: int | None = None, note: bool = False) -> Iterator[str]:
        """A text after a lead, which is painted as a key, and continued below the text or at an indent."""
        below = " " * (len(lead) if indent is None else indent)
        lines = textwrap.wrap(
            text,
            max(self.columns, len(below) + 20),
            initial_indent=lead,
            subsequent_indent=below,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [lead.rstrip()]
        for index, line in enumerate(lines):
            start = lead if index == 0 else below
            rest = line[len(start) :]
            yield (self.key(start) if index == 0 and lead.strip() else start) + (self.note(rest) if note else rest)


#: Text without colours and links.
PLAIN: Final = Painter()
_INDENT: Final = "  "
#: More missing keys than this are not listed after `except`.
_MOST_EXCEPTIONS: Final = 6
#: The width of the column with keys; longer lists of keys have lines of their own.
_KEY_COLUMN: Final = 16
_NO_KERNEL: Final = ("fallback", "fallthrough", "error", "missing")


def dispatch_lines(records: Sequence[DispatchRecord], painter: Painter) -> Iterator[str]:
    """Rows of keys of tensors, then those of gradients, then what happens before."""
    kinds = {key.name: key.kind for key in runtime_keys()}
    before = [record for record in records if kinds[record.key] is KeyKind.functionality]
    for kind in (KeyKind.backend, KeyKind.autograd):
        yield from _rows([record for record in records if kinds[record.key] is kind], painter)
    yield from _rows([record for record in before if record.serving not in _NO_KERNEL], painter)
    rest = [record for record in before if record.serving in _NO_KERNEL]
    for lead, by_hand in (("no generated kernel:", False), ("none, unless PyTorch registers one by hand:", True)):
        names = compress_keys([record.key for record in rest if bool(record.by_hand) is by_hand])
        if names:
            yield from painter.wrap(_INDENT, f"{lead} {', '.join(names)}", indent=6, note=True)


def _rows(records: Iterable[DispatchRecord], painter: Painter) -> Iterator[str]:
    """A row for all keys that have the same kernel, kernels of single keys first."""
    groups: dict[DispatchRecord, list[DispatchRecord]] = {}
    for record in records:
        registered_for = "" if record.registered_for == record.key else record.registered_for
        by_hand = record.by_hand if record.kind == "by_hand" else ()
        shared = record._replace(key="", registered_for=registered_for, by_hand=by_hand)
        groups.setdefault(shared, []).append(record)
    ordered = sorted(groups, key=lambda shared: 2 if shared.serving in _NO_KERNEL else bool(shared.registered_for))
    for shared in ordered:
        members = groups[shared]
        keys = ", ".join(compress_keys([record.key for record in members]))
        if len(keys) <= _KEY_COLUMN:
            yield from painter.wrap(f"{_INDENT}{keys:<{_KEY_COLUMN}}  ", _what(shared), indent=6)
        else:
            yield from painter.wrap(_INDENT, keys)
            yield from painter.wrap("      ", _what(shared), indent=6)
        hand = sorted({path for record in members for path in record.by_hand})
        if hand and shared.kind == "by_hand":
            yield from painter.wrap("      ", f"in {', '.join(hand)}", note=True)
        for record in members:
            if record.key == META.name and record.by_hand and record.kind != "by_hand":
                source = record.by_hand[0]
                # The source has a line if it is known to replace this kernel.
                does = "replaces" if ":" in source else "may replace"
                yield from painter.wrap("      ", f"Python {does} the kernel for Meta: see {source}", note=True)


def _what(record: DispatchRecord) -> str:
    origin = f"{record.registered_for}: " if record.registered_for else ""
    if not record.kind:
        return record.text
    verb = "which calls" if record.serving == "composite" else "of"
    through = f", {verb} {record.through}" if record.through else ""
    text = "" if record.kind == "kernel" else f"; {record.text}"
    return f"{origin}{record.kernel}{through}{text}" if record.kernel else f"{origin}{record.text}{through}"


def compress_keys(names: Sequence[str]) -> list[str]:
    """Names of keys, with those of all devices as one.

    >>> compress_keys([key.name for key in runtime_keys() if key.name.startswith("Quantized")])
    ['Quantized*']
    """
    wanted = dict.fromkeys(names)
    shown: list[str] = []
    for prefix, family in _families().items():
        wanted_keys = [name for name in family if name in wanted]
        missing = [name.removeprefix(prefix) for name in family if name not in wanted]
        if len(wanted_keys) > 1 and len(missing) <= min(_MOST_EXCEPTIONS, len(wanted_keys)):
            every = f"{prefix}*" if prefix else "all devices"
            shown.append(every + (f" except {'/'.join(missing)}" if missing else ""))
            for name in wanted_keys:
                del wanted[name]
    return [*shown, *wanted]


@cache
def _families() -> dict[str, list[str]]:
    """Keys of all devices by the prefix of their names."""
    families: dict[str, list[str]] = {}
    for key in runtime_keys():
        if key.backend and key.name.endswith(key.backend):
            families.setdefault(key.name.removesuffix(key.backend), []).append(key.name)
    families["Autocast"] = [key.name for key in runtime_keys() if key.name.startswith("Autocast")]
    families.pop("Mkldnn", None)
    return families


_MOST_OTHERS: Final = 8


def render(explanation: Explanation, painter: Painter) -> str:
    """An explanation as text."""
    return "\n".join([*_lines(explanation, painter), ""])


def render_overloads(name: str, explanations: Sequence[Explanation], painter: Painter) -> str:
    """Overloads of an operator, when it is not said which of them is meant."""
    lines = [painter.title(f"{name} has {counted(len(explanations), 'overload')}:")]
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
    for attribute, title, print_lines in _PRINTERS:
        record = getattr(explanation, attribute)
        if record is not None and (record or attribute != "implementations"):
            yield from ("", painter.title(title), *print_lines(record, painter))


def _schema(record: SchemaRecord, painter: Painter) -> Iterator[str]:
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


def requirement_lines(record: RequirementsRecord, painter: Painter) -> Iterator[str]:
    """The patterns of sizes, then what has to hold."""
    width = max([len(sizes.name) for sizes in record.sizes], default=0)
    for sizes in record.sizes:
        yield f"{_INDENT}{painter.key(f'{sizes.name:<{width}}')}  {sizes.pattern}".rstrip()
    for condition in record.conditions:
        yield from painter.wrap(_INDENT, condition, indent=4)
    if record.reference:
        yield from painter.wrap(_INDENT, f"{record.reference} computes the same in Python", indent=4)


def implementation_lines(records: Sequence[ImplementationRecord], painter: Painter) -> Iterator[str]:
    """Kernels of each key, in the order in which they are tried."""
    width = max([len(record.name) for record in records], default=0)
    for key, key_records in groupby(records, key=lambda record: record.key):
        yield f"{_INDENT}{painter.key(key)}"
        for record in key_records:
            serves = f"when {record.when}" if record.when else "always"
            built = f"; if {record.condition}" if record.condition else ""
            priority = f"; priority {record.priority}" if record.priority else ""
            # A module, a colon and a function, where C++ has namespaces.
            python = f"; {record.kernel} in Python" if record.kernel.count(":") == 1 else ""
            lead = f"{_INDENT * 2}{record.name:<{width}}  "
            yield from painter.wrap(lead, f"{serves}{built}{priority}{python}", indent=8)


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
    """Symbols of each file; those with lines below each other."""
    for path, group in groupby(records, key=lambda record: record.file):
        symbols = list(group)
        yield f"{_INDENT}{painter.link(painter.shown_path(path), path)}"
        if any(symbol.line for symbol in symbols):
            width = max(len(str(symbol.line)) for symbol in symbols)
            for symbol in symbols:
                yield f"    {painter.note(f'{symbol.line:>{width}}')}  {symbol.name}".rstrip()
        elif any(symbol.name for symbol in symbols):
            yield from painter.wrap("    ", ", ".join([symbol.name for symbol in symbols if symbol.name]))


#: The records of explanations in their order, with titles and what prints them.
_PRINTERS: Final[tuple[tuple[str, str, Callable[[Any, Painter], Iterator[str]]], ...]] = (
    ("roles", "Arguments", _schema),
    ("requirements", "Requirements", requirement_lines),
    ("operation", "Operation", _operation),
    ("dispatch", "Dispatch", dispatch_lines),
    ("implementations", "Implementations", implementation_lines),
    ("signatures", "C++ signatures", _signatures),
    ("derivative", "Gradients", _derivative),
    ("python", "Python", _python),
    ("symbols", "Generated code", _symbols),
)
