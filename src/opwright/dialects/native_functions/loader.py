"""Loads `native_functions.yaml` and `tags.yaml` into a catalog with its groups, and adds operators of libraries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

from opwright.dialects.dialect import LoadContext
from opwright.dialects.field import NATIVE_FUNCTION
from opwright.dialects.native_functions.entry import load_entry
from opwright.dialects.native_functions.entry_builder import EntryContext
from opwright.dialects.native_functions.group_rules import (
    check_group,
    check_names,
    check_ungrouped,
    check_view_group,
    without_repetitions,
)
from opwright.dialects.native_functions.operations import Operation, operations_of
from opwright.dialects.native_functions.report import CrossReport
from opwright.dialects.native_functions.variants import add_variants
from opwright.dialects.nearest import word_span
from opwright.dialects.table import NATIVE_FUNCTIONS, TAGS, dialect_help
from opwright.dialects.tags import load_tags
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import DispatchKey, dispatch_keys
from opwright.model.native_function import (
    NativeFunction,
    NativeFunctionsGroup,
    UnlinkedFunction,
    ViewGroup,
    ViewKind,
    link_functions,
)
from opwright.release.rules import Rules
from opwright.release.version_range import VersionRange
from opwright.schema.function import SchemaKind
from opwright.schema.signature import SignatureKey, signature_key
from opwright.source import codes
from opwright.source.codes import TAGS_FILE_SHAPE
from opwright.source.diagnostic import Diagnostics, Fault, Label
from opwright.source.items import ChosenItems, read_items
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml

if TYPE_CHECKING:
    from opwright.dialects.dialect import ExtraKeys


def load(files: Sequence[SourceFile], context: LoadContext) -> Catalog:
    """Catalog of a release's operators, with the tags from its inputs. Raises Fault if there is no `tags.yaml`."""
    return load_catalog(
        context.chosen_items.get(NATIVE_FUNCTIONS.name, files[0]),
        TAGS.files(context.inputs)[0],
        context.sink,
        context.rules,
        ignored_keys=context.ignored_keys,
        extra_keys=context.extra_keys_at(NATIVE_FUNCTION),
    )


def load_catalog(
    native: SourceFile | ChosenItems,
    tags: SourceFile,
    sink: Diagnostics,
    rules: Rules | None = None,
    *,
    ignored_keys: frozenset[DispatchKey] = frozenset(),
    extra_keys: ExtraKeys | None = None,
) -> Catalog:
    """Catalog of a release's operators.

    `ignored_keys` are the dispatch keys that the run leaves out, and `extra_keys` those that plug-ins declare. All
    faults of both files go to `sink`. The catalog lacks entries with faults, so call `sink.raise_if_errors()` before
    using it.
    """
    own, entry_sink, releases = Diagnostics(), Diagnostics(), None
    known_tags = load_tags(tags, own, of_tree=rules is not None and rules.tree is not None)
    if extra_keys is not None:
        from opwright.dialects.values import Releases

        assert rules is not None, "extra keys have values for releases"
        releases = Releases(rules.version, VersionRange(), entry_sink)
    is_partial = isinstance(native, ChosenItems)
    context = EntryContext(
        frozenset(known_tags),
        ignored_keys,
        entry_sink,
        all_tags=not own.has_errors,
        extra_keys=extra_keys,
        releases=releases,
        tree=None if rules is None else rules.tree,
        const_ref_excludes_out=rules is None or rules.const_ref_excludes_out,
        absent_types=_absent_types(rules, native.file.text if isinstance(native, ChosenItems) else native.text),
    )
    report = CrossReport(own, rules=rules)
    loaded = None
    try:
        loaded = load_entries(_items(native, context), context, report)
        own.extend(entry_sink)
    except Fault as fault:
        own.add(fault.diagnostic)
    tag_by_kind = rules.generated_operators_tagged_by_kind if rules is not None else "out" in known_tags
    of_core = rules is None or rules.core_composites_have_out_forms
    linked = link_entries(loaded or [], report, tag_by_kind=tag_by_kind, of_core_composites=of_core)
    sink.extend(own)
    return Catalog(
        *linked,
        tuple(key for key in dispatch_keys() if key not in ignored_keys),
        known_tags,
        None if loaded is None else report.absent,
        is_sound=not own.has_errors,
        is_partial=is_partial,
    )


def _absent_types(rules: Rules | None, text: str) -> dict[str, str]:
    """Base types that a release does not have and a text names, with the reason; to look at all types takes longer."""
    if rules is None or rules.dispatcher_takes_dimnames or "Dimname" not in text:
        return {}
    return {"Dimname": Rules.dispatcher_takes_dimnames.changes[-1].why}


def _items(native: SourceFile | ChosenItems, context: EntryContext) -> Iterable[Node]:
    """Entries that a run chooses, or all of the file. Raises Fault if the file is not YAML."""
    if isinstance(native, ChosenItems):
        nodes = read_items(native) if context.all_tags else None
        if nodes:
            return nodes
        native = native.file
    root = load_yaml(native)
    if isinstance(root, SequenceNode):
        return root.items
    message = f"the file is {root.description}, not a list of entries"
    context.sink.error(TAGS_FILE_SHAPE, message, root.span, help=dialect_help(NATIVE_FUNCTIONS, native))
    return ()


def link_entries(
    entries: list[UnlinkedFunction], report: CrossReport, *, tag_by_kind: bool, of_core_composites: bool = True
) -> Linked:
    """Functions of entries of one namespace, with the overloads synthesized from them, linked with their groups.

    Faults between entries go to the report. `tag_by_kind` and `of_core_composites` are those of `add_variants`.
    """
    report.functions = functions = without_repetitions(entries, report)
    check_names(functions, report)
    keyed = [(function, signature_key(function.schema)) for function in functions]
    operations = operations_of(keyed, report)
    for operation in operations:
        for variant in add_variants(operation, tag_by_kind, report, of_core_composites=of_core_composites):
            functions.append(variant)
            keyed.append((variant, operation.key))
    return link(functions, operations, keyed, report)


def load_entries(items: Iterable[Node], context: EntryContext, report: CrossReport) -> list[UnlinkedFunction]:
    """Functions of all entries without faults; the report knows the others."""
    loaded: list[UnlinkedFunction] = []
    for item in items:
        if not isinstance(item, MappingNode):
            message = f"an entry is a mapping of fields, not {item.description}"
            is_schema = isinstance(item, Scalar) and " -> " in item.value
            help = "write `func: ` before the schema" if is_schema else ""
            context.sink.error(codes.NATIVE_ENTRY_SHAPE, message, item.span, help=help)
            continue
        function = load_entry(item, context)
        if function is None:
            report.leave_out(item)
        else:
            loaded.append(function)
    return loaded


def load_operator_files(
    base: Catalog, files: Sequence[SourceFile], tags: SourceFile, sink: Diagnostics, rules: Rules
) -> Catalog:
    """Catalog with the operators of further files, in any namespaces.

    Each file is loaded separately, so two files may define the same name in different namespaces. All faults go to
    `sink`. The catalog lacks entries with faults, and has the first of two entries for one overload.
    """
    loaded = [load_catalog(file, tags, sink, rules).functions for file in files]
    return add_operators(base, [function for functions in loaded for function in functions], sink)


def add_operators(base: Catalog, operators: Iterable[NativeFunction], sink: Diagnostics) -> Catalog:
    """Catalog with more operators. A second one of a name is a fault, which goes to `sink`, and left out."""
    by_name = {(overload.namespace, overload.name.text): overload for overload in base.functions}
    functions = list(base.functions)
    for function in operators:
        earlier = by_name.setdefault((function.namespace, function.name.text), function)
        if earlier is function:
            functions.append(function)
        else:
            name = function.name.text
            message = f"second entry for `{function.namespace}::{name}`"
            also = (Label(word_span(earlier, name), "first entry", False),)
            sink.error(codes.OVERLOAD_TWICE, message, word_span(function, name), also=also)
    # Groups serve kernels and registrations, which each library generates for itself.
    return base.replace(functions=tuple(functions))


ViewFamily = dict["SchemaKind | ViewKind", UnlinkedFunction]


class Linked(NamedTuple):
    """Linked functions of a catalog and their groups, in which functions without a group stand for themselves."""

    functions: tuple[NativeFunction, ...]
    groups: tuple[NativeFunction | NativeFunctionsGroup, ...]
    view_groups: tuple[NativeFunction | ViewGroup, ...]


def link(
    functions: Iterable[UnlinkedFunction],
    operations: Iterable[Operation],
    keyed: Iterable[tuple[UnlinkedFunction, SignatureKey]],
    report: CrossReport,
) -> Linked:
    """Groups functions by their operations and by their views, links them, and then checks the groups.

    Which forms an operation has is the concern of the library that defines it.
    """
    families = view_families(keyed, report)
    by_operation = [(operation, _operation_group(operation)) for operation in operations]
    by_view = [(_view_group(family), family) for family in families]
    linked = link_functions(
        functions,
        [group for _, group in by_operation if group is not None],
        [group for group, _ in by_view if group is not None],
    )
    groups: list[UnlinkedFunction | NativeFunctionsGroup] = []
    for operation, group in by_operation:
        if group is None:
            if _defines(operation.members.values()):
                check_ungrouped(operation, report)
            groups.extend(operation.members.values())
        else:
            if _defines(group.functions()):
                check_group(group, report)
            groups.append(group)
    view_groups: list[UnlinkedFunction | ViewGroup] = []
    for view_group, others in by_view:
        if view_group is not None:
            if _defines([view_group.view]):
                check_view_group(view_group, report)
            view_groups.append(view_group)
        view_groups.extend(others.values())
    return Linked(
        linked,
        cast("tuple[NativeFunction | NativeFunctionsGroup, ...]", tuple(groups)),
        cast("tuple[NativeFunction | ViewGroup, ...]", tuple(view_groups)),
    )


def _defines(functions: Iterable[UnlinkedFunction]) -> bool:
    """Whether functions of one library are operators that it defines."""
    return all(function.library.defines_operators for function in functions)


def _operation_group(operation: Operation) -> NativeFunctionsGroup | None:
    """Group of an operation's overloads; None if it lacks a member that every group has."""
    members = cast("dict[SchemaKind, NativeFunction]", operation.members)
    functional, out = members.get(SchemaKind.functional), members.get(SchemaKind.out)
    if functional is None or out is None or SchemaKind.scratch in members:
        return None
    return NativeFunctionsGroup(functional, out, members.get(SchemaKind.inplace), members.get(SchemaKind.mutable))


def _view_group(family: ViewFamily) -> ViewGroup | None:
    """Group around the view of a family, whose members leave the family; None if it has no view."""
    members = cast("dict[SchemaKind | ViewKind, NativeFunction]", family)
    view = members.pop(ViewKind.aliasing, None)
    if view is None:
        return None
    inplace = members.pop(ViewKind.aliasing_inplace, None)
    return ViewGroup(view, members.pop(SchemaKind.functional, None), inplace)


def view_families(keyed: Iterable[tuple[UnlinkedFunction, SignatureKey]], report: CrossReport) -> list[ViewFamily]:
    """For each view, the functions that belong to it by their role, in the order of the first of them."""
    families: dict[SignatureKey, ViewFamily] = {}
    for function, key in keyed:
        if function.name.base.endswith(("_copy", "_scatter")):
            key = signature_key(function.schema, view_form=True)
        kind = function.view_kind if function.is_view else function.kind
        family = families.get(key)
        if family is None:
            family = families[key] = {}
        earlier = family.setdefault(kind, function)
        if earlier is not function and (earlier.name.base, earlier.kind) != (function.name.base, function.kind):
            message = f"`{function.name}` and `{earlier.name}` have the same role for one view"
            report.error(codes.VIEW_TWICE, message, report.name(function), also=report.other(earlier, "the other one"))
    return list(families.values())
