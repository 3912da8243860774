"""The modules that the package of a library imports because they register something for its operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from opwright.libraries.emit.implementations import chosen_kernels, place_of, python_operator
from opwright.libraries.emit.overlap import checks_overlap, may_be_written
from opwright.libraries.emit.python import (
    autocasts,
    batch_rules,
    fakes,
    gradients,
    overloads,
    references,
    sharding,
)
from opwright.libraries.emit.python.registrations import (
    PackageModule,
    functions_module,
    operator_expression,
    parameters_of,
    passed_arguments,
)
from opwright.libraries.kernels import KernelChoice, implementations_of, python_function
from opwright.libraries.operator_library import OperatorLibrary
from opwright.model.native_function import Kernel, NativeFunction
from opwright.syntax.python import string_literal


def _overlap_checks(function: NativeFunction) -> tuple[str]:
    written = [argument.name for argument in function.arguments.all if may_be_written(function, argument)]
    also_written = f", {tuple(written)!r}" if written else ""
    signature = str(function.schema).removeprefix(str(function.name))
    copying = f"_{function.name.unambiguous}_of_copies"
    name = string_literal(f"{function.namespace}::{function.name}")
    operator = f"lambda: {operator_expression(function)}"
    passed = f"{name}, {operator}, {string_literal(copying)}, {string_literal(signature)}{also_written}"
    return (f"_add_checks({passed})\n",)


#: Checks of operators that write, while PyTorch traces programs that call them. C++ checks the tensors of eager calls
#: (`libraries/emit/overlap.py`). A program is checked before PyTorch makes it functional, because afterwards it reads
#: everything before it writes. Inductor then lets operators write in place again, and removes copies; where both
#: together let one read what it writes, this module gives it the copy back. It also passes copies of views that PyTorch
#: 2.13 would look for at a wrong place.
_OVERLAP: Final = functions_module("overlap", checks_overlap, _overlap_checks)


def _python_kernels(function: NativeFunction) -> list[tuple[Kernel, KernelChoice]]:
    """Kernels in Python, each with the one that is registered for its key."""
    kernels = function.kernels.values()
    return [(kernel, choice) for kernel in kernels for choice in implementations_of(kernel) if choice.python]


def _kernels(function: NativeFunction) -> list[str]:
    return [_kernel(function, kernel, choice) for kernel, choice in _python_kernels(function)]


def _kernel(function: NativeFunction, kernel: Kernel, choice: KernelChoice) -> str:
    """A function that calls the author's with all arguments, and its registration.

    A kernel that C++ chooses is that of an operator of its own, for all keys. Autograd was there before, and is passed.
    """
    parameters, renaming = parameters_of(function)
    module, _, name = choice.python.partition(":")
    passed = ", ".join(passed_arguments(function))
    registration = python_operator(function, choice)
    operator, key = (
        (function.name.text, kernel.key.name)
        if python_function(kernel)
        else (registration, "CompositeExplicitAutograd")
    )
    below = (
        ""
        if python_function(kernel)
        else f'_library.impl("{registration}", _torch.library.fallthrough_kernel, "Autograd")\n'
    )
    return (
        f"def {registration}({parameters}):\n{''.join(renaming)}"
        f'    return _function("{module}", "{name}")({passed})\n\n\n'
        f'_library.impl("{operator}", {registration}, "{key}")\n{below}'
    )


#: Kernels that are Python functions, which are imported when first called.
_KERNELS: Final = functions_module("kernels", _python_kernels, _kernels)

#: In the order in which the package imports them.
REGISTERING: Final[tuple[PackageModule[Any], ...]] = (
    *(overloads.MODULE, fakes.MODULE, _OVERLAP, references.MODULE, gradients.MODULE),
    *(autocasts.MODULE, batch_rules.MODULE, sharding.MODULE, _KERNELS),
)

#: The name of the context manager.
IMPLEMENTATION: Final = "implementation"

#: An operator, and the names of its kernels by overload and key.
_Choices: TypeAlias = tuple[str, tuple[tuple[str, tuple[str, ...]], ...]]


def _operators(library: OperatorLibrary) -> list[_Choices]:
    operators: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for function, kernel in chosen_kernels(library.catalog.functions):
        names = tuple([implementation.kernel.name for implementation in implementations_of(kernel)])
        operators.setdefault(function.name.name, []).append((place_of(function, kernel), names))
    return [(name, tuple(places)) for name, places in operators.items()]


def _values(namespace: str, rows: Sequence[_Choices]) -> Mapping[str, str]:
    lines = []
    for operator, places in rows:
        listed = [f'        "{place}": {names!r},\n' for place, names in places]
        lines += [f'    "{operator}": {{\n', *listed, "    },\n"]
    return {
        '{"{table}": {}}': f"{{\n{''.join(lines)}}}",
        'getattr(_torch.ops, "{namespace}")': f"_torch.ops.{namespace}",
    }


#: The module with the context manager that forces one of several kernels.
IMPLEMENTATIONS: Final = PackageModule("implementations", _operators, lambda row: (), ("implementations",), _values)
