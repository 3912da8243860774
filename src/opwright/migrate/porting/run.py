"""Runs of `opwright port`: from sources to ported sources, the header that they call, and what stays."""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from opwright.cpp.text import include_line, quoted_include_line
from opwright.libraries.dialect.callable_operators import CallableOperators
from opwright.migrate import import_codes
from opwright.migrate.porting.compile_check import CompiledPort, compile_ported
from opwright.migrate.porting.source import registrations, tree_of, trees_within
from opwright.migrate.porting.stable_api import CUDA_HEADER, StableRelease
from opwright.migrate.porting.state import FileState, LeftCode, ProjectFacts, facts_of
from opwright.migrate.porting.translator import INCLUDES, KEPT_INCLUDE, Translator
from opwright.migrate.porting.wrappers import NAMESPACE, Wrappers, is_header_of_calls
from opwright.source.codes import OUTPUT_EXISTS
from opwright.source.diagnostic import Fault
from opwright.source.line_diff import LineMatcher, unified_lines
from opwright.source.records import NamedTuple
from opwright.source.span import SourceText
from opwright.source.text import SourceFile
from opwright.syntax.budget import SourceBudget
from opwright.syntax.cpp_source import CPP_SUFFIXES
from opwright.workspace.project_files import files_below
from opwright.workspace.user_outputs import write_user_files

_QUOTED: Final = re.compile(rb'(?m)^[^\S\n]*#[^\S\n]*include[^\S\n]*"([^"\n]+)"')
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_MOST_HEADERS: Final = 2000


class PortRequest(NamedTuple):
    """What is ported: files and folders, the folder of the ported files, the header of calls, and the oldest release.

    Without a folder the files are replaced. `pytorch` is the text of PyTorch's entries.
    """

    sources: tuple[str, ...]
    out: str
    header: str
    target: StableRelease
    pytorch: str


class PortedFile(NamedTuple):
    """A file before and after: its path, the path of the result, what stays, and the numbers of lines.

    `before` and `after` are the bytes of the file, a byte order mark too. `needed` are the lines that need a change,
    `done` those of them that were changed and of which nothing stays.
    """

    path: str
    target: str
    before: bytes
    after: bytes
    left: tuple[LeftCode, ...]
    needed: frozenset[int]
    done: frozenset[int]


class Ported(NamedTuple):
    """What a run ports: the files, and those with a change or the header of calls, by path with their new contents.

    `unnamed` are headers that the files include, which need changes too and are not among the sources. `calls` is the
    header of calls with its old contents.
    """

    files: Sequence[PortedFile]
    contents: Mapping[str, bytes]
    unnamed: Sequence[str]
    calls: tuple[str, bytes]

    def difference(self) -> str:
        """The unified difference of all files, that of the header of calls too."""
        pairs = [(file.path, file.before, file.target, file.after) for file in self.files]
        targets = {file.target for file in self.files}
        for path, data in self.contents.items():
            if path not in targets:
                before = SourceFile.read(path).text.encode() if os.path.isfile(path) else b""
                pairs.append((path if before else os.devnull, before, path, data))
        return "".join([_difference(*pair) for pair in pairs])


def _difference(path: str, before: bytes, target: str, after: bytes) -> str:
    old, new = (text.decode("utf-8", "replace").splitlines(keepends=True) for text in (before, after))
    return "".join(unified_lines(old, new, (path, target)))


def port_sources(request: PortRequest) -> Ported:
    """Port sources, and write nothing. Raises Fault if there are none, or if one cannot be read."""
    base = _base(request.sources)
    out = request.out or base
    header = request.header or os.path.join(out, "stable_ops.h")
    paths = [path for path in _paths(request.sources) if os.path.abspath(path) != os.path.abspath(header)]
    if not paths:
        message = f"there are no C++ sources in {', '.join(request.sources)}"
        raise Fault.at(import_codes.NO_CPP_SOURCES, message, help="name C++ sources, or folders with them")
    sources = {path: SourceFile.read_plain(path) for path in paths}
    texts = {path: file.text.encode() for path, file in sources.items()}
    included = _included(texts, header)
    calls = _own_header(header)
    trees = [tree_of(text, _budget(path, text)) for path, text in (*texts.items(), *included.items())]
    facts = facts_of(trees, tree_of(calls.encode(), _budget(header, calls.encode())))
    wrappers = Wrappers(calls)
    operators = CallableOperators(request.pytorch, {}, request.target)
    files = []
    for path, source in texts.items():
        target = os.path.join(out, os.path.relpath(path, base)) if request.out else path
        state = FileState(request.target, operators, wrappers, facts, _budget(path, source))
        file = _ported_file(path, target, source, state, header)
        mark = _BYTE_ORDER_MARK[: sources[path].prefix_bytes]
        files.append(file._replace(before=mark + file.before, after=mark + file.after))
    contents = {file.target: file.after for file in files if request.out or file.after != file.before}
    text = wrappers.header()
    if text:
        contents[header] = text.encode()
    unnamed = list(_needing(included, request, operators, facts))
    return Ported(files, contents, unnamed, (header, calls.encode()))


def compiled_port(ported: Ported, request: PortRequest) -> tuple[Ported, CompiledPort]:
    """Compile what a run ports. Only lines that compile are done then, and a line with an error needs a change.

    Errors are at the lines of the sources that most likely became those with the errors.
    """
    base = _base(request.sources)
    path = ported.calls[0]
    header = os.path.relpath(path, request.out or base), ported.contents.get(path, ported.calls[1])
    texts = {file.path: file.after for file in ported.files}
    compiled = compile_ported(texts, base, header, request.target)
    files, placed = [], []
    for file in ported.files:
        errors = [error for error in compiled.errors if error.path == file.path]
        opcodes = LineMatcher(file.before.split(b"\n"), file.after.split(b"\n")).get_opcodes() if errors else []
        starts = [start for _, _, _, start, _ in opcodes]
        blocks = set[range]()
        for error in errors:
            _, first, last, start, end = opcodes[bisect_left(starts, error.line) - 1]
            # Includes become longer, and stand first: lines of blocks correspond from the end.
            likely = max(last - (end - error.line), first + 1)
            placed.append(error._replace(line=likely))
            blocks.add(range(likely, likely + 1) if last - first == end - start else range(first + 1, last + 1))
        wrong = frozenset([line for block in blocks for line in block])
        done = file.done - wrong if file.path not in compiled.unchecked else frozenset()
        files.append(file._replace(needed=file.needed | wrong, done=done))
    return ported._replace(files=files), compiled._replace(errors=placed)


def _own_header(path: str) -> str:
    """The text of the header of calls that an earlier run wrote; empty if there is none. Raises Fault for another one.

    The header is named, or it is in the way: a project may have one of its name.
    """
    if not os.path.lexists(path):
        return ""
    text = SourceFile.read_plain(path).text
    if text and not is_header_of_calls(text):
        message = f"`{path}` exists, and `opwright port` did not write it"
        raise Fault.at(OUTPUT_EXISTS, message, help="name another file for the calls with `--header`")
    return text


def write_port(ported: Ported, *, force: bool) -> None:
    """Write the files, all of them or none.

    Sources that are ported in place are replaced, and the header of calls; other files only if the run may.
    """
    read = {file.path: file.before for file in ported.files if file.path == file.target}
    if ported.calls[0] and os.path.lexists(ported.calls[0]):
        read[ported.calls[0]] = ported.calls[1]
    write_user_files(ported.contents, read=read, force=force)


def _ported_file(path: str, target: str, source: bytes, state: FileState, header: str) -> PortedFile:
    after = _ported_text(source, state, os.path.relpath(header, os.path.dirname(target) or "."))
    lines = [source.count(b"\n", 0, span.start) + 1 for span in registrations(source)]
    left = state.left
    before_lines, after_lines = source.split(b"\n"), after.split(b"\n")
    opcodes = LineMatcher(before_lines, after_lines).get_opcodes()
    lines_changed = [line for kind, first, last, _, _ in opcodes if kind != "equal" for line in range(first, last)]
    changed = {line + 1 for line in lines_changed if before_lines[line].strip()}
    staying = {code.line for code in left}
    registered = [
        LeftCode(line, before_lines[line - 1].decode("utf-8", "replace").strip(), _OF_IMPORT) for line in lines
    ]
    unique = tuple(sorted(dict.fromkeys([*left, *registered]), key=lambda code: code.line))
    return PortedFile(path, target, source, after, unique, frozenset(changed | staying), frozenset(changed - staying))


_OF_IMPORT: Final = "`opwright import` moves registrations to a library file"


def _ported_text(source: bytes, state: FileState, header: str) -> bytes:
    """The text of a ported source. Every byte is a character while it is made."""
    root, characters = tree_of(source, state.budget), source.decode("latin-1")
    within = []
    for span, tree in trees_within(source, root, state.budget):
        within.append((span, Translator(characters, state).text(tree, span.start, span.end)))
    text = Translator(characters, state, sorted(within)).text(root, 0, len(source))
    return with_includes(text, state, header).encode("latin-1")


def _budget(path: str, source: bytes) -> SourceBudget:
    """The work for one source. Raises Fault (E0006) if it is too long."""
    return SourceBudget(SourceText(path, source.decode()), in_bytes=True)


def _needing(
    included: Mapping[str, bytes], request: PortRequest, operators: CallableOperators, facts: ProjectFacts
) -> Iterator[str]:
    """The headers that need changes, among those that are not ported."""
    for path, text in included.items():
        state = FileState(request.target, operators, Wrappers(), facts, _budget(path, text))
        if _ported_text(text, state, "stable_ops.h") != text:
            yield path


def _base(sources: Sequence[str]) -> str:
    """The folder from which the paths of ported files are."""
    if len(sources) == 1 and os.path.isdir(sources[0]):
        return sources[0]
    folders = [source if os.path.isdir(source) else os.path.dirname(os.path.abspath(source)) for source in sources]
    return os.path.commonpath([os.path.abspath(folder) for folder in folders]) if folders else "."


def _paths(sources: Iterable[str]) -> Iterator[str]:
    """The files that sources name, and the C++ sources in folders."""
    seen: set[str] = set()
    for source in sources:
        for path in files_below(source, CPP_SUFFIXES) if os.path.isdir(source) else [source]:
            if os.path.abspath(path) not in seen:
                seen.add(os.path.abspath(path))
                yield path


def _included(texts: Mapping[str, bytes], calls: str) -> dict[str, bytes]:
    """The headers that sources include by a path from their own folders, and that are not among the sources.

    The header with the calls of operators is none of them.
    """
    seen = {os.path.realpath(path) for path in (*texts, calls)}
    waiting, headers = list(texts.items()), dict[str, bytes]()
    while waiting and len(seen) < _MOST_HEADERS:
        path, text = waiting.pop(0)
        for name in _QUOTED.findall(text):
            header = os.path.normpath(os.path.join(os.path.dirname(path), os.fsdecode(name)))
            # No path has a null byte: that there is no such file is asked first.
            if os.path.isfile(header) and os.path.realpath(header) not in seen:
                seen.add(os.path.realpath(header))
                try:
                    headers[header] = SourceFile.read_plain(header).text.encode()
                except Fault:
                    continue
                waiting.append((header, headers[header]))
    return headers


_TENSOR: Final = "torch/csrc/stable/tensor.h"
_MARKED_LINE: Final = re.compile(r"(?m)^[^\S\n]*[\xf9\xfa\xfc][^\S\n]*\n|[\xf9-\xfc]")
_INCLUDED: Final = re.compile(r"(?m)^[^\S\n]*#[^\S\n]*include[^\S\n]*<([^>\n]+)>")
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
#: The headers of names that the stable headers do not include for every release.
_STANDARD: Final[Mapping[str, str]] = {
    **dict.fromkeys(("map", "multimap"), "map"),
    **dict.fromkeys(("set", "multiset"), "set"),
    **{name: name for name in ("unordered_map", "unordered_set", "deque", "queue", "mutex", "atomic", "thread")},
    **dict.fromkeys(("numeric_limits",), "limits"),
    **dict.fromkeys(("tuple", "make_tuple", "tie"), "tuple"),
    **dict.fromkeys(("accumulate", "iota"), "numeric"),
    **dict.fromkeys(("exp", "log", "sqrt", "pow", "ceil", "floor", "round", "fabs", "isnan", "isinf", "tanh"), "cmath"),
    **dict.fromkeys(("mt19937", "random_device", "uniform_real_distribution"), "random"),
}
_PLAIN: Final[Mapping[str, str]] = {
    "assert": "cassert",
    **dict.fromkeys(("exp", "log", "sqrt", "sqrtf", "pow", "ceil", "floor", "fmax", "fmin", "fabs", "expf"), "cmath"),
    **dict.fromkeys(("rand", "srand", "malloc", "free"), "cstdlib"),
    **dict.fromkeys(("memcpy", "memset"), "cstring"),
    **dict.fromkeys(("printf", "fprintf"), "cstdio"),
}
_USES_CUDA: Final = re.compile(r"\bcuda[A-Z]\w*|<<<|\bSTD_CUDA_|\bcuda(?:Stream|Error|Event)_t\b")
_STANDARD_NAME: Final = re.compile(r"\bstd::(\w+)")
_CALLED: Final = re.compile(r"(?<![\w:.>])(\w+)\s*\(")


def with_includes(text: str, state: FileState, header: str) -> str:
    """A ported text with the includes that it needs, in place of those of PyTorch's other headers.

    `header` is the path of the header of calls from the folder of the file.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    lost = any(mark in text for mark in INCLUDES)
    needed = dict.fromkeys(state.headers)
    if lost and not needed:
        needed[_TENSOR] = None
    if lost or needed or f"{NAMESPACE}::" in text:
        needed |= dict.fromkeys(_standard_headers(text))
    if state.has_lost_cuda and _USES_CUDA.search(text) and "<cuda_runtime" not in text:
        needed[CUDA_HEADER] = None
    present = set(_INCLUDED.findall(text))
    names = sorted((name for name in needed if name not in present), key=lambda name: ("/" not in name, name))
    lines = [include_line(name) for name in names]
    include = quoted_include_line(header.replace("\\", "/"))
    if f"{NAMESPACE}::" in text and include not in text:
        lines.append(include)
    return _MARKED_LINE.sub("", _placed(text, newline.join(lines), newline))


def _standard_headers(text: str) -> list[str]:
    plain = _COMMENT.sub("", text)
    headers = [_STANDARD[name] for name in _STANDARD_NAME.findall(plain) if name in _STANDARD]
    return [*headers, *[_PLAIN[name] for name in _CALLED.findall(plain) if name in _PLAIN]]


def _placed(text: str, lines: str, newline: str) -> str:
    """The text with lines at the first include that went, else after the first one that stays, else on top."""
    if not lines:
        return text
    if INCLUDES[0] in text:
        return text.replace(INCLUDES[0], lines, 1)
    if KEPT_INCLUDE in text:
        return text.replace(KEPT_INCLUDE, f"{newline}{lines}", 1)
    match = re.search(r"(?m)^#pragma once\r?\n", text)
    at = 0 if match is None else match.end()
    return f"{text[:at]}{lines}{newline}{text[at:]}"
