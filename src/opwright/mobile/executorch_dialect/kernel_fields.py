"""Reads the fields of an entry that say which kernels its operator has: `kernels`, its aliases, and `dispatch`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from opwright.dialects.dialect import LoadContext
from opwright.dialects.names import IDENTIFIER, default_kernel_name
from opwright.mobile import mobile_codes
from opwright.mobile.executorch_dialect.fields import KERNEL_FIELDS, TensorSpec, kernel_keys
from opwright.mobile.executorch_operators import DEFAULT_KEY, DTYPES, ExecutorchKernel
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import CPU, DispatchKey
from opwright.model.library import PYTORCH
from opwright.model.native_function import UnlinkedFunction
from opwright.source.diagnostic import Label, did_you_mean
from opwright.source.expect import check_unique_keys, expect_integer, expect_mapping, expect_sequence, expect_string
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode, did_you_mean_key
from opwright.source.span import Span


def dispatch_ranks(
    entries: Iterable[tuple[UnlinkedFunction, MappingNode | None]], *, sorts_keys: bool = False
) -> Mapping[DispatchKey, int]:
    """Dispatch keys of a file with their places in the order in which they first occur.

    ExecuTorch's program takes the kernel of an operator whose key is the last of them. With `sorts_keys`, it sorts
    the fields of `dispatch` before.
    """
    ranks: dict[DispatchKey, int] = {}
    for function, entry in entries:
        for key in _sorted_keys(function, entry) if sorts_keys else function.kernels:
            ranks.setdefault(key, len(ranks))
    return ranks


def _sorted_keys(function: UnlinkedFunction, entry: MappingNode | None) -> list[DispatchKey]:
    """Keys of an operator's kernels as its entry names them, in the order of the sorted fields of `dispatch`."""
    dispatch = None if entry is None else entry.get("dispatch")
    if not isinstance(dispatch, MappingNode):
        return list(function.kernels)
    by_name = {key.name: key for key in function.kernels}
    fields = sorted([key.value for key, _ in dispatch.entries])
    names = [name.strip() for field in fields for name in field.split(",")]
    return [by_name.pop(name) for name in names if name in by_name] + list(by_name.values())


def dispatched_kernel(
    function: UnlinkedFunction, ranks: Mapping[DispatchKey, int], *, as_reference: bool
) -> ExecutorchKernel | None:
    """Kernel of an operator with `dispatch`: that of the CPU, or as ExecuTorch's program takes it."""
    kernels = function.kernels
    key = CPU if CPU in kernels and not as_reference else max(kernels, key=ranks.__getitem__, default=None)
    return None if key is None else ExecutorchKernel(DEFAULT_KEY, kernels[key].name, kernels[key].namespace)


def pytorch_kernels(catalog: Catalog, *, as_reference: bool) -> dict[UnlinkedFunction, tuple[ExecutorchKernel, ...]]:
    """Kernels of PyTorch's operators in ATen mode, which only declares them and calls the functions of `at::`.

    ExecuTorch's program leaves out operators that are implemented by another form of the same operation.
    """
    ranks = dispatch_ranks([(function, None) for function in catalog.functions])
    kernels: dict[UnlinkedFunction, tuple[ExecutorchKernel, ...]] = {}
    for function in catalog.functions:
        kernel = dispatched_kernel(function, ranks, as_reference=True)
        if kernel is None and not as_reference:
            kernel = ExecutorchKernel(DEFAULT_KEY, default_kernel_name(function.schema), PYTORCH.native)
        kernels[function] = () if kernel is None else (kernel,)
    return kernels


#: The most namespaces that the name of a kernel may have.
_NAMESPACES: Final = 3

_ITEM_FIELDS: Final = [field.name for field in KERNEL_FIELDS]


class _Aliases:
    """Aliases of an entry, and what their readers need."""

    def __init__(self, entry: MappingNode, function: UnlinkedFunction, context: LoadContext) -> None:
        self.context: Final = context
        self.function: Final = function
        self.dtypes: Final = {
            name: [dtype for item in items if (dtype := expect_string(item, "a dtype", context.sink)) is not None]
            for name, items in _alias_lists(entry, "type_alias", context)
        }
        self.dim_orders: Final = {
            name: tuple([number for item in items if (number := _dimension(item, context)) is not None])
            for name, items in _alias_lists(entry, "dim_order_alias", context)
        }


def _alias_lists(entry: MappingNode, field: str, context: LoadContext) -> Iterable[tuple[str, Sequence[Node]]]:
    """Aliases of a field with the items of each."""
    node = entry.get(field)
    if node is None or (isinstance(node, Scalar) and node.kind == "null"):
        return
    aliases = expect_mapping(node, f"`{field}`", context.sink)
    if aliases is None:
        return
    check_unique_keys(aliases, context.sink)
    for name, value in aliases.entries:
        items = expect_sequence(value, f"alias `{name.value}`", context.sink)
        yield name.value, () if items is None else items.items


def _dimension(node: Node, context: LoadContext) -> int | None:
    # ExecuTorch's program takes texts of digits too.
    if isinstance(node, Scalar) and node.kind == "str" and node.value.strip().isdecimal():
        return int(node.value)
    return expect_integer(node, "a dimension", context.sink)


def read_kernels(
    entry: MappingNode, function: UnlinkedFunction, context: LoadContext, *, sorts_arguments: bool
) -> tuple[ExecutorchKernel, ...]:
    """Kernels of an entry; faults go to the sink of the context.

    With `sorts_arguments`, ExecuTorch's program sorts the arguments in keys by name.
    """
    node = entry.get("kernels")
    if node is None or (isinstance(node, Scalar) and node.kind == "null"):
        return ()
    items = expect_sequence(node, "`kernels`", context.sink)
    aliases = _Aliases(entry, function, context)
    first: dict[str, Span] = {}
    kernels: list[ExecutorchKernel] = []
    for item in () if items is None else items.items:
        kernel = _kernel_name(item, context)
        if kernel is None or not isinstance(item, MappingNode):
            continue
        scalar, namespace, name = kernel
        keys, arguments = _keys(item, aliases, sorts_arguments=sorts_arguments)
        for key in keys:
            earlier = first.get(key)
            if earlier is None:
                first[key] = scalar.span
                kernels.append(ExecutorchKernel(key, name, namespace, arguments))
            else:
                message = f"two kernels of `{function.name}` have the key `{key}`"
                also = (Label(earlier, "first kernel", primary=False),)
                context.sink.error(mobile_codes.REPEATED_KEY, message, scalar.span, also=also)
    return tuple(kernels)


def _kernel_name(item: Node, context: LoadContext) -> tuple[Scalar, str, str] | None:
    """Text, the namespace and the name of a kernel; None if it has a fault, which is reported."""
    sink = context.sink
    if not isinstance(item, MappingNode):
        sink.error(
            mobile_codes.KERNEL_SHAPE, f"a kernel is {item.description}, not a mapping with `kernel_name`", item.span
        )
        return None
    check_unique_keys(item, sink)
    for key, _ in item.entries:
        if key.value not in _ITEM_FIELDS:
            message, help = f"a kernel has no field `{key.value}`", did_you_mean_key(key, item, _ITEM_FIELDS)
            if context.tolerant:
                sink.warning(mobile_codes.EXECUTORCH_UNKNOWN_FIELD_WARNING, message, key.span, help=help)
            else:
                sink.error(mobile_codes.EXECUTORCH_UNKNOWN_FIELD, message, key.span, help=help)
    node = item.get("kernel_name")
    if node is None:
        sink.error(mobile_codes.KERNEL_SHAPE, "the kernel has no `kernel_name`", item.span)
        return None
    scalar = expect_string(node, "`kernel_name`", sink)
    if scalar is None:
        return None
    *namespaces, name = scalar.value.split("::")
    for part in (*namespaces, name):
        if IDENTIFIER.fullmatch(part) is None:
            start = scalar.value.find(part)
            at = scalar.span_of(start, start + len(part)) if part else scalar.span
            sink.error(mobile_codes.EXECUTORCH_KERNEL_NAME, f"`{part}` is not a C++ identifier", at)
            return None
    if len(namespaces) > _NAMESPACES:
        message = f"`{scalar.value}` has {len(namespaces)} namespaces; a kernel has {_NAMESPACES} at most"
        sink.error(mobile_codes.EXECUTORCH_KERNEL_NAME, message, scalar.span)
        return None
    return scalar, f"{'::'.join(namespaces) or 'at'}::native", name


_Keys: TypeAlias = tuple[Sequence[str], tuple[str, ...]]
"""Keys of a kernel, and the arguments whose dtypes and dim orders they have."""


def _keys(item: MappingNode, aliases: _Aliases, *, sorts_arguments: bool) -> _Keys:
    """Keys of a kernel; none if it has a fault, which is reported."""
    node = item.get("arg_meta")
    if node is None or (isinstance(node, Scalar) and node.kind == "null"):
        return [DEFAULT_KEY], ()
    context = aliases.context
    arguments = expect_mapping(node, "`arg_meta`", context.sink)
    if arguments is None:
        return (), ()
    check_unique_keys(arguments, context.sink)
    specs: dict[str, TensorSpec] = {}
    for name, value in arguments.entries:
        _check_argument(name, aliases)
        spec = _tensor_spec(name.value, value, aliases)
        if spec is None:
            return (), ()
        specs[name.value] = spec
    if any(dtype.value not in DTYPES for spec in specs.values() for dtype in aliases.dtypes[spec.type_alias]):
        return (), ()
    return _ordered_keys(specs, arguments, aliases, sorts_arguments=sorts_arguments)


def _check_argument(name: Scalar, aliases: _Aliases) -> None:
    arguments = [argument.name for argument in aliases.function.schema.arguments.all]
    if name.value in arguments:
        return
    message = f"`{aliases.function.name}` has no argument `{name.value}`"
    help = did_you_mean(name.value, arguments)
    if aliases.context.tolerant:
        aliases.context.sink.warning(mobile_codes.EXECUTORCH_UNKNOWN_ARGUMENT_WARNING, message, name.span, help=help)
    else:
        aliases.context.sink.error(mobile_codes.EXECUTORCH_UNKNOWN_ARGUMENT, message, name.span, help=help)


def _tensor_spec(name: str, node: Node, aliases: _Aliases) -> TensorSpec | None:
    """The dtypes and the dim order of an argument; None if they have a fault, which is reported."""
    sink = aliases.context.sink
    if not isinstance(node, SequenceNode) or len(node.items) != 2:
        sink.error(mobile_codes.KERNEL_SHAPE, f"`{name}` has a type alias and a dim-order alias: `[T0, D0]`", node.span)
        return None
    type_alias, dim_order = [expect_string(item, f"an alias of `{name}`", sink) for item in node.items]
    if type_alias is None or dim_order is None:
        return None
    is_sound = True
    for alias, field, names in (
        (type_alias, "type_alias", list(aliases.dtypes)),
        (dim_order, "dim_order_alias", list(aliases.dim_orders)),
    ):
        if alias.value not in names:
            message, help = f"`{alias.value}` is not in `{field}`", did_you_mean(alias.value, names)
            sink.error(mobile_codes.UNDEFINED_ALIAS, message, alias.span, help=help)
            is_sound = False
    if not is_sound:
        return None
    for dtype in aliases.dtypes[type_alias.value]:
        if dtype.value not in DTYPES:
            message, help = f"no kernel key has the dtype `{dtype.value}`", did_you_mean(dtype.value, DTYPES)
            sink.error(mobile_codes.UNKNOWN_DTYPE, message, dtype.span, help=help)
    return TensorSpec(type_alias.value, aliases.dim_orders[dim_order.value])


def _ordered_keys(
    specs: dict[str, TensorSpec], arguments: MappingNode, aliases: _Aliases, *, sorts_arguments: bool
) -> _Keys:
    """Keys, with the arguments in the order of the schema or in that of ExecuTorch's program."""
    context = aliases.context
    in_schema = [argument.name for argument in aliases.function.schema.arguments.all]
    right_order = sorted(specs, key=lambda name: in_schema.index(name) if name in in_schema else len(in_schema))
    dtypes = {alias: [dtype.value for dtype in items] for alias, items in aliases.dtypes.items()}
    keys = kernel_keys([specs[name] for name in right_order], dtypes)
    if not context.tolerant:
        return keys, tuple(right_order)
    order = sorted(specs) if sorts_arguments else list(specs)
    if set(kernel_keys([specs[name] for name in order], dtypes)) != set(keys):
        wrong = next(name for name, right in zip(order, right_order, strict=True) if name != right)
        entry = arguments.entry(wrong)
        message = f"keys have `{wrong}` at another place than the schema of `{aliases.function.name}`"
        context.sink.warning(mobile_codes.KEY_ORDER, message, arguments.span if entry is None else entry[0].span)
    if any(len(spec.dim_order) == 1 for spec in specs.values()):
        message = "keys have a comma after the only dimension of a tensor"
        context.sink.warning(mobile_codes.ONE_DIMENSION, message, arguments.span)
    return kernel_keys([specs[name] for name in order], dtypes, as_reference=True), tuple(order)
