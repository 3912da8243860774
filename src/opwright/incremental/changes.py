"""What changed in the inputs since the last run: whether that is an edit of few entries, and which entries it needs.

A run compares the inputs with their texts as the last run read them. The entries to load after an edit are those of the
operations of the entries that changed, and those that their files depend on.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from opwright.dialects.deprecated import operator_of as deprecated_operator
from opwright.dialects.derivatives.fields import called_names, keyed_operators
from opwright.dialects.derivatives.fields import operator_of as derivative_operator
from opwright.dialects.native_functions.scope import operator_of as native_operator
from opwright.dialects.table import DEPRECATED, DERIVATIVES, DIALECTS, NATIVE_FUNCTIONS
from opwright.emit.registry import dialects_of, has_local_units
from opwright.incremental.state import kept_texts
from opwright.model.derivatives import node_prefix
from opwright.schema.names import FOREACH_PREFIX
from opwright.schema.signature import base_of_operation
from opwright.source.items import ChosenItems, split_items
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from opwright.dialects.dialect import Dialect
    from opwright.incremental.identity import InputStamps, RunIdentity
    from opwright.incremental.state import Manifest
    from opwright.release.inputs import Inputs
    from opwright.source.items import ItemText

MOST_CHANGED: Final = 64
"""The most entries that an edit may change; loading all operators is not much slower after larger ones."""

_OPERATOR_OF: Final[Mapping[str, Callable[[str], str | None]]] = {
    NATIVE_FUNCTIONS.name: native_operator,
    DERIVATIVES.name: derivative_operator,
    DEPRECATED.name: deprecated_operator,
}
"""The dialects whose entries may change, and the operator that an entry is about by its text."""


class ComparedFile(NamedTuple):
    """A file as the last run read it and as it is, with the items of both."""

    dialect: str
    before: SourceFile
    now: SourceFile
    items_before: Sequence[ItemText]
    items: Sequence[ItemText]

    def changed_texts(self) -> list[tuple[str, str]]:
        """Texts of the items that changed, as they were and as they are."""
        pairs = zip(self.items_before, self.items, strict=True)
        return [(before, now) for (_, before), (_, now) in pairs if before != now]

    def entries(self, operations: Collection[str]) -> tuple[ChosenItems, ChosenItems]:
        """Entries that are about some operations, or about what cannot be told, as they were and as they are."""
        pairs = zip(self.items_before, self.items, strict=True)
        changed = [item for before, item in pairs if before[1] != item[1]]
        chosen_before = [item for item in self.items_before if self.is_about(item[1], operations)]
        chosen = [item for item in self.items if self.is_about(item[1], operations)]
        return ChosenItems(self.before, chosen_before, changed=()), ChosenItems(self.now, chosen, changed)

    def is_about(self, text: str, operations: Collection[str]) -> bool:
        """Whether an entry is about one of some operations, or about what cannot be told."""
        name = self.operator(text)
        return name is None or _operation(name) in operations

    def operator(self, text: str) -> str | None:
        """Operator that an entry is about; None if the entry does not begin in the usual way."""
        return _OPERATOR_OF[self.dialect](text)


def _dialects(families: Iterable[str]) -> list[Dialect[Any]]:
    """Dialects of a run whose entries may change."""
    names = dialects_of(families)
    return [
        dialect
        for dialect in DIALECTS
        if dialect.name in _OPERATOR_OF and (dialect.is_always_loaded or dialect.name in names)
    ]


def inputs_to_keep(inputs: Inputs, families: Iterable[str]) -> dict[str, str]:
    """Texts that `find_edit` compares; none for families whose units may hold functions of several operations."""
    if not has_local_units(families):
        return {}
    return {dialect.name: inputs.read_text(dialect.inputs[0]).text for dialect in _dialects(families)}


def compare_inputs(
    run: RunIdentity, manifest: Manifest, stamps: InputStamps, inputs: Inputs
) -> list[ComparedFile] | None:
    """Inputs beside those of the run of the manifest; None if more changed than entries in place."""
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
    compared = [
        ComparedFile(name, SourceFile(file.path, texts[name]), file, split_items(texts[name]), split_items(file.text))
        for name, file in files.items()
    ]
    # Where entries come or go, an edit does more than change some of them in place.
    are_in_place = all(file.items and len(file.items) == len(file.items_before) for file in compared)
    return compared if are_in_place else None


def _changed_files(before: InputStamps, now: InputStamps) -> set[str] | None:
    """Files whose contents changed; None if files or folders are not those of before."""
    if before.folders != now.folders or before.files.keys() != now.files.keys():
        return None
    pairs = [(path, before.files[path], stamp) for path, stamp in now.files.items()]
    if any((old is None) is not (new is None) for _, old, new in pairs):
        return None
    return {path for path, old, new in pairs if old is not None and new is not None and old[-1] != new[-1]}


def find_edit(
    files: Sequence[ComparedFile], depends_on: Iterable[str]
) -> tuple[dict[str, ChosenItems], dict[str, ChosenItems]] | None:
    """Entries to load after an edit, as they were and then as they are, by the names of their dialects.

    They are those of the operations that the edit is about, and others that their files depend on. `depends_on` are
    operators that files depend on in any case. None if all entries have to be loaded.
    """
    operators = set(depends_on)
    count = 0
    for file in files:
        for before, now in file.changed_texts():
            count += 1
            name = file.operator(now)
            if name is None or file.operator(before) != name or count > MOST_CHANGED:
                return None
            operators.add(name)
        if file.dialect == DERIVATIVES.name:
            for items in (file.items_before, file.items):
                operators.update(keyed_operators(text for _, text in items))
            operators.update(name for _, now in file.changed_texts() for name in called_names(now))
    operations = set(map(_operation, operators))
    entries = {file.dialect: file.entries(operations) for file in files}
    return {name: before for name, (before, _) in entries.items()}, {name: now for name, (_, now) in entries.items()}


@cache
def _operation(operator: str) -> str:
    """What operators have in common whose units may depend on each other.

    Autograd nodes of the same prefix are numbered together, such as those of `_conj_physical` and `conj_physical`. The
    derivatives of operators over lists are made from those of the operators that they repeat.
    """
    return node_prefix(base_of_operation(operator).removeprefix(FOREACH_PREFIX))
