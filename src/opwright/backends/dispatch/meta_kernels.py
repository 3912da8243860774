"""Operators for which PyTorch registers kernels for Meta in Python.

These kernels compute the shapes and dtypes of results while PyTorch traces. They are in modules of PyTorch's package,
which Opwright reads as text: it looks for the decorators and functions that register them.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from typing import Final

from opwright.source.records import NamedTuple

#: The modules of PyTorch's package that register kernels for Meta, and decompositions that serve as such kernels.
MODULES: Final = (
    "torch/_meta_registrations.py",
    "torch/_decomp/decompositions.py",
    "torch/_refs/__init__.py",
    "torch/_refs/_conversions.py",
    "torch/_refs/fft.py",
    "torch/_refs/linalg/__init__.py",
    "torch/_refs/nn/functional/__init__.py",
    "torch/_refs/special/__init__.py",
)

_OPERATOR: Final = re.compile(r"\baten\.(\w+)(?:\.(\w+))?")
_REGISTRATION: Final = re.compile(
    r"\b(register_meta|register_decomposition|_make_elementwise_unary_reference|_make_elementwise_binary_reference"
    r"|_make_inplace|_make_copy_from_view)\("
)
_BRACKET: Final = re.compile(r"[()\[\]{}]")
_DEFINED_NAME: Final = re.compile(r"\s*(?:@[^\n]*\n\s*)*def (\w+)")


class MetaKernels(NamedTuple):
    """Operators that have a kernel for Meta: all overloads of some, single overloads of others."""

    operators: Container[str]
    overloads: Container[str]

    def has(self, operator: str, overload: str) -> bool:
        """Whether an overload, empty for the one without a name, has a kernel.

        >>> kernels = MetaKernels(["relu"], ["add.Tensor", "mul.default"])
        >>> kernels.has("relu", "out"), kernels.has("add", "out"), kernels.has("mul", "")
        (True, False, True)
        """
        return operator in self.operators or f"{operator}.{overload or 'default'}" in self.overloads


def load_meta_kernels(modules: Iterable[str]) -> MetaKernels:
    """Kernels that these texts of modules register.

    >>> kernels = load_meta_kernels(["@register_meta([aten.take.default, aten.take.out])\\ndef meta_take(): ..."])
    >>> kernels.has("take", "out"), kernels.has("take", "")
    (True, True)
    """
    registered = {row for text in modules for row in _registered_operators(text)}
    operators = frozenset([operator for operator, overload in registered if not overload])
    overloads = frozenset([f"{operator}.{overload}" for operator, overload in registered if overload])
    return MetaKernels(operators, overloads)


def _registered_operators(text: str) -> Iterator[tuple[str, str]]:
    """Operators that a module registers kernels for; the overload is empty if all overloads are meant."""
    for match in _REGISTRATION.finditer(text):
        form, end = match.group(1), closing_bracket(text, match.end())
        given = text[match.end() : end]
        if form == "_make_inplace":
            # The argument is the function from which the in-place operator is made.
            yield f"{given}_", ""
        elif form == "_make_copy_from_view":
            yield from ((f"{operator}_copy", "") for operator, _ in _named_operators(given))
        elif not form.endswith("_reference"):
            yield from _named_operators(given)
        elif "aten_op=" in given:
            yield from _named_operators(given.partition("aten_op=")[2])
        elif (defined := _DEFINED_NAME.match(text, end + 1)) is not None:
            # A reference is named like its operator unless an argument names another one.
            yield defined.group(1), ""


def _named_operators(given: str) -> Iterator[tuple[str, str]]:
    for match in _OPERATOR.finditer(given):
        yield match.group(1), match.group(2) or ""


def closing_bracket(text: str, start: int) -> int:
    """Offset of the bracket that closes the one just before `start`; the end of the text if there is none."""
    depth = 1
    for match in _BRACKET.finditer(text, start):
        depth += 1 if match.group() in "([{" else -1
        if not depth:
            return match.start()
    return len(text)
