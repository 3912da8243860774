"""Loads one entry of `native_functions.yaml`, with one reader for each field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from opwright.dialects.names import IDENTIFIER
from opwright.dialects.native_functions.dispatch import (
    add_ufunc_kernels,
    build_kernels,
    read_dispatch,
    read_precomputed,
    read_ufunc,
)
from opwright.dialects.native_functions.entry_builder import EntryBuilder, EntryContext, Reader, name_span
from opwright.dialects.native_functions.rules import check_entry
from opwright.model.library import PYTORCH
from opwright.model.native_function import DeviceCheck, UnlinkedFunction
from opwright.schema.fault import SchemaFault
from opwright.schema.function import FunctionSchema
from opwright.schema.names import OperatorName
from opwright.schema.parser import read_namespace, read_operator_name, read_schema, read_written_schema
from opwright.schema.tag_rules import fits_inplace
from opwright.source import codes
from opwright.source.diagnostic import did_you_mean
from opwright.source.expect import check_unique_keys
from opwright.source.nodes import Mapping, Node, Scalar, Sequence, did_you_mean_key
from opwright.source.span import Span

if TYPE_CHECKING:
    from opwright.dialects.extra_key_reader import ExtraKeys

_TRUE: Final = frozenset(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"))
_FALSE: Final = frozenset(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"))


def load_entry(node: Mapping, context: EntryContext) -> UnlinkedFunction | None:
    """The function of an entry; None if the entry has a fault, which is reported."""
    builder = EntryBuilder(node, context)
    later: list[tuple[Reader, Node]] = []
    names: set[str] = set()
    for key, value in node.entries:
        names.add(key.value)
        reader = _READERS.get(key.value)
        if reader is None:
            reader = context.readers.get(key.value)
            if reader is not None:
                later.append((reader, value))
            elif context.extra_keys is None or key.value not in context.extra_keys:
                _report_field(key, context, builder)
        elif reader in _LATE_READERS:
            later.append((reader, value))
        else:
            reader(value, builder)
    for reader, value in later:
        reader(value, builder)
    if context.extra_keys is not None:
        _read_extra_keys(builder, context.extra_keys)
    if len(names) != len(node.entries) and node.duplicate_keys():
        builder.failed = True
        check_unique_keys(node, context.sink)
    return _build_function(builder)


def _report_field(key: Scalar, context: EntryContext, builder: EntryBuilder) -> None:
    if context.tree is not None and key.value in context.tree.fields:
        context.note_unread(key)
        return
    names = [*_READERS, *context.readers, *(() if context.extra_keys is None else context.extra_keys.names)]
    help = did_you_mean_key(key, builder.node, names)
    builder.fault(codes.NATIVE_UNKNOWN_FIELD, f"unknown field `{key.value}`", key.span, help=help)


def _read_extra_keys(builder: EntryBuilder, extra_keys: ExtraKeys) -> None:
    """Read the values of the keys that plug-ins declare."""
    assert builder.context.releases is not None, "extra keys have values for releases"
    values = extra_keys.read(builder.node.entries, name_span(builder.node), builder.context.releases)
    if values is None:
        builder.failed = True
    else:
        builder.library_fields = builder.library_fields._replace(values=values)


def _build_function(builder: EntryBuilder) -> UnlinkedFunction | None:
    schema = builder.schema
    if schema is None:
        if not builder.failed:
            builder.fault(codes.NO_SCHEMA, "the entry has no `func`", builder.node.span)
        return None
    kernels = build_kernels(builder, schema)
    if builder.ufunc:
        add_ufunc_kernels(kernels, builder, schema)
    tags = _build_tags(builder, schema)
    check_entry(builder, schema, kernels, tags)
    if builder.failed:
        return None
    node = builder.node
    return UnlinkedFunction(
        namespace=builder.namespace,
        schema=builder.internal_schema or schema,
        entry=Span(node.file, node.start, node.end),
        function=builder.function,
        method=builder.method,
        kernels=kernels,
        structured=builder.structured,
        structured_delegate=builder.structured_delegate,
        structured_inherits=builder.structured_inherits,
        precomputed=builder.precomputed,
        ufunc=builder.ufunc,
        device_check=builder.device_check,
        device_guard=builder.device_guard,
        manual_cpp_binding=builder.manual_cpp_binding,
        manual_kernel_registration=builder.manual_kernel_registration,
        python_module=builder.python_module,
        category_override=builder.category_override,
        cpp_no_default_args=builder.cpp_no_default_args,
        const_ref_mutables=builder.const_ref_mutables,
        autogen=builder.autogen,
        tags=tags,
        has_ignored_kernels=builder.has_ignored_kernels,
        library=builder.context.library,
        library_fields=builder.library_fields,
    )


def _build_tags(builder: EntryBuilder, schema: FunctionSchema) -> frozenset[str]:
    """The tags of the entry, and those that follow from its schema if the release defines them.

    In-place operators of PyTorch have names that say so; those of libraries are what its tracing takes for one. Out
    overloads of libraries have no tag `out`: Inductor would call them in place of the functional overload, which
    fails in PyTorch 2.13 if sizes are symbols.
    """
    context = builder.context
    is_out = schema.is_out and context.library is PYTORCH
    inplace = schema.name.inplace if context.library is PYTORCH else fits_inplace(schema)
    key = (builder.tags, builder.namespace == "aten", is_out, inplace)
    tags = context.tag_sets.get(key)
    if tags is None:
        more = ["pt2_compliant_tag"] if builder.namespace == "aten" else []
        more += ["out"] if is_out else []
        more += ["inplace"] if inplace else []
        tags = frozenset(builder.tags).union(tag for tag in more if tag in context.tags)
        context.tag_sets[key] = tags
    return tags


def _read_func(node: Node, builder: EntryBuilder) -> None:
    if not isinstance(node, Scalar) or node.kind != "str":
        builder.wrong_type(node, "func", "a schema")
        return
    text, grammar = node.value, builder.context.grammar
    try:
        namespace, start = read_namespace(text, grammar)
    except SchemaFault as fault:
        builder.schema_fault(fault, node)
        return
    if namespace:
        builder.namespace = namespace
        end = text.find("(", start)
        deeper = text.find("::", start, max(end, start))
        if deeper >= 0:
            message = "an operator has one namespace"
            builder.fault(
                codes.NATIVE_NAMESPACE, message, node.span_of(0, deeper + 2), help=f"write `{namespace}::name`"
            )
            return
    try:
        builder.schema = read_schema(text, start) if grammar.is_strict else read_written_schema(text, start, grammar)
    except SchemaFault as fault:
        builder.schema_fault(fault, node)


def _read_flag(node: Node, builder: EntryBuilder, field: str, default: bool) -> bool:
    if isinstance(node, Scalar) and not node.style:
        if node.value in _TRUE:
            return True
        if node.value in _FALSE:
            return False
    builder.wrong_type(node, field, "True or False")
    return default


def _read_text(node: Node, builder: EntryBuilder, field: str) -> str | None:
    """The text of a field; None if the field is empty or holds something else, which is reported."""
    if isinstance(node, Scalar):
        kind = node.kind
        if kind == "str":
            return node.value
        if kind == "null":
            return None
    builder.wrong_type(node, field, "text")
    return None


def _read_word(node: Node, builder: EntryBuilder, field: str) -> str | None:
    """The identifier in a field, which outputs show as it is; None if the field is empty."""
    text = _read_text(node, builder, field)
    if text and IDENTIFIER.fullmatch(text) is None:
        builder.fault(codes.FIELD_WORD, f"`{field}` is a word of letters, digits and `_`", node.span)
    return text


def _read_variants(node: Node, builder: EntryBuilder) -> None:
    if not isinstance(node, Scalar) or node.kind != "str":
        builder.wrong_type(node, "variants", "text such as `function, method`")
        return
    builder.function = builder.method = False
    start = 0
    for word in node.value.split(", "):
        if word == "function":
            builder.function = True
        elif word == "method":
            builder.method = True
        else:
            shown = node.span_of(start, start + len(word)) if word else node.span
            help = did_you_mean(word, ("function", "method"), "write `function`, `method` or `function, method`")
            builder.fault(codes.VARIANT, f"unknown variant `{word}`", shown, help=help)
        start += len(word) + 2


def _read_device_check(node: Node, builder: EntryBuilder) -> None:
    text = _read_text(node, builder, "device_check")
    if text is None:
        return
    if text in DeviceCheck.__members__:
        builder.device_check = DeviceCheck[text]
    else:
        help = did_you_mean(text, DeviceCheck.__members__)
        builder.fault(codes.DEVICE_CHECK, f"unknown device check `{text}`", node.span, help=help)


def _read_delegate(node: Node, builder: EntryBuilder) -> None:
    text = _read_text(node, builder, "structured_delegate")
    if text is None or not isinstance(node, Scalar):
        return
    if "::" in text:
        message = "`structured_delegate` names an operator of the same namespace, without `::`"
        builder.fault(codes.DELEGATE_NAMESPACE, message, node.span)
        return
    builder.structured_delegate = _read_operator(node, 0, len(text), builder)


def _read_operator(scalar: Scalar, start: int, end: int, builder: EntryBuilder) -> OperatorName | None:
    """The operator name in a part of a scalar; None if it has a fault, which is reported."""
    try:
        return read_operator_name(scalar.value[start:end])
    except SchemaFault as fault:
        builder.schema_fault(fault.replace(start=fault.start + start, end=fault.end + start), scalar)
        return None


def _read_inherits(node: Node, builder: EntryBuilder) -> None:
    text = _read_text(node, builder, "structured_inherits")
    if text is not None and "::" in text:
        message = "`structured_inherits` names a class of the kernels' namespace, without `::`"
        builder.fault(codes.INHERITS, message, node.span)
    elif text is not None and IDENTIFIER.fullmatch(text) is None:
        builder.fault(codes.INHERITS, f"`{text}` is not the name of a class", node.span)
    builder.structured_inherits = text


def _read_no_defaults(node: Node, builder: EntryBuilder) -> None:
    if not isinstance(node, Sequence):
        builder.wrong_type(node, "cpp_no_default_args", "a list of arguments")
        return
    names: list[str] = []
    for item in node.items:
        if isinstance(item, Scalar):
            names.append(item.value)
        else:
            builder.wrong_type(item, "cpp_no_default_args", "the name of an argument")
    builder.cpp_no_default_args = frozenset(names)


def _read_autogen(node: Node, builder: EntryBuilder) -> None:
    if not isinstance(node, Scalar) or node.kind != "str":
        builder.wrong_type(node, "autogen", "text such as `add.Scalar_out`")
        return
    names: list[OperatorName] = []
    start = 0
    for word in node.value.split(", ") if node.value else ():
        name = _read_operator(node, start, start + len(word), builder)
        if name is not None:
            names.append(name)
        start += len(word) + 2
    builder.autogen = tuple(names)


def _read_tags(node: Node, builder: EntryBuilder) -> None:
    items = node.items if isinstance(node, Sequence) else [node]
    names: list[str] = []
    valid_tags = builder.context.tags
    for item in items:
        if not isinstance(item, Scalar) or item.kind != "str":
            builder.fault(codes.TAG_TYPE, f"a tag is a name, not {item.description}", item.span)
        elif item.value not in valid_tags and builder.context.all_tags:
            help = did_you_mean(item.value, valid_tags) if valid_tags else "`tags.yaml` defines no tags"
            builder.fault(codes.UNKNOWN_TAG, f"unknown tag `{item.value}`", item.span, help=help)
        else:
            names.append(item.value)
    builder.tags = tuple(names)


def _read_manual_registration(node: Node, builder: EntryBuilder) -> None:
    builder.manual_kernel_registration = _read_flag(node, builder, "manual_kernel_registration", False)


def _read_manual_binding(node: Node, builder: EntryBuilder) -> None:
    builder.manual_cpp_binding = _read_flag(node, builder, "manual_cpp_binding", False)


def _read_device_guard(node: Node, builder: EntryBuilder) -> None:
    builder.device_guard = _read_flag(node, builder, "device_guard", True)


def _read_structured(node: Node, builder: EntryBuilder) -> None:
    builder.structured = _read_flag(node, builder, "structured", False)


def _read_const_ref(node: Node, builder: EntryBuilder) -> None:
    builder.const_ref_mutables = _read_flag(node, builder, "use_const_ref_for_mutable_tensors", False)


def _read_python_module(node: Node, builder: EntryBuilder) -> None:
    builder.python_module = _read_word(node, builder, "python_module")


def _read_category(node: Node, builder: EntryBuilder) -> None:
    builder.category_override = _read_word(node, builder, "category_override")


#: The fields of an entry, each with its reader.
_READERS: Final[dict[str, Reader]] = {
    "func": _read_func,
    "variants": _read_variants,
    "dispatch": read_dispatch,
    "autogen": _read_autogen,
    "device_check": _read_device_check,
    "tags": _read_tags,
    "structured": _read_structured,
    "structured_delegate": _read_delegate,
    "structured_inherits": _read_inherits,
    "precomputed": read_precomputed,
    "ufunc_inner_loop": read_ufunc,
    "cpp_no_default_args": _read_no_defaults,
    "device_guard": _read_device_guard,
    "use_const_ref_for_mutable_tensors": _read_const_ref,
    "python_module": _read_python_module,
    "category_override": _read_category,
    "manual_cpp_binding": _read_manual_binding,
    "manual_kernel_registration": _read_manual_registration,
}

#: Readers that depend on other fields and therefore run last.
_LATE_READERS: Final = frozenset((read_dispatch,))
