"""Loads ExecuTorch's files of operators, and the operators of PyTorch that they name: reading all takes longest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from opwright.dialects.dialect import LoadContext
from opwright.dialects.native_functions.entry import load_entry
from opwright.dialects.native_functions.entry_builder import EntryBuilder, EntryContext, EntryField, Reader
from opwright.dialects.native_functions.group_rules import check_names, without_repetitions
from opwright.dialects.native_functions.report import CrossReport
from opwright.dialects.native_functions.scope import LoadScope
from opwright.dialects.table import NATIVE_FUNCTIONS, TAGS, dialect_help
from opwright.dialects.tags import load_tags
from opwright.mobile import mobile_codes
from opwright.mobile.executorch_dialect.fields import ENTRY_FIELDS
from opwright.mobile.executorch_dialect.kernel_fields import dispatch_ranks, dispatched_kernel, read_kernels
from opwright.mobile.executorch_operators import ExecutorchKernel, ExecutorchOperator
from opwright.mobile.rows import EXECUTORCH
from opwright.model.catalog import Catalog, PartialCatalog
from opwright.model.dispatch_key import DispatchKey
from opwright.model.native_function import UnlinkedFunction, link_functions
from opwright.schema.fault import SchemaFault
from opwright.schema.function import FunctionSchema
from opwright.schema.parser import read_schema
from opwright.source.codes import FILE_EMPTY, OVERLOAD_TWICE
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound, Label, did_you_mean
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode
from opwright.source.records import NamedTuple
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml


def merge(
    operators: Sequence[ExecutorchOperator],
    custom: Sequence[ExecutorchOperator],
    sink: Diagnostics,
    *,
    as_reference: bool,
) -> tuple[ExecutorchOperator, ...]:
    """Operators of both files; a custom kernel replaces the kernel of the same operator and key.

    Each operator is in the result once. With `as_reference`, operators of both files are there twice unless they have
    several kernels, with which ExecuTorch's program fails, and operators of all namespaces share kernels by name.
    """
    if as_reference:
        _report(operators, custom, sink)
    shared_name = _plain_name if as_reference else _full_name
    kernels: dict[str, dict[str, ExecutorchKernel]] = {}
    for operator in (*operators, *custom):
        # A later kernel of the same key takes the place of an earlier one.
        kernels.setdefault(shared_name(operator), {}).update({kernel.key: kernel for kernel in operator.kernels})
    replaced = {operator.name for operator in custom if not as_reference or len(kernels[_plain_name(operator)]) > 1}
    merged = [*[operator for operator in operators if operator.name not in replaced], *custom]
    return tuple([operator._replace(kernels=tuple(kernels[shared_name(operator)].values())) for operator in merged])


def _full_name(operator: ExecutorchOperator) -> str:
    return operator.name


def _plain_name(operator: ExecutorchOperator) -> str:
    return operator.function.name.text


def _report(operators: Sequence[ExecutorchOperator], custom: Sequence[ExecutorchOperator], sink: Diagnostics) -> None:
    """Report operators whose kernels a custom operator of the same name replaces."""
    by_name = {operator.function.name.text: operator for operator in operators}
    for operator in custom:
        other = by_name.get(operator.function.name.text)
        if other is None:
            continue
        also = (Label(other.function.entry, "the other entry", primary=False),)
        if other.name == operator.name:
            message = f"`{operator.name}` is in both files, and is written twice"
            sink.warning(mobile_codes.OVERRIDDEN, message, operator.function.entry, also=also)
        else:
            message = f"the kernel of `{operator.name}` is registered for `{other.name}` too"
            sink.warning(mobile_codes.SAME_NAME, message, operator.function.entry, also=also)


def load(
    files: Sequence[SourceFile], context: LoadContext, *, is_custom: bool = False
) -> tuple[ExecutorchOperator, ...]:
    """Operators of files, each once with the kernels of all files.

    Files like `functions.yaml` may name operators of PyTorch, those of custom operators have their whole schemas.
    """
    operators: dict[str, ExecutorchOperator] = {}
    loaded = [_load_file(file, context, is_custom=is_custom) for file in files]
    if len(loaded) == 1:
        # Within a file, entries are compared when they are loaded.
        return tuple(loaded[0])
    for operator in [operator for loaded_file in loaded for operator in loaded_file]:
        first = operators.setdefault(operator.name, operator)
        if first is not operator:
            _report_repetitions(first, operator, context.sink)
            operators[operator.name] = first._replace(kernels=first.kernels + operator.kernels)
    return tuple(operators.values())


def _report_repetitions(first: ExecutorchOperator, other: ExecutorchOperator, sink: Diagnostics) -> None:
    """Report an operator of two files with different schemas, or with two kernels for one key."""
    also = (Label(first.function.entry, "the entry in another file", primary=False),)
    if first.schema != other.schema:
        message = f"second entry for `{other.name}`, with another schema"
        sink.error(OVERLOAD_TWICE, message, other.function.entry, also=also)
    keys = {kernel.key for kernel in first.kernels}
    for kernel in other.kernels:
        if kernel.key in keys:
            message = f"two kernels of `{other.name}` have the key `{kernel.key}`"
            sink.error(mobile_codes.REPEATED_KEY, message, other.function.entry, also=also)


def _load_file(file: SourceFile, context: LoadContext, *, is_custom: bool) -> list[ExecutorchOperator]:
    """Operators of all entries without faults; faults go to the sink of the context."""
    file_context = context._replace(sink=Diagnostics())
    nodes = _load_entries(file, file_context, is_custom=is_custom)
    kernels = _file_kernels(nodes, file_context, is_custom=is_custom)
    context.sink.extend(file_context.sink)
    return [
        ExecutorchOperator(function, str(function.schema), kernels[function], is_custom)
        for function in link_functions(list(nodes), (), ())
    ]


def _load_entries(file: SourceFile, context: LoadContext, *, is_custom: bool) -> dict[UnlinkedFunction, MappingNode]:
    items = _items(file, context)
    tags = frozenset(load_tags(TAGS.files(context.inputs)[0], Diagnostics()))
    named = [node.value for item in items if isinstance(node := item.get("op"), Scalar)]
    readers: dict[str, Reader] = {
        "op": partial(_read_op, NamedOperators(named, context), context),
        "kernels": _replace_dispatch,
    }
    fields = {field.name: EntryField(field, readers.get(field.name, _pass_over)) for field in ENTRY_FIELDS}
    entry_context = EntryContext(tags, frozenset(), context.sink, fields=fields)
    report = CrossReport(context.sink, items)
    nodes: dict[UnlinkedFunction, MappingNode] = {}
    for item in items:
        function = load_entry(item, entry_context) if _has_name(item, context, is_custom=is_custom) else None
        if function is None:
            report.leave_out(item)
        else:
            nodes[function] = item
    functions = without_repetitions(list(nodes), report)
    check_names(functions, report)
    return {function: nodes[function] for function in functions}


def _items(file: SourceFile, context: LoadContext) -> list[MappingNode]:
    """Entries of a file; none for a file without content, or if it is no list, which is reported."""
    sink = context.sink
    try:
        root = load_yaml(file)
    except Fault as fault:
        if fault.diagnostic.code != FILE_EMPTY:
            sink.add(fault.diagnostic)
        return []
    if isinstance(root, Scalar) and root.kind == "null":
        return []
    if not isinstance(root, SequenceNode):
        message = f"the file is {root.description}, not a list of operators"
        sink.error(mobile_codes.EXECUTORCH_FILE_SHAPE, message, root.span, help=dialect_help(EXECUTORCH, file))
        return []
    for item in root.items:
        if not isinstance(item, MappingNode):
            message = f"an operator is a mapping, not {item.description}"
            sink.error(mobile_codes.EXECUTORCH_FILE_SHAPE, message, item.span)
    return [item for item in root.items if isinstance(item, MappingNode)]


def _has_name(item: MappingNode, context: LoadContext, *, is_custom: bool) -> bool:
    """Whether an entry names one operator, in the way of its file; otherwise reports it."""
    op, func = item.entry("op"), item.entry("func")
    if is_custom and op is not None:
        message = "an entry of a file of custom operators has the whole schema, as `func`"
        context.sink.error(mobile_codes.ENTRY_NAME, message, op[0].span, help="move the entry to `functions.yaml`")
        return False
    if op is not None and func is not None:
        context.sink.error(mobile_codes.ENTRY_NAME, "the entry has both `op` and `func`", func[0].span)
        return False
    if op is None and func is None:
        wanted = "`func`" if is_custom else "`op` or `func`"
        context.sink.error(mobile_codes.ENTRY_NAME, f"the entry has no {wanted}", item.span)
        return False
    return True


def _pass_over(_node: Node, _builder: EntryBuilder) -> None:
    """Another function reads the field, when the schema is known."""


def _replace_dispatch(_node: Node, builder: EntryBuilder) -> None:
    """An entry with `kernels` needs no `dispatch`, not even if it is a factory."""
    if builder.kernels is None:
        builder.kernels = {}


def _read_op(operators: NamedOperators, context: LoadContext, node: Node, builder: EntryBuilder) -> None:
    """Take the schema of the operator that an entry names."""
    if not isinstance(node, Scalar) or node.kind != "str":
        builder.wrong_type(node, "op", "the name of an operator")
        return
    operator = operators.find(node.value)
    if operator is not None:
        builder.schema = operator.schema
        builder.namespace = operator.namespace
        if context.tolerant and operator.namespace != NAMESPACE:
            builder.namespace = NAMESPACE
            message = f"`{node.value}` is taken for an operator of the namespace `{NAMESPACE}`"
            context.sink.warning(mobile_codes.LOST_NAMESPACE, message, node.span)
        return
    builder.failed = True
    if not operators.catalog.may_lack(qualified_name(node.value)):
        names = [function.name.text for function in operators.catalog.functions]
        help = did_you_mean(node.value.removeprefix(f"{NAMESPACE}::"), names)
        context.sink.error(
            mobile_codes.EXECUTORCH_UNKNOWN_OPERATOR, f"PyTorch has no operator `{node.value}`", node.span, help=help
        )


def _file_kernels(
    nodes: dict[UnlinkedFunction, MappingNode], context: LoadContext, *, is_custom: bool
) -> dict[UnlinkedFunction, tuple[ExecutorchKernel, ...]]:
    # In functions.yaml, ExecuTorch's program sorts the fields of all mappings.
    if not any(entry.entry("kernels") is not None for entry in nodes.values()):
        ranks = dispatch_ranks(nodes.items(), sorts_keys=not is_custom)
        return {function: _dispatched_kernels(entry, function, ranks, context) for function, entry in nodes.items()}
    kernels: dict[UnlinkedFunction, tuple[ExecutorchKernel, ...]] = {}
    for function, entry in nodes.items():
        if _has_kernels(entry):
            kernels[function] = read_kernels(entry, function, context, sorts_arguments=not is_custom)
        elif not context.tolerant and entry.get("dispatch") is not None:
            kernels[function] = _dispatched_kernels(entry, function, dispatch_ranks([(function, entry)]), context)
        else:
            kernels[function] = ()
            _report_missing(entry, function, context)
    return kernels


def _dispatched_kernels(
    entry: MappingNode, function: UnlinkedFunction, ranks: Mapping[DispatchKey, int], context: LoadContext
) -> tuple[ExecutorchKernel, ...]:
    """Kernel of an entry of the old style."""
    kernel = dispatched_kernel(function, ranks, as_reference=context.tolerant)
    if kernel is None:
        _report_missing(entry, function, context)
        return ()
    if len(function.kernels) > 1 and context.tolerant:
        node = entry.get("dispatch")
        message = f"of the kernels of `{function.name}`, only `{kernel.name}` is used"
        context.sink.warning(mobile_codes.LAST_DISPATCH, message, (node or entry).span)
    return (kernel,)


def _has_kernels(entry: MappingNode) -> bool:
    node = entry.get("kernels")
    return (
        node is not None
        and not (isinstance(node, Scalar) and node.kind == "null")
        and (isinstance(node, Scalar) or len(node) > 0)
    )


def _report_missing(entry: MappingNode, function: UnlinkedFunction, context: LoadContext) -> None:
    message, at = f"`{function.name}` has no kernel", _name_span(entry)
    if context.tolerant:
        context.sink.warning(mobile_codes.NO_KERNEL_WARNING, message, at, help="ExecuTorch registers nothing for it")
    else:
        context.sink.error(mobile_codes.NO_KERNEL, message, at, help="add `kernels`")


def _name_span(entry: MappingNode) -> Span:
    node = entry.get("op") or entry.get("func")
    if not isinstance(node, Scalar):
        return entry.span
    end = node.value.find("(")
    return node.span_of(0, end if end >= 0 else len(node.value))


#: The namespace of an operator that names none.
NAMESPACE: Final = "aten"

#: The schema of an entry that begins with it, on a line of its own and without quotes.
_SCHEMA: Final = re.compile(r"(?m)^- func: ([\w.]+)(\([^\n\"'#]*)$(?=\n(?:  \w+:|\n|- )|\s*\Z)")


def qualified_name(name: str) -> str:
    """Qualified name of an operator that an entry names.

    >>> qualified_name("add.out"), qualified_name("mine::add.out")
    ('aten::add.out', 'mine::add.out')
    """
    return name if "::" in name else f"{NAMESPACE}::{name}"


class NamedOperator(NamedTuple):
    """An operator of PyTorch: its namespace and its schema."""

    namespace: str
    schema: FunctionSchema


class NamedOperators:
    """Operators of PyTorch with some names. All operators are loaded when another one is asked for."""

    def __init__(self, names: Iterable[str], context: LoadContext) -> None:
        self._context: Final = context
        self._catalog: Catalog | None = context.catalog
        self._operators: Final[dict[str, NamedOperator]] = {}
        wanted = set(map(qualified_name, names))
        if wanted and self._catalog is None:
            file = NATIVE_FUNCTIONS.files(context.inputs)[0]
            self._read_schemas(wanted, file)
            self._load_some(wanted.difference(self._operators), file)

    def find(self, name: str) -> NamedOperator | None:
        """Operator that an entry names; None if PyTorch has none."""
        name = qualified_name(name)
        operator = self._operators.get(name)
        if operator is None and name in self.catalog:
            function = self.catalog[name]
            operator = self._operators[name] = NamedOperator(function.namespace, function.schema)
        return operator

    @property
    def catalog(self) -> Catalog:
        """All operators of PyTorch. Their faults go to the sink of the context."""
        if self._catalog is None:
            self._catalog = NATIVE_FUNCTIONS.load_inputs(self._context)
            assert self._catalog is not None, "inputs without operators are refused"
        return self._catalog

    def _read_schemas(self, names: set[str], file: SourceFile) -> None:
        """Read the schemas of the operators that have an entry of their own."""
        if file.has_anchors:
            return
        for match in _SCHEMA.finditer(file.text):
            name = qualified_name(match[1])
            if name in names:
                try:
                    self._operators[name] = NamedOperator(NAMESPACE, read_schema((match[1] + match[2]).rstrip()))
                except SchemaFault:
                    # All operators are loaded then, which reports it.
                    continue

    def _load_some(self, names: set[str], file: SourceFile) -> None:
        """Load the operators that PyTorch generates, from the entries of their operations."""
        if not names or file.has_anchors:
            return
        items = LoadScope([name.partition("::")[2].partition(".")[0] for name in names]).items(file)
        if items is None:
            return
        overload_sink = Diagnostics()
        entries = {NATIVE_FUNCTIONS.name: items}
        try:
            catalog = NATIVE_FUNCTIONS.load_inputs(self._context._replace(sink=overload_sink, chosen_items=entries))
        except (PartialCatalog, Fault, FaultsFound):
            return
        if catalog is None or overload_sink.has_errors:
            return
        for name in names:
            if name in catalog:
                self._operators[name] = NamedOperator(catalog[name].namespace, catalog[name].schema)
