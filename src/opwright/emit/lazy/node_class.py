"""The class of a node."""

from __future__ import annotations

from typing import Final

from opwright.convention.lazy import NodeArgument
from opwright.cpp import c_types
from opwright.emit.lazy.node import LazyNode, NodeStyle
from opwright.model.lazy_backend import LazyNames, NodeShape
from opwright.release.rules import Rules

__all__ = ["node_class"]

_OPTIONAL_TEXT: Final = c_types.optional(c_types.STRING_VIEW)

#: Nodes keep texts, not references to them.
_MEMBER_TYPES: Final = {c_types.STRING_VIEW: "std::string", _OPTIONAL_TEXT: "::std::optional<std::string>"}


def node_class(node: LazyNode, style: NodeStyle, names: LazyNames, rules: Rules) -> str:
    """The class of a node, with two empty lines after it."""
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
    """The statement that prints what a node keeps."""
    name = argument.name
    if not argument.is_optional:
        return f'ss << ", {name}=" << {name};'
    value = '"torch.Generator()"' if argument.argument.type.is_generator_like else f"{name}.value()"
    return (
        f'if ({name}.has_value()) {{\n      ss << ", {name}=" << {value};\n'
        f'    }} else {{\n      ss << ", {name}=null";\n    }}'
    )
