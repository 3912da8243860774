"""`torchgen.context`: decorators that make the operator of a call the current one.

Inside, the choices of `torchgen.local` are those of the operator, and exceptions name it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from opwright.torchgen import local
from opwright.torchgen.utils import context

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: The attributes under which groups hold the operator that stands for them.
_MEMBERS: Final = ("out", "view")


@contextmanager
def native_function_manager(g: object) -> Iterator[None]:
    """Make an operator the current one, or of a group its out overload or its view."""
    function: Any = next((getattr(g, name) for name in _MEMBERS if hasattr(g, name)), g)
    choices = local.parametrize(
        use_const_ref_for_mutable_tensors=function.use_const_ref_for_mutable_tensors,
        use_ilistref_for_tensor_lists=function.part_of_structured_group,
    )
    with context(lambda: f"in native_functions.yaml line {function.loc}:\n  {function.func}"), choices:
        yield


def _around(operator_of: Callable[..., object]) -> Callable[[_Function], _Function]:
    """Decorator that makes the operator in the arguments of each call the current one."""

    def decorate(func: _Function) -> _Function:
        @functools.wraps(func)
        def inside(*args: object, **kwargs: object) -> object:
            with native_function_manager(operator_of(*args, **kwargs)):
                return func(*args, **kwargs)

        return inside  # type: ignore[return-value]  # it takes what the function takes

    return decorate


#: For functions whose first argument is an operator or a group; those with `and` in their name take more.
with_native_function = _around(lambda operator, *_, **__: operator)
with_native_function_and = with_native_function
with_native_function_and_index = with_native_function
with_native_function_and_indices = with_native_function
#: The same for methods.
method_with_native_function = _around(lambda _self, operator, *_, **__: operator)
#: For methods that take a sequence of operators: the first is the current one.
method_with_nested_native_function = _around(lambda _self, operators, *_, **__: operators[0])
