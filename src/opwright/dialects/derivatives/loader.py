"""Loads `derivatives.yaml` into derivatives by function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from opwright.dialects.derivatives.entry import FIELDS, Differentiability, load_formulas, read_differentiability
from opwright.dialects.derivatives.fields import DIFFERENTIABILITY, DISPATCH, NAME
from opwright.dialects.derivatives.formula_checks import FormulaChecker
from opwright.dialects.derivatives.formula_helpers import FormulaHelpers, helpers_of
from opwright.dialects.derivatives.functions import EntryReport, FunctionIndex
from opwright.dialects.dialect import LoadContext
from opwright.dialects.nearest_key import suggested_key
from opwright.dialects.table import DERIVATIVES, dialect_help
from opwright.model.catalog import Catalog, PartialCatalog
from opwright.model.derivatives import (
    DEFAULT_KEY,
    Derivatives,
    DifferentiabilityInfo,
    InfoByKey,
    autograd_keys,
    node_prefix,
)
from opwright.model.native_function import NativeFunction
from opwright.release.store import FORMULA_HELPERS
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Fault, Label, did_you_mean
from opwright.source.expect import check_unique_keys
from opwright.source.items import ChosenItems, read_items
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml


def load(files: Sequence[SourceFile], context: LoadContext) -> Derivatives:
    """Derivatives of a release's operators, with the helpers that the release declares."""
    helpers = helpers_of(context.rules, context.inputs.read_optional(FORMULA_HELPERS))
    items = context.chosen_items.get(DERIVATIVES.name)
    if items is not None:
        return _load_chosen(items, context, helpers)
    return load_derivatives(files[0], context.operators, context.sink, strict=context.strict, helpers=helpers)


def _load_chosen(items: ChosenItems, context: LoadContext, helpers: FormulaHelpers) -> Derivatives:
    """Derivatives that chosen entries give. Raises PartialCatalog if all have to be read.

    The formulas of entries that did not change are not checked again. They may call operators that are not loaded.
    """
    nodes = read_items(items)
    if nodes is None:
        raise PartialCatalog
    checker = FormulaChecker(context.operators, helpers, context.sink, strict=context.strict)
    loader = _Loader(FunctionIndex(context.operators), checker, context.sink, context.strict)
    changed = set(items.changed)
    for item, node in zip(items.items, nodes, strict=True):
        checker.trusts = item not in changed
        for entry in _mappings([node], context.sink):
            loader.add(entry)
    return loader.derivatives()


def load_derivatives(
    file: SourceFile,
    catalog: Catalog,
    sink: Diagnostics,
    *,
    strict: bool = False,
    helpers: FormulaHelpers | None = None,
) -> Derivatives:
    """Derivatives of a release's operators.

    `helpers` are the functions that formulas can call besides operators, by default those of any release. All faults of
    the file go to `sink`. Entries with faults are missing from the result, so call `sink.raise_if_errors()` before
    using it. What may be right after all (unknown names and functions, entries without effect) is a warning. With
    `strict` it is an error, and every formula is parsed.
    """
    checker = FormulaChecker(catalog, helpers or helpers_of(), sink, strict=strict)
    return load_entries(read_entries(file, sink), FunctionIndex(catalog), checker, sink, strict=strict)


def read_entries(file: SourceFile, sink: Diagnostics) -> list[MappingNode]:
    """Entries of a file. Faults go to `sink`; a file that is not a list of entries has none."""
    try:
        root = load_yaml(file)
    except Fault as fault:
        sink.add(fault.diagnostic)
        return []
    if not isinstance(root, SequenceNode):
        message = f"the file is {root.description}, not a list of entries"
        sink.error(codes.DERIVATIVES_FILE_SHAPE, message, root.span, help=dialect_help(DERIVATIVES, file))
        return []
    return list(_mappings(root.items, sink))


def _mappings(items: Iterable[Node], sink: Diagnostics) -> Iterator[MappingNode]:
    """Items that are mappings; the others are reported."""
    for item in items:
        if isinstance(item, MappingNode):
            yield item
        else:
            sink.error(codes.DERIVATIVES_ENTRY_SHAPE, f"an entry is a mapping, not {item.description}", item.span)


def load_entries(
    entries: Iterable[MappingNode],
    functions: FunctionIndex,
    checker: FormulaChecker,
    sink: Diagnostics,
    *,
    strict: bool = False,
) -> Derivatives:
    """Derivatives that entries give for some functions, as `load_derivatives` does."""
    loader = _Loader(functions, checker, sink, strict)
    for entry in entries:
        loader.add(entry)
    return loader.derivatives()


def _copying_views(infos: dict[NativeFunction, InfoByKey]) -> Iterator[tuple[NativeFunction, InfoByKey]]:
    """Infos for the copying forms of views, which have the same derivatives."""
    for function, by_key in infos.items():
        group = function.view_group
        if group is None or group.view is not function or group.view_copy is None or group.view_copy in infos:
            continue
        copy = group.view_copy
        # The name ends in a dot because PyTorch's names have an overload, which is empty here.
        yield (
            copy,
            {
                key: info.for_function(f"{info.name}_copy.", copy, info.node_name and f"{info.node_name}_copy")
                for key, info in by_key.items()
            },
        )


class _Loader:
    """Reads entries, and numbers autograd nodes of the same name in the order of the file."""

    __slots__ = (
        "_checker",
        "_functions",
        "_infos",
        "_is_strict",
        "_keys",
        "_named",
        "_sink",
        "_used_names",
    )

    def __init__(self, functions: FunctionIndex, checker: FormulaChecker, sink: Diagnostics, is_strict: bool) -> None:
        self._checker: Final = checker
        self._is_strict: Final = is_strict
        self._functions: Final = functions
        self._sink: Final = sink
        self._used_names: Final[dict[str, int]] = {}
        self._named: Final[dict[NativeFunction, Scalar]] = {}
        self._infos: Final[dict[NativeFunction, InfoByKey]] = {}
        self._keys: Final[set[str]] = set()

    def derivatives(self) -> Derivatives:
        """What all entries together give."""
        infos = {**self._infos, **dict(_copying_views(self._infos))}
        return Derivatives(infos, frozenset(self._keys))

    def add(self, node: MappingNode) -> None:
        """Reads an entry."""
        report = EntryReport(node, self._sink, strict=self._is_strict)
        check_unique_keys(node, self._sink)
        named = node.get(NAME)
        if not isinstance(named, Scalar) or named.kind != "str":
            at = node.entries[0][0].span if named is None and node.entries else (named or node).span
            report.error(codes.NO_NAME, "the entry does not name its function", at, help=_name_help(node))
            return
        function = self._function(named, report)
        if function is None:
            self._check_expressions(node)
            return
        outputs = read_differentiability(node.get(DIFFERENTIABILITY), function, report, self._checker)
        by_key: dict[str, DifferentiabilityInfo] = {}
        for key, formulas in self._formulas(node, report):
            info = self._info(key, function, formulas, outputs, report)
            if info is not None:
                by_key[key] = info
        if report.failed:
            return
        self._take(function, named, by_key, report)

    def _check_expressions(self, node: MappingNode) -> None:
        """Checks the formulas of an entry whose function does not exist."""
        formulas = list(node.entries)
        dispatch = node.get(DISPATCH)
        for _, inner in dispatch.entries if isinstance(dispatch, MappingNode) else ():
            formulas += inner.entries if isinstance(inner, MappingNode) else ()
        for key, value in formulas:
            if key.value not in FIELDS and isinstance(value, Scalar):
                self._checker.check_expression(value)

    def _take(self, function: NativeFunction, named: Scalar, by_key: InfoByKey, report: EntryReport) -> None:
        earlier = self._named.get(function)
        if earlier is not None:
            report.doubt(
                codes.DERIVATIVES_REPEATED_ENTRY,
                f"a second entry for `{function.name}` replaces the first",
                named.span,
                also=[Label(earlier.span, "the first one", primary=False)],
            )
        self._named[function] = named
        self._infos[function] = by_key

    def _function(self, named: Scalar, report: EntryReport) -> NativeFunction | None:
        """Function to which the derivatives of an entry belong; None if there is none, which is reported."""
        overload = self._functions.find(named, report)
        if overload is None:
            return None
        function = self._functions.canonical(overload)
        if function is None and self._functions.may_lack(overload.name.text):
            report.failed = True
        elif function is None:
            message = f"`{overload.name}` is not differentiated itself, and it has no functional or in-place form"
            report.error(codes.NO_CANONICAL, message, named.span)
        else:
            self._functions.check_reserved(function, named, report)
        return function

    def _formulas(self, node: MappingNode, report: EntryReport) -> Iterator[tuple[str, list[tuple[Scalar, Node]]]]:
        """Dispatch keys of an entry, each with its formulas."""
        dispatch = node.get(DISPATCH)
        formulas = [entry for entry in node.entries if entry[0].value not in FIELDS]
        if dispatch is None:
            yield DEFAULT_KEY, formulas
            return
        for key, _ in formulas:
            message = f"the formula of `{key.value}` is outside `dispatch` and has no effect"
            report.doubt(codes.IGNORED_FIELD, message, key.span, help="move it below a dispatch key")
        if not isinstance(dispatch, MappingNode):
            report.error(codes.DISPATCH_SHAPE, f"`dispatch` is {dispatch.description}, not a mapping", dispatch.span)
            return
        check_unique_keys(dispatch, self._sink)
        names = (DEFAULT_KEY, *autograd_keys())
        for key, value in dispatch.entries:
            if key.value not in names:
                help = suggested_key(key.value, names)
                report.error(
                    codes.DISPATCH_KEY, f"`{key.value}` is not a dispatch key of autograd", key.span, help=help
                )
            elif not isinstance(value, MappingNode):
                message = f"`{key.value}` has {value.description}, not arguments with their formulas"
                report.error(codes.DISPATCH_SHAPE, message, value.span)
            else:
                check_unique_keys(value, self._sink)
                yield key.value, value.entries

    def _info(
        self,
        key: str,
        function: NativeFunction,
        entries: list[tuple[Scalar, Node]],
        outputs: Differentiability,
        report: EntryReport,
    ) -> DifferentiabilityInfo | None:
        self._keys.add(key)
        name = function.name.name
        formulas = load_formulas(function, entries, outputs, report, self._checker)
        if formulas is None:
            return None
        node_name = None
        if formulas.differentiable_arguments:
            node_name = self.node_name(name, key)
        info = DifferentiabilityInfo(
            name=name,
            function=function,
            node_name=node_name,
            derivatives=formulas.derivatives,
            forward_derivatives=formulas.forward_derivatives,
            differentiable_arguments=formulas.differentiable_arguments,
            non_differentiable=formulas.non_differentiable,
            available_gradients=formulas.available_gradients,
            output_differentiability=outputs.of_outputs,
            output_condition=outputs.condition,
        )
        if not function.library.takes_any_schema or not info.uses_single_grad:
            return info
        # Gradients of further outputs would come to a node that ignores them.
        return info.replace(output_differentiability=outputs.of_single_gradient())

    def node_name(self, name: str, key: str) -> str:
        """Name of the next autograd node of a function under a dispatch key."""
        key = "" if key == DEFAULT_KEY else key
        prefix = node_prefix(name) + key
        count = self._used_names.get(prefix, 0)
        self._used_names[prefix] = count + 1
        return f"{prefix}{count}"


def _name_help(node: MappingNode) -> str:
    near = [key.value for key, _ in node.entries if did_you_mean(key.value, (NAME,))]
    return f"did you mean `{NAME}` by `{near[0]}`?" if near else f"write `{NAME}:` with the function's schema"
