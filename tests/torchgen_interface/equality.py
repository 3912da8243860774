"""Compares the values of Opwright's interface with those of PyTorch's generator."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any


def difference(reference: Any, own: Any, place: str = "") -> str:
    """Where two values differ, field by field; empty if they do not."""
    if type(reference).__name__ != type(own).__name__:
        return f"{place}: {reference!r} and {own!r}"
    if isinstance(reference, enum.Enum):
        same = (reference.name, reference.value) == (own.name, own.value)
        return "" if same else f"{place}: {reference!r} and {own!r}"
    if dataclasses.is_dataclass(reference):
        names = [field.name for field in dataclasses.fields(reference)]
        if names != [field.name for field in dataclasses.fields(own)]:
            return f"{place}: the fields differ"
        pairs = [(getattr(reference, name), getattr(own, name), f"{place}.{name}") for name in names]
    elif isinstance(reference, set) or type(reference).__name__ == "OrderedSet":
        return "" if sorted(map(str, reference)) == sorted(map(str, own)) else f"{place}: {reference} and {own}"
    elif isinstance(reference, dict):
        texts = {str(key): value for key, value in own.items()}
        if sorted(map(str, reference)) != sorted(texts):
            return f"{place}: the keys differ: {set(map(str, reference)) ^ set(texts)}"
        pairs = [(value, texts[str(key)], f"{place}[{key}]") for key, value in reference.items()]
    elif isinstance(reference, list | tuple):
        if len(reference) != len(own):
            return f"{place}: {reference} and {own}"
        pairs = [(value, own[index], f"{place}[{index}]") for index, value in enumerate(reference)]
    else:
        return "" if reference == own else f"{place}: {reference!r} and {own!r}"
    return next(filter(None, (difference(*pair) for pair in pairs)), "")


def outcome(call: Any, *arguments: Any, **options: Any) -> Any:
    """What a call returns, iterators as lists, or the type of what it raises."""
    try:
        result = call(*arguments, **options)
    except (AssertionError, RuntimeError, ValueError, KeyError) as error:
        return type(error).__name__
    return list(result) if hasattr(result, "__next__") else result


def said(call: Any, *arguments: Any, **options: Any) -> Any:
    """What a call returns, or the type and the text of what it raises."""
    try:
        return call(*arguments, **options)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def attribute(value: Any, name: str) -> Any:
    """An attribute of a value; of a method without parameters, what it returns."""
    member = getattr(value, name)
    return outcome(member) if callable(member) else member


def trimmed(value: Any) -> Any:
    """A text, or each text of a list, without blanks at the ends of its lines and around it."""
    if isinstance(value, list | tuple):
        return [trimmed(item) for item in value]
    return "\n".join(map(str.rstrip, value.split("\n"))).strip() if isinstance(value, str) else value
