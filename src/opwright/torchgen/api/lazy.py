"""Nodes of graphs of lazy tensors: the names of `torchgen.api.lazy`."""

from __future__ import annotations

from itertools import chain
from typing import Final

from opwright.backends.dialect.lazy import PROPERTIES
from opwright.backends.lazy import convention as lazy
from opwright.backends.lazy.convention import NodeArgument, NodeConvention
from opwright.backends.lazy.node import LazyNode, op_kind
from opwright.backends.lazy_backend import NodeMember, NodeProperties, NodeShape
from opwright.convention.shared_types import NoCppType
from opwright.cpp import c_types
from opwright.torchgen.interface.cpp_types import BaseCppType, CType, NamedCType, cpp_type_of, ctype_of, model_ctype
from opwright.torchgen.interface.faults import Invalid
from opwright.torchgen.interface.schema import Argument, FunctionSchema, Return, model_argument, model_schema, schema_of
from opwright.torchgen.interface.types import BaseTy, BaseType, OperatorName, Type, model_type

#: What a list of tensors becomes in every backend.
tensorListValueT: Final = cpp_type_of(lazy.VALUE.text)  # noqa: N816

#: The class of values, once it is chosen.
_CHOSEN: Final[list[BaseCppType]] = []


def setValueT(val: BaseCppType) -> None:
    """Choose the class of values for all nodes from now on."""
    _CHOSEN[:] = [val]


def getValueT() -> BaseCppType:
    """Class of values. Raises NotImplementedError if none is chosen."""
    if not _CHOSEN:
        raise NotImplementedError("no class of values is chosen: call `setValueT` first")
    return _CHOSEN[0]


class LazyIrProperties:
    """What the class of a node contains: attributes that are true or false, of which few exclude each other."""

    #: The properties, of which a node has at most one of each row.
    Properties: Final = (
        ("ShapePrecompute", "ShapeCompute", "ShapeCache"),
        ("Lower", "LowerDeclOnly"),
        ("CanBeReused", "CanBeReusedDeclOnly"),
        ("CreateFn", "CreateFnDeclOnly"),
        ("TreatScalarsAsConstants",),
    )

    def __init__(self, *default_properties: str) -> None:
        self.__dict__["properties"] = dict.fromkeys(self.Properties)
        for name in default_properties:
            setattr(self, name, True)

    def __getattr__(self, key: str) -> bool:
        rows = self.__dict__["properties"]
        row = _row(key)
        if row is None:
            raise AttributeError(f"nodes have no property `{key}`")
        return bool(rows[row] == key)

    def __setattr__(self, key: str, value: object) -> None:
        row = _row(key)
        if row is None:
            raise KeyError(f"nodes have no property `{key}`")
        if value is not True:
            raise Invalid(f"a node gets the property `{key}`, or another one in its place: assign True")
        self.__dict__["properties"][row] = key


def _row(name: str) -> tuple[str, ...] | None:
    return next((row for row in LazyIrProperties.Properties if name in row), None)


#: The properties of a node that has none.
_NOTHING: Final = NodeProperties(NodeShape.cached, lower=NodeMember.absent, reuse=NodeMember.absent)


def _model_properties(properties: LazyIrProperties) -> NodeProperties:
    chosen = _NOTHING
    for name in chain.from_iterable(LazyIrProperties.Properties):
        if getattr(properties, name):
            chosen = chosen._replace(**PROPERTIES[name])
    return chosen


def _convention(properties: LazyIrProperties | None, *, symint: bool) -> NodeConvention:
    constants = properties is not None and properties.TreatScalarsAsConstants
    return NodeConvention(c_types.base(str(getValueT())), symint, constants)


def process_ir_type(typ: Type, properties: LazyIrProperties, *, symint: bool) -> CType:
    """The C++ type of what a node takes for an argument. Raises AssertionError if nodes cannot have it."""
    try:
        return ctype_of(lazy.argument_type(model_type(typ), _convention(properties, symint=symint)))
    except NoCppType:
        raise Invalid(f"nodes cannot have arguments of type `{typ}`") from None


def isValueType(typ: CType, properties: LazyIrProperties | None = None) -> bool:
    """Whether the innermost type is one of values; numbers are values unless they are constants of the node."""
    innermost = model_ctype(typ)
    while innermost.kind in ("optional", "list", "vector"):
        innermost = innermost.elem
    convention = _convention(properties, symint=True)
    is_number = innermost is c_types.SCALAR and not convention.constant_scalars
    return innermost in (convention.value, c_types.SYMINT) or is_number


def isSymIntType(typ: Type) -> bool:
    """Whether a type is that of symbolic integers."""
    return isinstance(typ, BaseType) and typ.name is BaseTy["SymInt"]


def isWrappedScalarType(typ: Type) -> bool:
    """Whether the innermost type is a number."""
    return typ.is_base_ty_like(BaseTy["Scalar"])


def isGeneratorType(typ: Type) -> bool:
    """Whether the innermost type is a generator."""
    return typ.is_generator_like()


class LazyArgument:
    """An argument of a node."""

    def __init__(self, arg: Argument, properties: LazyIrProperties, *, symint: bool) -> None:
        self.name: str = arg.name
        self.orig_type: Type = arg.type
        self.symint = symint
        self.lazy_type_: CType | None = process_ir_type(arg.type, properties, symint=symint)
        self._origin = NodeArgument(model_argument(arg), _convention(properties, symint=symint))
        self.is_optional: bool = self._origin.is_optional
        self.is_generator: bool = isGeneratorType(arg.type)
        self.is_wrapped_scalar: bool = self._origin.is_number
        self.is_symint_or_list: bool = self._origin.is_symbolic
        self.is_lazy_value: bool = self._origin.is_value

    @property
    def lazy_type(self) -> CType:
        """The C++ type."""
        if self.lazy_type_ is None:
            raise Invalid(f"`{self.name}` has no C++ type")
        return self.lazy_type_


class LazyIrSchema:
    """A node: its arguments, its results, and what its class contains."""

    #: What a node has unless its own attributes say otherwise.
    properties: LazyIrProperties = LazyIrProperties("ShapePrecompute", "Lower", "CanBeReused")
    opkind: str | None = None
    generator_arg: NamedCType | None = None

    def __init__(self, func: FunctionSchema, properties: LazyIrProperties | None = None, *, symint: bool) -> None:
        if properties is not None:
            self.properties = properties
        self.func = func
        self.symint = symint
        self.name: OperatorName = func.name
        self.returns: tuple[Return, ...] = func.returns
        arguments = model_schema(func).arguments
        taken = [LazyArgument(argument, self.properties, symint=symint) for argument in func.arguments.flat_all]
        count = len(arguments.positional)
        self.positional_args: tuple[LazyArgument, ...] = tuple(taken[:count])
        self.keyword_args: tuple[LazyArgument, ...] = tuple(taken[count:])
        for argument in self.keyword_args:
            if argument.is_generator:
                # Callers expect the type of the schema in place of one of C++.
                self.generator_arg = NamedCType(argument.name, argument.orig_type)  # type: ignore[arg-type]

    @property
    def node_name(self) -> str:
        """Name of the class."""
        return lazy.name(model_schema(self.func).name)

    @property
    def aten_name(self) -> str:
        """Name of the operator without its overload."""
        return str(self.name.name)

    @property
    def base_name(self) -> str:
        """Name of the operator without its overload and the underscore of in-place ones."""
        return self.name.name.base

    def filtered_args(
        self,
        positional: bool = True,
        keyword: bool = True,
        values: bool = True,
        scalars: bool = True,
        generator: bool = True,
    ) -> list[LazyArgument]:
        """Arguments of some kinds: values, and those that nodes keep, among which are generators."""
        chosen = [*(self.positional_args if positional else ()), *(self.keyword_args if keyword else ())]
        return [
            argument
            for argument in chosen
            if (values if argument.is_lazy_value else scalars) and (generator or not argument.is_generator)
        ]

    @property
    def positional_values(self) -> list[LazyArgument]:
        """Positional arguments that are values."""
        return self.filtered_args(keyword=False, scalars=False)

    @property
    def positional_scalars(self) -> list[LazyArgument]:
        """Positional arguments that nodes keep."""
        return self.filtered_args(keyword=False, values=False)

    @property
    def keyword_values(self) -> list[LazyArgument]:
        """Keyword-only arguments that are values."""
        return self.filtered_args(positional=False, scalars=False)

    @property
    def keyword_scalars(self) -> list[LazyArgument]:
        """Keyword-only arguments that nodes keep."""
        return self.filtered_args(positional=False, values=False)


def model_node(schema: LazyIrSchema) -> LazyNode:
    """Opwright's node of a schema."""
    origin = model_schema(schema.func)
    convention = _convention(schema.properties, symint=schema.symint)
    return LazyNode(origin, schema.opkind or op_kind(origin), convention, _model_properties(schema.properties))


def schema_of_node(node: LazyNode) -> LazyIrSchema:
    """Schema of one of Opwright's nodes."""
    properties = properties_of(node.properties)
    schema = LazyIrSchema(schema_of(node.schema), properties, symint=node.convention.symint)
    schema.opkind = None if node.op_kind == op_kind(node.schema) else node.op_kind
    return schema


def properties_of(origin: NodeProperties) -> LazyIrProperties:
    """Record of properties of one of Opwright's nodes."""
    properties = LazyIrProperties()
    for name in chain.from_iterable(LazyIrProperties.Properties):
        if origin._replace(**PROPERTIES[name]) == origin:
            setattr(properties, name, True)
    return properties
