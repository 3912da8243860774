"""The whole way from `native_functions.yaml` and `tags.yaml` to the catalog."""

from __future__ import annotations

from opwright.load import codes
from opwright.load.draft import Surroundings
from opwright.load.entry import load_entry
from opwright.load.groups import grouped, grouped_by_view, view_families
from opwright.load.operations import Operation
from opwright.load.tags import load_tags
from opwright.load.variants import add_variants
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import DISPATCH_KEYS, DispatchKey
from opwright.model.native_function import NativeFunction
from opwright.release.rules import Rules
from opwright.schema.signature import SignatureKey, signature_key
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.nodes import Mapping, Node, Sequence
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml


def load_catalog(
    native: SourceFile,
    tags: SourceFile,
    sink: Diagnostics,
    rules: Rules | None = None,
    *,
    ignored_keys: frozenset[DispatchKey] = frozenset(),
) -> Catalog:
    """The catalog of a release's operators.

    `ignored_keys` are the dispatch keys that the run leaves out. All faults of both files go to `sink`; entries at
    fault are then missing from the catalog, so pass the gate (`sink.raise_if_errors()`) before using it.
    """
    tags_root = _root(tags, sink)
    known_tags = {} if tags_root is None else load_tags(tags_root, sink)
    root = _root(native, sink)
    around = Surroundings(frozenset(known_tags), ignored_keys, sink)
    entries = [] if root is None else _load_entries(root, around)
    tag_by_kind = rules.generated_operators_tagged_by_kind if rules is not None else "out" in known_tags

    functions = [function for function, _ in entries]
    keyed = [(one, signature_key(one.schema)) for one in functions]
    operations: dict[SignatureKey, Operation] = {}
    for function, key in keyed:
        operation = operations.get(key)
        if operation is None:
            operation = operations[key] = Operation(key)
        operation.members[function.kind] = function
    for operation in operations.values():
        made = add_variants(operation, tag_by_kind)
        functions += made
        keyed += [(one, operation.key) for one in made]
    return Catalog(
        tuple(functions),
        tuple(grouped(list(operations.values()))),
        tuple(grouped_by_view(view_families(keyed))),
        tuple(key for key in DISPATCH_KEYS if key not in ignored_keys),
        known_tags,
    )


def _root(file: SourceFile, sink: Diagnostics) -> Node | None:
    try:
        return load_yaml(file)
    except Fault as fault:
        sink.add(fault.diagnostic)
        return None


def _load_entries(root: Node, around: Surroundings) -> list[tuple[NativeFunction, Mapping]]:
    """The native functions of all sound entries, each with its node."""
    loaded: list[tuple[NativeFunction, Mapping]] = []
    if not isinstance(root, Sequence):
        around.sink.error(codes.FILE_SHAPE, f"the file is {root.described}, not a list of entries", root.span)
        return loaded
    for item in root.items:
        if not isinstance(item, Mapping):
            message = f"an entry is a mapping of fields, not {item.described}"
            around.sink.error(codes.ENTRY_SHAPE, message, item.span)
            continue
        function = load_entry(item, around)
        if function is not None:
            loaded.append((function, item))
    return loaded
