"""Texts as scalars and comments of YAML: whatever a text has, YAML reads it as this text, and never as structure."""

from __future__ import annotations

import re
from typing import Final

from opwright.source.nodes import escaped, quoted_scalar, scalar_kind

#: The text of a plain scalar: neither its beginning nor its end nor a part of it has a meaning in YAML.
_PLAIN: Final = re.compile(r"(?!.*(?:: |:$| #| $))[A-Za-z0-9_(/.][ -~]*")
#: A name, which is plain inside brackets too.
_NAME: Final = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::)\w+)*", re.ASCII)


def scalar(text: str) -> str:
    """A text as a scalar in a block, in quotes where YAML would read another value.

    >>> print(scalar("f(int x=1) -> ()"), scalar("null"), scalar("a: b"), scalar("a\\n#"))
    f(int x=1) -> () "null" "a: b" "a\\n#"
    """
    is_plain = _PLAIN.fullmatch(text) is not None and scalar_kind(text, "") == "str"
    return text if is_plain else quoted_scalar(text)


def flow_scalar(text: str) -> str:
    """A text as a scalar between brackets or braces, where only names are plain.

    >>> print(flow_scalar("acme::scale"), flow_scalar("no"), flow_scalar("a, b"))
    acme::scale "no" "a, b"
    """
    is_plain = _NAME.fullmatch(text) is not None and scalar_kind(text, "") == "str"
    return text if is_plain else quoted_scalar(text)


def comment(text: str) -> str:
    """A text as a comment on one line.

    >>> print(comment("first\\nsecond: \\x1b[2K"))
    # first second: \\x1b[2K
    """
    return f"# {''.join([own if own.isprintable() else escaped(own) for own in ' '.join(text.split())])}"
