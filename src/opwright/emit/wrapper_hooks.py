"""Hooks of plug-ins: code that wrappers of a backend's kernels contain besides the call of the kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from opwright.model.external_backend import HookPosition, Implementation
from opwright.model.native_function import NativeFunction
from opwright.release.rules import Rules
from opwright.schema.function import Argument
from opwright.source.named_tuple import NamedTuple

__all__ = ["WrapperArgument", "WrapperFacts", "WrapperHook"]


class WrapperArgument(NamedTuple):
    """A parameter of a wrapper: its name, its C++ type, and the argument of the schema.

    Tensors, optional tensors and lists of tensors are tensor-like.
    """

    name: str
    type: str
    argument: Argument
    is_tensor_like: bool


class WrapperFacts(NamedTuple):
    """What a plug-in may know of a wrapper.

    `name` is the operator with namespace and overload, `key` the dispatch key, `display_name` the name of the backend
    in C++ names, and `wrapper` the C++ function. `kind` says how the backend implements the operator. `returns` is the
    C++ type of the result. `values` has the values of the entry's extra keys and `head` those of the file's: every key
    that a plug-in declares is there.
    """

    name: str
    namespace: str
    operator: str
    overload: str
    function: NativeFunction
    key: str
    display_name: str
    wrapper: str
    kind: Implementation
    is_structured: bool
    arguments: tuple[WrapperArgument, ...]
    returns: str
    has_result: bool
    values: Mapping[str, object]
    head: Mapping[str, object]
    rules: Rules

    @property
    def tensors(self) -> tuple[WrapperArgument, ...]:
        """The tensor-like arguments."""
        return tuple([argument for argument in self.arguments if argument.is_tensor_like])


class WrapperHook:
    """Code at one position of wrappers.

    The function gives the C++ statements for a wrapper, or None for a wrapper without the hook. In the statements, the
    values of backend files' hooks stand in braces, such as `{name}`. `includes` are the headers that they need.

    >>> hook = WrapperHook("before", lambda wrapper: 'acme::trace("{name}");', includes=["acme/trace.h"])
    >>> hook.position
    <HookPosition.before: 'before the call, after device check and guard'>
    """

    __slots__ = ("code", "includes", "position")

    def __init__(
        self, position: str, code: Callable[[WrapperFacts], str | None], *, includes: Iterable[str] = ()
    ) -> None:
        if position not in HookPosition.__members__:
            wanted = ", ".join([f"`{name}`" for name in HookPosition.__members__])
            raise ValueError(f"`{position}` is not a position of hooks; there are {wanted}")
        self.position: Final = HookPosition[position]
        self.code: Final = code
        self.includes: Final = tuple(includes)

    def __repr__(self) -> str:
        return f"<wrapper hook {self.position.name}>"
