"""Loads `tags.yaml`: the tags that entries may have, with their descriptions; its fields and its JSON Schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opwright.dialects.dialect import LoadContext
from opwright.dialects.field import TEXT, Field, dialect_schema, list_of_schema, mapping_schema
from opwright.dialects.listed_entries import read_entries
from opwright.dialects.names import IDENTIFIER, unread_message
from opwright.dialects.table import TAGS
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Label, did_you_mean
from opwright.source.expect import check_unique_keys
from opwright.source.nodes import MappingNode, Scalar, did_you_mean_key
from opwright.source.text import SourceFile

TAG_FIELDS: Final = (
    Field("tag", "text", TEXT, "The name of the tag, an identifier.", is_required=True),
    Field("desc", "text", TEXT, "What operators with the tag have in common.", is_required=True),
)


def json_schema() -> dict[str, object]:
    """Schema: a list of tags."""
    return dialect_schema("Tags of operators of PyTorch", list_of_schema(mapping_schema(TAG_FIELDS)))


_FIELDS: Final = tuple([field.name for field in TAG_FIELDS])


def load(files: Sequence[SourceFile], context: LoadContext) -> dict[str, str]:
    """Tags of a release with their descriptions."""
    return load_tags(files[0], context.sink, of_tree=context.rules.tree is not None)


def load_tags(file: SourceFile, sink: Diagnostics, *, of_tree: bool = False) -> dict[str, str]:
    """Tags of a `tags.yaml` with their descriptions, in the order of the file; faults go to `sink`.

    In a tree between releases, unknown fields are ignored with one note, as PyTorch's generator ignores them.
    """
    tags: dict[str, str] = {}
    first_entries: dict[str, Scalar] = {}
    unread: set[str] | None = set() if of_tree else None
    for item in read_entries(file, TAGS, codes.TAGS_FILE_SHAPE, sink, what="tags"):
        if not isinstance(item, MappingNode):
            message = f"a tag is a mapping of `tag` and `desc`, not {item.description}"
            sink.error(codes.TAG_SHAPE, message, item.span)
            continue
        has_unknown = _check_fields(item, unread, sink)
        if item.get("tag") is not None or not has_unknown:
            _load_tag(item, tags, first_entries, sink)
    return tags


def _check_fields(item: MappingNode, unread: set[str] | None, sink: Diagnostics) -> bool:
    """Report unknown fields, and tell whether one of them is a misspelt `tag`.

    With a set of `unread` fields, others than those are noted and ignored.
    """
    has_misspelt = False
    for key, _ in item.entries:
        if key.value in _FIELDS:
            continue
        has_misspelt = has_misspelt or bool(str(did_you_mean(key.value, ("tag",))))
        if unread is None or has_misspelt:
            message = f"a tag has no field `{key.value}`"
            sink.error(codes.TAG_SHAPE, message, key.span, help=did_you_mean_key(key, item, _FIELDS))
        elif key.value not in unread:
            unread.add(key.value)
            sink.note(codes.UNREAD_FIELD, unread_message(key.value), key.span)
    return has_misspelt


def _load_tag(item: MappingNode, tags: dict[str, str], first_entries: dict[str, Scalar], sink: Diagnostics) -> None:
    check_unique_keys(item, sink)
    name = item.get("tag")
    if name is None:
        sink.error(codes.TAG_SHAPE, "the entry has no `tag`", item.span)
        return
    if not isinstance(name, Scalar) or name.kind != "str" or IDENTIFIER.fullmatch(name.value) is None:
        sink.error(codes.TAG_SHAPE, "the name of a tag is an identifier", name.span)
        return
    if name.value in tags:
        also = (Label(first_entries[name.value].span, "first", False),)
        sink.error(codes.TAG_TWICE, f"tag `{name.value}` is defined twice", name.span, also=also)
        return
    first_entries[name.value] = name
    tags[name.value] = _description(item, name, sink)


def _description(item: MappingNode, name: Scalar, sink: Diagnostics) -> str:
    description = item.get("desc")
    if description is None:
        sink.error(codes.TAG_DESCRIPTION, f"tag `{name.value}` has no description", name.span, help="add `desc: ...`")
        return ""
    if not isinstance(description, Scalar) or description.kind != "str" or not description.value.strip():
        message = f"the description of tag `{name.value}` is {description.description}, not a sentence"
        sink.error(codes.TAG_DESCRIPTION, message, description.span)
        return ""
    return description.value
