"""The generated C++ functions and classes of an overload, with the files that they go to.

The texts are those of the emitters' fragments, so a new family of files needs no change here. With an output folder
that has provenance, the files on disk give the lines.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from opwright.convention import public_api
from opwright.emit.autograd.kernels import kernel_name
from opwright.emit.emitter import AnyEmitter, Job
from opwright.emit.registry import build_folders, emitters
from opwright.files.plan import file_specs, is_everything
from opwright.model.native_function import NativeFunction
from opwright.schema.function import SchemaKind
from opwright.source.diagnostic import Fault
from opwright.source.text import SourceFile
from opwright.tools.explain.records import SymbolRecord
from opwright.workspace.provenance import (
    FileOrigin,
    all_functions_of_unit,
    functions_of_unit,
    likeness,
    lines_alone,
    unit_owners,
)

#: The head of a function that is defined here: its name before a bracket. It starts a line.
_FUNCTION: Final = re.compile(r"(?:[\w:]+[\w:<>,&*\s]*?[\s&*])?((?:\w+::)*~?\w+)\s*\(")
_CLASS: Final = re.compile(r"(?:struct|class)\s+(?:[A-Z_]+_API\s+)?(\w+)\b[^;]*$")
_PYTHON: Final = re.compile(r"def (\w+)\(")
_NO_FUNCTIONS: Final = frozenset(
    (
        *("if", "for", "while", "switch", "return", "else", "namespace", "m"),
        *("static_assert", "TORCH_LIBRARY_IMPL", "TORCH_IMPL_FUNC"),
    )
)


def defined_symbols(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The functions and classes that lines define, with the index of the line.

    >>> lines = ["namespace {", "at::Tensor wrapper_add(const at::Tensor & self) {", "  return f(self);", "}"]
    >>> list(defined_symbols(lines))
    [(1, 'wrapper_add')]
    """
    for index, line in enumerate(lines):
        if not line or line[0].isspace() or line.endswith(";"):
            continue
        match = _CLASS.match(line) or _PYTHON.match(line)
        opens_below = line.endswith(")") and index + 1 < len(lines) and lines[index + 1].startswith("{")
        if match is None and (line.endswith("{") or opens_below):
            match = _FUNCTION.match(line)
        if match is not None and match[1] not in _NO_FUNCTIONS:
            yield index, match[1]


def planned_symbols(function: NativeFunction, job: Job, families: Sequence[str]) -> tuple[SymbolRecord, ...]:
    """What emitters of some families make from an overload, with the files; lines are known when they are written."""
    folders = build_folders("", families)
    records: list[SymbolRecord] = []
    for emitter in emitters(job, families):
        units = emitter.units(job)
        chosen = [number for number, unit in enumerate(units) if is_of_unit(function, unit)]
        if not chosen:
            continue
        for spec in file_specs(emitter, units):
            unit_names = [units[number] for number in chosen if number in spec.units]
            if unit_names and not is_everything(spec.path):
                path = f"{folders[spec.folder]}/{spec.path}".lstrip("/")
                records += _symbols_of_units(function, unit_names, emitter, job, path)
    return tuple(dict.fromkeys(records))


def is_of_unit(function: NativeFunction, unit: object) -> bool:
    """Whether a unit is about an overload; those of libraries are about many operators."""
    return function in (functions_of_unit if function.library.in_libtorch else all_functions_of_unit)(unit)


def _symbols_of_units(
    function: NativeFunction, units: Iterable[object], emitter: AnyEmitter, job: Job, path: str
) -> Iterator[SymbolRecord]:
    """Symbols in the fragments of units; an empty name stands for text without a symbol."""
    for unit in units:
        names, has_text = [], False
        is_shared = not functions_of_unit(unit)
        others = dict.fromkeys(all_functions_of_unit(unit)) if is_shared else {}
        others.pop(function, None)
        for lines in _texts(unit, emitter, job):
            if is_shared:
                names += [name for _, name in defined_symbols(lines) if _names_only(name, function, others)]
                continue
            owned = _owned_lines(function, unit, lines, emitter, job)
            names += [name for index, name in defined_symbols(lines) if owned[index] and _may_name(function, name)]
            has_text = has_text or any(is_own and _is_code(line) for is_own, line in zip(owned, lines, strict=True))
        if names or has_text:
            yield from [SymbolRecord(name, path, 0) for name in names or [""]]


def _is_code(line: str) -> bool:
    return bool(line.strip()) and not line.startswith(("#", "//"))


def _may_name(function: NativeFunction, symbol: str) -> bool:
    """Whether a symbol can be that of an overload, and is not that of another member of its group.

    >>> import opwright
    >>> function = opwright.load()["add.out"]
    >>> [_may_name(function, name) for name in ("wrapper_CPU_add_out_out", "wrapper_CPU_add_Tensor", "add_kernel")]
    [True, False, True]
    """
    members = [] if function.group is None else function.group.functions()
    name_likeness = _likeness(function, symbol)
    return all(_likeness(member, symbol) <= name_likeness for member in members)


def _names_only(symbol: str, function: NativeFunction, others: Iterable[NativeFunction]) -> bool:
    """Whether a symbol names an overload more clearly than the other ones."""
    name_likeness = _likeness(function, symbol)
    return name_likeness > 0 and all(_likeness(other, symbol) < name_likeness for other in others)


#: What stands around the name of an overload in some symbols.
_AFFIXES: Final = re.compile(r"^create_|_typed_handle$|_generated_plumbing$")

#: What the classes of structured kernels end with.
_CLASS_ENDINGS: Final = {
    SchemaKind.functional: "_functional",
    SchemaKind.inplace: "_inplace",
    SchemaKind.out: "_out",
}


def _likeness(function: NativeFunction, symbol: str) -> int:
    if symbol.startswith("structured_") and symbol.endswith(tuple(_CLASS_ENDINGS.values())):
        return int(symbol.endswith(_CLASS_ENDINGS.get(function.kind, "")))
    names = [signature.name for signature in public_api.function_signatures(function).all()]
    kernel = kernel_name(function)
    if symbol.endswith((f"_{kernel}", f"::{kernel}")):
        return len(kernel)
    words = [*symbol.split("::"), _AFFIXES.sub("", symbol)]
    lengths = [likeness(word, function.name) for word in words]
    return max(*lengths, *[len(symbol) for name in names if symbol == name], 0)


def _texts(unit: object, emitter: AnyEmitter, job: Job) -> Iterator[Sequence[str]]:
    for value in emitter.fragment(unit, job).values():
        for text in (value,) if isinstance(value, str) else value:
            yield text.split("\n")


def _owned_lines(
    function: NativeFunction, unit: object, lines: Sequence[str], emitter: AnyEmitter, job: Job
) -> Sequence[bool]:
    """Whether each line is made from the overload, or from all of its unit."""
    functions = functions_of_unit(unit)
    if len(functions) == 1:
        return [True] * len(lines)
    owners = unit_owners(lines, functions, lines_alone(unit, functions, emitter, job))
    return [function in group for group in owners]


def written_symbols(function: NativeFunction, origins: Mapping[str, FileOrigin]) -> tuple[SymbolRecord, ...]:
    """What the files on disk define for an overload, by the provenance of their lines."""
    entry = (os.path.abspath(function.entry.file.path), function.entry.line)
    records: list[SymbolRecord] = []
    for path, origin in origins.items():
        # A line names the overload from whose entry others are synthesized.
        is_synthesized, name = function.is_synthesized, function.name.text
        ranges = [
            line
            for line in origin.lines
            if (line.path, line.line) == entry and (is_synthesized or line.operator == name)
        ]
        if not ranges or is_everything(path):
            continue
        try:
            lines = SourceFile.read_plain(path).text.split("\n")
        except Fault:
            # The provenance may be older than the files, or forged.
            continue
        names: dict[str, int] = {}
        for first, last, *_ in ranges:
            for index, name in defined_symbols(lines[first - 1 : last]):
                if _may_name(function, name):
                    names.setdefault(name, first + index)
        records += [SymbolRecord(name, path, line) for name, line in names.items()]
        first = next((first for first, last, *_ in ranges if any(map(_is_code, lines[first - 1 : last]))), 0)
        if not names and first and not function.is_synthesized:
            records.append(SymbolRecord("", path, first))
    return tuple(records)
