"""`VariableType.h` and its shards: the kernels that record gradients.

The shards have a template of their own, which is generated too: PyTorch's, with slots for each dispatch key that has
derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opwright.convention import cpp as public
from opwright.convention import dispatcher, types
from opwright.cpp import types as cpp
from opwright.emit.aten.units import whole_file
from opwright.emit.autograd.codes import NEEDS_DISPATCH
from opwright.emit.autograd.kernels import generated_comment, kernel_head, kernel_name, returned_value
from opwright.emit.autograd.units import differentiable_functions
from opwright.emit.autograd.views import has_kernel
from opwright.emit.autograd.wrapper_call import (
    SHARED_RESULTS,
    SHARED_STORAGES,
    UNCHECKED,
    call_text,
    indented,
    unpacked,
)
from opwright.emit.autograd.wrapper_forward import (
    flag_statements,
    original_statements,
    refusal,
    tangent_statements,
)
from opwright.emit.autograd.wrapper_saving import input_statements, output_statements
from opwright.emit.autograd.wrappers import (
    NEVER_DIFFERENTIATED,
    Forward,
    Wrapper,
    differentiable_outputs,
    wrapper,
)
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, Sharded, Slots
from opwright.model.derivatives import DEFAULT_KEY, DifferentiableFunction
from opwright.schema.function import SchemaKind
from opwright.schema.types import ListType
from opwright.source.diagnostic import Fault

_TEMPLATE: Final = "autograd/VariableType.cpp"

#: The template of the shards, which is made (see `template_slots`).
SHARD_TEMPLATE: Final = "autograd/shards/VariableType.cpp"

#: In-place functions after which a gradient is accumulated in a tensor of another shape.
_RESET: Final = frozenset(("set_", "resize_"))


def _names(values: Sequence[str]) -> str:
    return ", ".join(values)


def _for_each_node(lines: Sequence[str], context: FragmentContext, before: str = "") -> str:
    """A loop over the nodes of the items of a list."""
    statements = "\n".join(lines)
    bound = "const auto&" if context.rules.foreach_nodes_looped_by_reference else "auto"
    return (
        f"if (!grad_fns.empty()) {{\n{before}\n"
        "    for (const auto& i : c10::irange(grad_fns.size())) {\n"
        f"        {bound} grad_fn = grad_fns[i];\n"
        "        if (grad_fn != nullptr) {\n"
        f"{indented(statements, '            ')}\n        }}\n    }}\n}}"
    )


def _pointer(node: str, context: FragmentContext) -> str:
    return f"c10::intrusive_ptr<{node}>" if context.rules.nodes_are_intrusive else f"std::shared_ptr<{node}>"


def _made_node(one: Wrapper, context: FragmentContext) -> str:
    """The expression that makes a node."""
    parameters = "" if one.has_formulas else f'"{public.name(one.function.schema)}"'
    if context.rules.nodes_are_intrusive:
        return f"c10::make_intrusive<{one.node}>({parameters})"
    return f"std::shared_ptr<{one.node}>(new {one.node}({parameters}), deleteNode)"


def _refused_outs(one: Wrapper, context: FragmentContext) -> list[str]:
    """The statements of an out function, which is never differentiated."""
    name = one.function.root_name
    refused = [
        f'if (compute_requires_grad( {_names(names)} )) {{\n  throw_error_out_requires_grad("{name}");\n}}'
        for names in ([inp.variable for inp in one.inputs], [output.name for output in one.outputs])
    ]
    return [f"{_pointer(one.node, context)} grad_fn;", *refused]


def _node_statements(one: Wrapper, context: FragmentContext) -> list[str]:
    """The statements that make the node, tie it to the inputs, and save inputs in it."""
    if one.function.kind is SchemaKind.out:
        return _refused_outs(one, context)
    name = public.name(one.function.schema)
    not_differentiated = one.info.non_differentiable if one.info is not None else ()
    refused = [
        f'check_no_requires_grad({inp.name}, "{inp.name}", "{name}");'
        for inp in one.inputs
        if inp not in one.differentiated and inp.name not in not_differentiated and inp.name != "output"
    ]
    saved = input_statements(one)
    if one.loops:
        declared = f"std::vector<{_pointer(one.node, context)}> grad_fns;"
        setup = [_nodes_of_items(one, context)]
        setup += [_for_each_node(saved, context)] if saved else []
    else:
        declared = f"{_pointer(one.node, context)} grad_fn;"
        edges = _names([inp.name for inp in one.differentiated])
        setup = [
            f"grad_fn = {_made_node(one, context)};",
            f"grad_fn->set_next_edges(collect_next_edges( {edges} ));",
            *saved,
        ]
        if one.has_formulas:
            setup += [f"grad_fn->{inp.name}_size_ = {inp.name}.size();" for inp in one.differentiated if inp.is_list]
    statements = "\n".join(setup)
    return [*refused, declared, f"if (_any_requires_grad) {{\n{indented(statements)}\n}}"]


def _nodes_of_items(one: Wrapper, context: FragmentContext) -> str:
    """The loop that makes a node for each item of a list."""
    items = _names([_looped(inp.name, one) for inp in one.differentiated])
    return f"""\
for (const auto& i : c10::irange( self.size() )) {{
  const auto ith_requires_grad = compute_requires_grad({items});
  check_inplace(self[i], ith_requires_grad);
  grad_fns.push_back([&]() -> {_pointer(one.node, context)} {{
      if (!ith_requires_grad) {{
          return nullptr;
      }} else {{
          auto grad_fn = {_made_node(one, context)};
          grad_fn->set_next_edges(collect_next_edges( {items} ));
          return grad_fn;
      }}
  }}());
}}"""


def _looped(name: str, one: Wrapper) -> str:
    """The item that stands for a formula's argument in a loop over lists."""
    argument = one.repeated.get(name)
    if argument is not None:
        return f"{argument.name}[i]" if isinstance(argument.type, ListType) else argument.name
    return f"{name}[i]" if one.info is None and name == "self" else name


def _history_statements(one: Wrapper, context: FragmentContext) -> list[str]:
    """The statements that give the outputs their history."""
    function = "rebase_history" if one.rebases else "set_history"
    captures = one.rebases and context.rules.node_creation_hooks
    if one.loops:
        before = (
            "    auto differentiable_outputs = flatten_tensor_args( self );\n"
            "    TORCH_INTERNAL_ASSERT(differentiable_outputs.size() == grad_fns.size());"
        )
        statement = f"{function}(differentiable_outputs[i], grad_fns[i]);"
        if not captures:
            return [_for_each_node([statement], context, before)]
        declared = "c10::SmallVector<c10::intrusive_ptr<Node>, 8> _rebased_fns(grad_fns.size());"
        return [declared, _for_each_node([f"_rebased_fns[i] = {statement}"], context, before)]
    outputs = _names([output.name for output in one.outputs])
    statement = f"{function}(flatten_tensor_args( {outputs} ), grad_fn);"
    if not captures:
        return [f"if (grad_fn) {{\n    {statement}\n}}"]
    return ["c10::intrusive_ptr<Node> _rebased_fn;", f"if (grad_fn) {{\n    _rebased_fn = {statement}\n}}"]


def _hook_statements(one: Wrapper, context: FragmentContext) -> list[str]:
    """The statements that tell of the node once it is whole."""
    if not context.rules.node_creation_hooks:
        return []
    if not one.loops:
        node = "_rebased_fn" if one.rebases else "grad_fn"
        return [f"if ({node}) {{\n    fire_node_creation_hooks({node});\n}}"]
    node = "_rebased_fns[i]" if one.rebases else "grad_fns[i]"
    return [
        "for (const auto& i : c10::irange(grad_fns.size())) {\n"
        f"    if ({node}) {{\n        fire_node_creation_hooks({node});\n    }}\n}}"
    ]


def _complex_statements(one: Wrapper, context: FragmentContext) -> list[str]:
    """The statements that refuse complex outputs, where the formulas do not hold for them."""
    name = one.function.root_name
    if name in context.rules.complex_gradients:
        return []
    style = one.function.style
    return [
        f'throw_error_for_complex_autograd({output.name}, "{name}");'
        for output in one.outputs
        if types.return_type(output.result, style) is cpp.TENSOR
    ]


def _before_statements(one: Wrapper, context: FragmentContext) -> list[str]:
    """The statements before the call that have to do with gradients."""
    needed = _names([inp.variable for inp in one.differentiated])
    condition = f"_any_requires_grad &= ({one.condition});" if one.condition else ""
    lines = [f"[[maybe_unused]] auto _any_requires_grad = compute_requires_grad( {needed} );\n{condition}"]
    lines += flag_statements(one)
    if one.inplace:
        lines += [f"check_inplace({output.name}, _any_requires_grad);" for output in one.outputs]
    lines += original_statements(one)
    return lines + _node_statements(one, context)


def _saved_outputs(one: Wrapper, context: FragmentContext) -> list[str]:
    """The statements that save outputs."""
    if one.function.kind is SchemaKind.out:
        return []
    saved = output_statements(one)
    if not saved:
        return []
    if one.loops:
        return [_for_each_node(saved, context)]
    statements = "\n".join(saved)
    return [f"if (grad_fn) {{\n{indented(statements)}\n}}"]


def _after_statements(one: Wrapper, context: FragmentContext) -> list[str]:
    """The statements after the call."""
    function = one.function
    lines: list[str] = []
    if one.records:
        lines += _history_statements(one, context)
        lines += _complex_statements(one, context)
    if one.forward is Forward.FORMULAS:
        lines += tangent_statements(one, context)
    elif one.forward is Forward.REFUSED:
        lines.append(refusal(one))
    if one.records:
        lines += _saved_outputs(one, context)
        lines += _hook_statements(one, context)
    if function.name.name in _RESET:
        lines.append("reset_grad_accumulator(self);")
    if function.schema.returns:
        lines.append(f"return {returned_value(function)};")
    return lines


def definition(one: Wrapper, context: FragmentContext) -> str:
    """The wrapper of one function under one dispatch key."""
    if one.key == DEFAULT_KEY:
        head = kernel_head(one.function)
    else:
        head = dispatcher.signature(one.function).definition(one.name, first="c10::DispatchKeySet ks")
    passed = [unpacked(argument, position) for position, argument in enumerate(one.function.arguments.all)]
    before = [statement for _, statement in passed if statement]
    if one.records:
        before += _before_statements(one, context)
    after = _after_statements(one, context)
    parts = [indented("\n".join(before))] if before else []
    parts.append(call_text(one, tuple([parameter for parameter, _ in passed]), context))
    if after:
        parts.append(indented("\n".join(after)))
    body = "\n".join(parts)
    return f"{head} {{\n{body}\n}}\n"


def _falls_back(one: DifferentiableFunction) -> bool:
    """Whether the function is served by the boxed kernel for all functions whose derivative is not implemented."""
    function = one.function
    if one.infos or function.name.name in _RESET or function.root_name in NEVER_DIFFERENTIATED:
        return False
    name = kernel_name(function)
    if name in SHARED_STORAGES or name in SHARED_RESULTS or public.name(function.schema) in UNCHECKED:
        return False
    return bool(differentiable_outputs(function, None))


def _definitions(key: str) -> str:
    return f"type_derived_method_definitions_{key}"


def _registrations(key: str) -> str:
    return f"wrapper_registrations_{key}"


def _fragment(one: DifferentiableFunction, context: FragmentContext) -> Slots:
    function = one.function
    operator = function.name.text
    if _falls_back(one):
        fallback = f'm.impl("{operator}", torch::autograd::autogradNotImplementedFallback());\n'
        return {_registrations(DEFAULT_KEY): (fallback,)}
    if not function.needs_derivative:
        message = f"`{function.name}` has derivatives, but is made of differentiable functions"
        raise Fault.at(NEEDS_DISPATCH, message, function.entry, help="give it a `dispatch` section")
    slots: dict[str, tuple[str, ...]] = {}
    for key in one.infos or (DEFAULT_KEY,):
        made = wrapper(one, key)
        slots[_definitions(key)] = (definition(made, context),)
        registered = f'm.impl("{operator}",\n       TORCH_FN(VariableType::{made.name})\n);\n'
        slots[_registrations(key)] = (registered,)
    return slots


def _keys(job: Job) -> list[str]:
    """The dispatch keys that have derivatives, sorted."""
    return sorted(job.derivatives.keys)


def _key_slots(job: Job) -> dict[str, str]:
    """The slots of PyTorch's template, filled with slots for each dispatch key."""
    keys = _keys(job)
    return {
        "type_derived_method_definitions": "\n\n".join([f"${{{_definitions(key)}}}" for key in keys]),
        "wrapper_registrations": "\n\n".join(
            [
                f"TORCH_LIBRARY_IMPL(aten, {'Autograd' if key == DEFAULT_KEY else key}, m) {{\n"
                f"${{{_registrations(key)}}}\n}}"
                for key in keys
            ]
        ),
    }


def _comment(context: FragmentContext) -> str:
    """What the generated template and every file made with it say of the program that made the template."""
    # In two pieces, so that no tool takes this file for a generated one.
    return "@" + f"generated by {context.options.autograd_program} from VariableType.cpp"


def template_slots(job: Job) -> Slots:
    """What PyTorch's template is filled with to make the template of the shards."""
    return {"generated_comment": _comment(job), **_key_slots(job)}


def _frame(job: Job) -> Slots:
    return {slot: () for key in _keys(job) for slot in (_definitions(key), _registrations(key))}


def _units(job: Job) -> Sequence[DifferentiableFunction]:
    return [one for one in differentiable_functions(job) if has_kernel(one)]


def emitters(job: Job) -> list[AnyEmitter]:
    """The emitters of the header, of the template, and of the kernels; a run without autograd has none."""
    if job.options.disable_autograd:
        return []
    return [
        whole_file(
            "VariableType.h",
            name="variable_type_header",
            family="autograd",
            template="autograd/VariableType.h",
            folder="autograd",
            frame=lambda job: {"generated_comment": generated_comment("VariableType.h", job)},
        ),
        whole_file(
            "templates/VariableType.cpp",
            name="variable_type_template",
            family="autograd",
            template=_TEMPLATE,
            folder="autograd",
            frame=template_slots,
        ),
        Emitter(
            name="variable_type_source",
            family="autograd",
            template=SHARD_TEMPLATE,
            folder="autograd",
            units=_units,
            fragment=_fragment,
            layout=Sharded(
                "VariableType.cpp", job.rules.variable_type_shards, lambda one: public.name(one.function.schema)
            ),
            frame=_frame,
        ),
    ]
