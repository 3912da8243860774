"""Settings of `opwright check`: the table `[tool.opwright.check]` of `pyproject.toml`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Final, cast

from opwright.dialects.field import PLUGINS, report_plugins
from opwright.plugins.code_pages import code_names
from opwright.source.diagnostic import Diagnostics, Fault, did_you_mean
from opwright.source.records import NamedTuple
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.tools.check.suppressions import CodeFilter, is_prefix
from opwright.tools.tool_codes import SETTINGS_SYNTAX, UNKNOWN_CODE, WRONG_SETTING
from opwright.workspace.named_files import check_named_path
from opwright.workspace.project_files import PROJECT_FILE, find_project_file, load_toml

FILE_NAME: Final = PROJECT_FILE
#: What makes the exit status 1.
FAIL_ON: Final = ("warning", "error", "never")

_TABLE: Final = ("tool", "opwright", "check")
_HEADER: Final = re.compile(r"(?m)^[ \t]*\[[ \t]*tool[ \t]*\.[ \t]*opwright[ \t]*\.[ \t]*check[ \t]*\]")
_PLUGINS: Final = re.compile(r"(?m)^[ \t]*\[[ \t]*tool[ \t]*\.[ \t]*opwright[ \t]*\][^\[]*?^[ \t]*[\"']?(plugins)\b")
_NEXT_TABLE: Final = re.compile(r"(?m)^[ \t]*\[")
_PLACE: Final = re.compile(r" *\(at line (\d+), column (\d+)\)| *\(at end of document\)")
_MAGIC: Final = re.compile(r"[*?\[]")
_LISTS: Final = ("select", "extend-select", "ignore", "files")
_NAMES: Final = (*_LISTS, "per-file-ignores", "torch", "fail-on")


class Settings(NamedTuple):
    """What a project says of its checks. `folder` is that of the file; `files` are relative to it.

    `places` are those of the patterns of `files` in the file.
    """

    codes: CodeFilter = CodeFilter()
    files: tuple[str, ...] = ()
    torch: str | None = None
    fail_on: str = FAIL_ON[0]
    folder: str = ""
    places: tuple[Span, ...] = ()


NO_SETTINGS: Final = Settings()


def find_settings(folder: str) -> str | None:
    """Path of the nearest `pyproject.toml` in a folder or above it; None if there is none."""
    path = find_project_file(folder)
    is_here = path is not None and os.path.dirname(path) == os.path.abspath(folder)
    return os.path.relpath(path) if path is not None and is_here else path


def load_settings(file: SourceFile, sink: Diagnostics) -> Settings:
    """Settings of a file, those without faults; faults go to `sink`.

    >>> sink = Diagnostics()
    >>> text = '[tool.opwright.check]\\nignore = ["W2216"]\\ntorch = "2.13.0"\\n'
    >>> settings = load_settings(SourceFile("pyproject.toml", text), sink)
    >>> settings.codes.ignore, settings.torch
    (('W2216',), '2.13.0')
    """
    try:
        table: object = load_toml(file.text)
    except ValueError as error:
        raise _not_toml(file, str(error)) from None
    for name in _TABLE:
        if name == _TABLE[-1] and isinstance(table, dict) and PLUGINS in table:
            key = _PLUGINS.search(file.text)
            report_plugins(file.span(0) if key is None else file.span(*key.span(1)), sink)
        table = table.get(name) if isinstance(table, dict) else None
    if table is None:
        return NO_SETTINGS._replace(folder=os.path.dirname(file.path))
    return _Reader(file, sink).settings(table)


def _not_toml(file: SourceFile, message: str) -> Fault:
    match = _PLACE.search(message)
    place = file.span(len(file.text))
    if match is not None and match[1]:
        place = file.span(file.offset(min(int(match[1]), file.line_count), int(match[2])))
    words = message[: match.start()] if match is not None else message
    return Fault.at(SETTINGS_SYNTAX, f"`{FILE_NAME}` is not TOML: {words[:1].lower()}{words[1:]}", place)


def matching_files(settings: Settings, allowed_paths: tuple[str, ...], sink: Diagnostics) -> tuple[str, ...]:
    """Files of the settings, whose patterns are relative to the folder of the file with the settings.

    They obey the limits of files that heads name: those outside of the project, of which the user allows some, go to
    the sink (E0005), links to such files too, and what is no file (E0002).
    """
    matches: dict[str, None] = {}
    for pattern, place in zip(settings.files, settings.places, strict=True):
        parts = [part for part in re.split(r"[/\\]" if os.sep == "\\" else "/", pattern) if part not in ("", ".")]
        top = settings.folder if not os.path.isabs(pattern) else os.path.abspath(os.sep)
        plain = list(takewhile(lambda part: not _MAGIC.search(part), parts))
        try:
            # A search starts inside the project.
            start = os.path.join(top, *plain)
            check_named_path(start, place.file.path, allowed_paths, folders=len(plain) < len(parts))
            paths = sorted(_below(start, parts[len(plain) :])) or [os.path.join(top, *parts)]
            for path in paths:
                check_named_path(path, place.file.path, allowed_paths)
                matches[path] = None
        except Fault as fault:
            sink.error(fault.diagnostic.code, fault.diagnostic.message, place, help=fault.diagnostic.help)
    return tuple(matches)


def _below(folder: str, parts: Sequence[str]) -> Iterator[str]:
    """Paths below a folder that match the parts of a pattern. Links to folders are not followed."""
    waiting, seen = [(folder, 0)], set[tuple[str, int]]()
    while waiting:
        path, index = waiting.pop()
        if (path, index) in seen:
            continue
        seen.add((path, index))
        if index == len(parts):
            if os.path.lexists(path):
                yield path
            continue
        part = parts[index]
        if part == "**" and index + 1 < len(parts):
            waiting.append((path, index + 1))
        try:
            entries = list(os.scandir(path or os.curdir))
        except OSError:
            continue
        for entry in entries:
            is_hidden = entry.name.startswith(".") and not part.startswith(".")
            below, is_folder = os.path.join(path, entry.name), entry.is_dir(follow_symlinks=False)
            if part == "**" and not is_hidden:
                waiting += [(below, index)] if is_folder else [(below, index + 1)] if index + 1 == len(parts) else []
            elif part != "**" and not is_hidden and fnmatchcase(entry.name, part):
                waiting += [(below, index + 1)] if is_folder or index + 1 == len(parts) else []


class _Reader:
    """Reads the values of the table. The parser of TOML gives no places, so the reader searches for them."""

    def __init__(self, file: SourceFile, sink: Diagnostics) -> None:
        self._file = file
        self._sink = sink
        header = _HEADER.search(file.text)
        self._start, self._end = (0, len(file.text)) if header is None else (header.end(), len(file.text))
        self._header = file.span(0) if header is None else file.span(header.start(), header.end())
        following = None if header is None else _NEXT_TABLE.search(file.text, header.end())
        if following is not None and "check." not in file.line_text(file.span(following.start()).line):
            self._end = following.start()

    def settings(self, table: object) -> Settings:
        """Settings in the table."""
        if not isinstance(table, dict):
            self._sink.error(WRONG_SETTING, "`tool.opwright.check` is not a table", self._header)
            return NO_SETTINGS
        for name in table:
            if name not in _NAMES:
                help = did_you_mean(name, _NAMES, "there are " + ", ".join([f"`{setting}`" for setting in _NAMES]))
                self._sink.error(WRONG_SETTING, f"unknown setting `{name}`", self._key(name), help=help)
        select = self._codes_of(table, "select") if "select" in table else None
        codes = CodeFilter(
            select,
            self._codes_of(table, "extend-select"),
            self._codes_of(table, "ignore"),
            self._file_ignores(table.get("per-file-ignores", {})),
        )
        fail_on = self._word(table, "fail-on")
        if fail_on is not None and fail_on not in FAIL_ON:
            help = did_you_mean(fail_on, FAIL_ON, "there are " + ", ".join([f"`{word}`" for word in FAIL_ON]))
            self._sink.error(WRONG_SETTING, f"`fail-on` cannot be `{fail_on}`", self._value(fail_on), help=help)
            fail_on = None
        folder = os.path.dirname(self._file.path)
        files = self._list(table, "files")
        places = tuple(map(self._value, files))
        return Settings(codes, files, self._torch(table), fail_on or FAIL_ON[0], folder, places)

    def _torch(self, table: Mapping[str, object]) -> str | None:
        """Release that is named; a path obeys the limits of files that heads name."""
        torch = self._word(table, "torch")
        if torch is not None and (os.sep in torch or "/" in torch or os.path.exists(torch)):
            try:
                check_named_path(torch, self._file.path, (), folders=True)
            except Fault as fault:
                self._sink.error(fault.diagnostic.code, fault.diagnostic.message, self._value(torch))
                return None
        return torch

    def _codes_of(self, table: Mapping[str, object], name: str) -> tuple[str, ...]:
        return self._check_codes(self._list(table, name))

    def _check_codes(self, prefixes: tuple[str, ...]) -> tuple[str, ...]:
        for prefix in prefixes:
            if not is_prefix(prefix):
                message = f"no code is or begins with `{prefix}`"
                help = did_you_mean(prefix, code_names())
                self._sink.error(UNKNOWN_CODE, message, self._value(prefix), help=help)
        return prefixes

    def _file_ignores(self, value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
        if not isinstance(value, dict):
            self._wrong("per-file-ignores", "a table of patterns with lists of codes")
            return ()
        return tuple([(pattern, self._check_codes(self._list(value, pattern))) for pattern in value])

    def _list(self, table: Mapping[str, object], name: str) -> tuple[str, ...]:
        value = table.get(name, [])
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(cast("list[str]", value))
        self._wrong(name, "a list of strings")
        return ()

    def _word(self, table: Mapping[str, object], name: str) -> str | None:
        value = table.get(name)
        if value is None or isinstance(value, str):
            return value
        self._wrong(name, "a string")
        return None

    def _wrong(self, name: str, wanted: str) -> None:
        self._sink.error(WRONG_SETTING, f"`{name}` is not {wanted}", self._key(name))

    def _key(self, name: str) -> Span:
        quoted = re.escape(name)
        return self._find(rf"(?m)(?:^[ \t]*|[{{,][ \t]*)[\"']?({quoted})[\"']?[ \t]*=")

    def _value(self, text: str) -> Span:
        return self._find(rf"[\"']({re.escape(text)})[\"']")

    def _find(self, pattern: str) -> Span:
        match = re.compile(pattern).search(self._file.text, self._start, self._end)
        return self._header if match is None else self._file.span(match.start(1), match.end(1))
