"""Kernels of libraries: those with a condition, and generated functions that call one of several kernels."""

from __future__ import annotations

from typing import Final

from opwright.model.dispatch_key import DispatchKey
from opwright.model.native_function import Kernel
from opwright.source.records import NamedTuple


class KernelChoice(NamedTuple):
    """One of several kernels of an overload for a dispatch key.

    It runs if the C++ expression `when` over the arguments holds, or always if that is empty, and if no implementation
    before it runs. Those of a kernel are in the order of their priorities, the highest first. One in Python has the
    text `python`, such as `acme.kernels:softmax`.
    """

    kernel: Kernel
    when: str
    priority: int
    python: str = ""


class LibraryKernel(Kernel):
    """A kernel that the preprocessor tests a condition for, or that is a generated function.

    It exists where `condition` holds, if that is not empty. One with `implementations` is a generated function that
    calls one of them; so does one that is `checked`, although Python serves all calls, since C++ checks them before.
    """

    __slots__ = ("checked", "condition", "implementations")

    def __init__(
        self,
        key: DispatchKey,
        name: str,
        namespace: str,
        structured: bool,
        condition: str = "",
        implementations: tuple[KernelChoice, ...] = (),
        *,
        takes_symint: bool = False,
        checked: bool = False,
    ) -> None:
        super().__init__(key, name, namespace, structured, takes_symint=takes_symint)
        self.condition: Final = condition
        self.implementations: Final = implementations
        self.checked: Final = checked


def condition_of(kernel: Kernel) -> str:
    """What the preprocessor tests: the kernel exists where it holds; empty if it always exists."""
    return kernel.condition if isinstance(kernel, LibraryKernel) else ""


def implementations_of(kernel: Kernel) -> tuple[KernelChoice, ...]:
    """The kernels one of which a generated function calls; none for other kernels."""
    return kernel.implementations if isinstance(kernel, LibraryKernel) else ()


def is_checked(kernel: Kernel) -> bool:
    """Whether C++ checks the calls of a function in Python that serves all of them."""
    return isinstance(kernel, LibraryKernel) and kernel.checked


def written_kernels(kernel: Kernel) -> tuple[Kernel, ...]:
    """The C++ functions that the author writes: the kernel itself, or its implementations."""
    choices = implementations_of(kernel)
    return tuple([choice.kernel for choice in choices if not choice.python]) if choices else (kernel,)


def python_function(kernel: Kernel) -> str:
    """The Python function that serves all calls, as `module:function`; empty if C++ serves or checks some."""
    choices = implementations_of(kernel)
    return choices[0].python if len(choices) == 1 and not is_checked(kernel) else ""


def behind_checks(kernel: Kernel) -> Kernel:
    """The kernel with C++ before it, if it is a Python function."""
    return kernel.replace(checked=True) if python_function(kernel) else kernel
