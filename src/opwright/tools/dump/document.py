"""Dumps as documents: from a catalog to JSON, and from JSON to the input files.

`contents` reads a tree of nodes as data, and `print_yaml` prints data, so that reading the YAML again gives the same
data. Comments and layout are lost; nothing else is.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, cast

from opwright.source.diagnostic import Fault, shorten
from opwright.source.limits import DEPTH
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.tools.dump.data import JsonValue
from opwright.tools.dump.fields import FORMAT
from opwright.tools.tool_codes import BAD_DUMP, NO_DATA
from opwright.workspace.yaml_scalar import scalar

#: Bytes of a dump, which says of each operator about five times as much as its entry. That of PyTorch has 4 million.
DUMP_BYTES: Final = 160_000_000


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


#: The text of a plain scalar in a list in brackets.
_IN_BRACKETS: Final = re.compile(r"[A-Za-z0-9_(][A-Za-z0-9_(). *+/=-]*[A-Za-z0-9_().]")
_INDENT: Final = "  "


def contents(node: Node) -> JsonValue:
    """Data of a node. Raises Fault (E2102) for a value that JSON does not have, such as a date."""
    match node:
        case MappingNode():
            return {key.value: contents(value) for key, value in node.entries}
        case SequenceNode():
            return [contents(item) for item in node.items]
        case Scalar():
            kind = node.kind
            if kind == "str":
                return node.value
            value = node.python_value()
            if kind in ("bool", "null", "int") or (kind == "float" and math.isfinite(float(str(value)))):
                assert value is None or isinstance(value, (bool, int, float))
                return value
            raise Fault.at(NO_DATA, f"a dump cannot hold {node.description}", node.span, help="put it in quotes")


def entry_pointers(node: Node, field: str) -> dict[int, str]:
    """The JSON Pointers of all mappings of a tree that have this field, by their offsets in the file."""
    return {mapping.start: pointer for mapping, pointer in _mappings(node, "") if mapping.entry(field) is not None}


def _mappings(node: Node, pointer: str) -> Iterator[tuple[MappingNode, str]]:
    if isinstance(node, MappingNode):
        yield node, pointer
        for key, value in node.entries:
            if not isinstance(value, Scalar):
                yield from _mappings(value, f"{pointer}/{key.value.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(node, SequenceNode):
        for index, item in enumerate(node.items):
            if not isinstance(item, Scalar):
                yield from _mappings(item, f"{pointer}/{index}")


def print_yaml(data: JsonValue) -> str:
    """Data as YAML, in which each entry of the outermost list follows an empty line.

    >>> print(print_yaml([{"func": "f(int x=1) -> ()", "tags": ["core"], "device_guard": False}]), end="")
    - func: f(int x=1) -> ()
      tags:
      - core
      device_guard: False
    """
    if isinstance(data, list) and data:
        return "\n".join([_item(item, "") for item in data])
    if isinstance(data, dict) and data:
        return _mapping(data, "")
    return _scalar(data) + "\n"


def _value(data: JsonValue, indent: str) -> str:
    """What follows a key and its colon, with the line break."""
    if isinstance(data, list) and _are_parts_of_expressions(data):
        return f" [{', '.join(map(str, data))}]\n"
    if isinstance(data, list) and data:
        return "\n" + "".join([_item(item, indent) for item in data])
    if isinstance(data, dict) and data:
        return "\n" + _mapping(data, indent + _INDENT)
    if isinstance(data, str) and "\n" in data:
        return " " + _block(data, indent + _INDENT)
    return f" {_scalar(data)}\n"


def _are_parts_of_expressions(items: list[JsonValue]) -> bool:
    """Whether the items of a list are parts of expressions, such as `reduce(self` and `dim)`.

    YAML splits a list in brackets at each comma, and declared outputs are read from the text of the list.
    """
    texts = [item for item in items if isinstance(item, str)]
    are_split = any(text.count("(") != text.count(")") for text in texts)
    return are_split and len(texts) == len(items) and all(map(_IN_BRACKETS.fullmatch, texts))


def _mapping(data: dict[str, JsonValue], indent: str) -> str:
    return "".join([f"{indent}{scalar(key)}:{_value(value, indent)}" for key, value in data.items()])


def _item(data: JsonValue, indent: str) -> str:
    """An item of a list. A list or a mapping begins behind the dash."""
    inner = indent + _INDENT
    if isinstance(data, dict) and data:
        return f"{indent}- {_mapping(data, inner)[len(inner) :]}"
    if isinstance(data, list) and data:
        return f"{indent}- {''.join([_item(item, inner) for item in data])[len(inner) :]}"
    if isinstance(data, str) and "\n" in data:
        return f"{indent}- {_block(data, inner)}"
    return f"{indent}- {_scalar(data)}\n"


def _scalar(data: JsonValue) -> str:
    match data:
        case None:
            return "null"
        case bool() | int():
            return str(data)
        case float():
            text = repr(data)
            # YAML 1.1 takes a number without a point for text.
            return text if "." in text else text.replace("e", ".0e")
        case str():
            return scalar(data)
        case list():
            return "[]"
        case dict():
            return "{}"


def _block(text: str, indent: str) -> str:
    """A text of several lines, as a block if it can be one."""
    lines = text.removesuffix("\n").split("\n")
    if not lines[0].strip() or lines[0][0] == " " or not lines[-1].strip() or not all(map(str.isprintable, lines)):
        return f"{scalar(text)}\n"
    header = "|" if text.endswith("\n") else "|-"
    return "\n".join([header, *[f"{indent}{line}" if line else "" for line in lines], ""])
