"""Module `_kernels.py` of a library: kernels that are Python functions, which are imported when first called."""

from __future__ import annotations

from collections.abc import Iterator

from opwright.emit.emitter import AnyEmitter, Job
from opwright.libraries.emit.implementations import python_operator
from opwright.libraries.emit.python.registrations import functions_emitter, parameters_of, passed_arguments
from opwright.libraries.operator_library import OperatorLibrary
from opwright.model.native_function import Kernel, KernelChoice, NativeFunction


def functions_with_python_kernels(library: OperatorLibrary) -> tuple[NativeFunction, ...]:
    """Functions of a library that have kernels in Python."""
    return tuple([function for function in library.catalog.functions if any(True for _ in _choices(function))])


def _choices(function: NativeFunction) -> Iterator[tuple[Kernel, KernelChoice]]:
    """Kernels in Python, each with the one that is registered for its key."""
    for kernel in function.kernels.values():
        for choice in kernel.implementations:
            if choice.python:
                yield kernel, choice


def _registrations(function: NativeFunction) -> list[str]:
    return [_registration(function, kernel, choice) for kernel, choice in _choices(function)]


def _registration(function: NativeFunction, kernel: Kernel, choice: KernelChoice) -> str:
    """A function that calls the author's with all arguments, and its registration.

    A kernel that C++ chooses is that of an operator of its own, for all keys. Autograd was there before, and is passed.
    """
    parameters, renaming = parameters_of(function)
    module, _, name = choice.python.partition(":")
    passed = ", ".join(passed_arguments(function))
    registration = python_operator(function, choice)
    operator, key = (
        (function.name.text, kernel.key.name) if kernel.python else (registration, "CompositeExplicitAutograd")
    )
    below = "" if kernel.python else f'_library.impl("{registration}", _torch.library.fallthrough_kernel, "Autograd")\n'
    return (
        f"def {registration}({parameters}):\n{''.join(renaming)}"
        f'    return _function("{module}", "{name}")({passed})\n\n\n'
        f'_library.impl("{operator}", {registration}, "{key}")\n{below}'
    )


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitter of the module."""
    return [functions_emitter("kernels", functions_with_python_kernels, _registrations)]
