"""Comments of languages in which `#` begins one that ends with the line: Python, CMake, Meson, Ninja, Starlark."""

from __future__ import annotations

__all__ = ["hash_comment"]


def hash_comment(text: str) -> str:
    r"""The line of a comment. Characters that may end the line are written as escapes.

    >>> hash_comment("made by a\nprogram")
    '# made by a\\nprogram'
    """
    if not text.isprintable():
        text = "".join([c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text])
    return f"# {text}"
