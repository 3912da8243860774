"""Sections of a library file: items of `operators` with entries of their own, and with what holds for all of these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from opwright.dialects.field import OPERATORS, TEXT, TEXTS, Field, list_of_schema, mapping_schema
from opwright.dialects.native_functions.fields import ROWS, TAGS_FIELD
from opwright.libraries import library_codes
from opwright.source.diagnostic import Diagnostics, did_you_mean
from opwright.source.expect import check_unique_keys, expect_sequence
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode

__all__ = ["COMMON_FIELDS", "CONDITION_FIELD", "DISPATCH_FIELD", "OPERATORS", "SECTION_FIELDS", "section_entries"]

_IF: Final = "if"
_KERNEL: Final = {
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {"kernel": {"type": "string"}, _IF: TEXTS},
            "required": ["kernel"],
            "additionalProperties": False,
        },
    ]
}
_PYTHON: Final = mapping_schema((Field("python", "text", TEXT, "", is_required=True),))
_KERNELS: Final = {"anyOf": [_KERNEL, _PYTHON, list_of_schema({"$ref": "#/$defs/implementation"})]}
CONDITION_FIELD: Final = Field(
    _IF,
    "text or list of texts",
    TEXTS,
    "What the preprocessor tests, such as `!defined(USE_ROCM)`: see [conditions](#conditions).",
)
DISPATCH_FIELD: Final = Field(
    "dispatch",
    "mapping or text",
    {"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": _KERNELS}]},
    "The kernel for each dispatch key, or for several: `CPU, CUDA: scale`; or only the keys of a kernel that has the "
    "name of the operator. A key may have [several kernels](#several-implementations).",
)

#: The fields that entries have as those of PyTorch do; one of them has more forms in a library.
COMMON_FIELDS: Final = tuple(
    [DISPATCH_FIELD if row.field.name == DISPATCH_FIELD.name else row.field for row in ROWS if row.in_libraries]
)

#: The fields of a section, in the order of the documentation.
SECTION_FIELDS: Final = (
    CONDITION_FIELD,
    DISPATCH_FIELD,
    TAGS_FIELD,
    Field(OPERATORS, "list of entries", list_of_schema({"$ref": "#/$defs/item"}), "The entries.", is_required=True),
)
_NAMES: Final = [field.name for field in SECTION_FIELDS]
#: Fields of entries that have no kernels of their own, or none that Opwright registers.
_WITHOUT_KERNELS: Final = ("manual_kernel_registration", "structured_delegate")


def section_entries(items: Iterable[Node], sink: Diagnostics) -> list[Node]:
    """Entries of a list, those in sections with what their sections say. Faults of sections go to `sink`."""
    return [entry for item in items for entry in _entries(item, {}, sink)]


def _entries(item: Node, given: dict[str, tuple[Scalar, Node]], sink: Diagnostics) -> Iterator[Node]:
    """An entry with the fields that are given to it, or the entries of a section."""
    if not isinstance(item, MappingNode):
        yield item
        return
    inside = item.get(OPERATORS)
    if inside is None:
        yield _with_fields(item, given) if given else item
        return
    check_unique_keys(item, sink)
    plain_entries = {}
    for key, value in item.entries:
        if key.value not in _NAMES:
            sink.error(
                library_codes.SECTION_FIELD,
                f"a section has no field `{key.value}`",
                key.span,
                help=did_you_mean(key.value, _NAMES, "write it in each entry"),
            )
        elif key.value != OPERATORS:
            plain_entries[key.value] = key, value
    entries = expect_sequence(inside, f"`{OPERATORS}`", sink)
    for entry in () if entries is None else entries.items:
        yield from _entries(entry, _join_fields(given, plain_entries), sink)


def _with_fields(entry: MappingNode, given: dict[str, tuple[Scalar, Node]]) -> MappingNode:
    field_entries = {key.value: (key, value) for key, value in entry.entries}
    conditions = _join_fields(given, field_entries).get(_IF)
    own_fields = [(key, conditions[1] if conditions and key.value == _IF else value) for key, value in entry.entries]
    has_no_kernels = not field_entries.keys().isdisjoint(_WITHOUT_KERNELS)
    added = [
        field
        for name, field in given.items()
        if name not in field_entries and not (has_no_kernels and name == DISPATCH_FIELD.name)
    ]
    return entry.replace(entries=[*own_fields, *added])


def _join_fields(
    outer: dict[str, tuple[Scalar, Node]], inner: dict[str, tuple[Scalar, Node]]
) -> dict[str, tuple[Scalar, Node]]:
    """Fields of two levels: the inner ones count, and all conditions hold."""
    joined = {**outer, **inner}
    if _IF in outer and _IF in inner:
        (key, first), (_, second) = outer[_IF], inner[_IF]
        joined[_IF] = key, SequenceNode(second.file, second.start, second.end, [first, second])
    return joined
