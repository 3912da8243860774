"""`Functions.h` and `Functions.cpp`: the nodes of the backward graph as C++ classes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from opwright.emit.autograd.kernels import generated_comment
from opwright.emit.autograd.nodes import GraphNode, NodeUnit, Step, all_nodes
from opwright.emit.blanks import with_blanks
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Slots

_LOCK: Final = "std::lock_guard<std::mutex> lock(mutex_);"

_WILL_RELEASE: Final = """\
  bool retain_variables = true;
  void will_release_variables() override {
    retain_variables = false;
  }"""


def _block(lines: Iterable[str], indent: str) -> str:
    """Lines under an indentation, or an empty text where there are none."""
    text = f"\n{indent}".join(lines)
    return indent + text if text else ""


#: The methods by which compiled autograd takes a node apart.
_COMPILED_METHODS: Final = """
  void compiled_args(CompiledNodeArgs& args) const override;
  variable_list apply_with_saved(const variable_list& inputs, SwapSavedVariables& saved) override;"""


def declaration(node: GraphNode, *, compiled: bool = True) -> str:
    """The class of a node. Without `compiled`, compiled autograd refuses it."""
    released = [statement for field in node.saved for statement in field.released]
    fields = [declared for field in node.saved for declared in field.fields]
    sizes = [f"size_t {argument.name}_size_;" for argument in node.inputs if argument.is_list]
    return f"""\
#ifdef _WIN32
struct {node.name} : public {node.superclass} {{
  {node.export} {node.name}() = default;
#else
struct {node.export} {node.name} : public {node.superclass} {{
#endif
  using {node.superclass}::{node.superclass};
  variable_list apply(variable_list&& grads) override;
  std::string name() const override {{ return "{node.name}"; }}
  void release_variables() override {{
{"    " + _LOCK if node.locks else ""}
{_block(released, "    ")}
  }}
{_WILL_RELEASE if node.keeps_variables else ""}{_COMPILED_METHODS if compiled else ""}
{_block(fields, "  ")}
{_block(sizes, "  ")}
}};
"""


def _ranges(node: GraphNode) -> list[str]:
    """The statements that give each input its range among the outgoing gradients."""
    return [
        f"auto {argument.name}_ix = gen.range({f'{argument.name}_size_' if argument.is_list else 1});"
        for argument in node.inputs
    ]


def _indent(formula: str) -> str:
    """A formula whose further lines, if there are any, are indented as the statements of a function are."""
    return re.sub(r"\n(?!\n)", "\n  ", formula) if "\n" in formula else formula


def _single(step: Step, over_lists: bool) -> str:
    """The statement for the gradient of one argument."""
    ((name, number),) = step.arguments
    formula = _indent(f"any_grad_defined ? ({step.formula}) : Tensor()" if step.needs_defined else step.formula)
    if not over_lists:
        return f"""\
  if (needs_input_grad[/*{name}*/{number}]) {{
    auto grad_result = {formula};
    copy_range(grad_inputs, {name}_ix, grad_result);
  }}"""
    return f"""\
  if (needs_input_grad[/*{name}*/{number}]) {{  // {name}
    std::vector<Tensor> grad_result;
    grad_result.reserve(grads.size());
    for (const auto & i : c10::irange(grads.size())) {{
      if (grads[i].defined()) {{
        grad_result.emplace_back({formula});
      }} else {{
        grad_result.emplace_back(Tensor());
      }}
    }}
    copy_range(grad_inputs, {name}_ix, grad_result);
  }}"""


def _several(step: Step) -> str:
    """The statement for the gradients of several arguments, which the formula gives as a tuple."""
    needed = [f"needs_input_grad[{number}]" for _, number in step.arguments]
    mask = ""
    if step.takes_mask:
        flags = "".join([f"        {flag},\n" for flag in needed])
        mask = f"      auto grad_input_mask = std::array<bool, {len(needed)}>{{\n{flags}      }};"
    copies = "\n".join(
        [
            f"      if (needs_input_grad[/*{name}*/{number}]) {{\n"
            f"        copy_range(grad_inputs, {name}_ix, std::get<{index}>(grad_result));\n"
            "      }"
            for index, (name, number) in enumerate(step.arguments)
        ]
    )
    return f"""\
  if ({" || ".join(needed)}) {{
{mask}
    auto grad_result = {_indent(step.formula)};
{copies}
  }}"""


def _body(node: GraphNode) -> str:
    """The statements that work out the gradients."""
    lines = [f"  const auto& {name} = grads[{number}];" for name, number in node.gradients]
    if any(step.needs_defined for step in node.steps):
        lines.append("  bool any_grad_defined = any_variable_defined(grads);")
    lines += [_single(step, node.over_lists) if len(step.arguments) == 1 else _several(step) for step in node.steps]
    return "\n".join(lines)


def _schema(node: GraphNode) -> str:
    """The statement that names the types of what is packed."""
    types = [f"std::array<bool, {len(node.inputs)}>", *[type.removesuffix("&") for type, _ in node.parameters]]
    packers = "".join([f"      torch::dynamo::autograd::IValuePacker<{type}>::packed_type(),\n" for type in types])
    return f"    std::vector<at::TypePtr> schema = {{\n{packers}    }};"


def _pure_function(node: GraphNode) -> str:
    """The function that works out gradients from values alone."""
    op, count = node.name, len(node.inputs)
    signature = "".join([f", {type} {name}" for type, name in node.parameters])
    return f"""\
static variable_list {op}_apply_functional(
  variable_list&& grads,
  std::array<bool,{count}> needs_input_grad{signature})
{{
  IndexRangeGenerator gen;
{_block(_ranges(node), "  ")}
  variable_list grad_inputs(gen.size());
{_body(node)}
  return grad_inputs;
}}
"""


def _function_of_packed(node: GraphNode) -> str:
    """The same function, given the values packed."""
    op, count = node.name, len(node.inputs)
    types = [(type.removesuffix("&"), name) for type, name in node.parameters]
    unpacked = _block([f"auto {name} = packed_args.unpack<{type}>();" for type, name in types], "  ")
    return f"""\
inline variable_list {op}_apply_functional_ivalue(const variable_list& grads, const ivalue_list& args)
{{
#ifdef C10_MOBILE
  TORCH_INTERNAL_ASSERT(false, "compiled autograd doesn't work on mobile");
#else
  auto packed_args = PackedArgs(args);
  auto needs_input_grad = packed_args.unpack<std::array<bool, {count}>>();
{unpacked}
  return {op}_apply_functional(variable_list(grads), needs_input_grad{_call_arguments(node)});
#endif
}}
"""


def _call_arguments(node: GraphNode) -> str:
    """What the backward function is called with after the gradients and the mask."""
    return "".join([f", {name}" for _, name in node.parameters])


def _unpack_statements(node: GraphNode) -> str:
    """The statements that unpack the saved values, and find out which gradients are needed."""
    checks = _block([field.checked for field in node.saved if field.checked], "  ")
    values = _block([field.unpacked for field in node.saved if field.unpacked], "  ")
    masks = "".join([f"    task_should_compute_output({{ {argument.name}_ix }}),\n" for argument in node.inputs])
    return f"""\
{checks}
{values}
  IndexRangeGenerator gen;
{_block(_ranges(node), "  ")}
  auto needs_input_grad = std::array<bool, {len(node.inputs)}>{{
{masks}  }};"""


def _collect_statements(node: GraphNode) -> str:
    """The statements that pass the saved values to compiled autograd."""
    return _block(
        [
            f"args.collect({field.visited});"
            if field.is_output is None
            else f"args.collect({field.visited}, {'true' if field.is_output else 'false'});"
            for field in node.saved
        ],
        "    ",
    )


def definition(node: GraphNode, *, compiled: bool = True) -> str:
    """The functions of a node's class. Without `compiled`, compiled autograd refuses it."""
    unpacked = _unpack_statements(node)
    op = node.name
    return f"""\
{_pure_function(node)}{_function_of_packed(node) if compiled else ""}
variable_list {op}::apply(variable_list&& grads) {{
{"  " + _LOCK if node.locks else ""}
{unpacked}
  return {op}_apply_functional(std::move(grads), needs_input_grad{_call_arguments(node)});
}}
{_compiled_methods(node, unpacked) if compiled else ""}
"""


def _compiled_methods(node: GraphNode, unpacked: str) -> str:
    """The methods by which compiled autograd takes a node apart."""
    op = node.name
    return f"""
void {op}::compiled_args(CompiledNodeArgs& args) const {{
{_collect_statements(node)}
}}
variable_list {op}::apply_with_saved(const variable_list& grads, SwapSavedVariables& saved) {{
#ifdef C10_MOBILE
  TORCH_INTERNAL_ASSERT(false, "compiled autograd doesn't work on mobile");
#else
{_block([f"saved.before({field.visited});" for field in node.saved], "  ")}

  static bool called = false;
  if (!called) {{
    called = true;
{_schema(node)}
    const auto& pyinterface = torch::dynamo::autograd::getPyCompilerInterface();
    pyinterface->bind_function(saved.get_py_compiler(), {node.bound_name}, {op}_apply_functional_ivalue, schema);
  }}

  variable_list output_result;

  PackedArgs packed_args;
{unpacked}
  packed_args.pack(needs_input_grad);
{_block([f"packed_args.pack({name});" for _, name in node.parameters], "  ")}

  output_result = compiled_autograd_apply_functional(packed_args, next_edges(), saved, grads, {node.bound_name});

{_block([f"saved.after({field.visited});" for field in node.saved], "  ")}
  return output_result;
#endif
}}
"""


#: The slots of the two templates.
DECLARATIONS: Final = "autograd_function_declarations"
DEFINITIONS: Final = "autograd_function_definitions"


def _declaration_slots(unit: NodeUnit, context: FragmentContext) -> Slots:
    return {DECLARATIONS: (declaration(unit.node),)}


def _definition_slots(unit: NodeUnit, context: FragmentContext) -> Slots:
    return {DEFINITIONS: (with_blanks(definition(unit.node), context.rules, ("]) {\n", "  ")),)}


def _emitter(name: str, file: str, slot: str, fragment: Callable[[NodeUnit, FragmentContext], Slots]) -> AnyEmitter:
    return Emitter(
        name=name,
        family="autograd",
        template=f"autograd/{file}",
        folder="autograd",
        units=all_nodes,
        fragment=fragment,
        layout=OneFile(file),
        file_slots=lambda job: {"generated_comment": generated_comment(file, job), slot: ()},
    )


def emitters(job: Job) -> list[AnyEmitter]:
    """The emitters of the two files."""
    return [
        _emitter("autograd_functions_header", "Functions.h", DECLARATIONS, _declaration_slots),
        _emitter("autograd_functions_source", "Functions.cpp", DEFINITIONS, _definition_slots),
    ]
