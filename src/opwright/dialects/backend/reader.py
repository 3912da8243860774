"""Reads vendors' own files as backend files: plug-ins rewrite their nodes, which keep their places."""

from __future__ import annotations

import os

from opwright.dialects.dialect import BackendReader, LoadContext
from opwright.dialects.named_files import check_named_path
from opwright.source import codes
from opwright.source.diagnostic import Fault
from opwright.source.nodes import Node
from opwright.source.yaml import load_yaml

__all__ = ["read_beside", "read_vendor_file"]


def read_beside(root: Node, path: str, context: LoadContext) -> Node:
    """The root of another YAML file, whose path is relative to the file of a node. Raises Fault if it has none.

    Raises Fault too if the path is outside of the project (E0005).
    """
    full = os.path.join(os.path.dirname(root.file.path), path)
    check_named_path(full, root.file.path, context.allowed_paths)
    return load_yaml(context.read_file(full))


def read_vendor_file(root: Node, context: LoadContext) -> Node:
    """The root of a file as its reader rewrites it; the same root if no reader recognises the file.

    Raises Fault if two readers recognise the file.
    """
    readers = [reader for reader in context.backend_readers if reader.recognizes(root)]
    if len(readers) > 1:
        names = " and ".join([_description(reader) for reader in readers])
        message = f"{names} both read `{root.file.path}`"
        raise Fault.at(codes.TWO_READERS, message, root.span, help="name one of the plug-ins alone")
    return readers[0].rewrite(root, context) if readers else root


def _description(reader: BackendReader) -> str:
    return f"the reader `{reader.name}`" + (f" of the plug-in `{reader.plugin}`" if reader.plugin else "")
