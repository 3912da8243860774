"""Files that other files name by their paths: a stranger's file may name only what is below its project."""

from __future__ import annotations

import os
from shlex import quote

from opwright.dialects.dialect import LoadContext
from opwright.source.codes import FILE_UNREADABLE, OUTSIDE_PROJECT
from opwright.source.diagnostic import Fault, shorten
from opwright.source.nodes import Node
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from opwright.workspace.project_files import find_project_file


def check_named_path(path: str, named_by: str, allowed: tuple[str, ...], *, folders: bool = False) -> None:
    """Check the path of a file that the file `named_by` names. The user allows the files and folders of `allowed`.

    Raises Fault for a path outside of the project (E0005), and for a text that is no path, or the path of a pipe, a
    device or, unless `folders`, a folder (E0002).
    """
    if not _is_path(path):
        raise Fault.at(FILE_UNREADABLE, f"`{shorten(ascii(path)[1:-1])}` cannot be the path of a file")
    target = os.path.realpath(path)
    # Build systems link the files of a project into other folders, one by one.
    folders_of_file = dict.fromkeys(os.path.dirname(of(named_by)) for of in (os.path.abspath, os.path.realpath))
    projects = [os.path.dirname(file) for file in map(find_project_file, folders_of_file) if file is not None]
    if any(_is_below(target, folder) for folder in (*folders_of_file, *allowed, *projects)):
        is_right = os.path.isfile(target) or (folders and os.path.isdir(target))
        if os.path.exists(target) and not is_right:
            raise Fault.at(FILE_UNREADABLE, f"`{path}` is not a file")
        return
    root = (*projects, *folders_of_file)[0]
    message = f"`{path}` is outside of `{root}`, the project of the file that names it"
    raise Fault.at(OUTSIDE_PROJECT, message, help=f"if it belongs there, allow it with `--allow-path {quote(target)}`")


def _is_path(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _is_below(target: str, folder: str) -> bool:
    """Whether a path without links is in a folder, or is the path of the folder itself."""
    real = os.path.realpath(folder)
    return target == real or target.startswith(os.path.join(real, ""))


def read_named_file(path: str, named_by: str, at: Span, code: str, context: LoadContext) -> SourceFile | None:
    """File at a path that stands at a place in the file `named_by`, which the path is relative to.

    If the project cannot have the file (E0005), or if it cannot be read (`code`), the sink of the context gets a fault.
    """
    full = os.path.join(os.path.dirname(named_by), path)
    try:
        check_named_path(full, named_by, context.allowed_paths)
        return context.read_file(full)
    except Fault as fault:
        reason = fault.diagnostic
        own_code = reason.code if reason.code == OUTSIDE_PROJECT else code
        context.sink.error(own_code, reason.message, at, help=reason.help)
        return None


def read_beside(root: Node, path: str, context: LoadContext) -> Node:
    """Root of another YAML file, whose path is relative to the file of a node. Raises Fault if it has none.

    Raises Fault too if the path is outside of the project (E0005).
    """
    full = os.path.join(os.path.dirname(root.file.path), path)
    check_named_path(full, root.file.path, context.allowed_paths)
    return load_yaml(context.read_file(full))
