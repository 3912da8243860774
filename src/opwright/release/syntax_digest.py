"""Digests of Python's syntax: equal for code that differs in comments, docstrings, blanks and line breaks alone."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

#: Fields of nodes that differ between versions of Python for the same code.
_NO_CODE: Final = frozenset(("ctx", "kind", "type_comment"))


def canonical(value: object, left_out: frozenset[str] = frozenset()) -> str:
    """A syntax tree as text, the same under each version of Python, without the fields that are left out.

    >>> import ast
    >>> canonical(ast.parse("x = (1)")) == canonical(ast.parse("x=1  # Why."))
    True
    """
    import ast

    if isinstance(value, ast.AST):
        names = [name for name in value._fields if name not in _NO_CODE and name not in left_out]
        fields = [(name, canonical(getattr(value, name, None), left_out)) for name in names]
        shown = ",".join([f"{name}={text}" for name, text in fields if text not in ("None", "[]")])
        return f"{type(value).__name__}({shown})"
    if isinstance(value, list):
        return f"[{','.join([canonical(item, left_out) for item in value if not is_docstring(item)])}]"
    return repr(value)


def is_docstring(node: object) -> bool:
    """Whether a statement is a text alone."""
    import ast

    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def digest_of(text: str) -> str:
    """A short digest of a text."""
    return sha256(text.encode()).hexdigest()[:8]
