"""C++ namespaces as text."""

from __future__ import annotations


def opening(namespace: str) -> str:
    """The lines that open a namespace, each level on its own line.

    >>> opening("at::native")
    'namespace at {\\nnamespace native {'
    """
    return "namespace " + namespace.replace("::", " {\nnamespace ") + " {"


def closing(namespace: str) -> str:
    """The lines that close it.

    >>> closing("at::native")
    '} // namespace native\\n} // namespace at'
    """
    return "\n".join([f"}} // namespace {level}" for level in reversed(namespace.split("::"))])


def enclosed(namespace: str, text: str) -> str:
    """The text inside a namespace."""
    return "\n".join([opening(namespace), *([text] if text else ()), closing(namespace)])
