"""Projects to start from: the files of an operator library, or of a backend, that builds and passes its tests."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Final

from opwright.extension.project_names import project_names
from opwright.extension.requirements import torch_series
from opwright.files.staging import staging_name
from opwright.files.user_files import UserFiles
from opwright.files.writer import file_holds, make_folder, write_fault
from opwright.source import codes
from opwright.source.diagnostic import Fault
from opwright.source.text import SourceFile

__all__ = ["project_files", "write_project"]

_SUFFIX: Final = ".in"


def project_files(kind: str, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The files of a project of a kind, by their paths in it, with their texts."""
    top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "projects", kind)
    names = {**names, "torch": torch_series()}
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

    With `force`, the folder may have files, and those with the same paths are replaced. All files are written beside
    first, so that a run that fails leaves nothing. Raises Fault for a name that the project cannot have (E1207), for a
    folder with other files, or with links where files go (E1208), and for errors of the system (E0605 to E0608).
    """
    files = {path: text.encode() for path, text in project_files(kind, project_names(kind, name))}
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise Fault.at(codes.FOLDER_IN_USE, f"`{folder}` is not a folder")
    # This also removes what a killed run left.
    with UserFiles() as user_files:
        exists = os.path.isdir(folder)
        if exists:
            _check_places(folder, files)
            if not force:
                _check_free(folder, files)
        top = os.path.abspath(folder)
        beside = os.path.join(top if exists else os.path.dirname(top), staging_name())
        user_files.journal.add_staging(beside)
        with _removed_if_this_fails(beside) as paths:
            for inner, data in files.items():
                _write_file(os.path.join(beside, inner), data, paths)
            if exists:
                _move_files(beside, folder, files, paths)
            else:
                _rename(beside, top)
    return [os.path.join(folder, inner) for inner in files]


def _check_places(folder: str, files: Mapping[str, bytes]) -> None:
    """Raise Fault if a file of the project would be written through a link, or where something else is."""
    for inner in files:
        path = folder
        for part in inner.split(os.sep):
            path = os.path.join(path, part)
            if os.path.islink(path):
                help = "remove the link, or name another folder"
                raise Fault.at(codes.FOLDER_IN_USE, f"`{path}` is a link, through which nothing is written", help=help)
        if os.path.isdir(path):
            raise Fault.at(codes.FOLDER_IN_USE, f"`{path}` is a folder, and the project has a file there")


def _check_free(folder: str, files: Mapping[str, bytes]) -> None:
    """Raise Fault if a folder has other files than those of the project. A killed run may have left some of these."""
    for parent, folders, names in os.walk(folder):
        if parent == folder and ".git" in folders:
            folders.remove(".git")
        folders.sort()
        for name in sorted([*names, *[name for name in folders if os.path.islink(os.path.join(parent, name))]]):
            path = os.path.join(parent, name)
            inner = os.path.relpath(path, folder)
            if inner not in files or not file_holds(path, files[inner]):
                message = f"the folder `{folder}` has files already, such as `{inner}`"
                help = "name an empty folder, or replace files with `--force`"
                raise Fault.at(codes.FOLDER_IN_USE, message, help=help)


@contextlib.contextmanager
def _removed_if_this_fails(beside: str) -> Iterator[list[str]]:
    """A context with a list of the files and folders that it makes. They are removed if it raises."""
    paths: list[str] = []
    done = False
    try:
        yield paths
        done = True
    finally:
        for path in reversed(paths):
            if not done or path.startswith(beside):
                with contextlib.suppress(OSError):
                    if os.path.isdir(path):
                        os.rmdir(path)
                    else:
                        os.unlink(path)


def _write_file(path: str, data: bytes, paths: list[str]) -> None:
    """Write a new file in a folder that may be missing."""
    _make_folder(os.path.dirname(path), paths)
    paths.append(path)
    try:
        with open(path, "xb") as stream:
            stream.write(data)
    except OSError as error:
        raise write_fault(path, error) from None


def _make_folder(path: str, paths: list[str]) -> None:
    missing = []
    while not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    for folder in reversed(missing):
        paths.append(folder)
        make_folder(folder)


def _move_files(beside: str, folder: str, files: Mapping[str, bytes], paths: list[str]) -> None:
    """Put each file in its place in a folder that exists."""
    for inner, data in files.items():
        path = os.path.join(os.path.abspath(folder), inner)
        if not file_holds(path, data):
            _make_folder(os.path.dirname(path), paths)
            if not os.path.lexists(path):
                paths.append(path)
            _rename(os.path.join(beside, inner), path)


def _rename(source: str, target: str) -> None:
    try:
        os.replace(source, target)
    except OSError as error:
        raise write_fault(target, error) from None
