"""Exceptions that callers of PyTorch's generator catch, with Opwright's messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opwright.schema.fault import SchemaFault
from opwright.source.diagnostic import Diagnostic, Diagnostics, Fault
from opwright.source.render import render_short

#: The exception for what PyTorch's generator states in assertions.
Invalid = AssertionError


class InvalidText(AssertionError, RuntimeError):
    """A mistake in the text of a schema, for which PyTorch's generator raises one or the other of the two."""


def described(diagnostic: Diagnostic) -> str:
    """A diagnostic as one text: place, message and help."""
    place = f"{diagnostic.labels[0].span.file.path}:{diagnostic.labels[0].span.line}: " if diagnostic.labels else ""
    help = f" ({diagnostic.help})" if str(diagnostic.help) else ""
    return f"{place}{diagnostic.message} [{diagnostic.code}]{help}"


@contextmanager
def faults_as_assertions() -> Iterator[None]:
    """Raise AssertionError for a mistake that Opwright finds in the block."""
    try:
        yield
    except Fault as fault:
        raise Invalid(described(fault.diagnostic)) from None


def raised(fault: SchemaFault, text: str) -> InvalidText:
    """Exception for a mistake in the text of a schema."""
    end = max(fault.end, fault.start + 1)
    return InvalidText(f"{fault.message} [{fault.code}]\n{text}\n{' ' * fault.start}{'^' * (end - fault.start)}")


def stop_at_errors(sink: Diagnostics) -> None:
    """Raise AssertionError with all errors."""
    if sink.has_errors:
        raise Invalid(render_short(sink))
