"""Hooks of plug-ins: code that wrappers of a backend's kernels contain besides the call of the kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from opwright.model.external_backend import HOOK_VALUES, HookPosition, Implementation, exists_at
from opwright.model.extra_values import ExtraValues
from opwright.model.native_function import NativeFunction
from opwright.release.rules import Rules
from opwright.schema.function import Argument
from opwright.source.named_tuple import NamedTuple
from opwright.source.patterns import lazy_pattern

__all__ = ["PLACEHOLDER", "WrapperArgument", "WrapperFacts", "WrapperHook", "hook_problem"]

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
