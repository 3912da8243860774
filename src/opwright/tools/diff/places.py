"""Where the sides of a comparison are: files and folders as they are, and as a commit of the repository has them."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from opwright.dialects.table import dialect_of
from opwright.libraries.rows import LIBRARY
from opwright.source.codes import NO_SIDE
from opwright.source.diagnostic import Fault
from opwright.source.limits import FILE_BYTES
from opwright.source.text import SourceFile

#: What the name of a side in a commit begins with: `git:REF`, or `git:REF:PATH`.
GIT: Final = "git:"

#: The files of a commit that loading may read: those of operators, and headers with signatures.
_READ: Final = (".yaml", ".yml", ".json", ".toml", ".h", ".hpp", ".cuh")

#: Folders of projects that have no sources.
_LEFT_OUT: Final = frozenset(("build", "dist", "third_party", "node_modules", "__pycache__"))


@contextmanager
def placed(spec: str, other: str) -> Iterator[str]:
    """The path of a side; that of a commit is in a folder that exists until the end.

    `git:REF` has the path of the `other` side, from the top of its repository. Raises Fault (E2103) if there is no such
    commit, or no such path in it.
    """
    if not spec.startswith(GIT):
        yield spec
        return
    ref, _, path = spec[len(GIT) :].partition(":")
    near = os.path.realpath("." if other.startswith(GIT) or not os.path.exists(other) else other)
    folder = near if os.path.isdir(near) else os.path.dirname(near)
    top = _git(folder, "rev-parse", "--show-toplevel").decode().rstrip("\n")
    if not path:
        path = os.path.relpath(near, os.path.realpath(top))
    commit = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", what=ref)
    archive = _git(top, "archive", "--format=tar", commit.decode().strip())
    with tempfile.TemporaryDirectory(prefix="opwright-diff-") as out:
        _extract(archive, out)
        there = os.path.normpath(os.path.join(out, path))
        if not os.path.exists(there) or os.path.relpath(there, out).startswith(os.pardir):
            raise Fault.at(NO_SIDE, f"`{path}` is not in `{ref}`", help=f"name its path there, as in `git:{ref}:PATH`")
        yield there


def _git(folder: str, *words: str, what: str = "") -> bytes:
    """What git prints in a folder."""
    try:
        done = subprocess.run(["git", "-C", folder, *words], capture_output=True, check=False)
    except OSError as error:
        raise Fault.at(NO_SIDE, f"git cannot be run: {error.strerror}") from None
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        message = f"`{what}` is no commit of the repository" if what else f"git {words[0]} fails in `{folder}`"
        raise Fault.at(NO_SIDE, message, notes=lines[-3:])
    return done.stdout


def _extract(archive: bytes, out: str) -> None:
    """Write the regular files of an archive that loading may read, and no links."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files:
            path = os.path.normpath(os.path.join(out, member.name))
            is_inside = not os.path.relpath(path, out).startswith(os.pardir)
            if not member.isreg() or not is_inside or member.size > FILE_BYTES or not path.endswith(_READ):
                continue
            content = files.extractfile(member)
            assert content is not None, "a regular file has content"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as stream:
                stream.write(content.read())


def library_files(folder: str) -> list[SourceFile]:
    """The library files below a folder, in the order of their paths. Folders that builds make are left out."""
    files = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _LEFT_OUT)
        for name in sorted(names):
            path = os.path.join(parent, name)
            if name.endswith((".yaml", ".yml")) and os.path.isfile(path) and os.path.getsize(path) <= FILE_BYTES:
                file = SourceFile.read(path)
                if dialect_of(file) is LIBRARY:
                    files.append(file)
    return files
