"""Kernels of functionalization for views: they apply the view to the inner tensor, and record how to replay it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opwright.convention import dispatcher, native
from opwright.cpp import c_types
from opwright.cpp.binding import Binding
from opwright.cpp.c_types import CType
from opwright.cpp.translation import translate
from opwright.emit.aten.functionalized_writes import (
    IMPL,
    OUTPUT,
    UnwrapPlan,
    join_lines,
    unwrap_plan,
)
from opwright.emit.aten.units import key_set_parameter, own_name
from opwright.emit.aten.view_meta import record_type, recorded_view
from opwright.model.native_function import NativeFunction, ViewGroup
from opwright.release.rules import Rules
from opwright.source.records import NamedTuple

_SYMBOLIC: Final = {
    c_types.SYMINT: "{0}.is_symbolic()",
    c_types.SYMINT_ARRAY_REF: ("std::any_of({0}.begin(), {0}.end(), [=](auto& arg) {{ return arg.is_symbolic(); }})"),
}


def is_symbolic(text: str, type: CType) -> str:
    """Expression that is true if a value holds a symbolic integer.

    >>> is_symbolic("index", c_types.optional(c_types.SYMINT))
    'index.has_value() ? (*index).is_symbolic() : false'
    """
    if type is c_types.OPTIONAL_SYMINT_ARRAY_REF:
        type = c_types.optional(c_types.SYMINT_ARRAY_REF)
    if type.kind == "optional":
        return f"{text}.has_value() ? {is_symbolic(f'(*{text})', type.elem)} : false"
    return _SYMBOLIC[type].format(text)


def _symbolic_inputs(arguments: Sequence[Binding]) -> str:
    flag = "has_symbolic_inputs"
    checks = [
        f"{flag} = {flag} | ({is_symbolic(argument.name, argument.type)});"
        for argument in arguments
        if dispatcher.is_symint_like(argument)
    ]
    return f"\n      bool {flag} = false;\n      {join_lines(checks, 6)}"


class ViewKernel(NamedTuple):
    """Kernel of a view: the operators that it calls, the arguments, and the `ViewMeta` that it records."""

    passed: Sequence[UnwrapPlan]
    head: str
    tensor: str
    returned: str
    called: str
    copy: str
    unwrap: str
    inner_arguments: str
    to_meta: str
    meta_arguments: str
    symbolic: str
    record_type: str
    recorded: str
    output: str


def view_kernel(function: NativeFunction, group: ViewGroup, rules: Rules) -> ViewKernel:
    """Parts of the kernel of a view or of its in-place form."""
    copy = group.view_copy
    assert copy is not None, "a view that is not composite has a copying form"
    operators = function.library.operators
    signature = dispatcher.signature(function)
    passed = [unwrap_plan(binding) for binding in signature.bindings]
    wanted = dispatcher.arguments(copy.schema, style=function.style)
    return ViewKernel(
        passed=passed,
        head=signature.definition(native.name(function.schema), first=key_set_parameter(function)),
        tensor=signature.bindings[0].name,
        returned=signature.returns.value.text,
        output=own_name(function, OUTPUT),
        called=f"{operators}::{function.name.unambiguous}",
        copy=f"{operators}::{copy.name.unambiguous}",
        unwrap=join_lines([plan.unwrap for plan in passed], 6),
        inner_arguments=", ".join(translate(tuple([plan.inner for plan in passed]), wanted)),
        to_meta=join_lines([plan.to_meta for plan in passed], 8),
        meta_arguments=", ".join(translate(tuple([plan.meta for plan in passed]), wanted)),
        symbolic=_symbolic_inputs(wanted),
        record_type=record_type(rules),
        recorded=recorded_view(function, group, rules),
    )


_REAPPLIES: Final = f"""\
      auto reapply_views = {IMPL}getFunctionalizationReapplyViewsTLS();
      auto inverse_return_mode = (
          reapply_views ? at::functionalization::InverseReturnMode::ViewOrScatterInverse
            : at::functionalization::InverseReturnMode::NeverView
      );"""


def _reference_output(kernel: ViewKernel) -> str:
    """Statements that run the view on meta tensors, for backends that do not propagate strides."""
    return f"""\
      auto compute_reference_meta =
        {kernel.tensor}.key_set().has_backend(c10::BackendComponent::XLABit) ||
        {kernel.tensor}.key_set().has_backend(c10::BackendComponent::LazyBit);
      {kernel.returned} reference_tensor_output;
      if (compute_reference_meta && !disable_meta_reference()) {{
        {kernel.to_meta}
        at::AutoDispatchSkipFunctionalize func_guard;
        c10::impl::ExcludeDispatchKeyGuard guard(exclude_keys_for_meta_dispatch);
        reference_tensor_output = {kernel.called}::call({kernel.meta_arguments});
      }}"""


def view_definition(kernel: ViewKernel) -> str:
    """Kernel of a view that returns a new tensor."""
    tensor = kernel.tensor
    return f"""
    {kernel.head} {{
      {kernel.unwrap}
      if (!{IMPL}isFunctionalTensor({tensor})) {{
        // functionalization is re-entrant, but will no-op if it wasn't passed a FunctionalTensorWrapper.
        at::AutoDispatchSkipFunctionalize guard;
        return {kernel.called}::call({kernel.inner_arguments});
      }}
{_REAPPLIES}
{_reference_output(kernel)}
      {kernel.returned} {kernel.output};
      {{
        at::AutoDispatchSkipFunctionalize guard;
        if (reapply_views) {{
          {kernel.output} = {kernel.called}::call({kernel.inner_arguments});
        }} else {{
          {kernel.output} = {kernel.copy}::call({kernel.inner_arguments});
        }}
      }}
      {kernel.symbolic}
      {kernel.record_type} view_meta = {kernel.recorded};
      auto out = {IMPL}create_functional_tensor_with_view_meta({kernel.output}, {tensor}, view_meta);
      // See  Note [Propagating strides in the functionalization pass]
      if (compute_reference_meta && !disable_meta_reference()) {{
        {IMPL}set_sizes_strides_offset(out, reference_tensor_output);
      }}
      return out;
    }}
"""


def inplace_view_definition(kernel: ViewKernel) -> str:
    """Kernel of an in-place view, which changes the sizes and strides of its argument."""
    tensor = kernel.tensor
    return f"""
    {kernel.head} {{
      if (!{IMPL}isFunctionalTensor({tensor})) {{
        // functionalization is re-entrant, but will no-op if it wasn't passed a FunctionalTensorWrapper.
        {kernel.unwrap}
        at::AutoDispatchSkipFunctionalize guard;
        return {kernel.called}::call({kernel.inner_arguments});
      }}
{_REAPPLIES}
      {kernel.symbolic}
      {kernel.record_type} view_meta = {kernel.recorded};
{_reference_output(kernel)}
      // This function adds the above view meta to the current tensor and replays them off the base,
      // mutating the size/stride info of the current FunctionalTensorWrapper.
      // Because of this, we need to make sure to run the reference shape function above,
      // BEFORE doing this (otherwise we'll end up running the reference function using the wrong sizes/strides)
      {IMPL}mutate_view_meta({tensor}, view_meta);
      // See  Note [Propagating strides in the functionalization pass]
      // XLA/LTC don't implement the logic to propagate strides correctly, so we need to rely
      // on a reference implementation here (instead of relying on the output from the forward lambda
      // having the correct stride info)
      if (compute_reference_meta && !disable_meta_reference()) {{
        {IMPL}set_sizes_strides_offset({tensor}, reference_tensor_output);
      }}
      return {tensor};
    }}
"""
