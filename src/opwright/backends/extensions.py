"""What plug-ins add to the code around the kernels of backends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Generic, TypeAlias, TypeVar

from opwright.backends.hooks import HookPosition, Implementation
from opwright.cpp.signature import Signature
from opwright.cpp.translation import TypeConversion
from opwright.model.extra_values import ExtraValues
from opwright.model.native_function import NativeFunction
from opwright.release.rules import Rules
from opwright.schema.function import Argument
from opwright.source.lazy import lazy_pattern
from opwright.source.records import Copyable, NamedTuple, frozen_fields

#: A name in braces. Names in other braces of C++ have a blank before them.
PLACEHOLDER: Final = lazy_pattern(r"\{([A-Za-z_]\w*)\}")


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
    values: ExtraValues
    head: ExtraValues
    rules: Rules

    @property
    def tensors(self) -> tuple[WrapperArgument, ...]:
        """Tensor-like arguments."""
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


class KernelCandidate(NamedTuple):
    """A kernel that a selector may choose: the name of its family, and the C++ function."""

    family: str
    function: str


class KernelSelector(Copyable):
    """Chooses among the kernels of entries whose `family` is a list.

    The function gives C++ statements that return the result of the wrapper. In them, the name of a family in braces,
    such as `{fast}`, stands for the call of its kernel. It gives None for a wrapper that another selector serves.

    >>> text = "if (acme::is_fast()) return {fast}; return {exact};"
    >>> KernelSelector("by_mode", lambda wrapper, candidates: text)
    <kernel selector by_mode>
    """

    __slots__ = ("includes", "name", "select")

    def __init__(
        self,
        name: str,
        select: Callable[[WrapperFacts, tuple[KernelCandidate, ...]], str | None],
        *,
        includes: Iterable[str] = (),
    ) -> None:
        self.name: Final = name
        self.select: Final = select
        self.includes: Final = tuple(includes)

    def __repr__(self) -> str:
        return f"<kernel selector {self.name}>"


class Registration(NamedTuple):
    """A kernel that is registered for an operator under a dispatch key.

    `operator` is the operator's name with its overload; without one, `kernel` is the fallback of the key, and
    `namespace` is `_`. `kernel` is a C++ expression, and a function if there is a `macro` that registers it in place of
    `m.impl`. `condition` is a C++ expression that is evaluated when the library is loaded. `breaks_line`: the kernel is
    on a line of its own. `includes` are the headers that the other texts need.
    """

    namespace: str
    key: str
    operator: str
    kernel: str
    condition: str = ""
    macro: str = ""
    breaks_line: bool = True
    includes: tuple[str, ...] = ()


RegistrationChange: TypeAlias = Callable[[Registration, WrapperFacts | None], Registration | Sequence[Registration]]
"""Gives what is registered in place of a registration: one, several or none.

The facts are those of the wrapper that is registered, None if something else is.
"""


class KernelConvention(Copyable):
    """Signature of kernels, and the conversions that wrappers need to call them.

    `signature` gives the signature of an operator's kernel; its name is not used. Wrappers translate their arguments
    as between PyTorch's conventions, and with `conversions` for types that PyTorch does not have, also that of the
    result. A wrapper of an operator that writes to arguments returns these if the kernel returns nothing.
    """

    __slots__ = ("conversions", "includes", "name", "signature")

    def __init__(
        self,
        name: str,
        signature: Callable[[NativeFunction], Signature],
        *,
        conversions: Iterable[TypeConversion] = (),
        includes: Iterable[str] = (),
    ) -> None:
        self.name: Final = name
        self.signature: Final = signature
        self.conversions: Final = tuple(conversions)
        self.includes: Final = tuple(includes)

    def __repr__(self) -> str:
        return f"<kernel convention {self.name}>"


Part = TypeVar("Part")


@frozen_fields
class Extension(Generic[Part]):
    """A value of a plug-in, with the plug-in's name."""

    plugin: str
    value: Part

    def __repr__(self) -> str:
        return f"<extension of {self.plugin}: {self.value!r}>"


class EmitExtensions(NamedTuple):
    """What the plug-ins of a run add, each in the order in which the run names the plug-ins."""

    wrapper_hooks: tuple[Extension[WrapperHook], ...] = ()
    kernel_selectors: tuple[Extension[KernelSelector], ...] = ()
    registration_changes: tuple[Extension[RegistrationChange], ...] = ()
    kernel_conventions: tuple[Extension[KernelConvention], ...] = ()

    @property
    def extensions(self) -> EmitExtensions:
        """The record itself, which plug-ins of version 1 of the API read from a job."""
        return self


#: What a run without plug-ins adds.
NO_EXTENSIONS: Final = EmitExtensions()
