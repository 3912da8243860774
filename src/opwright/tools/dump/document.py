"""Dumps as documents: from a catalog to JSON, and from JSON to the input files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple, cast

from opwright.source.codes import BAD_DUMP
from opwright.source.diagnostic import Fault, shorten
from opwright.source.limits import DEPTH
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.tools.dump.data import JsonValue
from opwright.tools.dump.fields import FORMAT
from opwright.tools.dump.yaml_text import print_yaml


class DumpedFile(NamedTuple):
    """An input file of a dump: its path, its dialect, and its content as data."""

    path: str
    dialect: str
    content: JsonValue

    @property
    def yaml(self) -> str:
        """Content as YAML, without the comments of the file."""
        return print_yaml(self.content)


def render_dump(document: Mapping[str, JsonValue]) -> str:
    """Document as JSON, with a line for each operator and each entry of a file."""
    parts = []
    for name, value in document.items():
        if name == "files":
            text = _lines([_file_text(cast("dict[str, JsonValue]", file)) for file in cast("list[JsonValue]", value)])
        elif isinstance(value, list):
            text = _lines(map(json.dumps, value))
        elif isinstance(value, dict) and value:
            rows = [f"    {json.dumps(key)}: {json.dumps(item)}" for key, item in value.items()]
            text = "{\n" + ",\n".join(rows) + "\n  }"
        else:
            text = json.dumps(value)
        parts.append(f"  {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _lines(texts: Iterable[str]) -> str:
    """A list with a line for each item."""
    shown = ",\n".join([f"    {text}" for text in texts])
    return f"[\n{shown}\n  ]" if shown else "[]"


def _file_text(file: dict[str, JsonValue]) -> str:
    """A file, with a line for each entry of a list."""
    content = file["content"]
    if not isinstance(content, list):
        return json.dumps(file)
    head = json.dumps({**file, "content": 0}).removesuffix("0}")
    return f"{head}{_lines(map(json.dumps, content))}}}"


def parse_dump(file: SourceFile) -> dict[str, JsonValue]:
    """Document in a file. Raises Fault (E2101) if the file is not a dump of this format."""
    try:
        document = json.loads(file.text)
    except (ValueError, RecursionError) as error:
        raise _refusal(file, f"it is not JSON: {error}") from None
    if not isinstance(document, dict) or "format" not in document:
        raise _refusal(file, "it has no `format`")
    if document["format"] != FORMAT:
        format = document["format"]
        shown = shorten(json.dumps(format)) if isinstance(format, (str, int, float)) else "no number"
        raise _refusal(file, f"its format is {shown}, and this version of Opwright reads {FORMAT}")
    return cast("dict[str, JsonValue]", document)


def dumped_files(document: Mapping[str, JsonValue], file: SourceFile) -> list[DumpedFile]:
    """Input files of a document that was read from a file. Raises Fault (E2101) if they are not as they should."""
    files = document.get("files")
    if not isinstance(files, list):
        raise _refusal(file, "it has no `files`")
    dumped = []
    for row in files:
        if not isinstance(row, dict) or "content" not in row:
            raise _refusal(file, "one of its `files` has no `content`")
        path, dialect = row.get("path"), row.get("dialect")
        if not isinstance(path, str) or not isinstance(dialect, str):
            raise _refusal(file, "one of its `files` has no `path` and `dialect`")
        if not path.isprintable() or path.rpartition("/")[2] in ("", ".", ".."):
            raise _refusal(file, f"`{shorten(ascii(path)[1:-1])}` is not the path of a file")
        if _depth_exceeds(row["content"], DEPTH):
            raise _refusal(file, f"`{shorten(path)}` nests more than {DEPTH} deep")
        dumped.append(DumpedFile(path, dialect, row["content"]))
    return dumped


def _depth_exceeds(content: JsonValue, most: int) -> bool:
    """Whether lists and objects nest deeper than that."""
    level: list[JsonValue] = [content]
    for _ in range(most + 1):
        parts = [part.values() if isinstance(part, dict) else part for part in level if isinstance(part, (dict, list))]
        level = [item for part in parts for item in part]
    return bool(level)


def _refusal(file: SourceFile, reason: str) -> Fault:
    message = f"`{file.path}` is not a dump: {reason}"
    return Fault.at(BAD_DUMP, message, Span(file, 0, 0), help="make it with `opwright dump`")
