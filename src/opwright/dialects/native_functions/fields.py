"""Fields of entries of `native_functions.yaml`: one table, from which everything else about them follows."""

from __future__ import annotations

from typing import Final

from opwright.dialects.field import FLAG, TEXT, TEXTS, Field, choice, dialect_schema, list_of_schema, mapping_schema
from opwright.dialects.names import IDENTIFIER
from opwright.dialects.native_functions.dispatch import read_dispatch, read_precomputed, read_ufunc
from opwright.dialects.native_functions.entry_builder import EntryBuilder, EntryField
from opwright.model.native_function import DeviceCheck
from opwright.schema.fault import SchemaFault
from opwright.schema.names import OperatorName
from opwright.schema.parser import check_separators, read_namespace, read_operator_name
from opwright.source import codes
from opwright.source.diagnostic import did_you_mean
from opwright.source.nodes import Node, Scalar, SequenceNode


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
        schema = grammar.read_schema(text, start)
        if grammar.is_strict:
            check_separators(schema, text, start)
        builder.schema = schema
    except SchemaFault as fault:
        builder.schema_fault(fault, node)


def _read_text(node: Node, builder: EntryBuilder, field: str) -> str | None:
    """Text of a field; None if the field is empty or holds something else, which is reported."""
    if isinstance(node, Scalar):
        kind = node.kind
        if kind == "str":
            return node.value
        if kind == "null":
            return None
    builder.wrong_type(node, field, "text")
    return None


#: The variants of functions, which are names of fields.
_VARIANTS: Final = ("function", "method")


def _read_variants(node: Node, builder: EntryBuilder) -> None:
    if not isinstance(node, Scalar) or node.kind != "str":
        builder.wrong_type(node, "variants", "text", "write `function, method` without brackets")
        return
    words = node.value.split(", ")
    start = 0
    for word in words:
        if word not in _VARIANTS:
            shown = node.span_of(start, start + len(word)) if word else node.span
            help = did_you_mean(word, _VARIANTS, "write `function`, `method` or `function, method`")
            builder.fault(codes.VARIANT, f"unknown variant `{word}`", shown, help=help)
        start += len(word) + 2
    for name in _VARIANTS:
        setattr(builder, name, name in words)


def _read_device_check(node: Node, builder: EntryBuilder) -> DeviceCheck | None:
    text = _read_text(node, builder, "device_check")
    if text is None or text in DeviceCheck.__members__:
        return None if text is None else DeviceCheck[text]
    help = did_you_mean(text.replace("_", ""), DeviceCheck.__members__)
    builder.fault(codes.DEVICE_CHECK, f"unknown device check `{text}`", node.span, help=help)
    return None


def _read_delegate(node: Node, builder: EntryBuilder) -> OperatorName | None:
    text = _read_text(node, builder, "structured_delegate")
    if text is None or not isinstance(node, Scalar):
        return None
    if "::" in text:
        message = "`structured_delegate` names an operator of the same namespace, without `::`"
        builder.fault(codes.DELEGATE_NAMESPACE, message, node.span)
        return None
    return _read_operator(node, 0, len(text), builder)


def _read_operator(scalar: Scalar, start: int, end: int, builder: EntryBuilder) -> OperatorName | None:
    """Operator name in a part of a scalar; None if it has a fault, which is reported."""
    try:
        return read_operator_name(scalar.value[start:end])
    except SchemaFault as fault:
        builder.schema_fault(fault.replace(start=fault.start + start, end=fault.end + start), scalar)
        return None


def _read_inherits(node: Node, builder: EntryBuilder) -> str | None:
    text = _read_text(node, builder, "structured_inherits")
    if text is not None and "::" in text:
        message = "`structured_inherits` names a class of the kernels' namespace, without `::`"
        builder.fault(codes.INHERITS, message, node.span)
    elif text is not None and IDENTIFIER.fullmatch(text) is None:
        builder.fault(codes.INHERITS, f"`{text}` is not the name of a class", node.span)
    return text


def _read_no_defaults(node: Node, builder: EntryBuilder) -> frozenset[str] | None:
    if not isinstance(node, SequenceNode):
        help = f"write a list: `[{node.value}]`" if isinstance(node, Scalar) and node.value.isidentifier() else ""
        builder.wrong_type(node, "cpp_no_default_args", "a list of arguments", help)
        return None
    names: list[str] = []
    for item in node.items:
        if isinstance(item, Scalar):
            names.append(item.value)
        else:
            builder.wrong_type(item, "cpp_no_default_args", "the name of an argument")
    return frozenset(names)


def _read_autogen(node: Node, builder: EntryBuilder) -> tuple[OperatorName, ...] | None:
    if not isinstance(node, Scalar) or node.kind != "str":
        builder.wrong_type(node, "autogen", "text such as `add.Scalar_out`")
        return None
    names: list[OperatorName] = []
    start = 0
    for word in node.value.split(", ") if node.value else ():
        name = _read_operator(node, start, start + len(word), builder)
        if name is not None:
            names.append(name)
        start += len(word) + 2
    return tuple(names)


def _read_tags(node: Node, builder: EntryBuilder) -> frozenset[str]:
    items = node.items if isinstance(node, SequenceNode) else [node]
    names: list[str] = []
    valid_tags = builder.context.tags
    for item in items:
        if not isinstance(item, Scalar) or item.kind != "str":
            builder.fault(codes.TAG_TYPE, f"a tag is a name, not {item.description}", item.span)
        elif item.value not in valid_tags and builder.context.all_tags:
            help = did_you_mean(item.value, valid_tags) if valid_tags else "`tags.yaml` defines no tags"
            if "," in item.value:
                help = f"write a list: `[{item.value}]`"
            builder.fault(codes.UNKNOWN_TAG, f"unknown tag `{item.value}`", item.span, help=help)
        else:
            names.append(item.value)
    return frozenset(names)


def _flag(name: str, help: str, fact: str, attribute: str = "") -> EntryField:
    """A field that is True or False."""

    def read(node: Node, builder: EntryBuilder) -> bool | None:
        if isinstance(node, Scalar) and not node.style and node.value in _FLAGS:
            return _FLAGS[node.value]
        is_quoted = isinstance(node, Scalar) and node.value.lower() in ("true", "false", "yes", "no")
        builder.wrong_type(node, name, "True or False", "delete the quotes" if is_quoted else "")
        return None

    return EntryField(Field(name, "flag", FLAG, help), read, attribute or name, fact)


def _word(name: str, help: str, fact: str) -> EntryField:
    """A field with an identifier, which outputs show as it is."""

    def read(node: Node, builder: EntryBuilder) -> str | None:
        text = _read_text(node, builder, name)
        if text and IDENTIFIER.fullmatch(text) is None:
            builder.fault(codes.FIELD_WORD, f"`{name}` is a word of letters, digits and `_`", node.span)
        return text

    return EntryField(Field(name, "text", TEXT, help), read, name, fact)


_FLAGS: Final = {
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
}
_TEXT_BY_NAME: Final = {"type": "object", "additionalProperties": TEXT}

TAGS_FIELD: Final = Field("tags", "text or list of texts", TEXTS, "Tags from PyTorch's `tags.yaml`.")

#: The fields of an entry, in the order of the documentation. Types and defaults are in `EntryFields` of the model.
ROWS: Final = (
    EntryField(
        Field("func", "schema", TEXT, "The schema of the overload: name, arguments, results.", is_required=True),
        _read_func,
    ),
    EntryField(
        Field(
            "variants",
            "text",
            choice("function", "method", "function, method", "method, function"),
            "Whether the overload is a function, a method of `Tensor`, or both.",
        ),
        _read_variants,
    ),
    _flag("structured", "Whether the out overload has a structured kernel.", ""),
    EntryField(
        Field(
            "structured_delegate", "text", TEXT, "The out overload whose structured kernel serves this overload too."
        ),
        _read_delegate,
        "structured_delegate",
    ),
    EntryField(
        Field("structured_inherits", "text", TEXT, "The C++ base class of the structured kernel's shape function."),
        _read_inherits,
        "structured_inherits",
        "the class of the structured kernel inherits {}",
    ),
    EntryField(
        Field(
            "precomputed",
            "list of texts",
            list_of_schema(TEXT),
            "The values that the shape function of a structured kernel passes to the kernel.",
        ),
        read_precomputed,
        "precomputed",
        "`meta` precomputes {} for `impl`",
    ),
    EntryField(
        Field(
            "dispatch",
            "mapping",
            _TEXT_BY_NAME,
            "The kernel for each dispatch key, or for several: `CPU, CUDA: scale`.",
        ),
        read_dispatch,
        is_late=True,
    ),
    EntryField(
        Field(
            "ufunc_inner_loop",
            "text or mapping",
            {"anyOf": [TEXT, _TEXT_BY_NAME]},
            "The scalar functions from which the loops of an element-wise kernel are made.",
        ),
        read_ufunc,
        "ufunc",
        "kernels are loops over {}",
        in_libraries=False,
    ),
    EntryField(
        Field("autogen", "text", TEXT, "Overloads to make from this one, such as `scale.out`."),
        _read_autogen,
        "autogen",
        "asks for {}",
    ),
    EntryField(TAGS_FIELD, _read_tags, "tags"),
    EntryField(
        Field(
            "device_check",
            "text",
            choice(*(check.value for check in DeviceCheck)),
            "`NoCheck` if the tensors of a call may be on different devices.",
        ),
        _read_device_check,
        "device_check",
        "wrappers do not check that tensors are on one device",
    ),
    _flag(
        "device_guard",
        "Whether a call makes the device of the tensors the current one.",
        "wrappers do not set the current device",
    ),
    EntryField(
        Field("cpp_no_default_args", "list of texts", list_of_schema(TEXT), "Arguments without default in C++."),
        _read_no_defaults,
        "cpp_no_default_args",
        "C++ has no default for {}",
    ),
    _flag(
        "use_const_ref_for_mutable_tensors",
        "Whether kernels take written tensors as `const Tensor&` instead of `Tensor&`.",
        "written tensors are passed as `const Tensor &`",
        "const_ref_mutables",
    ),
    _word(
        "python_module",
        "The submodule of PyTorch's Python bindings, such as `nn`.",
        "Python has it in the module `{}`",
    ),
    _word("category_override", "A mark for PyTorch's tools.", "Python's tensor options are those of category `{}`"),
    _flag(
        "manual_cpp_binding",
        "Whether the C++ function for callers is written by hand.",
        "the C++ function is written by hand; the generated one has the prefix `__dispatch_`",
    ),
    _flag("manual_kernel_registration", "Whether kernels are registered by hand.", "kernels are registered by hand"),
)

#: The same, by name.
ROWS_BY_NAME: Final = {row.field.name: row for row in ROWS}

#: What documentation says of the fields.
ENTRY_FIELDS: Final = tuple([row.field for row in ROWS])


def json_schema() -> dict[str, object]:
    """Schema: a list of entries. Schemas and names are texts for it; Opwright checks those."""
    return dialect_schema("Operators of PyTorch", list_of_schema(mapping_schema(ENTRY_FIELDS)))
