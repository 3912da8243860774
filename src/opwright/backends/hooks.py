"""How a backend implements an operator, and the code around the calls of kernels."""

from __future__ import annotations

import enum
from typing import Final

from opwright.source.records import NamedTuple


class Implementation(enum.Enum):
    """How a backend implements an operator."""

    kernel = "a kernel of the backend"
    structured = "a structured kernel of the backend: its `impl`, after PyTorch's shape function"
    stub = "PyTorch's structured kernel, whose loop the backend registers"
    inherited = "a kernel of PyTorch"
    fallback = "the CPU's kernel, on copies of the tensors"
    refused = "nothing: calling the operator is an error"

    __hash__ = object.__hash__

    @property
    def is_structured(self) -> bool:
        """Whether the wrappers of the whole group run one structured kernel."""
        return self in (Implementation.structured, Implementation.stub)


class HookPosition(enum.Enum):
    """Where the code of a hook is, relative to the call of the kernel."""

    before_check = "before the call, before device check and guard"
    before = "before the call, after device check and guard"
    after = "after the call, with its result"
    around = "in place of the call, which its text contains"

    __hash__ = object.__hash__


#: What hooks may refer to, by name, and its meaning. In the text of a hook, the name stands in braces.
HOOK_VALUES: Final = {
    "name": "the name of the operator with namespace and overload, such as `aten::add.Tensor`",
    "namespace": "the namespace of the operator, such as `aten`",
    "operator": "the name of the operator without namespace and overload, such as `add`",
    "overload": "the name of the overload, such as `Tensor`; it may be empty",
    "key": "the dispatch key, such as `PrivateUse1`",
    "wrapper": "the name of the C++ function that has the hook",
    "returns": "the C++ type of the result",
    "arguments": "the names of all arguments, with commas between them",
    "tensors": "the names of those arguments that are tensors, optional tensors or lists of tensors",
    "result": "the result, after the call; `::opwright::no_result` if the operator returns nothing",
    "call": "the call of the kernel",
}


def exists_at(value: str, position: HookPosition) -> bool:
    """Whether one of HOOK_VALUES exists where a hook is: the result is there after the call, and the call around it.

    >>> exists_at("result", HookPosition.before), exists_at("name", HookPosition.before)
    (False, True)
    """
    only = {"result": HookPosition.after, "call": HookPosition.around}.get(value)
    return only is None or only is position


class Hook(NamedTuple):
    """Code that wrappers contain besides the call of the kernel.

    Either `text` is C++ statements in which values of HOOK_VALUES stand in braces, such as `{name}`, or `call` is a C++
    function that is called with the values that `passes` names, names as strings. Statements around a call return its
    result; a function around a call takes an object as its last argument that calls the kernel, and returns the result.
    `kinds`, `keys` and `names` choose wrappers: implementations, dispatch keys, and patterns of operator names; without
    any, all wrappers have the hook.
    """

    position: HookPosition
    text: str = ""
    call: str = ""
    passes: tuple[str, ...] = ()
    kinds: tuple[Implementation, ...] = ()
    keys: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
