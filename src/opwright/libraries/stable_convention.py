"""Convention of kernels in PyTorch's stable C++ API (`torch/csrc/stable`), which `TORCH_BOX` registers.

Schema order; symbolic integers are `int64_t`; no defaults. A result is a value, also one that aliases an argument.
Source of the types: what `TORCH_BOX` of PyTorch 2.13 compiles, and which calls then succeed. Functions that call an
operator have the parameters of PyTorch's public C++ API: outs come first, and there are defaults.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from opwright.convention import public_api
from opwright.convention.caching import per_function
from opwright.convention.defaults import cpp_default
from opwright.convention.native import name
from opwright.cpp import c_types
from opwright.cpp.binding import Binding, with_valid_defaults
from opwright.cpp.c_types import CType
from opwright.cpp.signature import Signature
from opwright.model.native_function import NativeFunction
from opwright.schema.base_types import BASE_TYPE_ROWS
from opwright.schema.function import Argument, FunctionSchema, argument_list, make_argument, make_return
from opwright.schema.names import OperatorName
from opwright.schema.types import BaseType, ListType, OptionalType, Type, base, optional
from opwright.source.lazy import lazy_pattern
from opwright.source.records import NamedTuple

#: The C++ type of each base type of the schema language that the stable API has. It lacks `Scalar`, for one.
_BASE_TYPES: Final = {row.name: c_types.base(row.stable) for row in BASE_TYPE_ROWS if row.stable}
_RESULTS: Final = {row.name: c_types.base(row.stable_result or row.stable) for row in BASE_TYPE_ROWS if row.stable}

TENSOR: Final = _BASE_TYPES["Tensor"]
GENERATOR: Final = _BASE_TYPES["Generator"]

#: The first release whose stable API serves libraries, and those that brought tags and generators of random numbers.
FIRST_RELEASE: Final = (2, 10)
TAGS_SINCE: Final = (2, 12)
_GENERATORS_SINCE: Final = (2, 13)

#: The tags that loading gives an entry by the form of its schema. The stable API has no names for the first two.
_TAGS_BY_FORM: Final = frozenset(("inplace", "out", "generated"))

#: The namespaces of names in defaults, which stable headers have elsewhere.
_NATIVE_NAMES: Final = lazy_pattern(r"\b(?:at|c10)::(?=ScalarType|MemoryFormat|Layout)")
#: A list that the dispatcher of the native interface holds, with its items.
_HELD_LIST: Final = lazy_pattern(r"^c10::List<.*>\(\{?(.*?)\}?\)$")

#: The type of the index of a batch dimension.
_DIMENSION: Final = optional(base("int"))


def _list_of(elem: Type) -> CType | None:
    """Type of a list: a reference to an array where the items are there as one, else a vector that owns them."""
    item = return_type(elem)
    if item is None:
        return None
    if not isinstance(elem, BaseType) or item is c_types.BOOL or elem.name == "str":
        return c_types.vector(item)
    return c_types.base(f"torch::headeronly::HeaderOnlyArrayRef<{item.text}>")


@cache
def _value_type(type: Type) -> CType | None:
    """Type of a parameter before it becomes a reference; None if the stable API has none."""
    if isinstance(type, BaseType):
        return _BASE_TYPES.get(type.name)
    if isinstance(type, OptionalType):
        # `TORCH_BOX` keeps a text that a view is of, and none that an optional view is of.
        inner = return_type(type.elem) if isinstance(type.elem, BaseType) else _value_type(type.elem)
        return None if inner is None else c_types.optional(inner)
    return _list_of(type.elem) if isinstance(type, ListType) else None


@cache
def argument_type(type: Type, *, mutable: bool = False) -> CType | None:
    """The C++ type of an argument; None if the stable API has none.

    >>> from opwright.schema import parse_schema
    >>> schema = parse_schema("f(Tensor self, Tensor? weight, int[] size, Scalar value) -> Tensor")
    >>> [str(argument_type(argument.type)) for argument in schema.arguments.all][:2]
    ['const torch::stable::Tensor &', 'const ::std::optional<torch::stable::Tensor> &']
    >>> argument_type(schema.arguments.all[3].type) is None
    True
    """
    value = _value_type(type)
    if value is None or not type.is_tensor_like or isinstance(type, ListType):
        return value
    return c_types.mut_ref(value) if mutable and value is TENSOR else c_types.const_ref(value)


@cache
def return_type(type: Type) -> CType | None:
    """The C++ type of a result; None if the stable API has none."""
    if isinstance(type, BaseType):
        return _RESULTS.get(type.name)
    if isinstance(type, OptionalType):
        inner = return_type(type.elem)
        return None if inner is None else c_types.optional(inner)
    if isinstance(type, ListType):
        item = return_type(type.elem)
        return None if item is None else c_types.vector(item)
    return None


class Need(NamedTuple):
    """What a function needs of the stable API: the release that brought it, what it is, and the word of the entry."""

    since: tuple[int, int]
    what: str
    word: str


def target_version(release: tuple[int, int]) -> str:
    """Value of `TORCH_TARGET_VERSION` for the oldest release that a binary serves.

    >>> target_version((2, 10))
    '0x020a000000000000'
    """
    return "0x{:02x}{:02x}000000000000".format(*release)


def registered_tags(function: NativeFunction) -> list[str]:
    """Tags of a function that are registered, sorted."""
    return sorted(function.tags - _TAGS_BY_FORM)


def needs(function: NativeFunction) -> list[Need]:
    """What a function needs that the first release lacks."""
    needed = [Need(TAGS_SINCE, "tags", "tags")] if registered_tags(function) else []
    words = [(argument.type, str(argument)) for argument in function.arguments.all]
    words += [(result.type, str(result)) for result in function.schema.returns]
    needed += [Need(_GENERATORS_SINCE, "generators", word) for type, word in words if type.text.startswith("Generator")]
    return needed


def call_refusal(function: NativeFunction) -> str:
    """Why C++ cannot call a function as an operator, as far as PyTorch 2.13 can tell; empty if it can."""
    types = [result.type for result in function.schema.returns]
    if len(set(types)) > 1:
        return "returns values of different types"
    if any("bool[" in type.text for type in (*types, *[argument.type for argument in function.arguments.all])):
        return "has lists of booleans"
    return ""


@per_function
def signature(function: NativeFunction) -> Signature:
    """Signature of a kernel. Raises ValueError for a type that the stable API lacks; checks report these first."""
    return _signature(function.schema)


@per_function
def rule_schema(function: NativeFunction) -> FunctionSchema:
    """Schema of the operator that is the batching rule of a function.

    The index of the batch dimension follows each tensor. A rule of a function that writes returns nothing.
    """
    arguments, returns = [], []
    for argument in function.arguments.all:
        arguments.append(make_argument(argument.name, argument.type, None, argument.annotation))
        if argument.type.is_tensor_like:
            arguments.append(make_argument(f"{argument.name}_bdim", _DIMENSION))
    for result in () if function.arguments.writes else function.schema.returns:
        returns += [make_return(None, result.type), make_return(None, _DIMENSION)]
    name = OperatorName(f"_{function.name.unambiguous}_batch_rule")
    return FunctionSchema(name, argument_list(tuple(arguments)), tuple(returns))


@per_function
def rule_signature(function: NativeFunction) -> Signature:
    """Signature of the author's batching rule of a function."""
    return _signature(rule_schema(function))


@per_function
def caller_signature(function: NativeFunction) -> Signature | None:
    """Signature of the C++ function that calls an operator; None if the stable API lacks a type of its schema."""
    arguments = function.arguments
    bindings = []
    for argument in (*arguments.out, *arguments.positional, *arguments.keyword_only):
        type = _passed_type(argument)
        if type is None:
            return None
        bindings.append(Binding(argument.name, argument.name, type, argument, default_text(argument) or None))
    results = [return_type(result.type) for result in function.schema.returns]
    types = [type for type in results if type is not None]
    if len(types) < len(results):
        return None
    return Signature(public_api.name(function.schema), _returned(types), with_valid_defaults(tuple(bindings)))


def _passed_type(argument: Argument) -> CType | None:
    """Type of a parameter that is passed on. Texts and optional lists own what they have.

    An optional of a reference to numbers would take `{1}`, a number that is gone when the operator is called. The API
    passes lists of `bool` as references alone.
    """
    type = argument.type
    item = type.elem if isinstance(type, OptionalType) else type
    if isinstance(item, ListType) and "bool" in item.elem.text:
        if item.elem.text != "bool":
            return None
        flags = c_types.base("torch::headeronly::HeaderOnlyArrayRef<bool>")
        return flags if item is type else c_types.optional(flags)
    owns = item.text == "str" or (item is not type and isinstance(item, ListType))
    owned = return_type(type) if owns else None
    return argument_type(type, mutable=argument.is_write) if owned is None else c_types.const_ref(owned)


def default_text(argument: Argument) -> str:
    """Default of a parameter in C++. A parameter that has none has an empty one.

    >>> from opwright.schema import parse_schema
    >>> default_text(parse_schema("f(ScalarType dtype=long) -> Tensor").arguments.all[0])
    'torch::headeronly::ScalarType::Long'
    >>> schema = parse_schema("f(bool[] flags=[True,False], int[2]? size=3) -> Tensor")
    >>> [default_text(argument) for argument in schema.arguments.all]
    ['{true, false}', '{{3}}']
    """
    text = cpp_default(argument, symint=False)
    if text is None or argument.type.text == "Tensor":
        return ""
    if argument.default == "None":
        return "std::nullopt"
    if argument.type.innermost.text == "Device":
        return ""
    if isinstance(argument.type, OptionalType) and isinstance(argument.type.elem, ListType):
        text = f"{{{{{text}}}}}"
    text = (
        _HELD_LIST.sub(r"{\1}", text)
        .replace("at::kLong", "at::ScalarType::Long")
        .replace("at::kStrided", "at::Layout::Strided")
    )
    return _NATIVE_NAMES.sub("torch::headeronly::", text.replace("at::Reduction::Mean", "1"))


def _returned(types: Sequence[CType]) -> CType:
    if not types:
        return c_types.VOID
    return types[0] if len(types) == 1 else c_types.tuple_of(tuple(types))


def _signature(schema: FunctionSchema) -> Signature:
    bindings = []
    for argument in schema.arguments.all:
        type = argument_type(argument.type, mutable=argument.is_write)
        if type is None:
            raise ValueError(f"the stable API has no `{argument.type}`")
        bindings.append(Binding(argument.name, argument.name, type, argument))
    results = []
    for result in schema.returns:
        type = return_type(result.type)
        if type is None:
            raise ValueError(f"the stable API has no `{result.type}`")
        results.append(type)
    return Signature(name(schema), _returned(results), tuple(bindings))
