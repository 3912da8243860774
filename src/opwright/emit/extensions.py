"""What plug-ins add to the code around the kernels of backends, and what runs ask of their plug-ins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from opwright.convention import dispatcher
from opwright.cpp import c_types
from opwright.cpp.c_types import CType
from opwright.cpp.signature import Signature
from opwright.cpp.translation import TypeConversion
from opwright.emit.registrations import Registration
from opwright.model.extra_values import ExtraValues
from opwright.model.hooks import HOOK_VALUES, HookPosition, Implementation, exists_at
from opwright.model.native_function import NativeFunction
from opwright.release.rules import Rules
from opwright.schema.function import Argument
from opwright.source.lazy import lazy_pattern
from opwright.source.records import Copyable, NamedTuple, frozen_fields

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.dialects.dialect import LoadContext

    # Every run imports this module, and few have plug-ins.
    from opwright.source.text import SourceFile

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


def hook_problem(text: object, position: HookPosition) -> str:
    """What is wrong with a result of a hook's function, if anything is.

    >>> hook_problem("acme::log({result});", HookPosition.before)
    'code with `{result}`, which does not exist there'
    >>> hook_problem("acme::log({nmae});", HookPosition.before)
    'code with `{nmae}`, which is no value of hooks; braces of C++ have a blank before the name'
    """
    if text is None:
        return ""
    if not isinstance(text, str):
        return f"a `{type(text).__name__}`, not a text or None"
    names = [match[1] for match in PLACEHOLDER.finditer(text)]
    for name in names:
        if name not in HOOK_VALUES:
            return f"code with `{{{name}}}`, which is no value of hooks; braces of C++ have a blank before the name"
        if not exists_at(name, position):
            return f"code with `{{{name}}}`, which does not exist there"
    if text.strip() and position is HookPosition.around and "call" not in names:
        return "code without `{call}`, so that the kernel never runs"
    return ""


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


def cpp_type(text: str) -> CType:
    """The C++ type with this name, spelt with its namespace.

    >>> cpp_type("acme::Tensor").text
    'acme::Tensor'
    """
    return c_types.base(text)


def usual_signature(function: NativeFunction) -> Signature:
    """Signature that the kernel of a backend has without a convention: the dispatcher's, with integers."""
    return dispatcher.concrete_signature(function)


Part = TypeVar("Part")
PluginType = TypeVar("PluginType")


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


#: What a run without plug-ins adds.
NO_EXTENSIONS: Final = EmitExtensions()


class RunPlugins(Generic[PluginType]):
    """What a run asks of plug-ins. These are the answers where there are none; the room of plug-ins has its own."""

    __slots__ = ()

    def activate(self, plugins: Sequence[PluginType]) -> None:
        """Make these plug-ins the active ones. Raises FaultsFound with all faults of what they add."""

    def with_their_keys(self, context: LoadContext) -> LoadContext:
        """Context of a loader with what the active plug-ins declare and read."""
        return context

    @property
    def extensions(self) -> EmitExtensions:
        """What the active plug-ins add to wrappers and registrations."""
        return NO_EXTENSIONS

    def template(self, name: str) -> SourceFile:
        """Template of an active plug-in, whose name is `PLUGIN:FILE`. Raises Fault if there is none."""
        raise AssertionError(f"there are no plug-ins, and so no template `{name}`")

    def sources(self, plugins: Sequence[PluginType]) -> list[str]:
        """Paths of the sources of plug-ins."""
        del plugins
        return []

    def identities(self, plugins: Sequence[PluginType]) -> list[list[str]]:
        """What identifies plug-ins: their names, and fingerprints of their sources."""
        del plugins
        return []


#: The answers of a house without plug-ins.
NO_PLUGINS: Final[RunPlugins[Any]] = RunPlugins()
