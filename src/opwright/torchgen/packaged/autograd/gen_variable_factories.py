"""Factories of tensors that may require gradients: the names of `torchgen.packaged.autograd.gen_variable_factories`."""

from __future__ import annotations

from opwright.emit.autograd.variable_factories import definition, is_factory
from opwright.torchgen.interface.functions import NativeFunction, model_function


def is_factory_function(f: NativeFunction) -> bool:
    """Whether an operator is a function that takes tensor options, or is named like those that copy them."""
    return is_factory(model_function(f))


def process_function(f: NativeFunction) -> str | None:
    """The C++ functions of a factory; None for other operators."""
    return definition(model_function(f)) if is_factory_function(f) else None
