"""Projects to start from: the files of an operator library, or of a backend, that builds and passes its tests."""

from __future__ import annotations

import keyword
import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from opwright.dialects.library.head import check_namespace
from opwright.extension import codes
from opwright.model.dispatch_key import devices
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.text import SourceFile

__all__ = ["KINDS", "project_files", "project_names", "write_project"]

_SUFFIX: Final = ".in"
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*")
_DEVICE_NAME: Final = re.compile(r"[a-z][a-z0-9]*")

#: Packages that a project cannot replace, because it needs them.
_TAKEN: Final = frozenset(("opwright", "pytest", "setuptools", "tests", "torch"))


def project_names(kind: str, name: str) -> dict[str, str]:
    """The texts that take the place of names such as `@package@` in the files of a project of a kind.

    Raises Fault for a name that these cannot have (E1207).

    >>> project_names("library", "acme-ops")
    {'project': 'acme-ops', 'package': 'acme_ops'}
    >>> project_names("backend", "acme")
    {'device': 'acme', 'display': 'Acme'}
    """
    return KINDS[kind](name)


def _library_names(name: str) -> dict[str, str]:
    """The package is the namespace of the operators too."""
    package = name.replace("-", "_")
    if _NAME.fullmatch(name) is None:
        help = "write letters, digits and single underscores, such as `acme_ops`"
        raise Fault.at(codes.PROJECT_NAME, f"`{name}` is not a name for a package", help=help)
    if keyword.iskeyword(package) or package.lower() in _TAKEN:
        message = f"a package cannot have the name `{package}`"
        raise Fault.at(codes.PROJECT_NAME, message, help=f"choose another name, such as `{package.lower()}_ops`")
    _check_namespace(package, f"{package}_ops")
    return {"project": name, "package": package}


def _backend_names(name: str) -> dict[str, str]:
    """The name of the device is a namespace too, and a part of the names of its package and of its classes."""
    if _DEVICE_NAME.fullmatch(name) is None:
        help = "write small letters and digits, such as `acme`"
        raise Fault.at(codes.PROJECT_NAME, f"`{name}` is not a name for a device", help=help)
    if keyword.iskeyword(name) or name in _TAKEN or name in [device.name.lower() for device in devices()]:
        message = f"a device cannot have the name `{name}`"
        raise Fault.at(codes.PROJECT_NAME, message, help=f"choose another name, such as `my{name}`")
    _check_namespace(name, f"my{name}")
    return {"device": name, "display": name.capitalize()}


def _check_namespace(name: str, other: str) -> None:
    """Raise Fault for a name that a namespace cannot have; the help suggests another one."""
    sink = Diagnostics()
    if not check_namespace(name, SourceFile("NAME", name).span(0), sink):
        message = next(iter(sink)).message
        raise Fault.at(codes.PROJECT_NAME, message, help=f"choose another name, such as `{other}`")


#: The kinds of projects, each with the function that makes the names in its files from that of the user.
KINDS: Final[Mapping[str, Callable[[str], dict[str, str]]]] = {"library": _library_names, "backend": _backend_names}


def project_files(kind: str, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The files of a project of a kind, by their paths in it, with their texts."""
    top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "projects", kind)
    for folder, _, files in sorted(os.walk(top)):
        for file in sorted(files):
            path = os.path.join(folder, file)
            inner = os.path.relpath(path, top).removesuffix(_SUFFIX)
            yield _fill(inner, names), _fill(SourceFile.read(path).text, names)


def _fill(text: str, names: Mapping[str, str]) -> str:
    for name, value in names.items():
        text = text.replace(f"@{name}@", value)
    return text


def write_project(kind: str, name: str, folder: str, *, force: bool = False) -> list[str]:
    """Write the files of a project of a kind into an empty folder, and give their paths.

    With `force`, the folder may have files, and those with the same paths are replaced. Raises Fault for a name that
    the project cannot have (E1207), and for a folder with files (E1208).
    """
    names = project_names(kind, name)
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise Fault.at(codes.FOLDER_IN_USE, f"`{folder}` is not a folder")
    others = [entry for entry in os.listdir(folder) if entry != ".git"] if os.path.isdir(folder) else []
    if others and not force:
        message = f"the folder `{folder}` has files already, such as `{min(others)}`"
        raise Fault.at(codes.FOLDER_IN_USE, message, help="name an empty folder, or replace files with `--force`")
    paths = []
    for inner, text in project_files(kind, names):
        path = os.path.join(folder, inner)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
        paths.append(path)
    return paths
