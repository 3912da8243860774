"""The sources of the core for one release: its rules as values, and no rows of tables for other releases."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from opwright.release.rules import Rules
from opwright.release.version import RELEASES, Version, is_between

_RELEASE: Final = "opwright/release/"
_RULES: Final = '''\
"""The behaviours of PyTorch {series}, the release of this copy, and their values."""

from __future__ import annotations

from opwright.release.behaviour import Behaviour, BehaviourTable, Change
from opwright.release.version import OLDEST


class Rules(BehaviourTable):
    """The rules of one release."""

'''
#: Files with a row a line, which may say since or until which release it holds.
_ROWS: Final = ("c_shim_operators", "complex_gradients", "formula_helpers", "operators")
_DIGESTS: Final = f"{_RELEASE}data/generator_digests.txt"
_BOUNDS: Final = re.compile(r"^\S+ +(?:since ([\d.]+))? *(?:until ([\d.]+))?")


def files_for(files: dict[str, bytes], version: Version) -> dict[str, bytes]:
    """The files of the core as one release needs them."""
    found = {}
    for path, content in files.items():
        text = content.decode() if path.startswith(_RELEASE) else ""
        name = path.removeprefix(f"{_RELEASE}data/").removesuffix(".txt")
        if path == f"{_RELEASE}rules.py":
            text = _RULES.format(series=version.series) + "".join(_rows_of(version))
        elif path == f"{_RELEASE}version.py" or path.startswith(f"{_RELEASE}operator_names/"):
            text = without_other_rows(text, version)
        elif path == _DIGESTS:
            text = "".join(_digests(text, version))
        elif name in _ROWS:
            lines = text.splitlines(keepends=True)
            text = "".join([line for line in lines if is_between(version, *_bounds(line))])
        found[path] = text.encode() if text else content
    return found


def _rows_of(version: Version) -> Iterator[str]:
    """Rows of the table of rules with the values of a release."""
    for row in Rules.rows():
        yield f'    {row.name} = Behaviour(\n        "{row.what}",\n'
        yield f'        Change(OLDEST.series, {row.value_in(version)}, ""),\n    )\n'


def _bounds(line: str) -> tuple[str | None, str | None]:
    """The releases since and until which a line of data holds."""
    match = None if line.startswith("#") else _BOUNDS.match(line)
    return (None, None) if match is None else (match[1], match[2])


def _digests(text: str, version: Version) -> Iterator[str]:
    """Lines with digests of the release and of the one before it, which a tree between the two may still have."""
    before = Version(version.major, version.minor - 1)
    for line in text.splitlines(keepends=True):
        words = line.split()
        if words[:1] not in (["part"], ["text"], ["list"]):
            yield line
            continue
        until = None if words[2] == "-" else words[2]
        if is_between(version, words[1], until) or is_between(before, words[1], until):
            yield line


def without_other_rows(text: str, version: Version) -> str:
    """The text of a module without the calls that make a row of other releases; each stands on lines of its own."""
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and _is_of_others(node, version):
            assert node.end_lineno is not None
            lines[node.lineno - 1 : node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
    return "".join(lines)


def _is_of_others(row: ast.Call, version: Version) -> bool:
    match row:
        case ast.Call(func=ast.Name(id="Names"), keywords=keywords):
            values = {word.arg: word.value.value for word in keywords if isinstance(word.value, ast.Constant)}
            return not is_between(version, _text(values.get("since")), _text(values.get("until")))
        case ast.Call(
            func=ast.Name(id="Release"), args=[ast.Call(args=[ast.Constant(major), ast.Constant(minor), _]), _]
        ):
            return (major, minor) != version[:2]
    return False


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def known_version(text: str) -> Version:
    """The release of a text such as `2.15`, or of a patch release of it. Raises ValueError for one without rules."""
    for release in RELEASES:
        if text in (release.version.series, str(release.version)):
            return release.version
    raise ValueError(f"no rules for {text}")
