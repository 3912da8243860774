"""One entry of `native_functions.yaml`: YAML node to native function, one reader for each field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from opwright.dialects.names import IDENTIFIER
from opwright.dialects.native_functions import codes, kernel_codes
from opwright.dialects.native_functions.dispatch import finished_kernels, read_dispatch
from opwright.dialects.native_functions.entry_builder import Draft, Surroundings
from opwright.dialects.native_functions.precomputed import read_precomputed
from opwright.dialects.native_functions.rules import check_entry
from opwright.dialects.native_functions.ufunc import add_ufunc_kernels, read_ufunc
from opwright.model.native_function import DeviceCheck, UnlinkedFunction
from opwright.schema.fault import SchemaFault
from opwright.schema.names import OperatorName
from opwright.schema.parser import read_namespace, read_operator_name, read_schema
from opwright.source.diagnostic import did_you_mean
from opwright.source.expect import check_unique_keys
from opwright.source.nodes import Mapping, Node, Scalar, Sequence
from opwright.source.span import Span

Reader = Callable[[Node, Draft], None]

_TRUE: Final = frozenset(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"))
_FALSE: Final = frozenset(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"))


def load_entry(node: Mapping, around: Surroundings) -> UnlinkedFunction | None:
    """The native function of an entry; None where it has a fault, which then is in the sink."""
    draft = Draft(node, around)
    later: list[tuple[Reader, Node]] = []
    for key, value in node.entries:
        reader = _READERS.get(key.value)
        if reader is None:
            help = did_you_mean(key.value, _READERS)
            draft.fault(codes.UNKNOWN_FIELD, f"unknown field `{key.value}`", key.span, help=help)
        elif reader in _LATE_READERS:
            later.append((reader, value))
        else:
            reader(value, draft)
    for reader, value in later:
        reader(value, draft)
    if node.duplicate_keys():
        draft.failed = True
        check_unique_keys(node, around.sink)
    return _finished(draft)


def _finished(draft: Draft) -> UnlinkedFunction | None:
    schema = draft.schema
    if schema is None:
        if not draft.failed:
            draft.fault(codes.NO_SCHEMA, "the entry has no `func`", draft.node.span)
        return None
    kernels = finished_kernels(draft, schema)
    if draft.ufunc:
        add_ufunc_kernels(kernels, draft, schema)
    tags = _finished_tags(draft, schema.is_out, schema.name.inplace)
    check_entry(draft, schema, kernels, tags)
    if draft.failed:
        return None
    node = draft.node
    return UnlinkedFunction(
        namespace=draft.namespace,
        schema=schema,
        entry=Span(node.file, node.start, node.end),
        function=draft.function,
        method=draft.method,
        kernels=kernels,
        structured=draft.structured,
        structured_delegate=draft.structured_delegate,
        structured_inherits=draft.structured_inherits,
        precomputed=draft.precomputed,
        ufunc=draft.ufunc,
        device_check=draft.device_check,
        device_guard=draft.device_guard,
        manual_cpp_binding=draft.manual_cpp_binding,
        manual_kernel_registration=draft.manual_kernel_registration,
        python_module=draft.python_module,
        category_override=draft.category_override,
        cpp_no_default_args=draft.cpp_no_default_args,
        const_ref_mutables=draft.const_ref_mutables,
        autogen=draft.autogen,
        tags=tags,
        has_ignored_kernels=draft.has_ignored_kernels,
    )


def _finished_tags(draft: Draft, is_out: bool, inplace: bool) -> frozenset[str]:
    """The tags of the entry with those that follow from its name and kind, where the release has them."""
    around = draft.around
    key = (draft.tags, draft.namespace == "aten", is_out, inplace)
    tags = around.tag_sets.get(key)
    if tags is None:
        more = ["pt2_compliant_tag"] if draft.namespace == "aten" else []
        more += ["out"] if is_out else []
        more += ["inplace"] if inplace else []
        tags = frozenset(draft.tags).union(tag for tag in more if tag in around.tags)
        around.tag_sets[key] = tags
    return tags


def _read_func(node: Node, draft: Draft) -> None:
    if not isinstance(node, Scalar) or node.kind != "str":
        draft.wrong_type(node, "func", "a schema")
        return
    text = node.value
    try:
        namespace, start = read_namespace(text)
    except SchemaFault as fault:
        draft.schema_fault(fault, node)
        return
    if namespace:
        draft.namespace = namespace
        end = text.find("(", start)
        deeper = text.find("::", start, max(end, start))
        if deeper >= 0:
            message = "an operator has one namespace"
            draft.fault(codes.NAMESPACE, message, node.span_of(0, deeper + 2), help=f"write `{namespace}::name`")
            return
    try:
        draft.schema = read_schema(text, start)
    except SchemaFault as fault:
        draft.schema_fault(fault, node)


def _read_flag(node: Node, draft: Draft, field: str, default: bool) -> bool:
    if isinstance(node, Scalar) and not node.style:
        if node.value in _TRUE:
            return True
        if node.value in _FALSE:
            return False
    draft.wrong_type(node, field, "True or False")
    return default


def _read_text(node: Node, draft: Draft, field: str) -> str | None:
    """The value of a field that holds a word or is left empty."""
    if isinstance(node, Scalar):
        kind = node.kind
        if kind == "str":
            return node.value
        if kind == "null":
            return None
    draft.wrong_type(node, field, "text")
    return None


def _read_word(node: Node, draft: Draft, field: str) -> str | None:
    """The value of a field that holds an identifier or nothing; it stands in outputs as it is."""
    text = _read_text(node, draft, field)
    if text and IDENTIFIER.fullmatch(text) is None:
        draft.fault(codes.FIELD_WORD, f"`{field}` is a word of letters, digits and `_`", node.span)
    return text


def _read_variants(node: Node, draft: Draft) -> None:
    if not isinstance(node, Scalar) or node.kind != "str":
        draft.wrong_type(node, "variants", "text such as `function, method`")
        return
    draft.function = draft.method = False
    start = 0
    for word in node.value.split(", "):
        if word == "function":
            draft.function = True
        elif word == "method":
            draft.method = True
        else:
            shown = node.span_of(start, start + len(word)) if word else node.span
            help = did_you_mean(word, ("function", "method")) or "write `function`, `method` or `function, method`"
            draft.fault(codes.VARIANT, f"unknown variant `{word}`", shown, help=help)
        start += len(word) + 2


def _read_device_check(node: Node, draft: Draft) -> None:
    text = _read_text(node, draft, "device_check")
    if text is None:
        return
    if text in DeviceCheck.__members__:
        draft.device_check = DeviceCheck[text]
    else:
        help = did_you_mean(text, DeviceCheck.__members__)
        draft.fault(codes.DEVICE_CHECK, f"unknown device check `{text}`", node.span, help=help)


def _read_delegate(node: Node, draft: Draft) -> None:
    text = _read_text(node, draft, "structured_delegate")
    if text is None or not isinstance(node, Scalar):
        return
    if "::" in text:
        message = "`structured_delegate` names an operator of the same namespace, without `::`"
        draft.fault(kernel_codes.DELEGATE_NAMESPACE, message, node.span)
        return
    draft.structured_delegate = _read_operator(node, 0, len(text), draft)


def _read_operator(scalar: Scalar, start: int, end: int, draft: Draft) -> OperatorName | None:
    """The operator's name that is part of a scalar."""
    try:
        return read_operator_name(scalar.value[start:end])
    except SchemaFault as fault:
        moved = SchemaFault(
            fault.code, fault.message, fault.start + start, fault.end + start, label=fault.label, help=fault.help
        )
        draft.schema_fault(moved, scalar)
        return None


def _read_inherits(node: Node, draft: Draft) -> None:
    text = _read_text(node, draft, "structured_inherits")
    if text is not None and "::" in text:
        message = "`structured_inherits` names a class of the kernels' namespace, without `::`"
        draft.fault(kernel_codes.INHERITS, message, node.span)
    elif text is not None and IDENTIFIER.fullmatch(text) is None:
        draft.fault(kernel_codes.INHERITS, f"`{text}` is no name of a class", node.span)
    draft.structured_inherits = text


def _read_no_defaults(node: Node, draft: Draft) -> None:
    if not isinstance(node, Sequence):
        draft.wrong_type(node, "cpp_no_default_args", "a list of arguments")
        return
    names: list[str] = []
    for item in node.items:
        if isinstance(item, Scalar):
            names.append(item.value)
        else:
            draft.wrong_type(item, "cpp_no_default_args", "the name of an argument")
    draft.cpp_no_default_args = frozenset(names)


def _read_autogen(node: Node, draft: Draft) -> None:
    if not isinstance(node, Scalar) or node.kind != "str":
        draft.wrong_type(node, "autogen", "text such as `add.Scalar_out`")
        return
    names: list[OperatorName] = []
    start = 0
    for word in node.value.split(", ") if node.value else ():
        name = _read_operator(node, start, start + len(word), draft)
        if name is not None:
            names.append(name)
        start += len(word) + 2
    draft.autogen = tuple(names)


def _read_tags(node: Node, draft: Draft) -> None:
    items = node.items if isinstance(node, Sequence) else [node]
    names: list[str] = []
    valid_tags = draft.around.tags
    for item in items:
        if not isinstance(item, Scalar) or item.kind != "str":
            draft.fault(codes.TAG_TYPE, f"a tag is a name, not {item.description}", item.span)
        elif item.value not in valid_tags and draft.around.all_tags:
            help = did_you_mean(item.value, valid_tags) if valid_tags else "`tags.yaml` defines none"
            draft.fault(codes.UNKNOWN_TAG, f"unknown tag `{item.value}`", item.span, help=help)
        else:
            names.append(item.value)
    draft.tags = tuple(names)


def _read_manual_registration(node: Node, draft: Draft) -> None:
    draft.manual_kernel_registration = _read_flag(node, draft, "manual_kernel_registration", False)


def _read_manual_binding(node: Node, draft: Draft) -> None:
    draft.manual_cpp_binding = _read_flag(node, draft, "manual_cpp_binding", False)


def _read_device_guard(node: Node, draft: Draft) -> None:
    draft.device_guard = _read_flag(node, draft, "device_guard", True)


def _read_structured(node: Node, draft: Draft) -> None:
    draft.structured = _read_flag(node, draft, "structured", False)


def _read_const_ref(node: Node, draft: Draft) -> None:
    draft.const_ref_mutables = _read_flag(node, draft, "use_const_ref_for_mutable_tensors", False)


def _read_python_module(node: Node, draft: Draft) -> None:
    draft.python_module = _read_word(node, draft, "python_module")


def _read_category(node: Node, draft: Draft) -> None:
    draft.category_override = _read_word(node, draft, "category_override")


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

#: Readers that ask what other fields say, wherever these stand.
_LATE_READERS: Final = frozenset((read_dispatch,))
