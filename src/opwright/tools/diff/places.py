"""Where the sides of a comparison are: files and folders, those of commits and archives, and libraries that run."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.machinery import PathFinder
from typing import IO, Final, NamedTuple, TypeAlias

from opwright.dialects.table import dialect_of
from opwright.libraries.rows import LIBRARY
from opwright.source.diagnostic import Fault
from opwright.source.limits import FILE_BYTES
from opwright.source.text import SourceFile
from opwright.syntax.python import is_module_name
from opwright.tools.tool_codes import NO_SIDE
from opwright.workspace.project_files import MADE_FOLDERS, files_below

#: What the name of a side in a commit begins with: `git:REF`, or `git:REF:PATH`.
GIT: Final = "git:"

#: What the name of an installed package or of a library that runs begins with: `module:NAME`.
MODULE: Final = "module:"

#: What reading an archive raises that is damaged, or encrypted.
_DAMAGED: Final = (OSError, EOFError, ValueError, RuntimeError, zipfile.BadZipFile, tarfile.TarError, zlib.error)

#: The files of a commit that loading may read: those of operators, and headers with signatures.
_READ: Final = (".yaml", ".yml", ".json", ".toml", ".h", ".hpp", ".cuh")

#: The archives of packages: wheels, and source distributions.
_WHEELS: Final = (".whl", ".zip")
_SOURCES: Final = (".tar.gz", ".tgz")

#: What tells PyTorch's wheel from that of a library.
_OF_PYTORCH: Final = "torchgen/packaged/ATen/native/native_functions.yaml"

#: How many bytes are taken from a commit or an archive.
_MOST_BYTES: Final = 256_000_000

#: The name, the size and the content of a regular file of an archive.
_Member: TypeAlias = "tuple[str, int, Callable[[], IO[bytes] | None]]"


class SidePlace(NamedTuple):
    """The path of a side. Of a library that `runs` no more is known than what PyTorch's dispatcher has."""

    path: str
    runs: bool = False


@contextmanager
def placed(spec: str, other: str) -> Iterator[SidePlace]:
    """The place of a side; that of a commit, an archive or a module is in a folder that exists until the end.

    `git:REF` has the path of the `other` side, from the top of its repository. `module:NAME` has the library files of
    an installed package, or what the module registers if the package has none. Raises Fault (E2103) if there is no such
    commit or path, or no operators; and as an import does, if the module cannot be imported.
    """
    with tempfile.TemporaryDirectory(prefix="opwright-diff-") as out:
        if spec.startswith(GIT):
            yield _of_commit(commit_place(spec, other), out)
        elif spec.startswith(MODULE):
            yield _of_module(spec[len(MODULE) :], out)
        elif spec.endswith((*_WHEELS, *_SOURCES)) and os.path.isfile(spec) and not _is_pytorch(spec):
            yield _of_archive(spec, out)
        else:
            yield SidePlace(spec)


class CommitPlace(NamedTuple):
    """A path in a commit of the repository at `top`."""

    top: str
    ref: str
    commit: str
    path: str


def commit_place(spec: str, other: str) -> CommitPlace:
    """Where the side of a commit is, which has the path of the `other` side if it names none."""
    ref, _, path = spec[len(GIT) :].partition(":")
    near = os.path.realpath("." if other.startswith((GIT, MODULE)) or not os.path.exists(other) else other)
    folder = near if os.path.isdir(near) else os.path.dirname(near)
    top = run_git(folder, "rev-parse", "--show-toplevel")
    if not path:
        path = os.path.relpath(near, os.path.realpath(top))
    commit = run_git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", what=ref)
    return CommitPlace(top, ref, commit, path)


def _of_commit(place: CommitPlace, out: str) -> SidePlace:
    """The path in a commit, whose files go into a folder."""
    archive = _git(place.top, "archive", "--format=tar", place.commit)
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        _extract(_tar_members(files), out)
    there = os.path.normpath(os.path.join(out, place.path))
    if not os.path.exists(there) or os.path.relpath(there, out).startswith(os.pardir):
        help = f"name its path there, as in `git:{place.ref}:PATH`"
        raise Fault.at(NO_SIDE, f"`{place.path}` is not in `{place.ref}`", help=help)
    return SidePlace(there)


def _is_pytorch(path: str) -> bool:
    """Whether an archive is a wheel of PyTorch, or none that can be read, about which others say more."""
    if not path.endswith(".whl"):
        return False
    try:
        with zipfile.ZipFile(path) as wheel:
            return _OF_PYTORCH in wheel.NameToInfo
    except _DAMAGED:
        return True


def _of_archive(path: str, out: str) -> SidePlace:
    """The library files of a wheel or a source distribution, which go into a folder."""
    try:
        if path.endswith(_WHEELS):
            with zipfile.ZipFile(path) as wheel:
                _extract(_zip_members(wheel), out)
        else:
            with tarfile.open(path) as files:
                _extract(_tar_members(files), out)
    except _DAMAGED as error:
        reason = str(error).partition("\n")[0].rstrip(":")
        raise Fault.at(NO_SIDE, f"`{path}` cannot be unpacked: {reason}") from None
    if not library_files(out):
        help = f"name its source distribution; or install it, and write `{MODULE}NAME` with the name of its module"
        raise Fault.at(NO_SIDE, f"`{path}` has no library files", help=help)
    return SidePlace(out)


def _of_module(name: str, out: str) -> SidePlace:
    """The folder of an installed package that has library files; else a file of what its module registers.

    The second imports the module in a process of its own.
    """
    if not is_module_name(name):
        raise Fault.at(NO_SIDE, f"`{name}` is no name of a module")
    spec = PathFinder.find_spec(name.partition(".")[0])
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        if library_files(folder):
            return SidePlace(folder)
    from opwright.migrate.importing.library_file import library_text
    from opwright.migrate.importing.run import ImportRequest, read_operators

    path = os.path.join(out, "library.yaml")
    read = read_operators(ImportRequest((), (name,), {}, path))
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(library_text(read.imported, read.head))
    return SidePlace(path, runs=True)


def run_git(folder: str, *words: str, what: str = "") -> str:
    """What git prints in a folder, without the last line's end. Raises Fault (E2103) if it fails, about `what`."""
    return _git(folder, *words, what=what).decode(errors="surrogateescape").rstrip("\n")


def _git(folder: str, *words: str, what: str = "") -> bytes:
    try:
        done = subprocess.run(["git", "-C", folder, *words], capture_output=True, check=False)
    except OSError as error:
        raise Fault.at(NO_SIDE, f"git cannot be run: {error.strerror}") from None
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        message = f"`{what}` is no commit of the repository" if what else f"git {words[0]} fails in `{folder}`"
        raise Fault.at(NO_SIDE, message, notes=lines[-3:])
    return done.stdout


def _tar_members(files: tarfile.TarFile) -> Iterator[_Member]:
    for member in files:
        if member.isreg():
            yield member.name, member.size, partial(files.extractfile, member)


def _zip_members(files: zipfile.ZipFile) -> Iterator[_Member]:
    for member in files.infolist():
        # The upper half of the attributes are those of Unix: a link is written as a file with its target.
        if not member.is_dir() and not stat.S_ISLNK(member.external_attr >> 16):
            yield member.filename, member.file_size, partial(files.open, member)


def _extract(members: Iterator[_Member], out: str) -> None:
    """Write the regular files that loading may read. Raises Fault (E2103) if there is too much of them."""
    left = _MOST_BYTES
    for name, size, read in members:
        path = os.path.normpath(os.path.join(out, name))
        is_inside = not os.path.relpath(path, out).startswith(os.pardir)
        if not is_inside or size > FILE_BYTES or not path.endswith(_READ):
            continue
        left -= size
        if left < 0:
            raise Fault.at(NO_SIDE, f"there are more than {_MOST_BYTES:,} bytes of files with operators and headers")
        content = read()
        assert content is not None, "a regular file has content"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with content, open(path, "wb") as stream:
            stream.write(content.read())


def library_files(folder: str) -> list[SourceFile]:
    """The library files below a folder, in the order of their paths. Folders that builds make are left out."""
    paths = files_below(folder, (".yaml", ".yml"), skipped=MADE_FOLDERS | {"third_party"})
    small = (path for path in paths if os.path.isfile(path) and os.path.getsize(path) <= FILE_BYTES)
    return [file for file in map(SourceFile.read, small) if dialect_of(file) is LIBRARY]
