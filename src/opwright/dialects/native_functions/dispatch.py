"""Fields that say how an overload is computed: `dispatch`, `ufunc_inner_loop` and `precomputed`."""

from __future__ import annotations

from typing import Final

from opwright.dialects.names import CPP_WORDS, IDENTIFIER, KERNEL_NAMESPACES, default_kernel_name, split_kernel
from opwright.dialects.native_functions.entry_builder import (
    EntryBuilder,
    dispatch_key_span,
    kernel_span,
    key_span,
    name_span,
)
from opwright.dialects.nearest_key import suggested_key
from opwright.model.dispatch_key import (
    COMPOSITE_EXPLICIT,
    COMPOSITE_EXPLICIT_NON_FUNCTIONAL,
    COMPOSITE_IMPLICIT,
    COMPOSITE_IMPLICIT_NESTED,
    CPU,
    CUDA,
    KEYS,
    DispatchKey,
    dispatch_keys,
)
from opwright.model.native_function import Kernel, Precomputed, UfuncKey, UfuncLoop
from opwright.schema.fault import SchemaFault
from opwright.schema.function import Argument, FunctionSchema
from opwright.schema.parser import read_argument
from opwright.source import codes
from opwright.source.codes import KEY_REPEATED
from opwright.source.diagnostic import did_you_mean
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode, did_you_mean_key

#: The sets of composite keys that may have kernels together.
_TOGETHER: Final = (
    frozenset((COMPOSITE_EXPLICIT, COMPOSITE_IMPLICIT_NESTED)),
    frozenset((COMPOSITE_IMPLICIT, COMPOSITE_IMPLICIT_NESTED)),
)


def read_dispatch(node: Node, builder: EntryBuilder) -> None:
    """Reads the table. Kernels of ignored keys are checked and left out; an empty value counts as no table."""
    table = read_table(node, builder)
    if table is None:
        return
    kernels: dict[DispatchKey, Kernel] = {}
    builder.kernels = kernels
    ignored = builder.context.ignored_keys
    structured, tree = builder.structured, builder.context.tree
    seen: set[DispatchKey] = set()
    for key, value in table.entries:
        keys = read_keys(key, builder)
        named = read_kernel(value, builder)
        if named is None:
            continue
        namespace, name = named
        for kernel_key in keys:
            add_key(kernel_key, key, seen, builder)
            if kernel_key not in ignored:
                has_wrappers = kernel_key.allocation is not None
                if structured and tree is not None and kernel_key.name in tree.structured_keys and not has_wrappers:
                    _report_structured(kernel_key, key, builder)
                kernels[kernel_key] = Kernel(kernel_key, name, namespace, structured and kernel_key.has_structured)
            else:
                builder.has_ignored_kernels = True


def read_table(node: Node, builder: EntryBuilder) -> MappingNode | None:
    """The table; None if it is empty, or something else."""
    if isinstance(node, MappingNode):
        return node
    if isinstance(node, Scalar) and node.kind == "null":
        return None
    before, _, after = node.value.partition(":") if isinstance(node, Scalar) else ("", "", "")
    help = f"write `{{{before}: {after}}}`, with a blank" if after.isidentifier() else ""
    if before.isidentifier() and not after:
        help = f"write for instance `{{CPU: {before}}}`"
    builder.kernels = {}
    builder.wrong_type(node, "dispatch", "a mapping of dispatch keys to kernels", help)
    return None


def read_kernel(value: Node, builder: EntryBuilder) -> tuple[str, str] | None:
    """Namespace and name of a kernel; None, with a fault, for what is no text."""
    if isinstance(value, Scalar) and value.kind == "str":
        return read_kernel_name(value, builder)
    builder.fault(codes.NATIVE_KERNEL_NAME, f"a kernel is a name, not {value.description}", value.span)
    return None


def _report_structured(kernel_key: DispatchKey, key: Scalar, builder: EntryBuilder) -> None:
    """Report a structured kernel for a key that only the tree has such for: nothing says how it gets its outputs."""
    message = f"the generator in the tree has structured kernels for `{kernel_key.name}`, and Opwright has none"
    help = "add a row to `_ROWS` in `opwright/model/dispatch_key.py` (docs/contributing.md, Add a dispatch key)"
    builder.fault(codes.KEY_NEEDS_ROW, message, key.span, help=help)


def add_key(kernel_key: DispatchKey, key: Scalar, seen: set[DispatchKey], builder: EntryBuilder) -> None:
    """Counts a key of the table, and reports one that has a kernel already."""
    builder.named_keys += 1
    if kernel_key in seen:
        builder.fault(codes.KEY_TWICE, f"second kernel for dispatch key `{kernel_key.name}`", key.span)
    seen.add(kernel_key)


def read_keys(scalar: Scalar, builder: EntryBuilder) -> tuple[DispatchKey, ...]:
    """Keys that a text such as `CPU, CUDA` names. Reports unknown names and leaves them out."""
    if scalar.value in builder.context.keys_of:
        return builder.context.keys_of[scalar.value]
    keys: list[DispatchKey] = []
    sound = True
    start = 0
    for part in scalar.value.split(","):
        name = part.strip()
        begin = start + part.find(name)
        key = builder.context.keys.get(name)
        if key is not None:
            keys.append(key)
        else:
            sound = False
            code, message = codes.UNKNOWN_DISPATCH_KEY, f"unknown dispatch key `{name}`"
            if name in KEYS:
                code = codes.UNSUPPORTED_KEY
                message = f"`{name}` is a dispatch key, but not one that `dispatch` may name"
            at = scalar.span_of(begin, begin + len(name)) if name else scalar.span
            names = list(builder.context.keys)
            builder.fault(code, message, at, label="not a dispatch key", help=suggested_key(name, names))
        start += len(part) + 1
    named_keys = tuple(keys)
    if sound:
        builder.context.keys_of[scalar.value] = named_keys
    return named_keys


def read_kernel_name(scalar: Scalar, builder: EntryBuilder) -> tuple[str, str]:
    """Namespace and the name of a kernel."""
    text, library = scalar.value, builder.context.library
    if text.isidentifier() and text.isascii() and text not in CPP_WORDS:
        return builder.context.kernel_namespace, text
    is_global = text.startswith("::") and not library.kernels_in_native
    parts = (text[2:] if is_global else text).split("::")
    for part in parts:
        is_name = IDENTIFIER.fullmatch(part) is not None
        if not is_name or part in CPP_WORDS:
            start = text.find(part)
            at = scalar.span_of(start, start + len(part)) if part else scalar.span
            message = f"kernel name `{part}` is {'a C++ keyword' if is_name else 'not a C++ identifier'}"
            word = part.partition("(")[0]
            help = f"write `{word}`: a kernel is named, not called" if word and part.endswith(")") else ""
            help = "choose another name" if is_name else help
            builder.fault(codes.NATIVE_KERNEL_NAME, message, at, help=help)
            return library.native, text
    if len(parts) > KERNEL_NAMESPACES + 1 and library.kernels_in_native:
        message = f"`{text}` has {len(parts) - 1} namespaces; a kernel has {KERNEL_NAMESPACES} at most"
        builder.fault(codes.KERNEL_NAMESPACE, message, scalar.span)
    return split_kernel(text, library)


def build_kernels(builder: EntryBuilder, schema: FunctionSchema) -> dict[DispatchKey, Kernel]:
    """Kernels of an entry whose fields are read. Without `dispatch` it has an implicit composite kernel."""
    kernels = builder.kernels
    if kernels is None:
        if builder.structured or builder.structured_delegate is not None:
            return {}
        # A library may register the kernels of a factory by hand, with the keys that it needs.
        is_by_hand = builder.manual_kernel_registration and not builder.context.library.keeps_conventions
        if not builder.context.only_schemas and not is_by_hand:
            _check_factory(builder, schema)
        name, namespace = default_kernel_name(schema), builder.context.kernel_namespace
        return {COMPOSITE_IMPLICIT: Kernel(COMPOSITE_IMPLICIT, name, namespace, False)}
    if builder.named_keys == 1 and COMPOSITE_IMPLICIT in kernels:
        _check_lone_implicit(builder, schema, kernels[COMPOSITE_IMPLICIT])
    composites = frozenset([key for key in kernels if key.is_composite])
    if len(composites) > 1 and composites not in _TOGETHER:
        _report_composites(builder, composites)
    return kernels


def _check_factory(builder: EntryBuilder, schema: FunctionSchema) -> None:
    """Reports a factory without `dispatch`. `__torch_dispatch__` must see factories, so their kernels are explicit."""
    name, arguments = schema.name.name, schema.arguments
    takes_tensor = any(argument.type.is_tensor_like for argument in arguments.non_out)
    if name.startswith("new_") or name.endswith("_like") or (arguments.options is not None and not takes_tensor):
        builder.fault(
            codes.FACTORY_DISPATCH,
            f"factory function `{name}` has no `dispatch`",
            name_span(builder.node),
            help=f"add `dispatch:` with `CompositeExplicitAutograd: {default_kernel_name(schema)}`",
        )


def _check_lone_implicit(builder: EntryBuilder, schema: FunctionSchema, kernel: Kernel) -> None:
    """Reports a table whose only kernel is an implicit composite: it is redundant, or it only renames the kernel.

    In libraries other than PyTorch it may.
    """
    expected, library = default_kernel_name(schema), builder.context.library
    if kernel.name == expected and kernel.namespace == builder.context.kernel_namespace:
        builder.fault(
            codes.REDUNDANT_DISPATCH,
            "the `dispatch` table has no effect",
            key_span(builder.node, "dispatch"),
            help="delete it",
        )
    elif builder.structured_delegate is None and not kernel.symint and library.keeps_conventions:
        builder.fault(
            codes.IMPLICIT_NAME,
            f"the lone composite kernel is `{kernel.name}`, not `{expected}`",
            kernel_span(builder.node, kernel.name),
            help=f"rename the kernel to `{expected}` and delete the `dispatch` table",
        )


def _report_composites(builder: EntryBuilder, composites: frozenset[DispatchKey]) -> None:
    shown = ", ".join(f"`{key.name}`" for key in dispatch_keys() if key in composites)
    last = max((dispatch_key_span(builder.node, key.name) for key in composites), key=lambda span: span.start)
    builder.fault(
        codes.COMPOSITES,
        f"kernels for {shown} on one function",
        last,
        help=f"keep one of them; `{COMPOSITE_EXPLICIT_NON_FUNCTIONAL.name}` and the others subsume each other",
    )


_INTEGRAL: Final = ("Byte", "Char", "Int", "Long", "Short")
_FLOATING: Final = ("Float", "Double")
_COMPLEX: Final = ("ComplexFloat", "ComplexDouble")

#: The names that stand for several dtypes.
DTYPE_CLASSES: Final = {
    "Integral": _INTEGRAL,
    "Floating": _FLOATING,
    "Complex": _COMPLEX,
    "All": _INTEGRAL + _FLOATING,
    "AllAndComplex": _INTEGRAL + _FLOATING + _COMPLEX,
    "FloatingAndComplex": _FLOATING + _COMPLEX,
}
DTYPES: Final = (
    "Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double", "ComplexHalf", "ComplexFloat", "ComplexDouble",
    "Bool", "BFloat16", "Float8_e5m2", "Float8_e5m2fnuz", "Float8_e4m3fn", "Float8_e4m3fnuz", "Float8_e8m0fnu",
)  # fmt: skip

#: The keys for which an entry with loops gets kernels.
_UFUNC_KEYS: Final = (CUDA, CPU)
_LOOP_KEYS: Final = tuple(key.name for key in UfuncKey)
_FORM: Final = "write `name (dtype, dtype class, ...)`, such as `add (AllAndComplex, BFloat16, Half)`"


def read_ufunc(node: Node, builder: EntryBuilder) -> dict[UfuncKey, UfuncLoop]:
    """Reads one loop for all dtypes, or a mapping from the kind of loop to the loop."""
    loops: dict[UfuncKey, UfuncLoop] = {}
    if isinstance(node, Scalar) and node.kind == "str":
        _read_loop(node, UfuncKey.Generic, loops, builder)
    elif isinstance(node, MappingNode):
        for key, value in node.entries:
            if key.value not in UfuncKey.__members__:
                help = did_you_mean_key(key, node, _LOOP_KEYS)
                builder.fault(codes.UFUNC_KEY, f"unknown kind of loop `{key.value}`", key.span, help=help)
            elif UfuncKey[key.value] in loops:
                builder.fault(KEY_REPEATED, f"second loop for `{key.value}`", key.span)
            elif not isinstance(value, Scalar) or value.kind != "str":
                builder.wrong_type(value, key.value, "text")
            else:
                _read_loop(value, UfuncKey[key.value], loops, builder)
    else:
        builder.wrong_type(node, "ufunc_inner_loop", "text or a mapping")
    return loops


def _read_loop(scalar: Scalar, key: UfuncKey, loops: dict[UfuncKey, UfuncLoop], builder: EntryBuilder) -> None:
    text = scalar.value
    name, _, rest = text.partition(" ")
    if IDENTIFIER.fullmatch(name) is None or not (rest.startswith("(") and rest.endswith(")")):
        builder.fault(codes.UFUNC_LOOP, f"`{text}` is not a loop", scalar.span, help=_FORM)
        return
    dtypes: dict[str, None] = {}
    start = len(name) + 2
    for word in rest[1:-1].split(", "):
        if word in DTYPE_CLASSES:
            dtypes.update(dict.fromkeys(DTYPE_CLASSES[word]))
        elif word in DTYPES:
            dtypes[word] = None
        else:
            help = did_you_mean(word, (*DTYPE_CLASSES, *DTYPES))
            builder.fault(
                codes.UFUNC_DTYPE, f"unknown dtype `{word}`", scalar.span_of(start, start + len(word)), help=help
            )
        start += len(word) + 2
    loops[key] = UfuncLoop(key, name, tuple(dtypes))


def add_ufunc_kernels(kernels: dict[DispatchKey, Kernel], builder: EntryBuilder, schema: FunctionSchema) -> None:
    """Adds the kernels that an entry with loops has."""
    span = key_span(builder.node, "ufunc_inner_loop")
    if not builder.context.library.keeps_conventions:
        help = f"write `dispatch: {{CPU: {schema.name.unambiguous}}}`, with a kernel of yours"
        builder.fault(codes.UFUNC_STRUCTURED, "loops are made for PyTorch's operators alone", span, help=help)
        return
    if not builder.structured:
        builder.fault(codes.UFUNC_STRUCTURED, "only structured functions have loops", span)
    for key in _UFUNC_KEYS:
        if key in kernels:
            message = f"the loops already make the kernel for `{key.name}`"
            builder.fault(codes.UFUNC_DISPATCH, message, dispatch_key_span(builder.node, key.name))
        else:
            namespace = builder.context.library.native
            kernels[key] = Kernel(key, f"ufunc_{schema.name.name}_{key.name}", namespace, True)


_ARROW: Final = " -> "
_PRECOMPUTED_FORM: Final = "write `argument -> type name, ...`; the last line may be `type name, ...`, which is added"


def read_precomputed(node: Node, builder: EntryBuilder) -> Precomputed | None:
    """Reads the lines `argument -> type name, ...`; the last line may have no arrow."""
    if isinstance(node, Scalar) and node.kind == "null":
        return None
    if not isinstance(node, SequenceNode):
        builder.wrong_type(node, "precomputed", "a list of lines")
        return None
    replace: dict[str, tuple[Argument, ...]] = {}
    add: tuple[Argument, ...] = ()
    for index, item in enumerate(node.items):
        if not isinstance(item, Scalar) or item.kind != "str":
            builder.fault(codes.PRECOMPUTED, f"a line of `precomputed` is text, not {item.description}", item.span)
        elif _ARROW in item.value:
            _read_replacement(item, replace, builder)
        elif index == len(node.items) - 1:
            add = _read_arguments(item, 0, builder)
        else:
            builder.fault(codes.PRECOMPUTED, "only the last line may omit ` -> `", item.span, help=_PRECOMPUTED_FORM)
    return Precomputed(replace, add) if replace or add else None


def _read_replacement(item: Scalar, replace: dict[str, tuple[Argument, ...]], builder: EntryBuilder) -> None:
    text = item.value
    end = text.index(_ARROW)
    name = text[:end]
    if IDENTIFIER.fullmatch(name) is None:
        message = f"`{name}` is not an argument name"
        builder.fault(codes.PRECOMPUTED, message, item.span_of(0, end), help=_PRECOMPUTED_FORM)
        return
    if name in replace:
        builder.fault(codes.PRECOMPUTED, f"argument `{name}` is replaced twice", item.span_of(0, end))
    replace[name] = _read_arguments(item, end + len(_ARROW), builder)


def _read_arguments(item: Scalar, start: int, builder: EntryBuilder) -> tuple[Argument, ...]:
    """Arguments in a line from `start` on, separated by commas."""
    arguments = []
    for part in item.value[start:].split(","):
        begin = start + len(part) - len(part.lstrip())
        argument = _read_precomputed_argument(item, begin, begin + len(part.strip()), builder)
        arguments += [argument] if argument is not None else []
        start += len(part) + 1
    return tuple(arguments)


def _read_precomputed_argument(item: Scalar, begin: int, stop: int, builder: EntryBuilder) -> Argument | None:
    if IDENTIFIER.fullmatch(item.value, begin, stop) is not None:
        name = item.value[begin:stop]
        arguments = () if builder.schema is None else builder.schema.arguments.all
        is_alone = _ARROW not in item.value and name in {argument.name for argument in arguments}
        arrow = f"`{name} -> int {name}`, say, gives the kernel what stands behind `->` in place of `{name}`"
        help = arrow if is_alone else _PRECOMPUTED_FORM
        builder.fault(codes.PRECOMPUTED, f"`{name}` is no type with a name", item.span_of(begin, stop), help=help)
        return None
    try:
        argument = read_argument(item.value, begin, stop)
    except SchemaFault as fault:
        builder.schema_fault(fault, item)
        return None
    if argument.name.upper() == argument.name:
        message = f"precomputed `{argument.name}` is all upper-case, like the template parameter made from it"
        builder.fault(codes.PRECOMPUTED_NAME, message, item.span_of(begin, stop))
    return argument
