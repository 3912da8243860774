"""Reads the head of a backend file: what it says for all entries, and its sections. Plug-ins may rewrite its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.backends import backend_codes
from opwright.backends.dialect.head_fields import HEAD_FIELDS, OWN_FIELDS, READERS, HeadBuilder
from opwright.backends.dialect.tolerated import read_as_generator
from opwright.dialects.dialect import LoadContext
from opwright.dialects.field import BACKEND_ENTRY, BACKEND_HEAD, PLUGINS, report_plugins
from opwright.source.codes import BACKEND_MISSING_KEY, BACKEND_UNKNOWN_KEY
from opwright.source.diagnostic import Fault
from opwright.source.expect import check_unique_keys
from opwright.source.nodes import MappingNode, Node, Scalar, did_you_mean_key

if TYPE_CHECKING:
    from opwright.dialects.dialect import ExtraKeys

#: The help for what PyTorch's generator does not know.
OWN_HELP = "this is Opwright's own; use `opwright generate --backend`"
_PLUGIN_HELP = "for a vendor's form, name a plug-in with `--plugin`; `opwright explain E1301` shows one"


def read_head(root: Node, context: LoadContext) -> HeadBuilder:
    """Head of a file. Raises Fault if the file is not a mapping."""
    own_root = root
    if context.backend_readers:
        root = read_vendor_file(root, context)
    if context.tolerant and isinstance(root, MappingNode):
        root = read_as_generator(root, context.sink)
    if not isinstance(root, MappingNode):
        raise _other_form(root, f"the file is {root.description}, not a mapping with `backend`", context)
    keys = {key.value for key, _ in root.entries}
    if not keys <= READERS.keys() and not any(field.is_required and field.name in keys for field in HEAD_FIELDS):
        raise _other_form(root, "the file has no `backend`, and keys that backend files do not have", context)
    sink = context.sink
    check_unique_keys(root, sink)
    head = HeadBuilder(root, context.rules, sink)
    head.is_rewritten = root is not own_root
    names = [name for name in READERS if not (context.tolerant and name in OWN_FIELDS)]
    # Some readers need what others read, such as the C++ namespace.
    values = {key.value: value for key, value in root.entries}
    for name in names:
        if name in values:
            READERS[name](values[name], head)
    extra_keys = context.extra_keys_at(BACKEND_HEAD)
    extra_names = () if extra_keys is None else extra_keys.names
    for key, _ in root.entries:
        if key.value in names or (extra_keys is not None and key.value in extra_keys):
            continue
        if key.value == PLUGINS and not context.tolerant:
            report_plugins(key.span, sink)
        elif key.value in OWN_FIELDS:
            sink.error(
                backend_codes.OWN_DIALECT, f"PyTorch's generator has no key `{key.value}`", key.span, help=OWN_HELP
            )
        else:
            help = did_you_mean_key(key, root, [*names, *extra_names])
            sink.error(BACKEND_UNKNOWN_KEY, f"unknown key `{key.value}`", key.span, help=help)
    _check_required(root, head)
    _read_extra_keys(head, extra_keys, context)
    return head


def _other_form(root: Node, message: str, context: LoadContext) -> Fault:
    """Fault of a file that may be a vendor's own, which a plug-in would read."""
    readers = [f"`{reader.name}`" for reader in context.backend_readers]
    notes = [f"no reader of the run's plug-ins recognises it: {', '.join(readers)}"] if readers else ()
    help = "" if context.tolerant else _PLUGIN_HELP
    return Fault.at(backend_codes.BACKEND_FILE_SHAPE, message, root.span.first_line, notes=notes, help=help)


def _read_extra_keys(head: HeadBuilder, extra_keys: ExtraKeys | None, context: LoadContext) -> None:
    """Read the keys that plug-ins declare for heads, and the defaults of those that they declare for entries."""
    if extra_keys is not None:
        values = extra_keys.read(head.root.entries, head.key_span("backend"), head.releases)
        head.options = head.options._replace(values=values or extra_keys.defaults)
    entry_keys = context.extra_keys_at(BACKEND_ENTRY)
    if entry_keys is not None:
        head.options = head.options._replace(entry_values=entry_keys.defaults)


def is_own_dialect(head: HeadBuilder) -> bool:
    """Whether the file has anything that PyTorch's generator does not know: a key, or options of an entry."""
    has_options = any(isinstance(item, MappingNode) for items in head.sections.values() for item in items)
    has_keys = bool(head.options.values.names_in_file) or any(key.value in OWN_FIELDS for key, _ in head.root.entries)
    return has_options or has_keys


def _check_required(root: MappingNode, head: HeadBuilder) -> None:
    for field in HEAD_FIELDS:
        node = root.get(field.name)
        if field.is_required and (node is None or (isinstance(node, Scalar) and node.kind == "null")):
            at = root.span if node is None else node.span
            head.sink.error(BACKEND_MISSING_KEY, f"the file has no `{field.name}`", at)


def read_vendor_file(root: Node, context: LoadContext) -> Node:
    """Root of a file as its reader rewrites it; the same root if no reader recognises the file.

    Raises Fault if two readers recognise the file.
    """
    readers = [reader for reader in context.backend_readers if reader.recognizes(root)]
    if len(readers) > 1:
        plugins = [f" of the plug-in `{reader.plugin}`" if reader.plugin else "" for reader in readers]
        names = " and ".join(
            [f"the reader `{reader.name}`{plugin}" for reader, plugin in zip(readers, plugins, strict=True)]
        )
        message = f"{names} both read `{root.file.path}`"
        raise Fault.at(backend_codes.TWO_READERS, message, root.span, help="name one of the plug-ins alone")
    return readers[0].rewrite(root, context) if readers else root
