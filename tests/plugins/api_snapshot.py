"""The public API of plug-ins as text: the names and signatures of everything in `opwright.plugin.__all__`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import GenericAlias

import opwright.plugin
from opwright.plugins.plugin import API_VERSION

PATH = Path(__file__).parent / "api_snapshot.txt"


def snapshot() -> str:
    """The API: a line for each name with its signature, and below it the public attributes of classes."""
    lines = [f"version {API_VERSION}"]
    for name in vars(opwright.plugin)["__all__"]:
        lines += _lines(name, getattr(opwright.plugin, name))
    return "\n".join(lines) + "\n"


def _lines(name: str, value: object) -> Iterator[str]:
    # Before classes, because some versions of Python take `Mapping[str, str]` for one.
    if isinstance(value, GenericAlias):
        yield f"{name} = {value}"
    elif inspect.isclass(value):
        yield f"class {name}{_signature(value)}"
        for member in sorted(set(dir(value)) - set(dir(_base_of(value)))):
            if not member.startswith("_"):
                yield f"    {member}{_member(inspect.getattr_static(value, member))}"
    elif callable(value):
        yield f"def {name}{_signature(value)}"
    else:
        yield f"{name}: {type(value).__name__}"


def _base_of(value: type) -> type:
    """The class whose attributes are not public API: tuples and exceptions have many."""
    return next((base for base in (tuple, Exception) if issubclass(value, base)), object)


def _member(member: object) -> str:
    if isinstance(member, (staticmethod, classmethod)):
        member = member.__func__
    # What a class inherits from Python's classes may differ between versions of Python.
    is_ours = inspect.isfunction(member) and member.__module__.startswith("opwright.")
    return _signature(member) if is_ours else ""


def _signature(value: object) -> str:
    try:
        text = str(inspect.signature(value))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return "(...)"
    return re.sub(r"<(\w+) .*?0x[0-9a-f]+>", r"<\1>", text).replace("'", "")
