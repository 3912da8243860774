"""`Functions.h` and `Functions.cpp`: the nodes of the backward graph as C++ classes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from opwright.emit.autograd.kernels import autograd_emitter
from opwright.emit.autograd.nodes import GraphNode, Step, all_nodes
from opwright.emit.emitter import AnyEmitter, FragmentContext, Job, Slots
from opwright.release.rules import Rules

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


def declaration(node: GraphNode, rules: Rules) -> str:
    """Class of a node."""
    export = node.info.function.library.export
    const = " const" if rules.compiled_nodes_pack_values else ""
    released = [statement for field in node.saved for statement in field.released]
    fields = [declared for field in node.saved for declared in field.fields]
    sizes = [f"size_t {name}_size_;" for name in node.lists]
    if node.info.constant_results:
        sizes.append("bool is_differentiated_again_ = false;")
    return f"""\
#ifdef _WIN32
struct {node.name} : public {node.superclass} {{
  {export} {node.name}() = default;
#else
struct {export} {node.name} : public {node.superclass} {{
#endif
  using {node.superclass}::{node.superclass};
  variable_list apply(variable_list&& grads) override;
  std::string name() const override {{ return "{node.name}"; }}
  void release_variables() override {{
{"    " + _LOCK if node.locks else ""}
{_block(released, "    ")}
  }}
{_WILL_RELEASE if node.info.uses_retain_variables else ""}
  void compiled_args(CompiledNodeArgs& args){const} override;
  variable_list apply_with_saved(const variable_list& inputs, SwapSavedVariables& saved) override;
{_block(fields, "  ")}
{_block(sizes, "  ")}
}};
"""


def _ranges(node: GraphNode) -> list[str]:
    return [
        f"auto {argument.name}_ix = gen.range({f'{argument.name}_size_' if argument.name in node.lists else 1});"
        for argument in node.inputs
    ]


def _indent(formula: str) -> str:
    """A formula whose further lines, if there are any, are indented as the statements of a function are."""
    return re.sub(r"\n(?!\n)", "\n  ", formula) if "\n" in formula else formula


def _are_needed(arguments: Sequence[tuple[str, int]]) -> str:
    return " || ".join([f"needs_input_grad[{number}]" for _, number in arguments])


def _is_needed(name: str, number: int) -> str:
    return f"needs_input_grad[/*{name}*/{number}]"


def _is_computed(step: Step, needed: str) -> str:
    """Expression that tells whether a formula is computed, from the one that tells whether its result is needed."""
    if step.awaited is None:
        return needed
    defined = " || ".join([f"grads[{number}].defined()" for number in dict.fromkeys(step.awaited)])
    return f"({defined or 'any_variable_defined(grads)'}) && ({needed})"


def _single(step: Step, over_lists: bool) -> str:
    ((name, number),) = step.arguments
    needed = _is_computed(step, _is_needed(name, number))
    formula = _indent(f"any_grad_defined ? ({step.formula}) : Tensor()" if step.needs_defined else step.formula)
    if not over_lists:
        return f"""\
  if ({needed}) {{
    auto grad_result = {formula};
    copy_range(grad_inputs, {name}_ix, grad_result);
  }}"""
    return f"""\
  if ({needed}) {{  // {name}
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
    needed = [_are_needed((argument,)) for argument in step.arguments]
    mask = ""
    if step.takes_mask:
        flags = "".join([f"        {flag},\n" for flag in needed])
        mask = f"      auto grad_input_mask = std::array<bool, {len(needed)}>{{\n{flags}      }};"
    copies = "\n".join(
        [
            f"      if ({_is_needed(name, number)}) {{\n"
            f"        copy_range(grad_inputs, {name}_ix, std::get<{index}>(grad_result));\n"
            "      }"
            for index, (name, number) in enumerate(step.arguments)
        ]
    )
    return f"""\
  if ({_is_computed(step, _are_needed(step.arguments))}) {{
{mask}
    auto grad_result = {_indent(step.formula)};
{copies}
  }}"""


def _body(node: GraphNode) -> str:
    lines = [f"  const auto& {name} = grads[{number}];" for name, number in node.gradients]
    if node.info.constant_results:
        messages = ", ".join([f'"{result.message}"' for result in node.info.constant_results])
        before = sum(node.info.differentiable_results)
        lines.insert(0, f"  check_kept(grads, {before}, {{{messages}}});")
    if any(step.needs_defined for step in node.steps):
        lines.append("  bool any_grad_defined = any_variable_defined(grads);")
    lines += [_single(step, node.over_lists) if len(step.arguments) == 1 else _several(step) for step in node.steps]
    statements = "\n".join(lines)
    return f"""\
  IndexRangeGenerator gen;
{_block(_ranges(node), "  ")}
  variable_list grad_inputs(gen.size());
{statements}
  return grad_inputs;"""


def _function_of_packed(node: GraphNode) -> str:
    """The function of a node that is given its saved values packed."""
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
    return "".join([f", {name}" for _, name in node.parameters])


def _unpack_statements(node: GraphNode) -> str:
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


def _collect_statements(node: GraphNode, rules: Rules) -> str:
    return _block(
        [
            f"args.collect({field.visited});"
            if field.is_output is None or not rules.compiled_nodes_know_outputs
            else f"args.collect({field.visited}, {'true' if field.is_output else 'false'});"
            for field in node.saved
        ],
        "    ",
    )


def definition(node: GraphNode, rules: Rules) -> str:
    """Functions of a node's class."""
    op, packs = node.name, rules.compiled_nodes_pack_values
    signature = "".join([f", {type} {name}" for type, name in node.parameters])
    unpacked = _unpack_statements(node)
    called = f"  return {op}_apply_functional(std::move(grads), needs_input_grad{_call_arguments(node)});"
    return f"""\
static variable_list {op}_apply_functional(
  variable_list&& grads,
  std::array<bool,{len(node.inputs)}> needs_input_grad{signature})
{{
{_body(node)}
}}
{_function_of_packed(node) if packs else ""}
{_apply(node, unpacked, called)}
{_packing_methods(node, unpacked, rules) if packs else _swapping_methods(node, rules)}
"""


def _apply(node: GraphNode, unpacked: str, called: str) -> str:
    body = f"{unpacked}\n{called}"
    if node.info.constant_results:
        message = node.info.constant_results[0].message
        body = f'  TORCH_CHECK_NOT_IMPLEMENTED(!is_differentiated_again_, "{message}");\n{body}'
    return f"""\
variable_list {node.name}::apply(variable_list&& grads) {{
{"  " + _LOCK if node.locks else ""}
{body}
}}
"""


def _swapping_methods(node: GraphNode, rules: Rules) -> str:
    """Methods by which compiled autograd runs a node on its own values in place of the saved ones."""
    op = node.name
    return f"""\
void {op}::compiled_args(CompiledNodeArgs& args) {{
{_collect_statements(node, rules)}
}}
variable_list {op}::apply_with_saved(const variable_list& grads, SwapSavedVariables& saved) {{
{_block([f"saved.before({field.visited});" for field in node.saved], "    ")}
    variable_list result = apply(variable_list(grads));
{_block([f"saved.after({field.visited});" for field in node.saved], "    ")}
    return result;
}}"""


def _packing_methods(node: GraphNode, unpacked: str, rules: Rules) -> str:
    """Methods by which compiled autograd takes a node apart."""
    op = node.name
    types = [f"std::array<bool, {len(node.inputs)}>", *[type.removesuffix("&") for type, _ in node.parameters]]
    packers = "".join([f"      torch::dynamo::autograd::IValuePacker<{type}>::packed_type(),\n" for type in types])
    return f"""\
void {op}::compiled_args(CompiledNodeArgs& args) const {{
{_collect_statements(node, rules)}
}}
variable_list {op}::apply_with_saved(const variable_list& grads, SwapSavedVariables& saved) {{
#ifdef C10_MOBILE
  TORCH_INTERNAL_ASSERT(false, "compiled autograd doesn't work on mobile");
#else
{_block([f"saved.before({field.visited});" for field in node.saved], "  ")}

  static bool called = false;
  if (!called) {{
    called = true;
    std::vector<at::TypePtr> schema = {{
{packers}    }};
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


def _declaration_slots(node: GraphNode, context: FragmentContext) -> Slots:
    return {DECLARATIONS: (declaration(node, context.rules),)}


def _definition_slots(node: GraphNode, context: FragmentContext) -> Slots:
    return {DEFINITIONS: (definition(node, context.rules),)}


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the two files."""
    return [
        autograd_emitter("autograd_functions_header", "Functions.h", all_nodes, _declaration_slots, (DECLARATIONS,)),
        autograd_emitter("autograd_functions_source", "Functions.cpp", all_nodes, _definition_slots, (DEFINITIONS,)),
    ]
