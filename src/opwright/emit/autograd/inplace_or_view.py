"""`ADInplaceOrViewType_N.cpp`: the kernels that track shared memory.

Kernels of operators that write count up the versions of what they wrote to; those of views mark the result as a view
of its base, with the way to regenerate it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from opwright.convention import dispatcher, public_api
from opwright.convention.functionalization import inverse_name
from opwright.cpp import c_types
from opwright.emit.aten.units import include
from opwright.emit.autograd.kernels import (
    autograd_emitter,
    changes_arguments,
    class_name,
    counted_arguments,
    declared_results,
    gives_list,
    is_differentiable_view,
    kernel_head,
    kernel_text,
    name_in_messages,
    redispatch,
    registration,
    returned_value,
    view_base,
)
from opwright.emit.autograd.nodes import functions_with_kernels
from opwright.emit.emitter import AnyEmitter, Job, Sharded
from opwright.model.derivatives import DifferentiableFunction
from opwright.model.native_function import NativeFunction
from opwright.release.operator_names.autograd import DTYPE_CHANGING_VIEWS
from opwright.release.rules import Rules
from opwright.source.codes import UNHELD_ARGUMENT
from opwright.source.diagnostic import Fault

#: The name of the template, and with a number before its ending that of each file.
FILE: Final = "ADInplaceOrViewType.cpp"

_KEYS: Final = "c10::after_ADInplaceOrView_keyset"

#: The types of arguments that a lambda can capture: the declaration before it, and the captured expression.
#: Lists are references to the caller's memory, so the lambda captures a copy.
_HELD: Final = {
    c_types.LONG: ("", "{0}"),
    c_types.optional(c_types.LONG): ("auto {0}_val = {0}.value_or(0);", "{0}_val"),
    c_types.SYMINT: ("", "{0}"),
    c_types.optional(c_types.SYMINT): ("", "{0}"),
    c_types.BOOL: ("", "{0}"),
    c_types.INT_ARRAY_REF: ("auto {0}_vec = {0}.vec();", "{0}_vec"),
    c_types.SYMINT_ARRAY_REF: ("auto {0}_vec = {0}.vec();", "{0}_vec"),
    c_types.const_ref(c_types.TENSOR): ("", "{0}"),
    c_types.const_ref(c_types.optional(c_types.TENSOR)): ("", "{0}"),
}


def _replay(function: NativeFunction, index: str) -> list[str]:
    """Statements that create `func` and `rev_func`, which regenerate the view and reverse it.

    `index` is the variable with the index of the view if the operator returns several, else empty. Only PyTorch's views
    can be reversed.
    """
    which = [index] if index else []
    view_func = f"{function.library.graph}::{class_name(function)}"
    if not function.library.in_libtorch:
        arguments = [binding.name for binding in dispatcher.signature(function).bindings[1:]]
        return [
            f"func = std::make_unique<{view_func}>({', '.join([*arguments, *which])});",
            f'rev_func = irreversible_view("{name_in_messages(function)}");',
        ]
    declared, held, captured = [], [], []
    for binding in dispatcher.signature(function).bindings:
        if binding.name == "self":
            held.append("input_base")
            continue
        if binding.type not in _HELD:
            message = f"view `{function.name}` keeps no argument of type `{binding.type.text}`"
            raise Fault.at(UNHELD_ARGUMENT, message, function.entry)
        before, stands = _HELD[binding.type]
        declared += [before.format(binding.name)] if before else []
        held.append(stands.format(binding.name))
        captured.append(binding.name)
    inverse = f"{function.library.functionalization}::FunctionalInverses::{inverse_name(function.schema)}"
    mode = "at::functionalization::InverseReturnMode::AlwaysView"
    undone = ", ".join(["self", "input_view", mode, *which, *held[1:]])
    return [
        *declared,
        f"func = std::make_unique<{view_func}>({', '.join([*captured, *which])});",
        "rev_func = [=](const at::Tensor& input_view) {",
        f"  return {inverse}({undone});",
        "};",
    ]


def _view_preparation(function: NativeFunction, base: str, index: str, rules: Rules) -> list[str]:
    """Statements before the result is marked as a view; most views need no more than their strides.

    Of PyTorch's views it is known which may change the dtype.
    """
    if function.library.known_by_name:
        # Whatever the name of the base.
        tensor = "self"
        names = DTYPE_CHANGING_VIEWS.in_release(rules)
        changes = "true" if public_api.name(function.schema) in names else "false"
    else:
        tensor = base
        changes = f"_tmp{f'[{index}]' if index else ''}.scalar_type() != {tensor}.scalar_type()"
    return [
        "std::unique_ptr<torch::autograd::ViewFunc> func(nullptr);",
        "std::function<at::Tensor(const at::Tensor&)> rev_func=nullptr;",
        f"if ({changes} ||",
        f"    !{tensor}.unsafeGetTensorImpl()->support_as_strided() ||",
        f"    {tensor}.unsafeGetTensorImpl()->is_python_dispatch() ||",
        "    c10::AutogradState::get_tls_state().get_view_replay_enabled()) {",
        *[f"  {line}" for line in _replay(function, index)],
        "}",
    ]


def _marking_call(base: str, output: str, meta: str) -> str:
    by_mode = f"(at::GradMode::is_enabled() ? CreationMeta::{meta} : CreationMeta::NO_GRAD_MODE)"
    return (
        f"as_view(/* base */ {base}, /* output */ {output}, /* is_bw_differentiable */ true, "
        "/* is_fw_differentiable */ true, /* view_func */ std::move(func), /* rev_view_func */ rev_func, "
        f"/* creation_meta */ InferenceMode::is_enabled() ? CreationMeta::INFERENCE_MODE : {by_mode})"
    )


def _view_statements(differentiable_function: DifferentiableFunction, base: str, rules: Rules) -> list[str]:
    function = differentiable_function.function
    lines = _call_statements(function)
    if not is_differentiable_view(differentiable_function):
        form = f"as_view({base}, {{}}, /* is_bw_differentiable */ false, /* is_fw_differentiable */ false)"
        result = form.format("_tmp")
        if gives_list(function):
            lines += ["for (auto& view : _tmp) {", f"  view = {form.format('view')};", "}"]
            result = "std::move(_tmp)"
    elif gives_list(function):
        lines.append("for (auto view_idx : c10::irange(_tmp.size())) {")
        lines += [f"  {line}" for line in _view_preparation(function, base, "view_idx", rules)]
        lines += [f"  {_marking_call(base, '_tmp[view_idx]', 'MULTI_OUTPUT_NODE')};", "}"]
        result = "std::move(_tmp)"
    else:
        lines += _view_preparation(function, base, "", rules)
        result = _marking_call(base, "_tmp", "DEFAULT")
    return [*lines, f"{declared_results(function)} = {result};"]


def _writing_statements(function: NativeFunction) -> list[str]:
    counts = [f"increment_version({name});" for name in counted_arguments(function)]
    if function.schema.returns and not changes_arguments(function):
        return [*_call_statements(function), f"{declared_results(function)} = std::move(_tmp);", *counts]
    return ["{", "  at::AutoDispatchBelowADInplaceOrView guard;", f"  {redispatch(function, _KEYS)};", "}", *counts]


def _call_statements(function: NativeFunction) -> list[str]:
    return [
        "auto _tmp = ([&]() {",
        "  at::AutoDispatchBelowADInplaceOrView guard;",
        f"  return {redispatch(function, _KEYS)};",
        "})();",
    ]


def kernel(differentiable_function: DifferentiableFunction, rules: Rules) -> str | None:
    """The function's kernel, None where it neither writes to arguments that it counts nor gives a view."""
    function = differentiable_function.function
    base = view_base(function, rules)
    if counted_arguments(function):
        lines = _writing_statements(function)
    elif base is not None:
        lines = _view_statements(differentiable_function, base, rules)
    else:
        return None
    if function.schema.returns:
        lines.append(f"return {returned_value(function)};")
    body = "\n".join([f"  {line}" for line in lines])
    return kernel_text(kernel_head(function), body)


#: The slots of the template, of which each kernel fills all.
SLOTS: Final = ("ops_headers", "inplace_or_view_method_definitions", "inplace_or_view_wrapper_registrations")


def kernel_slots(differentiable_function: DifferentiableFunction, rules: Rules) -> Mapping[str, Sequence[str]]:
    """What a function's kernel fills the template with; nothing for a function without one."""
    text = kernel(differentiable_function, rules)
    if text is None:
        return {}
    function = differentiable_function.function
    texts = (include(function, "_ops"), text, registration(function, "ADInplaceOrView"))
    return {slot: (text,) for slot, text in zip(SLOTS, texts, strict=True)}


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitter of the kernels; a run without autograd has none."""
    if job.options.disable_autograd:
        return []
    return [
        autograd_emitter(
            "inplace_or_view_type_source",
            FILE,
            functions_with_kernels,
            lambda unit, context: kernel_slots(unit, context.rules),
            SLOTS,
            layout=Sharded(FILE, job.rules.inplace_or_view_shards, lambda unit: unit.function.root_name),
        )
    ]
