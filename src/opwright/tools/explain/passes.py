"""An overload after each stage from its entry to files, as the stage leaves it."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Final

from opwright.backends.dispatch.resolution import qualified_name
from opwright.emit.emitter import AnyEmitter
from opwright.emit.registry import build_folders, emitters
from opwright.files.plan import file_specs
from opwright.model.native_function import FIELD_NAMES, NO_FIELDS, NativeFunction
from opwright.schema.names import OperatorName
from opwright.source.nodes import MappingNode, Node, Scalar
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from opwright.tools.explain.loading import Explained
from opwright.tools.explain.schemas import operation_record, schema_record
from opwright.tools.explain.signatures import signature_records
from opwright.tools.explain.symbols import is_of_unit

#: Attributes that follow from the fields and the schema.
_FACTS: Final = ("root_name", "kind", "is_view", "is_abstract", "needs_derivative", "is_synthesized", "style")


def passes_text(function: NativeFunction, explained: Explained) -> str:
    """All stages, with a title for each."""
    lines = [qualified_name(function)]
    for name, (title, stage) in STAGES.items():
        lines += ["", f"--- {name}: {title}", *stage(function, explained)]
    return "\n".join([*lines, ""])


def _nodes(function: NativeFunction, _: Explained) -> Iterator[str]:
    entry = function.entry
    # The span starts behind the dash, so blanks stand for what precedes it.
    file = SourceFile(entry.file.path, f"{' ' * (entry.column - 1)}{entry.text}\n")
    root = load_yaml(file)
    assert isinstance(root, MappingNode)
    yield from _node_lines(root, entry.line - 1, "")


def _node_lines(node: Node, line: int, indent: str) -> Iterator[str]:
    pairs = node.entries if isinstance(node, MappingNode) else [(item, item) for item in getattr(node, "items", ())]
    for key, value in pairs:
        head = f"{line + key.span.line}:{key.span.column}"
        name = f"{key.value}: " if isinstance(node, MappingNode) and isinstance(key, Scalar) else "- "
        text = f"{value.kind} {value.value}" if isinstance(value, Scalar) else value.description
        yield f"{head:<8}{indent}{name}{text}"
        if not isinstance(value, Scalar):
            yield from _node_lines(value, line, f"{indent}  ")


def _entry(function: NativeFunction, _: Explained) -> Iterator[str]:
    for name in FIELD_NAMES:
        value = getattr(function, name)
        if value != getattr(NO_FIELDS, name):
            yield f"{name}: {_shown(value)}"
    for key, kernel in function.kernels.items():
        details = " structured" * kernel.structured + " symint" * kernel.symint
        yield f"kernel {key.name}: {kernel.namespace}::{kernel.name}{details}"


def _shown(value: object) -> str:
    """A value of the model, in words."""
    match value:
        case str():
            return value
        case enum.Enum():
            return str(value.name)
        case frozenset():
            return ", ".join(sorted(map(_shown, value)))
        case dict():
            return ", ".join([f"{_shown(key)}={_shown(item)}" for key, item in value.items()])
        case tuple() | list():
            return ", ".join(map(_shown, value))
        case OperatorName():
            return value.text
    slots = getattr(value, "__slots__", ())
    return f"({', '.join([f'{slot}={_shown(getattr(value, slot))}' for slot in slots])})" if slots else str(value)


def _schema(function: NativeFunction, _: Explained) -> Iterator[str]:
    record = schema_record(function)
    yield f"operator {function.name.name}, overload {function.name.overload or 'without a name'}"
    for argument in record.arguments:
        default = "" if argument.default is None else f" = {argument.default}"
        alias = f" ({argument.alias})" if argument.alias else ""
        keyword = "keyword " if argument.keyword_only else ""
        yield f"argument {argument.name}: {argument.type}{alias}{default}, {keyword}{argument.role}"
    for result in record.results:
        yield f"result {result.name or '-'}: {result.type}{f', is or aliases {result.of}' if result.of else ''}"


def _function(function: NativeFunction, _: Explained) -> Iterator[str]:
    for fact in _FACTS:
        yield f"{fact}: {_shown(getattr(function, fact))}"


def _group(function: NativeFunction, _: Explained) -> Iterator[str]:
    record = operation_record(function)
    for title, members in (("group", record.members), ("view group", record.view_members)):
        for member in members:
            origin = f", synthesized from {member.synthesized_from}" if member.synthesized_from else ""
            yield f"{title}: {member.role} {member.name}{origin}"


def _signatures(function: NativeFunction, explained: Explained) -> Iterator[str]:
    for record in signature_records(function, explained.job):
        yield f"{record.convention}: {record.text or f'none: {record.note}'}"


def _fragments(function: NativeFunction, explained: Explained) -> Iterator[str]:
    for emitter, units in _emitters(function, explained):
        context = explained.job.context(emitter.reads)
        for unit in units:
            fragment = emitter.fragment(unit, context).items()
            texts = {slot: [value] if isinstance(value, str) else value for slot, value in fragment}
            counts = {slot: sum([len(text.splitlines()) for text in listed]) for slot, listed in texts.items()}
            slots = [f"{slot} {count}" for slot, count in counts.items() if count]
            if slots:
                yield f"{emitter.name}: {type(unit).__name__}, {', '.join(slots)}"


def _files(function: NativeFunction, explained: Explained) -> Iterator[str]:
    folders = build_folders("", explained.families)
    for emitter, units in _emitters(function, explained):
        every = emitter.units(explained.job)
        chosen = {number for number, unit in enumerate(every) if unit in units}
        for spec in file_specs(emitter, every):
            if chosen.intersection(spec.units):
                yield f"{folders[spec.folder]}/{spec.path}".lstrip("/")


def _emitters(function: NativeFunction, explained: Explained) -> Iterator[tuple[AnyEmitter, list[object]]]:
    for emitter in emitters(explained.job, explained.families):
        units = [unit for unit in emitter.units(explained.job) if is_of_unit(function, unit)]
        if units:
            yield emitter, units


#: Stage -> what it makes, and the lines that show it.
STAGES: Final = {
    "nodes": ("the entry as nodes of YAML, with lines and columns", _nodes),
    "entry": ("the fields that differ from their defaults, and the kernels", _entry),
    "schema": ("the parsed text of `func`", _schema),
    "function": ("what follows from fields and schema", _function),
    "group": ("the overloads that belong together", _group),
    "signatures": ("C++ under each calling convention", _signatures),
    "fragments": ("the unit of each emitter, and the lines that it gives to slots of templates", _fragments),
    "files": ("where these lines go", _files),
}
