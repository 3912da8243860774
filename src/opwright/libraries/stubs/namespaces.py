"""One stub module per namespace: a class per operator, with the annotations of its overloads and ways to call it."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import Final

from opwright.emit.emitter import FragmentContext, Job, Slots, per_job
from opwright.libraries.operator_names import NUMBERS_AS_TENSORS
from opwright.libraries.stubs.types import argument_type, default_text, return_type
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument
from opwright.source.records import NamedTuple

_KEYWORDS: Final = frozenset(keyword.kwlist)


def call(function: NativeFunction, receiver: str = "") -> str:
    """The parameters and the return of an overload, as `(self: _Tensor, *, out: _Tensor) -> _Tensor`.

    `receiver` names a first parameter that is passed by position alone: that of methods.
    """
    arguments = function.arguments
    numbers = function.root_name in NUMBERS_AS_TENSORS.in_any_release
    shown = [parameter(argument, numbers) for argument in arguments.positional]
    closed = _unnameable(arguments.positional)
    if closed:
        # A call cannot name a keyword of Python, so this parameter and those before it are positional.
        shown.insert(closed, "/")
    if receiver:
        shown[:0] = [receiver] if closed else [receiver, "/"]
    rest = arguments.keyword_only + arguments.out
    if rest:
        shown += ["*", *[parameter(argument, numbers) for argument in rest]]
    return f"({', '.join(shown)}) -> {return_type(function.schema.returns)}"


def _unnameable(positional: tuple[Argument, ...]) -> int:
    """Number of parameters up to the last one whose name is a keyword of Python."""
    return max([index for index, argument in enumerate(positional, 1) if argument.name in _KEYWORDS], default=0)


@cache
def parameter(argument: Argument, numbers: bool) -> str:
    """One parameter with its type and default; with `numbers`, one that takes a number in place of a tensor."""
    name = f"{argument.name}_" if argument.name in _KEYWORDS else argument.name
    type = argument_type(argument.type)
    if numbers and type == "_Tensor" and not argument.is_write:
        type = "_Tensor | _Number"
    return f"{name}: {type}{'' if argument.default is None else f' = {default_text(argument)}'}"


def docstring(function: NativeFunction) -> str:
    """A docstring that shows the schema of an overload."""
    text = f"{function.namespace}::{function.schema}"
    if "\\" in text or '""' in text or text.endswith('"'):
        return repr(text)
    return f'"""{text}"""'


def is_attribute(name: str) -> bool:
    """Whether a name can follow a dot, and is not mangled in a class.

    >>> is_attribute("Tensor"), is_attribute("from"), is_attribute("3d"), is_attribute("__private")
    (True, False, False, False)
    """
    private = name.startswith("__") and not name.endswith("__")
    return name.isidentifier() and name not in _KEYWORDS and not private


#: The package of the modules; it exists only for type checkers.
PACKAGE: Final = "_opwright"


class Namespace(NamedTuple):
    """Operators of a namespace by name, each with its overloads in the order of the catalog."""

    name: str
    operators: Mapping[str, Sequence[NativeFunction]]


@per_job
def namespaces(job: Job) -> tuple[Namespace, ...]:
    """Namespaces of a job whose names can follow `torch.ops.`, in order of first occurrence."""
    namespaces: dict[str, dict[str, list[NativeFunction]]] = {}
    for function in job.catalog.functions:
        namespaces.setdefault(function.namespace, {}).setdefault(function.name.name, []).append(function)
    return tuple(
        Namespace(name, operators)
        for name, operators in namespaces.items()
        if is_attribute(name) and name not in _OF_OPS
    )


def namespace_path(namespace: Namespace) -> str:
    """Path of a namespace's module."""
    return f"torch-stubs/{PACKAGE}/{namespace.name}.pyi"


#: Attributes that every operator has: an overload with such a name is reached only through `getattr`.
_OF_PACKETS: Final = frozenset(("op", "op_overloads", "overloads"))

#: Attributes that `torch.ops` has besides namespaces.
_OF_OPS: Final = frozenset(("higher_order", "import_module", "load_library", "loaded_libraries", "name"))

#: Attributes that every namespace has, because it is a module.
_OF_NAMESPACES: Final = frozenset(("name", *dir(ModuleType)))

_HEAD: Final = '''\
# Stubs of torch.ops.{namespace}. Made by Opwright from schemas: change those instead.
# Operators may have overloads that overlap, and each asks of `self` what its schema says.
# mypy: disable-error-code="misc, overload-overlap, overload-cannot-match, override"
# pyright: reportOverlappingOverload=false, reportIncompatibleMethodOverride=false, reportInconsistentOverload=false
# pyright: reportSelfClsParameterName=false, reportPrivateUsage=false
# ruff: noqa
"""The operators of `torch.ops.{namespace}`."""

from builtins import bool as _bool, complex as _complex, float as _float, int as _int, list as _list, str as _str
from builtins import dict as _dict, tuple as _tuple
from collections.abc import Callable as _Callable, Sequence as _Sequence
from typing import Any as _Any, ParamSpec as _ParamSpec, TypeVar as _TypeVar, overload as _overloads

from torch import Generator as _Generator, ScriptObject as _ScriptObject, Stream as _Stream, Tensor as _Tensor
from torch import SymBool as _SymBool, SymFloat as _SymFloat, SymInt as _SymInt
from torch import TypedStorage as _TypedStorage, UntypedStorage as _UntypedStorage
from torch import device as _device, dtype as _dtype, layout as _layout, memory_format as _memory_format
from torch import qscheme as _qscheme
from torch._ops import OpOverload as _OpOverload, OpOverloadPacket as _OpOverloadPacket, _OpNamespace

_Parameters = _ParamSpec("_Parameters")
_Result = _TypeVar("_Result")
_Number = _int | _float | _complex | _SymInt | _SymFloat | _SymBool
_Storage = _TypedStorage | _UntypedStorage

def _overload(call: _Callable[_Parameters, _Result]) -> _OpOverload[_Parameters, _Result]: ...

# The base takes every name for an overload; an operator has those that are listed.
class _Operator(_OpOverloadPacket):
    __getattr__: None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]

class _Operators(_OpNamespace):
    __getattr__: None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
'''

#: The names that the head defines or uses. The class of an operator with such a name gets another name.
_WORDS: Final = frozenset(re.findall(r"\b_\w+", _HEAD)) | {"Namespace", "ops", "staticmethod"}

#: The parameter for the operator itself in `__call__`; no argument of a schema has this name.
_RECEIVER: Final = "_operator_"


def namespace_text(namespace: Namespace, context: FragmentContext) -> Slots:
    """Module of a namespace."""
    classes = {name: f"{name}_operator" if name in _WORDS else name for name in namespace.operators}
    written = [name for name in classes if is_attribute(name) and name not in _OF_NAMESPACES]
    lines = [_HEAD.format(namespace=namespace.name)]
    for name in written:
        lines += _operator_lines(classes[name], namespace.operators[name])
    lines.append("class Namespace(_Operators):")
    lines += [f"    {name}: {classes[name]}" for name in written]
    lines += ["", "ops: Namespace", ""]
    return {"text": "\n".join(lines)}


def _operator_lines(class_name: str, overloads: Sequence[NativeFunction]) -> list[str]:
    """Class of an operator: an attribute for each overload, then the call that chooses among them."""
    lines = [f"class {class_name}(_Operator):"]
    for function in overloads:
        name = function.name.overload or "default"
        if is_attribute(name) and not name.startswith("__") and name not in _OF_PACKETS and name not in _WORDS:
            lines.append(
                f"    @_overload\n    @staticmethod\n    def {name}{call(function)}:\n        {docstring(function)}"
            )
    # An out overload takes the functional one's arguments and more, so it comes last; others keep the schemas' order.
    ordered = sorted(overloads, key=lambda overload: bool(overload.arguments.out))
    choice = "    @_overloads\n" if len(ordered) > 1 else ""
    lines += [
        f"{choice}    def __call__{call(function, _RECEIVER)}:\n        {docstring(function)}" for function in ordered
    ]
    return [*lines, ""]
