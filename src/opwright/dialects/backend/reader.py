"""Reads vendors' own files as backend files: plug-ins rewrite their nodes, which keep their places."""

from __future__ import annotations

import os

from opwright.dialects import extra_key_codes as codes
from opwright.dialects.dialect import BackendReader, LoadContext
from opwright.source.diagnostic import Fault, FaultsFound
from opwright.source.nodes import Mapping, Node
from opwright.source.prefetch import read_tree

__all__ = ["read_beside", "read_vendor_file"]


def read_beside(root: Node, path: str, context: LoadContext) -> Node:
    """The root of another YAML file, whose path is relative to the file of a node. Raises Fault if it has none."""
    return read_tree(context.read_file(os.path.join(os.path.dirname(root.file.path), path)))


def read_vendor_file(root: Node, context: LoadContext) -> Node:
    """The root of a file as its reader rewrites it; the same root if no reader recognises the file.

    Raises Fault if a reader fails or two recognise the file.
    """
    readers = [reader for reader in context.backend_readers if _recognizes(reader, root)]
    if not readers:
        return root
    if len(readers) > 1:
        names = " and ".join([_description(reader) for reader in readers])
        message = f"{names} both read `{root.file.path}`"
        raise Fault.at(codes.TWO_READERS, message, root.span, help="name one of the plug-ins alone")
    reader = readers[0]
    try:
        rewritten: object = reader.rewrite(root, context)
    except (Fault, FaultsFound):
        raise
    except Exception as error:
        raise _failure(reader, "rewrite", error, root) from error
    if not isinstance(rewritten, Mapping):
        message = f"{_description(reader)} returned `{type(rewritten).__name__}`, not a mapping"
        raise Fault.at(codes.READER_FAILED, message, root.span)
    return rewritten


def _recognizes(reader: BackendReader, root: Node) -> bool:
    try:
        return bool(reader.recognizes(root))
    except Exception as error:
        raise _failure(reader, "recognizes", error, root) from error


def _description(reader: BackendReader) -> str:
    return f"the reader `{reader.name}`" + (f" of the plug-in `{reader.plugin}`" if reader.plugin else "")


def _failure(reader: BackendReader, part: str, error: Exception, root: Node) -> Fault:
    from traceback import extract_tb  # Only a run that has a fault needs it.

    frame = extract_tb(error.__traceback__)[-1]
    message = f"{_description(reader)} failed in `{part}`: {type(error).__name__}: {error}"
    return Fault.at(codes.READER_FAILED, message, root.span, notes=[f"raised at {frame.filename}:{frame.lineno}"])
