"""`VariableType.h` and its shards: the kernels that record gradients.

The shards have a template of their own, which is generated too: PyTorch's, with slots for each dispatch key that has
derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opwright.convention import public_api, shared_types
from opwright.cpp import c_types
from opwright.emit.autograd.kernels import (
    kernel_head,
    kernel_name,
    kernel_text,
    name_in_messages,
    named_head,
    registration,
    returned_value,
)
from opwright.emit.autograd.nodes import functions_with_kernels
from opwright.emit.autograd.wrapper_call import UnpackedArguments, call_text, indent, unpack_all
from opwright.emit.autograd.wrapper_forward import (
    any_tangent,
    flag_statements,
    original_statements,
    refusal,
    tangent_statements,
)
from opwright.emit.autograd.wrapper_saving import saving_statements
from opwright.emit.autograd.wrappers import Forward, Wrapper, differentiable_outputs, wrapper, written_arguments
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Sharded, Slots
from opwright.model.derivatives import DEFAULT_KEY, DifferentiableFunction
from opwright.model.library import PYTORCH
from opwright.model.native_function import NativeFunction
from opwright.release.operator_names.autograd import (
    NEVER_DIFFERENTIATED,
    REPLACES_TENSORS,
    RESHAPED_IN_PLACE,
    SHARED_RESULTS,
    SHARED_STORAGES,
)
from opwright.release.rules import Rules
from opwright.schema.function import SchemaKind
from opwright.schema.types import ListType, Type, holds_tensors
from opwright.source.codes import NEEDS_DISPATCH
from opwright.source.diagnostic import Fault

#: The C++ namespace of the kernels.
NAMESPACE: Final = "VariableType"


def _if_recorded(lines: Sequence[str]) -> str:
    statements = "\n".join(lines)
    return f"if (grad_fn) {{\n{indent(statements)}\n}}"


def _for_each_node(lines: Sequence[str], context: FragmentContext, before: str = "") -> str:
    statements = "\n".join(lines)
    bound = "const auto&" if context.rules.foreach_nodes_looped_by_reference else "auto"
    return (
        f"if (!grad_fns.empty()) {{\n{before}\n"
        "    for (const auto& i : c10::irange(grad_fns.size())) {\n"
        f"        {bound} grad_fn = grad_fns[i];\n"
        "        if (grad_fn != nullptr) {\n"
        f"{indent(statements, '            ')}\n        }}\n    }}\n}}"
    )


def _pointer(node: str, context: FragmentContext) -> str:
    return f"c10::intrusive_ptr<{node}>" if context.rules.nodes_are_intrusive else f"std::shared_ptr<{node}>"


def _made_node(wrapper: Wrapper, context: FragmentContext) -> str:
    parameters = "" if wrapper.has_formulas else f'"{name_in_messages(wrapper.function)}"'
    if context.rules.nodes_are_intrusive:
        return f"c10::make_intrusive<{wrapper.node}>({parameters})"
    deleter = "deleteNode" if wrapper.function.library.in_libtorch else "torch::autograd::deleteNode"
    return f"std::shared_ptr<{wrapper.node}>(new {wrapper.node}({parameters}), {deleter})"


def _refused_outs(wrapper: Wrapper, context: FragmentContext) -> list[str]:
    name = wrapper.function.root_name
    refused = [
        f'if (compute_requires_grad( {", ".join(names)} )) {{\n  throw_error_out_requires_grad("{name}");\n}}'
        for names in ([inp.variable for inp in wrapper.inputs], [output.name for output in wrapper.outputs])
    ]
    return [f"{_pointer(wrapper.node, context)} grad_fn;", *refused]


def _node_statements(wrapper: Wrapper, context: FragmentContext) -> list[str]:
    if wrapper.function.kind is SchemaKind.out:
        return _refused_outs(wrapper, context)
    name = public_api.name(wrapper.function.schema)
    refused = [f'check_no_requires_grad({refused}, "{refused}", "{name}");' for refused in _refused_inputs(wrapper)]
    saved = saving_statements(wrapper, is_output=False)
    if wrapper.loops:
        declared = f"std::vector<{_pointer(wrapper.node, context)}> grad_fns;"
        setup = [_nodes_of_items(wrapper, context)]
        setup += [_for_each_node(saved, context)] if saved else []
    else:
        declared = f"{_pointer(wrapper.node, context)} grad_fn;"
        edges = ", ".join([inp.name for inp in wrapper.differentiated])
        setup = [
            f"grad_fn = {_made_node(wrapper, context)};",
            f"grad_fn->set_next_edges(collect_next_edges( {edges} ));",
            *saved,
        ]
        if wrapper.has_formulas:
            setup += [
                f"grad_fn->{inp.name}_size_ = {inp.name}.size();" for inp in wrapper.differentiated if inp.is_list
            ]
    statements = "\n".join(setup)
    return [*refused, declared, f"if (_any_requires_grad) {{\n{indent(statements)}\n}}"]


def _refused_inputs(wrapper: Wrapper) -> list[str]:
    """Inputs that formulas leave out, which must not require gradients; PyTorch takes its own named `output`."""
    taken = ("output",) if wrapper.function.library.known_by_name else ()
    return [inp.name for inp in wrapper.inputs if inp not in wrapper.differentiated and inp.name not in taken]


def _nodes_of_items(wrapper: Wrapper, context: FragmentContext) -> str:
    # The reference passes whole lists where there are no formulas to repeat.
    items = ", ".join(
        [inp.item if wrapper.repeated or inp.name == "self" else inp.name for inp in wrapper.differentiated]
    )
    return f"""\
for (const auto& i : c10::irange( self.size() )) {{
  const auto ith_requires_grad = compute_requires_grad({items});
  check_inplace(self[i], ith_requires_grad);
  grad_fns.push_back([&]() -> {_pointer(wrapper.node, context)} {{
      if (!ith_requires_grad) {{
          return nullptr;
      }} else {{
          auto grad_fn = {_made_node(wrapper, context)};
          grad_fn->set_next_edges(collect_next_edges( {items} ));
          return grad_fn;
      }}
  }}());
}}"""


def _history_statements(wrapper: Wrapper, context: FragmentContext) -> list[str]:
    function = "rebase_history" if wrapper.rebases(context.rules) else "set_history"
    captures = wrapper.rebases(context.rules) and context.rules.node_creation_hooks
    if wrapper.loops:
        before = (
            "    auto differentiable_outputs = flatten_tensor_args( self );\n"
            "    TORCH_INTERNAL_ASSERT(differentiable_outputs.size() == grad_fns.size());"
        )
        statement = f"{function}(differentiable_outputs[i], grad_fns[i]);"
        if not captures:
            return [_for_each_node([statement], context, before)]
        declared = "c10::SmallVector<c10::intrusive_ptr<Node>, 8> _rebased_fns(grad_fns.size());"
        return [declared, _for_each_node([f"_rebased_fns[i] = {statement}"], context, before)]
    if accumulated := wrapper.accumulated:
        # The node counts its outputs in the order in which they get their history; what was written to goes on with its
        # own.
        statements = [
            f"rebase_history(flatten_tensor_args( {accumulated[output.name]} ), grad_fn);"
            if output.name in accumulated
            else f"set_history(flatten_tensor_args( {output.name} ), grad_fn);"
            for output in wrapper.outputs
        ]
        return [_if_recorded(statements)]
    outputs = ", ".join([output.name for output in wrapper.outputs])
    if wrapper.written:
        results, arguments = f"flatten_tensor_args( {outputs} )", f"written_tensors({', '.join(wrapper.written)})"
        return [f"if (grad_fn) {{\n    record_writes({results}, {arguments}, grad_fn);\n}}"]
    statement = f"{function}(flatten_tensor_args( {outputs} ), grad_fn);"
    if not captures:
        return [f"if (grad_fn) {{\n    {statement}\n}}"]
    return ["c10::intrusive_ptr<Node> _rebased_fn;", f"if (grad_fn) {{\n    _rebased_fn = {statement}\n}}"]


def _kept_statements(wrapper: Wrapper) -> list[str]:
    """Statements that make the node the history of results without a gradient that it saves."""
    lines = []
    for result in wrapper.kept:
        flag = "true" if result.is_returned else "false"
        lines.append(
            f"auto {result.name}_kept = grad_fn ? keep_history({result.name}, grad_fn, {flag}) : {result.name};"
        )
    if wrapper.kept:
        returned = [result for result in wrapper.kept if result.is_returned]
        parts = [[inp.variable for inp in wrapper.inputs]]
        parts += [[f"{result.name}_kept" for result in results] for results in (wrapper.kept, returned)]
        lists = ", ".join([f"written_tensors({', '.join(part)})" for part in parts])
        lines.append(f"const bool is_again = outer_calls.found({lists});")
        lines.append("if (grad_fn) {\n    grad_fn->is_differentiated_again_ = is_again;\n}")
    return lines


def _hook_statements(wrapper: Wrapper, context: FragmentContext) -> list[str]:
    if not context.rules.node_creation_hooks:
        return []
    if not wrapper.loops:
        node = "_rebased_fn" if wrapper.rebases(context.rules) else "grad_fn"
        return [f"if ({node}) {{\n    fire_node_creation_hooks({node});\n}}"]
    node = "_rebased_fns[i]" if wrapper.rebases(context.rules) else "grad_fns[i]"
    return [
        "for (const auto& i : c10::irange(grad_fns.size())) {\n"
        f"    if ({node}) {{\n        fire_node_creation_hooks({node});\n    }}\n}}"
    ]


def _complex_statements(wrapper: Wrapper, context: FragmentContext) -> list[str]:
    """Statements that refuse complex outputs, where the formulas do not hold for them."""
    name = wrapper.function.root_name
    # PyTorch lists its formulas that hold for complex values. Authors of other libraries answer for theirs.
    if not wrapper.function.library.known_by_name or name in context.rules.complex_gradients:
        return []
    style = wrapper.function.style
    return [
        f'throw_error_for_complex_autograd({output.name}, "{name}");'
        for output in wrapper.outputs
        if shared_types.return_type(output.result, style) is c_types.TENSOR
    ]


def _before_statements(wrapper: Wrapper, context: FragmentContext) -> list[str]:
    needed = ", ".join([inp.variable for inp in wrapper.differentiated])
    condition = f"_any_requires_grad &= ({wrapper.condition});" if wrapper.condition else ""
    lines = [f"[[maybe_unused]] auto _any_requires_grad = compute_requires_grad( {needed} );\n{condition}"]
    lines += flag_statements(wrapper)
    if wrapper.inplace:
        lines += [f"check_inplace({output.name}, _any_requires_grad);" for output in wrapper.outputs]
    accumulated = tuple(wrapper.accumulated.values())
    lines += [f"check_inplace({name}, _any_requires_grad);" for name in (*wrapper.written, *accumulated)]
    if accumulated and (len(wrapper.outputs) > 1 or wrapper.inputs[0].variable not in accumulated):
        name = f"{wrapper.function.namespace}::{wrapper.function.name}"
        lines += [f'check_no_views({argument}, _any_requires_grad, "{name}");' for argument in accumulated]
    lines += original_statements(wrapper)
    return lines + _node_statements(wrapper, context)


def _saved_outputs(wrapper: Wrapper, context: FragmentContext) -> list[str]:
    saved = saving_statements(wrapper, is_output=True)
    if wrapper.function.kind is SchemaKind.out or not saved:
        return []
    return [_for_each_node(saved, context) if wrapper.loops else _if_recorded(saved)]


def _after_statements(wrapper: Wrapper, context: FragmentContext) -> list[str]:
    function = wrapper.function
    lines: list[str] = []
    if wrapper.records:
        lines += _history_statements(wrapper, context)
        lines += _kept_statements(wrapper)
        lines += _complex_statements(wrapper, context)
    if wrapper.forward is Forward.FORMULAS:
        lines += tangent_statements(wrapper, context)
    elif wrapper.forward is Forward.REFUSED and not wrapper.recorder:
        lines.append(refusal(wrapper))
    if wrapper.records:
        lines += _saved_outputs(wrapper, context)
        lines += _hook_statements(wrapper, context)
    if _is_reshaped(function, context):
        lines.append("reset_grad_accumulator(self);")
    if function.schema.returns:
        lines.append(f"return {returned_value(function)};")
    return lines


def _reference_statements(wrapper: Wrapper) -> list[str]:
    """Statement that computes inputs with tangents, for which there is no formula, by the reference."""
    function = wrapper.function
    name, _, overload = wrapper.recorder.partition(".")
    if wrapper.forward is not Forward.REFUSED or not name:
        return []
    schema = f"{function.library.operators}::{function.name.unambiguous}::schema"
    passed = ", ".join([argument.name for argument in function.arguments.all])
    names = f'"{function.namespace}::{name}", "{overload}"'
    return [f"if {any_tangent(wrapper)} {{\n  return recording_operator<{schema}>({names}).call({passed});\n}}"]


def _is_reshaped(function: NativeFunction, context: FragmentContext) -> bool:
    """Whether an in-place function may change the sizes of its argument; PyTorch's are known by name."""
    if not function.library.known_by_name:
        return "inplace_view" in function.tags
    return function.name.name in RESHAPED_IN_PLACE.in_release(context.rules)


def definition(wrapper: Wrapper, context: FragmentContext) -> str:
    """Wrapper of one function under one dispatch key."""
    head = kernel_head(wrapper.function) if wrapper.key == DEFAULT_KEY else named_head(wrapper.function, wrapper.name)
    return kernel_text(head, body(wrapper, unpack_all(wrapper.function), context))


def body(wrapper: Wrapper, unpacked: UnpackedArguments, context: FragmentContext) -> str:
    """Statements of a wrapper, indented, which unpacks its parameters as told."""
    before = [*_reference_statements(wrapper), *unpacked.statements]
    if wrapper.records:
        before += _before_statements(wrapper, context)
    if wrapper.kept:
        before.append("const OuterCalls outer_calls;")
    after = _after_statements(wrapper, context)
    parts = [indent("\n".join(before))] if before else []
    parts.append(call_text(wrapper, unpacked.parameters, context))
    if after:
        parts.append(indent("\n".join(after)))
    return "\n".join(parts)


#: The types whose tensors PyTorch's boxed kernel finds.
_FOUND: Final = frozenset(("Tensor", "Tensor?", "Tensor[]"))
_FINDS_ALL: Final = "torch::CppFunction::makeFromBoxedFunction<&record_not_implemented>()"


def is_unpacked(type: Type) -> bool:
    """Whether generated kernels can take the tensors of an argument one by one, if it has any."""
    item = type.elem if isinstance(type, ListType) else type
    return not type.is_tensor_like or item.text in ("Tensor", "Tensor?")


def boxed_kernel(differentiable_function: DifferentiableFunction, rules: Rules) -> str:
    """Boxed kernel that serves the function as all whose derivative is not implemented; empty if it has its own.

    PyTorch's kernel looks for tensors in few types, so other libraries bring one that finds them in all. It also
    serves operators whose tensors a kernel of their own could not take one by one.
    """
    function = differentiable_function.function
    if differentiable_function.infos:
        return ""
    if differentiable_function.recorder:
        return "torch::CppFunction::makeFromBoxedFunction<&record_by_reference>()"
    if function.library.known_by_name and _is_special(function, rules):
        return ""
    if function.library.takes_any_schema:
        taken = [argument.type for argument in function.arguments.all]
        results = [result.type for result in function.schema.returns if holds_tensors(result.type)]
        is_found = all(type.text in _FOUND for type in taken + results if holds_tensors(type))
        if not all(map(is_unpacked, taken)) or (results and not function.arguments.out and not is_found):
            return _FINDS_ALL
    if written_arguments(differentiable_function) or not differentiable_outputs(function, None):
        return ""
    return "torch::autograd::autogradNotImplementedFallback()"


def _is_special(function: NativeFunction, rules: Rules) -> bool:
    """Whether a function of PyTorch's has a kernel of its own for another reason than derivatives."""
    name = kernel_name(function)
    return (
        function.name.name in RESHAPED_IN_PLACE.in_release(rules)
        or function.root_name in NEVER_DIFFERENTIATED.in_any_release
        or name in SHARED_STORAGES.in_release(rules)
        or name in SHARED_RESULTS.in_release(rules)
        or public_api.name(function.schema) in REPLACES_TENSORS.in_release(rules)
    )


def definitions_slot(key: str) -> str:
    """Slot of the kernels under a dispatch key."""
    return f"type_derived_method_definitions_{key}"


def registrations_slot(key: str) -> str:
    """Slot of the registrations under a dispatch key."""
    return f"wrapper_registrations_{key}"


def kernel_slots(differentiable_function: DifferentiableFunction, context: FragmentContext) -> Slots:
    """Kernels of a function and their registrations, by dispatch key. The kernels are in `VariableType`."""
    function = differentiable_function.function
    if kernel := boxed_kernel(differentiable_function, context.rules):
        return {registrations_slot(DEFAULT_KEY): (f'm.impl("{function.name.text}", {kernel});\n',)}
    slots: dict[str, tuple[str, ...]] = {}
    for kernel_wrapper in wrappers_of(differentiable_function):
        key = kernel_wrapper.key
        slots[definitions_slot(key)] = (definition(kernel_wrapper, context),)
        slots[registrations_slot(key)] = (registration(function, NAMESPACE, kernel_wrapper.name),)
    return slots


def wrappers_of(differentiable_function: DifferentiableFunction) -> list[Wrapper]:
    """Decisions for a function under each dispatch key. Raises Fault where its derivatives do not fit it."""
    function = differentiable_function.function
    if not function.needs_derivative:
        message = f"`{function.name}` has derivatives, but is made of differentiable functions"
        raise Fault.at(NEEDS_DISPATCH, message, function.entry, help="give it a `dispatch` section")
    return [wrapper(differentiable_function, key) for key in differentiable_function.infos or (DEFAULT_KEY,)]


def template_slots(job: Job) -> Slots:
    """What PyTorch's template is filled with to make the template of the shards."""
    keys = sorted(job.derivatives.keys)
    registrations = [
        f"TORCH_LIBRARY_IMPL({PYTORCH.namespace}, {'Autograd' if key == DEFAULT_KEY else key}, m) {{\n"
        f"${{{registrations_slot(key)}}}\n}}"
        for key in keys
    ]
    return {
        # In two pieces, so that no tool takes this file for a generated one.
        "generated_comment": "@" + f"generated by {job.options.autograd_program} from VariableType.cpp",
        "type_derived_method_definitions": "\n\n".join([f"${{{definitions_slot(key)}}}" for key in keys]),
        "wrapper_registrations": "\n\n".join(registrations),
    }


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the header, of the template, and of the kernels; a run without autograd has none."""
    if job.options.disable_autograd:
        return []
    return [
        Emitter(
            name="variable_type_header",
            family="autograd",
            template="autograd/VariableType.h",
            folder="autograd",
            layout=OneFile("VariableType.h"),
        ),
        Emitter(
            name="variable_type_template",
            family="autograd",
            template="autograd/VariableType.cpp",
            folder="autograd",
            layout=OneFile("templates/VariableType.cpp"),
            file_slots=template_slots,
        ),
        Emitter(
            name="variable_type_source",
            family="autograd",
            # Made from the template above (see `template_slots`).
            template="autograd/shards/VariableType.cpp",
            folder="autograd",
            units=functions_with_kernels,
            fragment=kernel_slots,
            layout=Sharded(
                "VariableType.cpp", job.rules.variable_type_shards, lambda unit: public_api.name(unit.function.schema)
            ),
            file_slots=lambda job: {
                slot: () for key in job.derivatives.keys for slot in (definitions_slot(key), registrations_slot(key))
            },
        ),
    ]
