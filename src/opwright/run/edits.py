"""Runs after an edit that changed few entries: they load only the operations of these entries.

Most edits change an entry in place: a default, a kernel, a formula. Then the files of the previous build are right but
for the units of a few operators. Such a run compares the inputs with their texts as the last run read them, loads the
operations of the entries that changed as they were and as they are, and has `EditedFiles` put the units of the one in
place of those of the other. It is one process, and takes time in proportion to the edit.

Wherever that may not give what a run with all operators gives, there is no such run: after other changes of the inputs
or of the outputs, after a run with messages, for families whose units may hold functions of several operations, and if
loading or rendering finds any fault. A run with all operators then does the work, and reports the faults.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from opwright.dialects.table import DEPRECATED, DERIVATIVES, NATIVE_FUNCTIONS
from opwright.emit.registry import dialects_of, families_with, has_local_units
from opwright.incremental.edit import NotLocal
from opwright.incremental.state import kept_texts
from opwright.model.catalog import PartialCatalog
from opwright.model.derivatives import DEFAULT_KEY, node_prefix
from opwright.release.tree import rules_of
from opwright.schema.names import FOREACH_PREFIX
from opwright.schema.signature import base_of_operation
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound
from opwright.source.items import ChosenItems, split_items
from opwright.source.named_tuple import NamedTuple
from opwright.source.text import SourceFile

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from opwright.dialects.dialect import Dialect
    from opwright.emit.emitter import Job
    from opwright.files.staging import Journal
    from opwright.incremental.identity import InputStamps, Run
    from opwright.incremental.previous_build import PreviousBuild
    from opwright.incremental.state import Manifest
    from opwright.release.inputs import Inputs
    from opwright.run.generation import Outcome
    from opwright.run.request import Request
    from opwright.source.items import ItemText

__all__ = ["MOST_CHANGED", "compare_inputs", "inputs_to_keep", "write_edit"]

MOST_CHANGED: Final = 64
"""The most entries that an edit may change; loading all operators is not much slower after larger ones."""

_OPERATORS: Final[Mapping[str, re.Pattern[str]]] = {
    NATIVE_FUNCTIONS.name: re.compile(r"func: +([\w.]+)\("),
    DERIVATIVES.name: re.compile(r"name: +([\w.]+)\("),
    DEPRECATED.name: re.compile(r"name: .*\n  aten: (\w+?)(?:_out)?\("),
}
"""The dialects whose entries may change, and how an entry begins, with the operator that it is about."""

_DISPATCH: Final = "\n  dispatch:"
_KEY: Final = re.compile(r"\n    (\w+):")

_WORD: Final = re.compile(r"\w+")

_SYMBOLIC: Final = "_symint"
"""What the names of functions with symbolic sizes end with, where formulas call them."""


class InputEdit(NamedTuple):
    """An edit: the entries of the operations that it is about, by the names of their dialects.

    `before` has them as the last run read them, `now` as they are.
    """

    before: Mapping[str, ChosenItems]
    now: Mapping[str, ChosenItems]


class ComparedFile(NamedTuple):
    """A file as the last run read it and as it is, with the items of both."""

    dialect: str
    before: SourceFile
    now: SourceFile
    items_before: list[ItemText]
    items: list[ItemText]

    def changed_texts(self) -> list[tuple[str, str]]:
        """The texts of the items that changed, as they were and as they are."""
        pairs = zip(self.items_before, self.items, strict=True)
        return [(before, now) for (_, before), (_, now) in pairs if before != now]

    def entries_before(self, operations: Collection[str]) -> ChosenItems:
        """The entries that are about some operations, or about what cannot be told, as they were."""
        chosen = [item for item in self.items_before if self.is_about(item[1], operations)]
        return ChosenItems(self.before, chosen, changed=())

    def entries_now(self, operations: Collection[str]) -> ChosenItems:
        """The same entries as they are."""
        pairs = zip(self.items_before, self.items, strict=True)
        changed = [item for before, item in pairs if before[1] != item[1]]
        return ChosenItems(self.now, [item for item in self.items if self.is_about(item[1], operations)], changed)

    def is_about(self, text: str, operations: Collection[str]) -> bool:
        """Whether an entry is about one of some operations, or about what cannot be told."""
        name = self.operator(text)
        return name is None or _operation(name) in operations

    def operator(self, text: str) -> str | None:
        """The operator that an entry is about; None if the entry does not begin in the usual way."""
        match = _OPERATORS[self.dialect].match(text)
        return None if match is None else match[1]


def _dialects(families: Iterable[str]) -> list[Dialect[Any]]:
    """The dialects of a run whose entries may change."""
    names = dialects_of(families)
    return [
        dialect
        for dialect in (NATIVE_FUNCTIONS, DERIVATIVES, DEPRECATED)
        if dialect.is_always_loaded or dialect.name in names
    ]


def inputs_to_keep(inputs: Inputs, families: Iterable[str]) -> dict[str, str]:
    """The texts that `find_edit` compares; none for families whose units may hold functions of several operations."""
    if not has_local_units(families):
        return {}
    return {dialect.name: inputs.read_text(dialect.inputs[0]).text for dialect in _dialects(families)}


def compare_inputs(run: Run, manifest: Manifest, stamps: InputStamps, inputs: Inputs) -> list[ComparedFile] | None:
    """The inputs beside those of the run of the manifest; None if more changed than entries in place."""
    facts = manifest.facts
    # Messages without a place in the inputs stay the same. Another run has to repeat those with a place.
    if run.request != manifest.request or facts.get("has messages with places") != 0:
        return None
    if "provenance" in facts or (run.prunes and manifest.left):
        return None
    files = {dialect.name: inputs.read_text(dialect.inputs[0]) for dialect in _dialects(run.families)}
    changed = _changed_files(manifest.stamps, stamps)
    if changed is None or not changed.issubset(file.path for file in files.values()) or not manifest.others_hold():
        return None
    texts = kept_texts(manifest)
    if texts is None or texts.keys() != files.keys():
        return None
    compared = [_compare(name, SourceFile(file.path, texts[name]), file) for name, file in files.items()]
    usable = [file for file in compared if file is not None]
    return usable if len(usable) == len(compared) else None


def _changed_files(before: InputStamps, now: InputStamps) -> set[str] | None:
    """The files whose contents changed; None if files or folders are not those of before."""
    if before.folders != now.folders or before.files.keys() != now.files.keys():
        return None
    pairs = [(path, before.files[path], stamp) for path, stamp in now.files.items()]
    if any((old is None) is not (new is None) for _, old, new in pairs):
        return None
    return {path for path, old, new in pairs if old is not None and new is not None and old[-1] != new[-1]}


def _compare(dialect: str, before: SourceFile, now: SourceFile) -> ComparedFile | None:
    """The items of a file; None if an edit may have done more than change some of them in place."""
    items_before, items = split_items(before.text), split_items(now.text)
    if len(items) != len(items_before) or not items:
        return None
    return ComparedFile(dialect, before, now, items_before, items)


def find_edit(files: Sequence[ComparedFile], witnesses: Iterable[str]) -> InputEdit | None:
    """The entries to load after an edit: those that it changed, and others that their files depend on.

    `witnesses` are operators that files depend on in any case. None if all entries have to be loaded.
    """
    operations = _edited_operations(files, witnesses)
    if operations is None:
        return None
    before = {file.dialect: file.entries_before(operations) for file in files}
    return InputEdit(before, {file.dialect: file.entries_now(operations) for file in files})


def _edited_operations(files: Iterable[ComparedFile], witnesses: Iterable[str]) -> set[str] | None:
    """The operations that a run after the edit has to load; None if it has to load all."""
    operators = set(witnesses)
    count = 0
    for file in files:
        for before, now in file.changed_texts():
            count += 1
            name = file.operator(now)
            if name is None or file.operator(before) != name or count > MOST_CHANGED:
                return None
            operators.add(name)
        if file.dialect == DERIVATIVES.name:
            operators.update(_keyed_operators(file))
            operators.update(_called_operators(file))
    return set(map(_operation, operators))


def _keyed_operators(derivatives: ComparedFile) -> Iterator[str]:
    """An operator for each dispatch key with derivatives: autograd's files have a section for each of these keys."""
    for items in (derivatives.items_before, derivatives.items):
        keys: set[str] = set()
        for _, text in items:
            new = set(_KEY.findall(text) if _DISPATCH in text else [DEFAULT_KEY]) - keys
            if new and (name := derivatives.operator(text)) is not None:
                keys |= new
                yield name


def _called_operators(derivatives: ComparedFile) -> Iterator[str]:
    """What words name in the entries that changed, whose formulas a run checks; some of them are operators."""
    for _, text in derivatives.changed_texts():
        for word in _WORD.findall(text):
            yield word.removesuffix(_SYMBOLIC)


@cache
def _operation(operator: str) -> str:
    """What operators have in common whose units may depend on each other.

    Autograd nodes of the same prefix are numbered together, such as those of `_conj_physical` and `conj_physical`. The
    derivatives of operators over lists are made from those of the operators that they repeat.
    """
    return node_prefix(base_of_operation(operator).removeprefix(FOREACH_PREFIX))


def write_edit(
    files: Sequence[ComparedFile],
    previous: PreviousBuild,
    make_request: Callable[[Diagnostics], Request],
    read_file: Callable[[str], SourceFile],
    journal: Journal,
) -> tuple[Job, Outcome] | None:
    """Write the outputs that an edit changed, and give the operations that it loaded and what it did.

    None, and nothing is written, if that needs all operators.
    """
    from opwright.run.generation import Generation
    from opwright.run.loading import check_job, load_job, load_late_dialects

    edit = find_edit(files, {name for state in previous.emitters.values() for name in state.witnesses})
    sink = Diagnostics()
    request = make_request(sink)._replace(read_file=read_file)
    if edit is None or request.plugins or request.format_file is not None or request.options.update_c_shim:
        return None
    rules = rules_of(request.inputs, request.release, sink)
    try:
        before, job = (load_job(request, rules, sink, entries) for entries in (edit.before, edit.now))
        check_job(job, request, sink)
        load_late_dialects(job, request, sink, later=False)
        if len(sink) or _have_anchors(edit) or _changes_shims(before, job, request.families):
            return None
        return job, Generation(request, sink, job=job).write_edit(before, previous, journal)
    except (PartialCatalog, NotLocal, Fault, FaultsFound):
        return None


def _have_anchors(edit: InputEdit) -> bool:
    """Whether a file turned out to have anchors, so that an entry may depend on any other."""
    return any(entries.file.has_anchors for part in edit for entries in part.values())


def _changes_shims(before: Job, now: Job, families: Iterable[str]) -> bool:
    """Whether the edit changes headers of C shims: a run compares whole headers with those on disk."""
    if not set(families).intersection(families_with("aoti")):
        return False
    from opwright.emit.aten.c_shim import headers

    return dict(headers(before)) != dict(headers(now))
