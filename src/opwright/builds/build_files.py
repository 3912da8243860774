"""Comments, strings and paths in the languages of build systems: Meson, Ninja, Starlark."""

from __future__ import annotations

import json
import re
from typing import Final

from opwright.source.codes import NOT_WRITABLE
from opwright.source.diagnostic import Fault, shorten

_CONTROLS: Final = {chr(code): f"\\x{code:02x}" for code in (*range(32), 127)}
_MESON_ESCAPES: Final = str.maketrans({"\\": "\\\\", "'": "\\'", **_CONTROLS})

#: What no escape of Ninja writes: the ends of lines and of the file, and in a path also what ends a list of paths.
_LINE_ENDS: Final = re.compile(r"[\r\n\0]")
_PATH_ENDS: Final = re.compile(r"[\r\n\0|]")
_SPECIAL: Final = re.compile(r"[$ :]")


def hash_comment(text: str) -> str:
    r"""Line of a comment in a language in which `#` begins one. Characters that may end it are written as escapes.

    >>> hash_comment("made by a\nprogram")
    '# made by a\\nprogram'
    """
    if not text.isprintable():
        text = "".join([c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text])
    return f"# {text}"


def meson_string(text: str) -> str:
    r"""String of Meson with this text.

    >>> print(meson_string("it's\nhere"))
    'it\'s\x0ahere'
    """
    return f"'{text.translate(_MESON_ESCAPES)}'"


def starlark_string(text: str) -> str:
    """String of Starlark with this text. Starlark has the escapes of JSON except those of surrogates.

    >>> print(starlark_string('a "b"'))
    "a \\"b\\""
    """
    return json.dumps(text, ensure_ascii=False)


def ninja_path(path: str) -> str:
    """A path in a build edge of Ninja. Raises Fault for one with a line break or a `|` (E0619).

    >>> ninja_path("C:/a b")
    'C$:/a$ b'
    """
    return _SPECIAL.sub(r"$\g<0>", _without(_PATH_ENDS, path, "path"))


def ninja_value(text: str) -> str:
    """Value of a variable of Ninja, in which nothing is another variable. Raises Fault for one with a line
    break (E0619).

    >>> ninja_value("echo $HOME")
    'echo $$HOME'
    """
    return _without(_LINE_ENDS, text, "text").replace("$", "$$")


def _without(refused: re.Pattern[str], text: str, kind: str) -> str:
    if refused.search(text):
        raise Fault.at(NOT_WRITABLE, f"a file of Ninja cannot have the {kind} `{shorten(ascii(text)[1:-1])}`")
    return text
