"""Nodes of graphs of lazy tensors: their classes, and the functions that print members of these.

A backend that lowers graphs in its own way replaces some of these functions: see `LazyStyle`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from opwright.backends.choices import LazyNames
from opwright.backends.lazy import convention as lazy
from opwright.backends.lazy.convention import NodeArgument, NodeArguments, NodeConvention
from opwright.backends.lazy_backend import NATIVE_PROPERTIES, NodeMember, NodeProperties, NodeShape, NonNativeNode
from opwright.cpp import c_types
from opwright.model.native_function import NativeFunction
from opwright.release.rules import Rules
from opwright.schema.function import FunctionSchema
from opwright.source.records import NamedTuple


class LazyNode:
    """A node: the name of its class, its kind as a C++ expression, what it takes, and what its class contains."""

    __slots__ = ("arguments", "convention", "name", "op_kind", "properties", "schema")

    def __init__(
        self, schema: FunctionSchema, op_kind: str, convention: NodeConvention, properties: NodeProperties
    ) -> None:
        self.name: Final = lazy.name(schema.name)
        self.schema: Final = schema
        self.op_kind: Final = op_kind
        self.convention: Final = convention
        self.arguments: Final[NodeArguments] = lazy.arguments(schema.arguments, convention)
        self.properties: Final = properties

    @property
    def parameters(self) -> str:
        """Parameters of the constructor, without shapes."""
        return ", ".join([f"const {argument.type.text}& {argument.name}" for argument in self.arguments.all])


#: Names that PyTorch has not interned, so their symbols are looked up by name.
_NOT_INTERNED: Final = frozenset(("sigmoid_backward",))


def op_kind(schema: FunctionSchema) -> str:
    """Symbol of an operator, as a C++ expression."""
    operator = schema.name.name
    if operator in _NOT_INTERNED:
        return f'c10::Symbol::fromQualString("aten::{operator}")'
    return f"at::aten::{operator}"


def node_of(function: NativeFunction, value: str, *, symint: bool) -> LazyNode:
    """Node of a function. Raises NoCppType for a type that nodes cannot have."""
    convention = NodeConvention(c_types.base(value), symint)
    return LazyNode(function.schema, op_kind(function.schema), convention, NATIVE_PROPERTIES)


def non_native_node(node: NonNativeNode, value: str) -> LazyNode:
    """A node without an operator. Raises NoCppType for a type that nodes cannot have."""
    convention = NodeConvention(c_types.base(value), symint=True, constant_scalars=node.properties.constant_scalars)
    return LazyNode(node.schema, node.op_kind or op_kind(node.schema), convention, node.properties)


class NodeStyle(NamedTuple):
    """Functions that print what classes of nodes have in common with others of their backend, and no others have.

    `base` prints the call of the base class's constructor. `create`, `reuse` and `lower` print member functions, or
    nothing.
    """

    base: Callable[[LazyNode, LazyNames], str]
    create: Callable[[LazyNode], str]
    reuse: Callable[[LazyNode], str]
    lower: Callable[[LazyNode], str]


def base_call(node: LazyNode, names: LazyNames) -> str:
    """Call of the base class's constructor, with inputs, shapes, and the hash of what the node keeps."""
    inputs = ", ".join([input_expression(argument) for argument in node.arguments.values])
    hashed = ", ".join([argument.name for argument in node.arguments.scalars])
    return (
        f"{names.node_base}(\n"
        f"              {node.name}::ClassOpKind(),\n"
        f"              OpList{{{inputs}}},\n"
        f"              {_shapes(node)},\n"
        f"              /* num_outputs */ {len(node.schema.returns)},\n"
        f"              torch::lazy::MHash({hashed}))"
    )


def input_expression(argument: NodeArgument) -> str:
    """A value that is an input of the base class, which has a value for those that are missing."""
    return f"{argument.name}.value_or(kNullValue)" if argument.is_optional else argument.name


def _shapes(node: LazyNode) -> str:
    """Argument that gives the base class the shapes of the results."""
    function = f"compute_shape_{node.schema.name.text}"
    values = [argument.name for argument in node.arguments.values]
    scalars = [argument.name for argument in node.arguments.scalars]
    match node.properties.shape:
        case NodeShape.precomputed:
            return "std::move(shapes)"
        case NodeShape.computed:
            return f"{function}({', '.join(values + scalars)})"
        case NodeShape.cached:
            operands = [f"operand({index})" for index in range(len(values))]
            return f"[&](){{ return {function}({', '.join(operands + scalars)})[0]; }}"


def no_creation(node: LazyNode) -> str:
    """Nothing: the class has no function that makes nodes."""
    return ""


def no_reuse(node: LazyNode) -> str:
    """Function that refuses to use a node again for other arguments."""
    return f"bool CanBeReused({node.parameters}) const {{\n    return false;\n    }}"


def no_lowering(node: LazyNode) -> str:
    """Nothing: the class has no function that lowers nodes."""
    return ""


#: The nodes of backends that lower graphs without member functions of nodes.
PLAIN: Final = NodeStyle(base_call, no_creation, no_reuse, no_lowering)


def creation(node: LazyNode) -> str:
    """Function that creates a node, or reuses one."""
    head = f"static NodePtr Create({node.parameters})"
    if node.properties.create is not NodeMember.defined:
        return f"{head};" if node.properties.create is NodeMember.declared else ""
    return f"{head} {{\n    return ReuseOrMakeNode<{node.name}>(data);\n  }}"


def reuse(node: LazyNode) -> str:
    """Function that tells whether a node is that of these arguments."""
    head = f"bool CanBeReused({node.parameters}) const"
    if node.properties.reuse is NodeMember.declared:
        return f"{head};"
    tests = [_same_value(argument) for argument in node.arguments.values]
    tests += [_same_scalar(argument) for argument in node.arguments.scalars]
    conjunction = " &&\n        ".join(tests)
    return f"{head} {{\n    size_t i = 0;\n    return ({conjunction});\n  }}"


def _same_value(argument: NodeArgument) -> str:
    operand = "nullable_operand" if argument.is_optional else "operand"
    return f"{operand}(i++) == {input_expression(argument)}"


def _same_scalar(argument: NodeArgument) -> str:
    own, other = f"this->{argument.name}", argument.name
    if argument.is_optional:
        return f"((!{own}&&!{other}) || ({own}&&{other} && *({own}) == *{other}))"
    return f"{own} == {other}"


_LOWER: Final = """
  torch::lazy::TSOpVector Lower(
      std::shared_ptr<torch::jit::GraphFunction> function,
      torch::lazy::TSLoweringContext* loctx) const override"""


def lowering(node: LazyNode) -> str:
    """Function that lowers a node to an operation of TorchScript."""
    if node.properties.lower is NodeMember.declared:
        return f"{_LOWER};"
    # The columns are those of PyTorch's files.
    return f"{_LOWER} {{\n        {_lowering_body(node)}\n\n  }}\n"


def _lowering_body(node: LazyNode) -> str:
    arguments = node.arguments
    positional = [_lowered_positional(argument) for argument in arguments.positional]
    in_order = sorted(arguments.keyword_only, key=lambda argument: not argument.is_value)
    keyword_only = [f'"{argument.name}", {_lowered_value(argument)}' for argument in in_order]
    result = f"{node.schema.name.name}_out"
    lines = [
        "std::vector<torch::jit::NamedValue> arguments;",
        "std::vector<torch::jit::NamedValue> kwarguments;",
        f"arguments.reserve({len(positional)});",
        f"kwarguments.reserve({len(keyword_only)});",
        "size_t i = 0;",
        *([f"arguments.emplace_back({text});" for text in positional] or [""]),
        *([f"kwarguments.emplace_back({text});" for text in keyword_only] or [""]),
        f"torch::lazy::TSOpVector {result} = torch::lazy::LowerTSBuiltin(function, op().op, arguments, kwarguments);",
        f"TORCH_CHECK_EQ({result}.size(), {len(node.schema.returns)});",
        "",
        f"return {result};",
    ]
    return "\n    ".join(lines)


def _lowered_positional(argument: NodeArgument) -> str:
    value = _lowered_value(argument)
    return value if argument.is_value else f'"{argument.name}", {value}'


def _lowered_value(argument: NodeArgument) -> str:
    if not argument.is_value:
        return argument.name
    output = "loctx->GetOutputOp(operand(i++))"
    return f"has_{argument.name} ? {output} : nullptr" if argument.is_optional else output


#: The nodes of the TorchScript backend.
TORCHSCRIPT: Final = NodeStyle(base_call, creation, reuse, lowering)


_OPTIONAL_TEXT: Final = c_types.optional(c_types.STRING_VIEW)

#: Nodes keep texts, not references to them.
_MEMBER_TYPES: Final = {c_types.STRING_VIEW: "std::string", _OPTIONAL_TEXT: "::std::optional<std::string>"}


def node_class(node: LazyNode, style: NodeStyle, names: LazyNames, rules: Rules) -> str:
    """Class of a node, with two empty lines after it."""
    optional = [argument.name for argument in node.arguments.values if argument.is_optional]
    scalars = node.arguments.scalars
    initializers = ",\n        ".join([style.base(node, names), *map(_initializer, scalars)])
    flags_set = "\n    ".join([f"has_{name} = !!{name};" for name in optional])
    printed = "\n    ".join(map(_printing_statement, scalars))
    returned = "std::move(ss).str()" if rules.lazy_texts_are_moved else "ss.str()"
    members = "\n  ".join([f"{_MEMBER_TYPES.get(scalar.type, scalar.type.text)} {scalar.name};" for scalar in scalars])
    flags = "\n  ".join([f"bool has_{name}: 1;" for name in optional])
    return f"""\
class {node.name} : public {names.node_base} {{
 public:
  static torch::lazy::OpKind ClassOpKind() {{
    return torch::lazy::OpKind({node.op_kind});
  }}

  {node.name}({_constructor_parameters(node, names)})
      : {initializers}
  {{
    {flags_set}
  }}

  std::string ToString() const override {{
    std::stringstream ss;
    ss << {names.node_base}::ToString();
    {printed}
    return {returned};
  }}

  {style.create(node)}

  {style.reuse(node)}

  {style.lower(node)}

  {members}
  {flags}

}};

"""


def _constructor_parameters(node: LazyNode, names: LazyNames) -> str:
    takes_shapes = names.takes_shapes and node.properties.shape is NodeShape.precomputed
    shapes = ["std::vector<torch::lazy::Shape>&& shapes"] if takes_shapes else []
    return ", ".join([*([node.parameters] if node.arguments.all else []), *shapes])


def _initializer(argument: NodeArgument) -> str:
    name = argument.name
    if argument.type is _OPTIONAL_TEXT:
        return f"{name}({name}.has_value() ? ::std::make_optional(std::string(*{name})) : ::std::nullopt)"
    return f"{name}({name})"


def _printing_statement(argument: NodeArgument) -> str:
    name = argument.name
    if not argument.is_optional:
        return f'ss << ", {name}=" << {name};'
    value = '"torch.Generator()"' if argument.argument.type.is_generator_like else f"{name}.value()"
    return (
        f'if ({name}.has_value()) {{\n      ss << ", {name}=" << {value};\n'
        f'    }} else {{\n      ss << ", {name}=null";\n    }}'
    )
