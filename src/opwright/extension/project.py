"""Projects to start from: the files of an operator library that builds and passes its tests."""

from __future__ import annotations

import keyword
import os
import re
from collections.abc import Iterator, Mapping
from typing import Final

from opwright.dialects.library.head import check_namespace
from opwright.extension import codes
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.text import SourceFile

__all__ = ["project_files", "project_names", "write_project"]

_SUFFIX: Final = ".in"
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*")

#: Packages that a library cannot replace, because it needs them.
_TAKEN: Final = frozenset(("opwright", "pytest", "setuptools", "tests", "torch"))


def project_names(name: str) -> dict[str, str]:
    """The names that take the place of `@project@` and `@package@` in the files of a project.

    The package is the namespace of the operators too. Raises Fault for a name that these cannot have (E1207).

    >>> project_names("acme-ops")
    {'project': 'acme-ops', 'package': 'acme_ops'}
    """
    package = name.replace("-", "_")
    if _NAME.fullmatch(name) is None:
        help = "write letters, digits and single underscores, such as `acme_ops`"
        raise Fault.at(codes.PROJECT_NAME, f"`{name}` is not a name for a package", help=help)
    if keyword.iskeyword(package) or package.lower() in _TAKEN:
        message = f"a package cannot have the name `{package}`"
        raise Fault.at(codes.PROJECT_NAME, message, help=f"choose another name, such as `{package.lower()}_ops`")
    sink = Diagnostics()
    if not check_namespace(package, SourceFile("NAME", package).span(0), sink):
        message = next(iter(sink)).message
        raise Fault.at(codes.PROJECT_NAME, message, help=f"choose another name, such as `{package}_ops`")
    return {"project": name, "package": package}


def project_files(names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The files of a project, by their paths in it, with their texts."""
    top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "projects", "library")
    for folder, _, files in sorted(os.walk(top)):
        for file in sorted(files):
            path = os.path.join(folder, file)
            inner = os.path.relpath(path, top).removesuffix(_SUFFIX)
            yield _fill(inner, names), _fill(SourceFile.read(path).text, names)


def _fill(text: str, names: Mapping[str, str]) -> str:
    for name, value in names.items():
        text = text.replace(f"@{name}@", value)
    return text


def write_project(name: str, folder: str, *, force: bool = False) -> list[str]:
    """Write the files of a project into an empty folder, and give their paths.

    With `force`, the folder may have files, and those with the same paths are replaced. Raises Fault for a name that a
    package cannot have (E1207), and for a folder with files (E1208).
    """
    names = project_names(name)
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise Fault.at(codes.FOLDER_IN_USE, f"`{folder}` is not a folder")
    others = [entry for entry in os.listdir(folder) if entry != ".git"] if os.path.isdir(folder) else []
    if others and not force:
        message = f"the folder `{folder}` has files already, such as `{min(others)}`"
        raise Fault.at(codes.FOLDER_IN_USE, message, help="name an empty folder, or replace files with `--force`")
    paths = []
    for inner, text in project_files(names):
        path = os.path.join(folder, inner)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
        paths.append(path)
    return paths
