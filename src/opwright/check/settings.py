"""The settings of `opwright check`: the table `[tool.opwright.check]` of `pyproject.toml`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final, cast

from opwright.check.suppressions import CodeFilter, is_prefix
from opwright.source.code_pages import code_names
from opwright.source.codes import SETTINGS_SYNTAX, UNKNOWN_CODE, WRONG_SETTING
from opwright.source.diagnostic import Diagnostics, Fault, did_you_mean
from opwright.source.named_tuple import NamedTuple
from opwright.source.project_file import PROJECT_FILE, find_project_file, load_toml
from opwright.source.span import Span
from opwright.source.text import SourceFile

__all__ = ["FAIL_ON", "FILE_NAME", "NO_SETTINGS", "Settings", "find_settings", "load_settings", "matching_files"]

FILE_NAME: Final = PROJECT_FILE
#: What makes the exit status 1.
FAIL_ON: Final = ("warning", "error", "never")

_TABLE: Final = ("tool", "opwright", "check")
_HEADER: Final = re.compile(r"(?m)^[ \t]*\[[ \t]*tool[ \t]*\.[ \t]*opwright[ \t]*\.[ \t]*check[ \t]*\]")
_NEXT_TABLE: Final = re.compile(r"(?m)^[ \t]*\[")
_PLACE: Final = re.compile(r" *\(at line (\d+), column (\d+)\)| *\(at end of document\)")
_LISTS: Final = ("select", "extend-select", "ignore", "files")
_NAMES: Final = (*_LISTS, "per-file-ignores", "torch", "fail-on")


class Settings(NamedTuple):
    """What a project says of its checks. `folder` is that of the file; `files` are relative to it."""

    codes: CodeFilter = CodeFilter()
    files: tuple[str, ...] = ()
    torch: str | None = None
    fail_on: str = FAIL_ON[0]
    folder: str = ""


NO_SETTINGS: Final = Settings()


def find_settings(folder: str) -> str | None:
    """The path of the nearest `pyproject.toml` in a folder or above it; None if there is none."""
    path = find_project_file(folder)
    is_here = path is not None and os.path.dirname(path) == os.path.abspath(folder)
    return os.path.relpath(path) if path is not None and is_here else path


def load_settings(file: SourceFile, sink: Diagnostics) -> Settings:
    """The settings of a file, those without faults; faults go to `sink`.

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


def matching_files(settings: Settings) -> tuple[str, ...]:
    """The files of the settings, whose patterns are relative to the folder of the file with the settings."""
    import glob

    paths = [os.path.join(settings.folder, pattern) for pattern in settings.files]
    return tuple(
        dict.fromkeys([match for path in paths for match in sorted(glob.glob(path, recursive=True)) or [path]])
    )


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
        """The settings in the table."""
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
        return Settings(codes, self._list(table, "files"), self._word(table, "torch"), fail_on or FAIL_ON[0], folder)

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
