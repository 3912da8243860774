"""C++ namespaces as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def opening(namespace: str) -> str:
    """Lines that open a namespace, each level on its own line.

    >>> opening("at::native")
    'namespace at {\\nnamespace native {'
    """
    return "namespace " + namespace.replace("::", " {\nnamespace ") + " {"


def closing(namespace: str) -> str:
    """Lines that close a namespace, each level on its own line.

    >>> closing("at::native")
    '} // namespace native\\n} // namespace at'
    """
    return "\n".join([f"}} // namespace {level}" for level in reversed(namespace.split("::"))])


def enclose(namespace: str, text: str) -> str:
    """Text inside a namespace; without one, the text itself."""
    if not namespace:
        return text
    return "\n".join([opening(namespace), *([text] if text else ()), closing(namespace)])


def qualified_name(namespace: str, name: str) -> str:
    """A name from the global namespace on.

    >>> qualified_name("acme::native", "scale"), qualified_name("", "scale")
    ('::acme::native::scale', '::scale')
    """
    return f"::{namespace}::{name}" if namespace else f"::{name}"


def blocks(texts: Mapping[str, Iterable[str]]) -> str:
    """Each namespace with its lines inside, separated by empty lines.

    >>> print(blocks({"at": ["int f();"], "at::cpu": ["int g();", "int h();"]}))
    namespace at {
    int f();
    } // namespace at
    <BLANKLINE>
    namespace at {
    namespace cpu {
    int g();
    int h();
    } // namespace cpu
    } // namespace at
    """
    return "\n\n".join([enclose(namespace, "\n".join(lines)) for namespace, lines in texts.items()])
