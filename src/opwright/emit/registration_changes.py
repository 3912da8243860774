"""Changes of plug-ins to what a backend registers with the dispatcher."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from opwright.emit.registrations import Registration
from opwright.emit.wrapper_hooks import WrapperFacts

__all__ = ["RegistrationChange"]

RegistrationChange: TypeAlias = Callable[[Registration, WrapperFacts | None], Registration | Sequence[Registration]]
"""Gives what is registered in place of a registration: one, several or none.

The facts are those of the wrapper that is registered, None if something else is.
"""
