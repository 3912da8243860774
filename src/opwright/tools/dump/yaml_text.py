"""Data as YAML: the way back from a dump to input files.

`contents` reads a tree of nodes as data, and `print_yaml` prints data, so that reading the YAML again gives the same
data. Comments and layout are lost; nothing else is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Final

from opwright.source.codes import NO_DATA
from opwright.source.diagnostic import Fault
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode
from opwright.source.yaml_scalar import scalar
from opwright.tools.dump.data import JsonValue

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
        return " " + _lines(data, indent + _INDENT)
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
        return f"{indent}- {_lines(data, inner)}"
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


def _lines(text: str, indent: str) -> str:
    """A text of several lines, as a block if it can be one."""
    lines = text.removesuffix("\n").split("\n")
    if not lines[0].strip() or lines[0][0] == " " or not lines[-1].strip() or not all(map(str.isprintable, lines)):
        return f"{scalar(text)}\n"
    header = "|" if text.endswith("\n") else "|-"
    return "\n".join([header, *[f"{indent}{line}" if line else "" for line in lines], ""])
