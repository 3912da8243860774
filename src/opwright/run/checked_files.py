"""Which checks the files that a user names need: their dialects, and the release that they are checked against."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from opwright.dialects.dialect import Dialect
from opwright.dialects.table import (
    BACKEND,
    DEPRECATED,
    DERIVATIVES,
    LIBRARY,
    NATIVE_AOT,
    NATIVE_FUNCTIONS,
    SELECTION,
    SHIM_TABLES,
    TAGS,
    dialect_of,
)
from opwright.release.inputs import Inputs, from_source_path
from opwright.release.overlay import with_texts
from opwright.run.check import CheckRequest
from opwright.source.codes import UNKNOWN_DIALECT
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.named_tuple import NamedTuple
from opwright.source.project_file import files_below
from opwright.source.text import SourceFile

__all__ = ["CheckedFiles", "check_requests", "expand_folders", "kind_of", "owners_of", "tree_around"]

_TOP_LEVEL: Final = re.compile(r"(?m)^[\"']?(\w+)[\"']?[ \t]*:")
#: The head of a library file or a backend file names the file with its derivatives.
_NAMES_DERIVATIVES: Final = re.compile(r"(?m)^[\"']?derivatives[\"']?[ \t]*:[ \t]*(\S.*)")
_NAMESPACED: Final = re.compile(r"(?m)^\s*-?\s*[\"']?func[\"']?\s*:\s*[\"']?\w+::")
#: How many folders above its own the top of a tree may be.
_LEVELS: Final = 6
_SUFFIXES: Final = (".yaml", ".yml")


class CheckedFiles(NamedTuple):
    """What a user asks to check.

    `paths` are files of any dialect; those of `backends` and `libraries` are of these dialects whatever they look like.
    `texts` are read in place of the files on disk. With `checks_release`, the files of the release are checked.
    `release` is the release whose rules hold, None for that of the inputs. With `tolerant`, what PyTorch's own programs
    accept is no error. Heads may name `allowed_paths`, files and folders outside of their projects, and the files that
    the user names.
    """

    paths: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    texts: tuple[SourceFile, ...] = ()
    checks_release: bool = False
    release: str | None = None
    tolerant: bool = False
    allowed_paths: tuple[str, ...] = ()

    @property
    def all_paths(self) -> tuple[str, ...]:
        """The files that the user names."""
        return tuple(dict.fromkeys((*self.paths, *self.backends, *self.libraries)))

    def read(self, path: str) -> SourceFile:
        """The text of a file. Raises Fault."""
        for text in self.texts:
            if os.path.abspath(text.path) == os.path.abspath(path):
                return text
        return SourceFile.read(path)


def kind_of(file: SourceFile) -> Dialect[Any] | None:
    """The dialect of a file: by its name, by what its head has, or by its first field; None if none recognises it.

    >>> kind_of(SourceFile("acme.yaml", "cpp_namespace: acme\\nbackend: PrivateUse1\\n"))
    <dialect backend>
    """
    names = {*_TOP_LEVEL.findall(file.text)}
    for field, dialect in (("backend", BACKEND), ("namespace", LIBRARY)):
        if field in names:
            return dialect
    return dialect_of(file)


def tree_around(path: str, dialect: Dialect[Any]) -> str | None:
    """The ATen folder of the source tree or package that a file of PyTorch belongs to; None if it is in none."""
    folder = os.path.dirname(path) or os.curdir
    name = os.path.basename(path)
    if not any(pattern.rpartition("/")[2] == name for pattern in dialect.inputs):
        return None
    if dialect in (NATIVE_AOT, SHIM_TABLES):
        return _tree_above(folder)
    if dialect in (TAGS, NATIVE_FUNCTIONS):
        aten = os.path.normpath(os.path.join(folder, os.pardir))
        is_native = os.path.basename(os.path.abspath(folder)) == "native"
        has_both = all(os.path.isfile(os.path.join(folder, other)) for other in ("tags.yaml", "native_functions.yaml"))
        return aten if is_native and has_both else None
    for steps in ((os.pardir, "ATen"), (os.pardir, os.pardir, "aten", "src", "ATen")):
        aten = os.path.normpath(os.path.join(folder, *steps))
        if os.path.isfile(os.path.join(aten, *NATIVE_FUNCTIONS.inputs[0].split("/"))):
            return aten
    return None


def _tree_above(folder: str) -> str | None:
    """The ATen folder of the source tree or of the folder of packages that a folder is in; None if it is in none."""
    native = NATIVE_FUNCTIONS.inputs[0].split("/")
    above = folder
    for _ in range(_LEVELS):
        for steps in (("aten", "src", "ATen"), ("torchgen", "packaged", "ATen")):
            aten = os.path.normpath(os.path.join(above, *steps))
            if os.path.isfile(os.path.join(aten, *native)):
                return aten
        above = os.path.join(above, os.pardir)
    return None


def expand_folders(paths: Iterable[str]) -> Iterator[str]:
    """The paths, each folder replaced by the YAML files below it whose kind is known; hidden folders are left out."""
    for path in paths:
        if os.path.isdir(path):
            yield from filter(_is_known, map(os.path.normpath, files_below(path, _SUFFIXES)))
        else:
            yield path


def _is_known(path: str) -> bool:
    try:
        return os.path.isfile(path) and kind_of(SourceFile.read(path)) is not None
    except Fault:
        return False


def owners_of(file: SourceFile) -> list[str]:
    """The library files and backend files beside a file with derivatives that name it."""
    folder, name = os.path.split(file.path)
    owners = []
    for sibling in sorted(os.listdir(folder or os.curdir)):
        path = os.path.join(folder, sibling)
        if sibling != name and sibling.endswith(_SUFFIXES) and _is_known(path):
            match = _NAMES_DERIVATIVES.search(SourceFile.read(path).text)
            owners += [path] if match is not None and name in match[1] else []
    return owners


class _Sorted:
    """The files by what checks them."""

    def __init__(self) -> None:
        self.trees: Final[dict[str, dict[str, SourceFile]]] = {}
        self.overlay: Final[dict[str, SourceFile]] = {}
        self.operator_files: Final[list[SourceFile]] = []
        self.libraries: Final[list[SourceFile]] = []
        self.backends: Final[list[SourceFile]] = []
        self.selections: Final[list[SourceFile]] = []
        self.others: Final[list[tuple[Dialect[Any], SourceFile]]] = []

    def add(self, file: SourceFile, dialect: Dialect[Any] | None, files: CheckedFiles, sink: Diagnostics) -> None:
        """Sort a file; one of no dialect that is checked goes to the sink."""
        rows = {LIBRARY: self.libraries, BACKEND: self.backends, SELECTION: self.selections}
        if dialect in rows:
            rows[dialect].append(file)
        elif dialect is NATIVE_FUNCTIONS and _NAMESPACED.search(file.text) is not None:
            self.operator_files.append(file)
        elif dialect in (TAGS, NATIVE_FUNCTIONS, DERIVATIVES, DEPRECATED):
            tree = tree_around(file.path, dialect)
            owners = owners_of(file) if tree is None and dialect is DERIVATIVES else []
            for owner in owners:
                # The derivatives of a library or a backend are checked with it.
                if os.path.abspath(owner) not in map(os.path.abspath, files.all_paths):
                    text = files.read(owner)
                    self.add(text, kind_of(text), files, sink)
            if owners:
                return
            texts = self.overlay if tree is None else self.trees.setdefault(tree, {})
            if tree is None or file in files.texts:
                texts[dialect.inputs[0]] = file
        elif dialect in (NATIVE_AOT, SHIM_TABLES) and (tree := tree_around(file.path, dialect)) is not None:
            # The other files of the tree say whether the operators exist.
            self.trees.setdefault(tree, {})
        elif dialect is not None and not dialect.inputs and not dialect.members:
            self.others.append((dialect, file))
        else:
            help = "name the kind with `--backend FILE` or `--library FILE`"
            sink.error(UNKNOWN_DIALECT, f"`{file.path}` is of no known kind", file.span(0), help=help)


def check_requests(
    files: CheckedFiles, open_release: Callable[[], Inputs], sink: Diagnostics
) -> Iterator[CheckRequest]:
    """The checks that the files need.

    PyTorch's files in a source tree or a package are checked with the rest of it, and others against the release that
    `open_release` opens. Files that cannot be read go to the sink. Raises Fault if a release cannot be opened.
    """
    rows = _Sorted()
    for paths, dialect in ((files.paths, None), (files.backends, BACKEND), (files.libraries, LIBRARY)):
        for path in paths:
            try:
                file = files.read(path)
            except Fault as fault:
                sink.add(fault.diagnostic)
                continue
            rows.add(file, dialect or kind_of(file), files, sink)

    def request(inputs: Inputs) -> CheckRequest:
        allowed = files.allowed_paths + files.all_paths
        return CheckRequest(
            inputs, release=files.release, tolerant=files.tolerant, read_file=files.read, allowed_paths=allowed
        )

    for tree, texts in rows.trees.items():
        yield request(with_texts(from_source_path(tree), texts))._replace(checks_pytorch=True)
    others = (rows.operator_files, rows.libraries, rows.backends, rows.selections, rows.others)
    if rows.overlay or any(others) or files.checks_release:
        yield request(_with_overlay(open_release(), rows.overlay))._replace(
            checks_pytorch=bool(rows.overlay) or files.checks_release,
            operator_files=tuple(rows.operator_files),
            libraries=tuple(rows.libraries),
            backends=tuple(rows.backends),
            selections=tuple(rows.selections),
            others=tuple(rows.others),
        )


def _with_overlay(inputs: Inputs, texts: dict[str, SourceFile]) -> Inputs:
    """The inputs with files of the user.

    A file of operators alone is not what the release's derivatives are for, so these are left out.
    """
    native = NATIVE_FUNCTIONS.inputs[0]
    hidden = DERIVATIVES.inputs + DEPRECATED.inputs if native in texts else ()
    return with_texts(inputs, texts, hidden=frozenset(hidden).difference(texts))
