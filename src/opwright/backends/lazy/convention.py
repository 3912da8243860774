"""Convention of nodes: what a node of a graph of lazy tensors takes for each argument of a schema.

Tensors become values, which are results of other nodes. Numbers (`Scalar`) do too, unless they are constants of the
node, and so do symbolic integers if the kernel takes them. All else is kept in the node, by value.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from opwright.convention.shared_types import NoCppType
from opwright.cpp import c_types
from opwright.cpp.c_types import CType
from opwright.schema.base_types import names_where
from opwright.schema.function import Argument, Arguments
from opwright.schema.names import OperatorName
from opwright.schema.types import BaseType, ListType, OptionalType, Type
from opwright.source.records import NamedTuple

#: The class of values, unless a backend has its own; it is also what a list of tensors becomes in every backend.
VALUE: Final = c_types.base("torch::lazy::Value")

#: The base types that nodes keep by value.
_KEPT: Final = names_where("is_node_field")


class NodeConvention(NamedTuple):
    """Choices of the convention: the class of values, whether symbolic integers are values, and numbers not."""

    value: CType = VALUE
    symint: bool = False
    constant_scalars: bool = False


def name(operator: OperatorName) -> str:
    """Name of the class of an overload's nodes.

    >>> from opwright.schema.names import OperatorName
    >>> name(OperatorName("_adaptive_avg_pool2d")), name(OperatorName("norm", overload="ScalarOpt_dim"))
    ('AdaptiveAvgPool2d', 'NormScalaroptDim')
    """
    words = f"{operator.name}_{operator.overload}".lower().split("_")
    return "".join([word.capitalize() for word in words])


@cache
def argument_type(type: Type, convention: NodeConvention) -> CType:
    """The C++ type of what a node takes for an argument. Raises NoCppType if nodes cannot have it.

    >>> from opwright.schema import parse_type
    >>> argument_type(parse_type("Tensor?"), NodeConvention()).text
    '::std::optional<torch::lazy::Value>'
    """
    if isinstance(type, BaseType):
        return _base_type(type, convention)
    if isinstance(type, OptionalType):
        return c_types.optional(argument_type(type.elem, convention))
    if not isinstance(type, ListType):
        raise NoCppType(type.text)
    match type.elem.text:
        case "Tensor":
            return VALUE
        case "Tensor?":
            return c_types.c10_list(c_types.optional(convention.value))
        case "SymInt":
            return c_types.vector(c_types.LONG)
    return c_types.vector(argument_type(type.elem, convention))


def _base_type(type: BaseType, convention: NodeConvention) -> CType:
    match type.name:
        case "Tensor":
            return convention.value
        case "Scalar":
            return c_types.SCALAR if convention.constant_scalars else convention.value
        case "SymInt":
            return convention.value if convention.symint else c_types.LONG
    if type.name not in _KEPT:
        raise NoCppType(type.text)
    return c_types.BASE_TYPES[type.name]


class NodeArgument:
    """An argument of a node: its C++ type, and whether it is a value, which is an input of the node.

    `is_number` says that the schema has a number, and `is_symbolic` that the value is a symbolic integer. A list of
    symbolic integers is no value, even if the kernel `takes_symbols`.
    """

    __slots__ = ("argument", "is_number", "is_optional", "is_symbolic", "is_value", "name", "takes_symbols", "type")

    def __init__(self, argument: Argument, convention: NodeConvention) -> None:
        self.argument: Final = argument
        self.name: Final = argument.name
        self.type: Final = argument_type(argument.type, convention)
        self.is_value: Final = _innermost(self.type) is convention.value
        self.is_optional: Final = self.type.kind == "optional"
        self.is_number: Final = argument.type.innermost.text == "Scalar"
        self.takes_symbols: Final = convention.symint and argument.type.is_symint_like
        self.is_symbolic: Final = self.takes_symbols and argument.type.list_like is None

    @property
    def is_tensor_list(self) -> bool:
        """Whether the schema has a list of tensors, which is one value."""
        type = self.argument.type
        return isinstance(type, ListType) and type.elem.text == "Tensor"

    def __repr__(self) -> str:
        return f"<node argument {self.type.text} {self.name}>"


def _innermost(type: CType) -> CType:
    return type if type.kind == "base" else _innermost(type.elem)


class NodeArguments(NamedTuple):
    """Arguments of a node in the order of the schema, of which some are `positional` and the rest keyword-only.

    `values` and `scalars` are those that are values, and those that are not, in the same order.
    """

    positional: tuple[NodeArgument, ...]
    keyword_only: tuple[NodeArgument, ...]
    values: tuple[NodeArgument, ...]
    scalars: tuple[NodeArgument, ...]

    @property
    def all(self) -> tuple[NodeArgument, ...]:
        """All arguments."""
        return self.positional + self.keyword_only


@cache
def arguments(schema_arguments: Arguments, convention: NodeConvention) -> NodeArguments:
    """Arguments of a node. Raises NoCppType for a type that nodes cannot have."""
    node_arguments = tuple([NodeArgument(argument, convention) for argument in schema_arguments.all])
    count = len(schema_arguments.positional)
    return NodeArguments(
        node_arguments[:count],
        node_arguments[count:],
        tuple([argument for argument in node_arguments if argument.is_value]),
        tuple([argument for argument in node_arguments if not argument.is_value]),
    )
