"""Read simple YAML without PyYAML, whose import takes longer than many a program that reads one small file.

The subset is what programs write: block mappings and lists, plain scalars and single quotes, short lists of words. It
gives the values that `yaml.safe_load` gives. Anything else raises `NotPlain`, also every mistake: the caller then reads
the file as nodes, which knows all of YAML and the place of each mistake.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final, TypeAlias

    PlainValue: TypeAlias = "dict[str, PlainValue] | list[PlainValue] | str | int | bool | None"
    """What YAML describes, as values of Python."""

    Line: TypeAlias = "tuple[int, str]"
    """The indentation of a line, and its text without the blanks around it."""

_WORDS: Final = {"true": True, "false": False, "True": True, "False": False, "null": None, "~": None}
_RESERVED: Final = frozenset(("true", "false", "null", "yes", "no", "on", "off"))
_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_/")
_DEEPEST: Final = 12


class NotPlain(Exception):
    """The text is not of the simple kind."""


def is_plain_text(text: str) -> bool:
    """Whether YAML reads a plain scalar as just this text, and PyYAML writes it as one.

    >>> is_plain_text("aten::add.Tensor"), is_plain_text("yes"), is_plain_text("1.0"), is_plain_text("a: b")
    (True, False, False, False)
    """
    return (
        text[:1] in _LETTERS
        and bool(text)
        and text.isascii()
        and text.isprintable()
        and text[-1] not in ": "
        and ": " not in text
        and " #" not in text
        and text.lower() not in _RESERVED
    )


def read_plain_file(path: str) -> PlainValue:
    """The value that a YAML file describes. Raises NotPlain if it cannot be read, or is not of the simple kind."""
    try:
        with open(path, "rb") as stream:
            text = stream.read().decode("ascii")
    except (OSError, ValueError):
        raise NotPlain from None
    return read_plain(text)


def read_plain(text: str) -> PlainValue:
    """The value that a text in YAML describes. Raises NotPlain for a text that is not of the simple kind.

    >>> read_plain("operators:\\n  aten::add:\\n    is_root_operator: true\\ndebug_info:\\n- model\\n")
    {'operators': {'aten::add': {'is_root_operator': True}}, 'debug_info': ['model']}
    >>> read_plain("operators: {}\\nbuild_features: []\\n")
    {'operators': {}, 'build_features': []}
    """
    lines = _lines(text)
    if not lines:
        raise NotPlain
    lines.append((-1, ""))
    value, end = _block(lines, 0, lines[0][0], 0)
    if end != len(lines) - 1:
        raise NotPlain
    return value


def _lines(text: str) -> list[Line]:
    """The lines with content; the lines of a scalar in quotes are joined."""
    if "\t" in text or "\r" in text or not text.isascii():
        raise NotPlain
    lines: list[Line] = []
    raw_lines = iter(text.split("\n"))
    for raw in raw_lines:
        content = raw.strip(" ")
        if not content or content[0] == "#":
            continue
        if content.count("'") % 2:
            content = _join_quoted(content, raw_lines)
        lines.append((len(raw) - len(raw.lstrip(" ")), content))
    return lines


def _join_quoted(content: str, raw_lines: Iterator[str]) -> str:
    """The text of a line that begins a scalar in single quotes, together with the lines up to the closing quote."""
    if not f" {content}".partition("'")[0].endswith(" "):
        raise NotPlain
    while content.count("'") % 2:
        more = next(raw_lines, "").strip(" ")
        if not more:
            raise NotPlain
        content = f"{content} {more}"
    return content


def _block(lines: list[Line], start: int, indent: int, depth: int) -> tuple[PlainValue, int]:
    """The list, mapping or scalar that starts at a line, and the index of the line after it."""
    content = lines[start][1]
    if depth > _DEEPEST:
        raise NotPlain
    if content.startswith("- ") or content == "-":
        return _sequence(lines, start, indent, depth + 1)
    if _has_key(content):
        return _mapping(lines, start, indent, depth + 1)
    return _scalar(content), start + 1


def _has_key(content: str) -> bool:
    return content[0] != "'" and (content[-1] == ":" or ": " in content)


def _sequence(lines: list[Line], start: int, indent: int, depth: int) -> tuple[list[PlainValue], int]:
    items: list[PlainValue] = []
    while lines[start][0] == indent and lines[start][1][0] == "-":
        content = lines[start][1]
        if content[1:2] not in ("", " "):
            raise NotPlain
        rest = content[1:].lstrip(" ")
        if rest:
            # What follows the dash is a block of its own, indented by the dash and the blanks after it.
            lines[start] = (indent + len(content) - len(rest), rest)
        else:
            start += 1
            if lines[start][0] <= indent:
                raise NotPlain
        value, start = _block(lines, start, lines[start][0], depth)
        items.append(value)
    if lines[start][0] > indent:
        raise NotPlain
    return items, start


def _mapping(lines: list[Line], start: int, indent: int, depth: int) -> tuple[dict[str, PlainValue], int]:
    mapping: dict[str, PlainValue] = {}
    while lines[start][0] == indent and lines[start][1][0] != "-":
        key, _, rest = f"{lines[start][1]} ".partition(": ")
        rest = rest.strip(" ")
        if not is_plain_text(key) or key in mapping:
            raise NotPlain
        start += 1
        if rest:
            mapping[key] = _scalar(rest)
        elif lines[start][0] > indent or (lines[start][0] == indent and lines[start][1][0] == "-"):
            mapping[key], start = _block(lines, start, lines[start][0], depth)
        else:
            mapping[key] = None
    if lines[start][0] > indent or (lines[start][0] == indent and lines[start][1]):
        raise NotPlain
    return mapping, start


def _flow_item(text: str) -> str:
    """An item of a list in brackets: a word, or a text in quotes without any punctuation of YAML."""
    word = text[1:-1] if len(text) > 1 and text[0] == text[-1] == "'" else text
    if not is_plain_text(word) or not word.replace("_", "").replace(".", "").replace("::", "").isalnum():
        raise NotPlain
    return word


def _scalar(text: str) -> PlainValue:
    if is_plain_text(text):
        return text
    if text in _WORDS:
        return _WORDS[text]
    if text == "[]":
        return []
    if text == "{}":
        return {}
    if text.isdigit() and (text == "0" or text[0] != "0"):
        return int(text)
    if text[0] == "[" and text[-1] == "]":
        return [_flow_item(item.strip(" ")) for item in text[1:-1].split(",")]
    if len(text) > 1 and text[0] == text[-1] == "'":
        inner = text[1:-1]
        if "'" not in inner.replace("''", ""):
            return inner.replace("''", "'")
    raise NotPlain
