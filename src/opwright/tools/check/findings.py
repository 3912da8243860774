"""What is wrong with files: the checks that they need, and the diagnostics of all, selected, fixed, not suppressed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from opwright.backends.rows import BACKEND
from opwright.dialects.dialect import Dialect
from opwright.dialects.table import DEPRECATED, DERIVATIVES, NATIVE_AOT, NATIVE_FUNCTIONS, SELECTION, SHIM_TABLES, TAGS
from opwright.libraries.rows import LIBRARY
from opwright.release.inputs import Inputs, from_source_path
from opwright.source.diagnostic import Diagnostic, Diagnostics, Fault
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile
from opwright.tools.check.checking import CheckRequest, check
from opwright.tools.check.fixes import with_fixes
from opwright.tools.check.lints import LAYOUT
from opwright.tools.check.suppressions import CodeFilter, suppress, suppressions
from opwright.tools.files.file_kinds import kind_of, owners_of, tree_around
from opwright.tools.files.layout import check_layout
from opwright.tools.tool_codes import UNKNOWN_DIALECT
from opwright.workspace.overlay import with_texts

_NAMESPACED: Final = re.compile(r"(?m)^\s*-?\s*[\"']?func[\"']?\s*:\s*[\"']?\w+::")

#: What says something about operators that are declared elsewhere.
_ABOUT_OPERATORS: Final = (DERIVATIVES, DEPRECATED, NATIVE_AOT, SHIM_TABLES)


class CheckedFiles(NamedTuple):
    """What a user asks to check.

    `paths` are files of any dialect; those of `backends` and `libraries` are of these dialects whatever they look like.
    `texts` are read in place of the files on disk. With `checks_release`, the files of the release are checked.
    `release` is the release whose rules hold, None for that of the inputs. With `tolerant`, what PyTorch's programs
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
        """Files that the user names."""
        return tuple(dict.fromkeys((*self.paths, *self.backends, *self.libraries)))

    def read(self, path: str) -> SourceFile:
        """Text of a file. Raises Fault."""
        for text in self.texts:
            if os.path.abspath(text.path) == os.path.abspath(path):
                return text
        return SourceFile.read(path)


class _Sorted:
    """Files by what checks them."""

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
            if tree is None and dialect is DERIVATIVES and self._add_owners(file, files, sink):
                return
            texts = self.overlay if tree is None else self.trees.setdefault(tree, {})
            if tree is None or file in files.texts:
                texts[dialect.inputs[0]] = file
        elif dialect in (NATIVE_AOT, SHIM_TABLES) and (tree := tree_around(file.path, dialect)) is not None:
            # The other files of the tree say whether the operators exist.
            self.trees.setdefault(tree, {})
        elif dialect is not None and not dialect.inputs and not dialect.members:
            self.others.append((dialect, file))
        elif dialect is not None or not self._add_owners(file, files, sink):
            help = "name the kind with `--backend FILE` or `--library FILE`"
            sink.error(UNKNOWN_DIALECT, f"`{file.path}` is of no known kind", file.span(0), help=help)

    def _add_owners(self, file: SourceFile, files: CheckedFiles, sink: Diagnostics) -> bool:
        """Sort the libraries and backends that name a file with derivatives, which is checked with them."""
        owners = owners_of(file, files.all_paths)
        for owner in owners:
            if os.path.abspath(owner) not in map(os.path.abspath, files.all_paths):
                text = files.read(owner)
                self.add(text, kind_of(text), files, sink)
        return bool(owners)


def check_requests(
    files: CheckedFiles, open_release: Callable[[], Inputs], sink: Diagnostics
) -> Iterator[CheckRequest]:
    """Checks that the files need.

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
        inputs = _with_overlay(open_release(), rows.overlay)
        others_of_release = inputs.names() if rows.overlay and not files.checks_release else ()
        yield request(inputs)._replace(
            assumed=frozenset(map(inputs.display_path, others_of_release)).difference(files.all_paths),
            checks_pytorch=bool(rows.overlay) or files.checks_release,
            operator_files=tuple(rows.operator_files),
            libraries=tuple(rows.libraries),
            backends=tuple(rows.backends),
            selections=tuple(rows.selections),
            others=tuple(rows.others),
        )


def _with_overlay(inputs: Inputs, texts: dict[str, SourceFile]) -> Inputs:
    """Inputs with files of the user.

    What the release says about its own operators, such as derivatives, is left out if the user has others.
    """
    if NATIVE_FUNCTIONS.inputs[0] not in texts:
        return with_texts(inputs, texts)
    about = [name for name in inputs.names() if any(dialect.recognizes_name(name) for dialect in _ABOUT_OPERATORS)]
    return with_texts(inputs, texts, hidden=frozenset(about).difference(texts))


class Findings(NamedTuple):
    """Diagnostics to report, in the order of their places, how many were suppressed, and the checked files.

    `left_out` are diagnostics about files of the release that no user named, because a user's file replaces one of
    them.
    """

    diagnostics: tuple[Diagnostic, ...]
    suppressed: int
    paths: tuple[str, ...]
    left_out: int = 0


def find(files: CheckedFiles, codes: CodeFilter, open_release: Callable[[], Inputs]) -> Findings:
    """Findings in files. `open_release` opens the release that files are checked against."""
    sink = Diagnostics(keeps_all_remarks=True)
    requests: list[CheckRequest] = []
    try:
        requests += check_requests(files, open_release, sink)
    except Fault as fault:
        sink.add(fault.diagnostic)
    read: dict[str, SourceFile] = {}

    def read_file(path: str) -> SourceFile:
        return read.setdefault(path, files.read(path))

    left_out = 0
    for request in requests:
        diagnostics = check(request._replace(codes=codes, read_file=read_file))
        shown_diagnostics = [diagnostic for diagnostic in diagnostics if _path(diagnostic) not in request.assumed]
        left_out += len(diagnostics) - len(shown_diagnostics)
        sink.extend(shown_diagnostics)
    if codes.shows(LAYOUT.code, by_default=LAYOUT.for_others):
        sink.extend(_layout_findings(files))
    named = {file.path: file for request in requests for file in request.files if file.path not in request.assumed}
    texts = read | named
    shown = [diagnostic for diagnostic in sink.sorted() if codes.shows(diagnostic.code, _path(diagnostic))]
    has_comments = any(suppressions(text) for text in texts.values())
    suppressed = 0
    if has_comments:
        shown, suppressed = suppress(shown, texts.values(), codes)
    ordered = Diagnostics(keeps_all_remarks=True)
    if shown:
        ordered.extend(with_fixes(shown))
    # A file of no known kind counts too.
    paths = {os.path.abspath(path): path for path in (*texts, *files.all_paths)}
    return Findings(ordered.sorted(), suppressed, tuple(paths.values()), left_out)


def _path(diagnostic: Diagnostic) -> str:
    return diagnostic.span.file.path if diagnostic.span is not None else ""


def _layout_findings(files: CheckedFiles) -> Iterator[Diagnostic]:
    """Files that are not in their canonical layout. Those that cannot be read are reported elsewhere."""
    for paths, dialect in ((files.paths, None), (files.backends, BACKEND), (files.libraries, LIBRARY)):
        for path in paths:
            try:
                finding = check_layout(files.read(path), dialect)
            except Fault:
                continue
            if finding is not None:
                yield finding
