"""Loads `derivatives.yaml` into derivatives by function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from opwright.dialects.derivatives.entry import FIELDS, load_info, read_differentiability
from opwright.dialects.derivatives.fields import DIFFERENTIABILITY, DISPATCH, NAME
from opwright.dialects.derivatives.formula_checks import FormulaChecker
from opwright.dialects.derivatives.formula_helpers import FormulaHelpers, helpers_of
from opwright.dialects.derivatives.functions import FunctionIndex
from opwright.dialects.dialect import LoadContext
from opwright.dialects.listed_entries import read_chosen, read_entries
from opwright.dialects.nearest_key import suggested_key
from opwright.dialects.table import DERIVATIVES
from opwright.model.catalog import Catalog
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
from opwright.source.diagnostic import Diagnostics, Label, did_you_mean
from opwright.source.expect import check_unique_keys
from opwright.source.items import ChosenItems
from opwright.source.nodes import MappingNode, Node, Scalar
from opwright.source.text import SourceFile


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
    checker = FormulaChecker(context.operators, helpers, context.sink, strict=context.strict)
    loader = _Loader(FunctionIndex(context.operators), checker)
    changed = set(items.changed)
    for item, node in zip(items.items, read_chosen(items), strict=True):
        checker.trusts = item not in changed
        loader.add(node)
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
    nodes = read_entries(file, DERIVATIVES, codes.DERIVATIVES_FILE_SHAPE, sink)
    return load_entries(nodes, FunctionIndex(catalog), checker)


def load_entries(entries: Iterable[Node], functions: FunctionIndex, checker: FormulaChecker) -> Derivatives:
    """Derivatives that entries give for some functions, as `load_derivatives` does."""
    loader = _Loader(functions, checker)
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
                key: info.replace(
                    name=f"{info.name}_copy.", function=copy, node_name=info.node_name and f"{info.node_name}_copy"
                )
                for key, info in by_key.items()
            },
        )


class _Loader:
    """Reads entries, and numbers autograd nodes of the same name in the order of the file."""

    def __init__(self, functions: FunctionIndex, checker: FormulaChecker) -> None:
        self._checker: Final = checker
        self._functions: Final = functions
        self._used_names: Final[dict[str, int]] = {}
        self._named: Final[dict[NativeFunction, Scalar]] = {}
        self._infos: Final[dict[NativeFunction, InfoByKey]] = {}
        self._keys: Final[set[str]] = set()

    def derivatives(self) -> Derivatives:
        """What all entries together give."""
        infos = {**self._infos, **dict(_copying_views(self._infos))}
        return Derivatives(infos, frozenset(self._keys))

    def add(self, node: Node) -> None:
        """Reads an entry; one with a fault is left out."""
        report = Diagnostics()
        if isinstance(node, MappingNode):
            self._add(node, report)
        else:
            message = f"an entry is a mapping, not {node.description}"
            report.error(codes.DERIVATIVES_ENTRY_SHAPE, message, node.span)
        for diagnostic in report:
            self._checker.sink.add(diagnostic)

    def _add(self, node: MappingNode, report: Diagnostics) -> None:
        check_unique_keys(node, self._checker.sink)
        named = node.get(NAME)
        if not isinstance(named, Scalar) or named.kind != "str":
            at = node.entries[0][0].span if named is None and node.entries else (named or node).span
            report.error(codes.NO_NAME, "the entry does not name its function", at, help=_name_help(node))
            return
        function = self._function(named, report)
        if function is None:
            self._check_expressions(node)
            return
        stated = node.get(DIFFERENTIABILITY)
        outputs = (
            self._functions.unstated(function)
            if stated is None
            else read_differentiability(stated, function, report, self._checker)
        )
        by_key: dict[str, DifferentiabilityInfo] = {}
        for key, formulas in self._formulas(node, report):
            self._keys.add(key)
            node_name = partial(self._node_name, function, key)
            info = load_info(function, formulas, outputs, report, self._checker, node_name)
            if info is not None:
                by_key[key] = info
        if report.has_errors:
            return
        earlier = self._named.get(function)
        if earlier is not None:
            self._checker.doubt(
                codes.DERIVATIVES_REPEATED_ENTRY,
                f"a second entry for `{function.name}` replaces the first",
                named.span,
                also=[Label(earlier.span, "the first one", primary=False)],
            )
        self._named[function] = named
        self._infos[function] = by_key

    def _check_expressions(self, node: MappingNode) -> None:
        """Checks the formulas of an entry whose function does not exist."""
        formulas = list(node.entries)
        dispatch = node.get(DISPATCH)
        for _, inner in dispatch.entries if isinstance(dispatch, MappingNode) else ():
            formulas += inner.entries if isinstance(inner, MappingNode) else ()
        for key, value in formulas:
            if key.value not in FIELDS and isinstance(value, Scalar):
                self._checker.check_expression(value)

    def _function(self, named: Scalar, report: Diagnostics) -> NativeFunction | None:
        """Function to which the derivatives of an entry belong; None if there is none, which is reported."""
        overload = self._functions.find(named, report)
        if overload is None:
            return None
        function = self._functions.canonical(overload)
        if function is not None:
            self._functions.check_reserved(function, named, report)
        elif not self._functions.may_lack(overload.name.text):
            message = f"`{overload.name}` is not differentiated itself, and it has no functional or in-place form"
            report.error(codes.NO_CANONICAL, message, named.span)
        return function

    def _formulas(self, node: MappingNode, report: Diagnostics) -> Iterator[tuple[str, list[tuple[Scalar, Node]]]]:
        """Dispatch keys of an entry, each with its formulas."""
        dispatch = node.get(DISPATCH)
        formulas = [entry for entry in node.entries if entry[0].value not in FIELDS]
        if dispatch is None:
            yield DEFAULT_KEY, formulas
            return
        for key, _ in formulas:
            message = f"the formula of `{key.value}` is outside `dispatch` and has no effect"
            self._checker.doubt(codes.IGNORED_FIELD, message, key.span, help="move it below a dispatch key")
        if not isinstance(dispatch, MappingNode):
            report.error(codes.DISPATCH_SHAPE, f"`dispatch` is {dispatch.description}, not a mapping", dispatch.span)
            return
        check_unique_keys(dispatch, self._checker.sink)
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
                check_unique_keys(value, self._checker.sink)
                yield key.value, value.entries

    def _node_name(self, function: NativeFunction, key: str) -> str:
        """Name of the next autograd node of a function under a dispatch key."""
        prefix = node_prefix(function.name.name) + ("" if key == DEFAULT_KEY else key)
        count = self._used_names.get(prefix, 0)
        self._used_names[prefix] = count + 1
        return f"{prefix}{count}"


def _name_help(node: MappingNode) -> str:
    near = [key.value for key, _ in node.entries if did_you_mean(key.value, (NAME,))]
    return f"did you mean `{NAME}` by `{near[0]}`?" if near else f"write `{NAME}:` with the function's schema"
