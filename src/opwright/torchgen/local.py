"""`torchgen.local`: two choices about C++ types that callers make for all calls in a block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

#: Whether mutable tensors are const references, and whether lists of tensors are lists of references.
_CHOICES: Final[ContextVar[tuple[bool, bool]]] = ContextVar("_CHOICES")


def use_const_ref_for_mutable_tensors() -> bool:
    """Whether mutable tensors are const references here. Raises AssertionError outside of a block."""
    return _choices()[0]


def use_ilistref_for_tensor_lists() -> bool:
    """Whether lists of tensors are lists of references here. Raises AssertionError outside of a block."""
    return _choices()[1]


def _choices() -> tuple[bool, bool]:
    choices = _CHOICES.get(None)
    if choices is None:
        raise AssertionError("no operator is current: call this in a block of `native_function_manager`")
    return choices


@contextmanager
def parametrize(*, use_const_ref_for_mutable_tensors: bool, use_ilistref_for_tensor_lists: bool) -> Iterator[None]:
    """Choose for the block.

    >>> with parametrize(use_const_ref_for_mutable_tensors=True, use_ilistref_for_tensor_lists=False):
    ...     use_const_ref_for_mutable_tensors(), use_ilistref_for_tensor_lists()
    (True, False)
    """
    token = _CHOICES.set((use_const_ref_for_mutable_tensors, use_ilistref_for_tensor_lists))
    try:
        yield
    finally:
        _CHOICES.reset(token)
