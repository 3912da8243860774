"""Selections of operators, from a file or from names on the command line; their fields and their JSON Schema."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from opwright.dialects.dialect import LoadContext
from opwright.dialects.field import FLAG, Field, JsonSchema, dialect_schema, list_of_schema, mapping_schema
from opwright.dialects.table import SELECTION, dialect_help
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import DispatchKey
from opwright.model.selection import SelectedOperator, Selection, qualified_name
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Suggestion, did_you_mean
from opwright.source.expect import check_unique_keys, expect_boolean, expect_mapping, expect_sequence
from opwright.source.nodes import MappingNode, Node, Scalar, did_you_mean_key
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml

# Numbers and booleans count as they are written.
_TEXTS: Final = list_of_schema({"type": ["string", "number", "boolean", "null"]})
_TEXTS_BY_NAME: Final[JsonSchema] = {"type": "object", "additionalProperties": _TEXTS}

SELECTION_FIELDS: Final = (
    Field("include_all_operators", "flag", FLAG, "Whether all operators are selected."),
    Field("include_all_non_op_selectives", "flag", FLAG, "Whether everything besides operators is selected."),
    Field(
        "operators",
        "mapping",
        {"type": "object", "additionalProperties": {"$ref": "#/$defs/operator"}},
        "The selected operators, by names such as `aten::add.Tensor`.",
    ),
    Field("kernel_metadata", "mapping", _TEXTS_BY_NAME, "The dtypes that each kernel is built for, by its tag."),
    Field("et_kernel_metadata", "mapping", _TEXTS_BY_NAME, "The kernel keys of ExecuTorch, by operator."),
    Field("custom_classes", "list of texts", _TEXTS, "The selected TorchScript classes."),
    Field("build_features", "list of texts", _TEXTS, "The selected features of the build."),
    Field("debug_info", "list of texts", _TEXTS, "Where the selection comes from."),
)
OPERATOR_FIELDS: Final = (
    Field("is_root_operator", "flag", FLAG, "Whether programs call the operator themselves."),
    Field("is_used_for_training", "flag", FLAG, "Whether the operator is needed for training."),
    Field("include_all_overloads", "flag", FLAG, "Whether all overloads of the operator are selected."),
    Field("debug_info", "list of texts", _TEXTS, "Where the operator comes from."),
    Field("name", "text", {}, "The name again; Opwright reads the key."),
)


def json_schema() -> dict[str, object]:
    """Schema: a mapping with the fields of a selection. Names are texts for it; Opwright checks those."""
    operator = mapping_schema(OPERATOR_FIELDS)
    return dialect_schema("Selection of operators of PyTorch", mapping_schema(SELECTION_FIELDS), operator=operator)


_FIELDS: Final = tuple([field.name for field in SELECTION_FIELDS])
_OPERATOR_FIELDS: Final = tuple([field.name for field in OPERATOR_FIELDS])


def selection_of_names(names: Iterable[str], *, for_training: bool = False) -> Selection:
    """Selection of operators by base names such as `aten::add`, with all overloads, as roots."""
    operators = {name: SelectedOperator(name, for_training=for_training) for name in names}
    return Selection(everything=False, operators=operators)


def load_operator_names(file: SourceFile, sink: Diagnostics) -> tuple[str, ...]:
    """Names that a file lists; faults go to `sink`."""
    return _texts(load_yaml(file), "the list of operators", sink)


def load(files: Sequence[SourceFile], context: LoadContext) -> Selection:
    """Selection that a file describes."""
    return load_selection(files[0], context.sink)


def load_selection(file: SourceFile, sink: Diagnostics) -> Selection:
    """Selection that a file describes; faults go to `sink`."""
    root = load_yaml(file)
    if not isinstance(root, MappingNode):
        message = f"a selection is a mapping, but this file is {root.description}"
        sink.error(codes.SELECTION_SHAPE, message, root.span, help=dialect_help(SELECTION, file))
        return Selection(everything=False)
    _check_fields(root, _FIELDS, "a selection", sink)
    return Selection(
        everything=_flag(root, "include_all_operators", False, sink),
        everything_else=_flag(root, "include_all_non_op_selectives", False, sink),
        operators=_operators(root.get("operators"), sink),
        kernel_dtypes=_lists(root.get("kernel_metadata"), "`kernel_metadata`", sink),
        edge_kernels=_lists(root.get("et_kernel_metadata"), "`et_kernel_metadata`", sink),
        custom_classes=frozenset(_members(root.get("custom_classes"), "`custom_classes`", sink)),
        build_features=frozenset(_members(root.get("build_features"), "`build_features`", sink)),
        debug_info=_debug_info(root, sink),
    )


def _check_fields(mapping: MappingNode, fields: tuple[str, ...], what: str, sink: Diagnostics) -> None:
    check_unique_keys(mapping, sink)
    for key, _ in mapping.entries:
        if key.value not in fields:
            message = f"{what} has no field `{key.value}`"
            sink.error(codes.SELECTION_FIELD, message, key.span, help=did_you_mean_key(key, mapping, fields))


def _flag(mapping: MappingNode, field: str, default: bool, sink: Diagnostics) -> bool:
    node = mapping.get(field)
    value = None if node is None else expect_boolean(node, f"`{field}`", sink)
    return default if value is None else value


def _operators(node: Node | None, sink: Diagnostics) -> dict[str, SelectedOperator]:
    mapping = None if node is None else expect_mapping(node, "`operators`", sink)
    if mapping is None:
        return {}
    check_unique_keys(mapping, sink)
    operators: dict[str, SelectedOperator] = {}
    for name, value in mapping.entries:
        fields = expect_mapping(value, f"operator `{name.value}`", sink)
        if fields is not None:
            operators[name.value] = _operator(name, fields, sink)
    return operators


def _operator(name: Scalar, fields: MappingNode, sink: Diagnostics) -> SelectedOperator:
    _check_fields(fields, _OPERATOR_FIELDS, "a selected operator", sink)
    again = fields.get("name")
    if again is not None and not (isinstance(again, Scalar) and again.value == name.value):
        message = f"the operator `{name.value}` has another name in its field `name`"
        sink.error(codes.NAME_DIFFERS, message, again.span, help=f"write `{name.value}`, or omit the field")
    return SelectedOperator(
        name.value,
        is_root=_flag(fields, "is_root_operator", True, sink),
        for_training=_flag(fields, "is_used_for_training", True, sink),
        all_overloads=_flag(fields, "include_all_overloads", True, sink),
        debug_info=_debug_info(fields, sink),
        span=name.span,
    )


def _lists(node: Node | None, what: str, sink: Diagnostics) -> dict[str, tuple[str, ...]]:
    mapping = None if node is None else expect_mapping(node, what, sink)
    if mapping is None:
        return {}
    return {key.value: _texts(value, f"{what} of `{key.value}`", sink) for key, value in mapping.entries}


def _debug_info(mapping: MappingNode, sink: Diagnostics) -> tuple[str, ...] | None:
    node = mapping.get("debug_info")
    return None if node is None else _texts(node, "`debug_info`", sink)


def _members(node: Node | None, what: str, sink: Diagnostics) -> tuple[str, ...]:
    """Members of a set: a list, or the keys of a mapping without values, which YAML tags `!!set`."""
    if isinstance(node, MappingNode) and all(
        isinstance(value, Scalar) and value.kind == "null" for _, value in node.entries
    ):
        return tuple(key.value for key, _ in node.entries)
    return _texts(node, what, sink)


def _texts(node: Node | None, what: str, sink: Diagnostics) -> tuple[str, ...]:
    """Items of a list as texts. Numbers, booleans and nothing count as Python writes them."""
    sequence = None if node is None else expect_sequence(node, what, sink)
    if sequence is None:
        return ()
    for item in sequence.items:
        if not isinstance(item, Scalar):
            sink.error(codes.SELECTION_SHAPE, f"an item of {what} is {item.description}, not a text", item.span)
    return tuple(str(item.python_value()) for item in sequence.items if isinstance(item, Scalar))


def check_selection(
    selection: Selection, catalog: Catalog, sink: Diagnostics, *, tolerant: bool = False, boxed: bool = False
) -> None:
    """Reports selected operators that do not exist: as errors, or as warnings if `tolerant`.

    With `boxed`, operators of any namespace may be named in `aten`, as their boxed functions are. Names in namespaces
    without any loaded operator are reported in one note.
    """
    if selection.everything and not selection.operators:
        return
    loaded_names = {qualified_name(function) for function in catalog.functions}
    if boxed:
        loaded_names |= {f"aten::{function.name}" for function in catalog.functions}
    loaded_names |= {name.partition(".")[0] for name in loaded_names}
    names: dict[str, set[str]] = {}
    for name in loaded_names:
        namespace, _, base = name.partition("::")
        names.setdefault(namespace, set()).add(base)
    report = sink.warning if tolerant else sink.error
    elsewhere = 0
    for operator in selection.operators.values():
        namespace, colons, _ = operator.name.partition("::")
        if colons and namespace not in names:
            elsewhere += 1
        elif operator.name not in loaded_names and not catalog.may_lack(operator.name):
            help = _nearest(operator.name, names)
            report(codes.SELECTED_UNKNOWN, f"there is no operator `{operator.name}`", operator.span, help=help)
    if elsewhere:
        subject = (
            "one selected operator is of a namespace"
            if elsewhere == 1
            else f"{elsewhere} selected operators are of namespaces"
        )
        sink.note(codes.SELECTED_ELSEWHERE, f"{subject} that no loaded file declares; nothing is generated for them")


def _nearest(name: str, names: dict[str, set[str]]) -> str | Suggestion:
    """Hint for an unknown name: the nearest name in its namespace, or in `aten` if it has none.

    `names` maps each namespace to its names.
    """
    namespace, colons, base = name.rpartition("::")
    if not colons:
        namespace = "aten"
    in_namespace = names.get(namespace, set())
    if base in in_namespace:
        return f"did you mean `{namespace}::{base}`?"
    return did_you_mean(base, in_namespace, prefix=f"{namespace}::")


def check_static_backends(
    backends: Iterable[DispatchKey], catalog: Catalog, sink: Diagnostics, *, tolerant: bool
) -> None:
    """Reports static backends without kernels in this run: as errors, or as warnings if `tolerant`."""
    report = sink.warning if tolerant else sink.error
    for key in backends:
        if not catalog.kernels.get(key):
            help = f"add `--{key.flag}`" if key.flag else ""
            report(codes.STATIC_WITHOUT_KERNELS, f"no operator of this run has a kernel for `{key.name}`", help=help)
