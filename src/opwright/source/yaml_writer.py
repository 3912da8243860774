"""Write YAML with the bytes of `yaml.safe_dump`, without importing PyYAML where the values are simple.

Sections with texts that need quotes or several lines are left to PyYAML.
"""

from __future__ import annotations

from opwright.source.plain_yaml import NotPlain, is_plain_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Final

_LONGEST_KEY: Final = 100
_WIDTH: Final = 80
_WORDS: Final = {True: "true", False: "false", None: "null"}


def write_mapping(data: Mapping[str, object]) -> str:
    """The text of a mapping, with sorted keys.

    >>> print(write_mapping({"operators": {"aten::add": {"debug_info": ["yes"]}}, "features": []}), end="")
    features: []
    operators:
      aten::add:
        debug_info:
        - 'yes'
    """
    if not data:
        return "{}\n"
    return "".join([_section(key, data[key]) for key in sorted(data)])


def _section(key: str, value: object) -> str:
    try:
        lines: list[str] = []
        _add_mapping(lines, {key: value}, "", is_sorted=True)
    except NotPlain:
        import yaml

        return str(yaml.safe_dump({key: value}, default_flow_style=False))
    lines.append("")
    return "\n".join(lines)


def write_entries(entries: Sequence[object]) -> str:
    """The text of a list of entries with a blank line between them; keys stay in their order, lines are long.

    >>> print(write_entries([{"op": "add.out", "kernels": []}, {"op": "mul.out"}]), end="")
    - op: add.out
      kernels: []
    <BLANKLINE>
    - op: mul.out
    """
    if not entries:
        return "[]\n"
    try:
        texts = []
        for entry in entries:
            lines: list[str] = []
            _add_item(lines, entry, "", is_sorted=False)
            texts.append("\n".join(lines))
    except NotPlain:
        return _separate_entries(entries)
    return "\n\n".join(texts) + "\n"


def _separate_entries(entries: Sequence[object]) -> str:
    """The same by PyYAML, which may name values that several entries share."""
    import yaml

    lines = yaml.safe_dump(list(entries), default_flow_style=False, sort_keys=False, width=1000).split("\n")
    return "\n".join([f"\n{line}" if line.startswith("- ") and number else line for number, line in enumerate(lines)])


def _add_mapping(lines: list[str], mapping: Mapping[str, object], indent: str, *, is_sorted: bool) -> None:
    for key in sorted(mapping) if is_sorted else mapping:
        if not is_plain_text(key) or " " in key or len(key) > _LONGEST_KEY:
            raise NotPlain
        value = mapping[key]
        if value.__class__ is dict and value:
            lines.append(f"{indent}{key}:")
            _add_mapping(lines, value, f"{indent}  ", is_sorted=is_sorted)
        elif value.__class__ is set and value:
            lines.append(f"{indent}{key}: !!set")
            _add_mapping(lines, dict.fromkeys(value), f"{indent}  ", is_sorted=True)
        elif value.__class__ is list and value:
            lines.append(f"{indent}{key}:")
            for item in value:
                _add_item(lines, item, indent, is_sorted=is_sorted)
        else:
            lines.append(f"{indent}{key}: {_scalar(value, is_sorted)}")


def _add_item(lines: list[str], item: object, indent: str, *, is_sorted: bool) -> None:
    """Add the lines of an item of a list."""
    if item.__class__ is not dict or not item:
        if item.__class__ is list and item:
            raise NotPlain
        if item.__class__ is str and is_sorted and item[:1] == "{":
            lines.append(_quote(item, f"{indent}- '", f"{indent}  "))
        else:
            lines.append(f"{indent}- {_scalar(item, is_sorted)}")
        return
    start = len(lines)
    _add_mapping(lines, item, f"{indent}  ", is_sorted=is_sorted)
    lines[start] = f"{indent}- {lines[start][len(indent) + 2 :]}"


def _quote(text: str, start: str, indent: str) -> str:
    """A text such as JSON in single quotes; lines break at the first blank beyond the width."""
    if not (text.isascii() and text.isprintable()) or "  " in text or text[-1] == " ":
        raise NotPlain
    lines: list[str] = []
    line = start
    for number, word in enumerate(text.replace("'", "''").split(" ")):
        if number and len(line) > _WIDTH:
            lines.append(line)
            line = f"{indent}{word}"
        else:
            line = f"{line} {word}" if number else f"{line}{word}"
    return "\n".join([*lines, f"{line}'"])


def _scalar(value: object, is_narrow: bool) -> str:
    """The text of a value on its line. Texts with blanks may fold where lines are narrow."""
    if value.__class__ is str:
        if is_plain_text(value) and not (" " in value and (is_narrow or len(value) > 900)):
            return value
    elif value is None or value.__class__ is bool:
        return _WORDS[value]
    elif value.__class__ is int:
        return str(value)
    elif value.__class__ is dict and not value:
        return "{}"
    elif value.__class__ is set and not value:
        return "!!set {}"
    elif value.__class__ is list and not value:
        return "[]"
    raise NotPlain
