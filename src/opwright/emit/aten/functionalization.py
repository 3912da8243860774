"""Kernels of functionalization: `RegisterFunctionalization.cpp`.

An operator that writes to its arguments is replaced by its functional form, whose results then take the arguments'
places; a view is applied to the tensor inside, and remembered so that later writes to it reach its base. Operators
that are composed of others are registered as they are, where they are views.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from opwright.convention import dispatcher, native, shared_types
from opwright.cpp import c_types
from opwright.cpp.binding import Binding, Expression
from opwright.cpp.c_types import CType
from opwright.cpp.signature import Signature
from opwright.cpp.translation import translate
from opwright.emit.aten.view_meta import creation, operator_includes, view_group_includes, view_meta
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, Sharded, Slots
from opwright.model.dispatch_key import COMPOSITE_IMPLICIT
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup, ViewGroup
from opwright.release.operator_names.functionalization import CUMULATIVE_OUT, NOT_FUNCTIONALIZED, REGISTERED_BY_HAND
from opwright.release.rules import Rules
from opwright.schema.function import SchemaKind

FunctionalizedUnit: TypeAlias = NativeFunctionsGroup | ViewGroup | NativeFunction

_IMPL: Final = "at::functionalization::impl::"
_KEY_SET: Final = "c10::DispatchKeySet dispatchKeySet"
_OUTPUT: Final = "tmp_output"


class UnwrapPlan(NamedTuple):
    """How a kernel passes one argument on.

    `inner` is the argument without functional wrapper and `meta` as a meta tensor; `unwrap`, `unwrap_synced` and
    `to_meta` are the statements that make them, empty where the argument is passed as it is.
    """

    inner: Expression
    meta: Expression
    unwrap: str = ""
    unwrap_synced: str = ""
    to_meta: str = ""


_UNWRAP_PLANS: Final[dict[Binding, UnwrapPlan]] = {}


def unwrap_plan(argument: Binding) -> UnwrapPlan:
    """How a kernel passes the argument on."""
    passing = _UNWRAP_PLANS.get(argument)
    if passing is None:
        passing = _UNWRAP_PLANS[argument] = _new_unwrap_plan(argument)
    return passing


def _new_unwrap_plan(argument: Binding) -> UnwrapPlan:
    name, role, type = argument.name, argument.role, argument.type
    if not dispatcher.is_tensor_like(argument):
        same = Expression(name, role, type)
        return UnwrapPlan(same, same)
    return UnwrapPlan(
        Expression(f"{name}_", role, type),
        Expression(f"{name}_meta", role, type),
        _unwrapping(name, type, ""),
        _unwrapping(name, type, f"        {_IMPL}sync({name});"),
        f"auto {name}_meta = to_meta({name});",
    )


def _unwrapping(name: str, type: CType, sync: str) -> str:
    """The statements that take the functional wrapper off; tensors in a list that is not owned are copied out."""
    value = type.value
    owned, plain = value, name
    if value is c_types.TENSOR_LIST:
        owned, plain = c_types.vector(c_types.TENSOR), f"{name}.vec()"
    elif value is c_types.ITENSOR_LIST_REF:
        owned, plain = c_types.vector(c_types.TENSOR), f"{{{name}.begin(), {name}.end()}}"
    return f"""
      {owned.text} {name}_;
      if ({_IMPL}isFunctionalTensor({name})) {{
{sync}
        {name}_ = {_IMPL}from_functional_tensor({name});
      }} else {{
        {name}_ = {plain};
      }}"""


def _joined(statements: Sequence[str], indent: int) -> str:
    return f"\n{' ' * indent}".join([statement for statement in statements if statement])


_SYMBOLIC: Final = {
    c_types.SYMINT: "{0}.is_symbolic()",
    c_types.SYMINT_ARRAY_REF: ("std::any_of({0}.begin(), {0}.end(), [=](auto& arg) {{ return arg.is_symbolic(); }})"),
}


def is_symbolic(text: str, type: CType) -> str:
    """The expression that tells whether a value holds a symbolic integer.

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
    return f"\n      bool {flag} = false;\n      {_joined(checks, 6)}"


class ViewKernel(NamedTuple):
    """The kernel of a view: what it calls, with which arguments, and what it remembers."""

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
    remembered: str


def view_kernel(function: NativeFunction, group: ViewGroup, rules: Rules) -> ViewKernel:
    """What the kernel of a view, or of its in-place form, does."""
    copy = group.view_copy
    assert copy is not None, "a view that is not composite has a copying form"
    signature = dispatcher.signature(function)
    passed = [unwrap_plan(binding) for binding in signature.bindings]
    wanted = dispatcher.arguments(copy.schema, style=function.style)
    return ViewKernel(
        head=signature.definition(native.name(function.schema), first=_KEY_SET),
        tensor=signature.bindings[0].name,
        returned=signature.returns.value.text,
        called=function.name.unambiguous,
        copy=copy.name.unambiguous,
        unwrap=_joined([plan.unwrap for plan in passed], 6),
        inner_arguments=", ".join(translate(tuple([plan.inner for plan in passed]), wanted)),
        to_meta=_joined([plan.to_meta for plan in passed], 8),
        meta_arguments=", ".join(translate(tuple([plan.meta for plan in passed]), wanted)),
        symbolic=_symbolic_inputs(wanted),
        remembered=creation(view_meta(function, group, rules)),
    )


_REAPPLIES: Final = f"""\
      auto reapply_views = {_IMPL}getFunctionalizationReapplyViewsTLS();
      auto inverse_return_mode = (
          reapply_views ? at::functionalization::InverseReturnMode::ViewOrScatterInverse
            : at::functionalization::InverseReturnMode::NeverView
      );"""


def _reference_output(kernel: ViewKernel) -> str:
    """The statements that run the view on meta tensors, for backends that do not propagate strides."""
    return f"""\
      auto compute_reference_meta =
        {kernel.tensor}.key_set().has_backend(c10::BackendComponent::XLABit) ||
        {kernel.tensor}.key_set().has_backend(c10::BackendComponent::LazyBit);
      {kernel.returned} reference_tensor_output;
      if (compute_reference_meta && !disable_meta_reference()) {{
        {kernel.to_meta}
        at::AutoDispatchSkipFunctionalize func_guard;
        c10::impl::ExcludeDispatchKeyGuard guard(exclude_keys_for_meta_dispatch);
        reference_tensor_output = at::_ops::{kernel.called}::call({kernel.meta_arguments});
      }}"""


def view_definition(kernel: ViewKernel) -> str:
    """The kernel of a view that gives a new tensor."""
    tensor = kernel.tensor
    return f"""
    {kernel.head} {{
      {kernel.unwrap}
      if (!{_IMPL}isFunctionalTensor({tensor})) {{
        // functionalization is re-entrant, but will no-op if it wasn't passed a FunctionalTensorWrapper.
        at::AutoDispatchSkipFunctionalize guard;
        return at::_ops::{kernel.called}::call({kernel.inner_arguments});
      }}
{_REAPPLIES}
{_reference_output(kernel)}
      {kernel.returned} {_OUTPUT};
      {{
        at::AutoDispatchSkipFunctionalize guard;
        if (reapply_views) {{
          {_OUTPUT} = at::_ops::{kernel.called}::call({kernel.inner_arguments});
        }} else {{
          {_OUTPUT} = at::_ops::{kernel.copy}::call({kernel.inner_arguments});
        }}
      }}
      {kernel.symbolic}
      auto view_meta = {kernel.remembered};
      auto out = {_IMPL}create_functional_tensor_with_view_meta({_OUTPUT}, {tensor}, view_meta);
      // See  Note [Propagating strides in the functionalization pass]
      if (compute_reference_meta && !disable_meta_reference()) {{
        {_IMPL}set_sizes_strides_offset(out, reference_tensor_output);
      }}
      return out;
    }}
"""


def inplace_view_definition(kernel: ViewKernel) -> str:
    """The kernel of a view that changes what its argument shows."""
    tensor = kernel.tensor
    return f"""
    {kernel.head} {{
      if (!{_IMPL}isFunctionalTensor({tensor})) {{
        // functionalization is re-entrant, but will no-op if it wasn't passed a FunctionalTensorWrapper.
        {kernel.unwrap}
        at::AutoDispatchSkipFunctionalize guard;
        return at::_ops::{kernel.called}::call({kernel.inner_arguments});
      }}
{_REAPPLIES}
      {kernel.symbolic}
      auto view_meta = {kernel.remembered};
{_reference_output(kernel)}
      // This function adds the above view meta to the current tensor and replays them off the base,
      // mutating the size/stride info of the current FunctionalTensorWrapper.
      // Because of this, we need to make sure to run the reference shape function above,
      // BEFORE doing this (otherwise we'll end up running the reference function using the wrong sizes/strides)
      {_IMPL}mutate_view_meta({tensor}, view_meta);
      // See  Note [Propagating strides in the functionalization pass]
      // XLA/LTC don't implement the logic to propagate strides correctly, so we need to rely
      // on a reference implementation here (instead of relying on the output from the forward lambda
      // having the correct stride info)
      if (compute_reference_meta && !disable_meta_reference()) {{
        {_IMPL}set_sizes_strides_offset({tensor}, reference_tensor_output);
      }}
      return {tensor};
    }}
"""


class WriteKernel(NamedTuple):
    """The kernel of an operator that writes to its arguments.

    `returned` names the argument that each of its returns is, None for fresh values. `fresh` are the functional
    form's results that it returns as fresh ones, `written` its arguments with the results that become their values.
    """

    function: NativeFunction
    functional: NativeFunction
    signature: Signature
    passed: Sequence[UnwrapPlan]
    functional_arguments: Sequence[str]
    returned: Sequence[str | None]
    fresh: Sequence[str]
    written: Sequence[tuple[str, str]]


def write_kernel(function: NativeFunction, group: NativeFunctionsGroup, rules: Rules) -> WriteKernel:
    """What the kernel of an in-place, out or mutable overload does."""
    functional = group.functional
    signature = dispatcher.signature(function)
    passed = [unwrap_plan(binding) for binding in signature.bindings]
    wanted = dispatcher.arguments(functional.schema, style=function.style)
    arguments: Sequence[str] = translate(tuple([plan.inner for plan in passed]), wanted)
    if rules.cumulative_out_keeps_out_dtype and function.name.text in CUMULATIVE_OUT.in_release(rules):
        arguments = _with_dtype_of_out(arguments, wanted, function.arguments.out[0].name)
    results = dispatcher.fresh_results(dispatcher.returned_arguments(functional.schema), _OUTPUT)
    returned = dispatcher.returned_arguments(function.schema)
    fresh = returned.count(None)
    names = [argument.name for argument in function.arguments.all if argument.is_write]
    written = list(zip(names, results[fresh:], strict=True))
    return WriteKernel(function, functional, signature, passed, arguments, returned, results[:fresh], written)


def _with_dtype_of_out(arguments: Sequence[str], wanted: Sequence[Binding], out: str) -> list[str]:
    """The same arguments, where the dtype, unless given, is that of the out tensor."""
    return [
        f"{text}.has_value() ? {text} : std::optional<at::ScalarType>({out}_.scalar_type())"
        if binding.name == "dtype"
        else text
        for text, binding in zip(arguments, wanted, strict=True)
    ]


def _is_functional(name: str) -> str:
    return f"{_IMPL}isFunctionalTensor({name})"


def _unfunctional_call(kernel: WriteKernel) -> str:
    """The statements that call the operator itself, and return its fresh results and the arguments as they came."""
    function = kernel.function
    schema = function.schema
    inner = ", ".join([plan.inner.text for plan in kernel.passed])
    assignment = f"{kernel.signature.returns.value.text} {_OUTPUT} = " if schema.returns else ""
    values = _values(kernel, dispatcher.fresh_results(kernel.returned, _OUTPUT))
    return f"""\
         {assignment}at::_ops::{function.name.unambiguous}::call({inner});
         {dispatcher.return_statement(schema.returns, values, function.style)}"""


def _values(kernel: WriteKernel, fresh: Sequence[str]) -> list[str]:
    """What a kernel returns: the arguments that are returns, then fresh values."""
    return [name for name in kernel.returned if name is not None] + list(fresh)


def _updates(kernel: WriteKernel) -> str:
    """The statements that give what is written its new values, and return."""
    outputs = [f"output_{index}" for index in range(len(kernel.fresh))]
    statements = [
        f"  auto {output} = {_IMPL}to_functional_tensor({result});"
        for output, result in zip(outputs, kernel.fresh, strict=True)
    ]
    statements += [
        f"""\
  auto {name}_inner = {_IMPL}from_functional_tensor({name});
  {_IMPL}replace_({name}, {result});
  {_IMPL}commit_update({name});
  {_IMPL}sync({name});
  auto {name}_inner_updated = {_IMPL}from_functional_tensor({name});
  {_IMPL}propagate_xla_data_direct({name}_inner, {name}_inner_updated);"""
        for name, result in kernel.written
    ]
    function = kernel.function
    values = _values(kernel, outputs)
    statements.append("    " + dispatcher.return_statement(function.schema.returns, values, function.style))
    return "\n".join(statements)


def write_definition(kernel: WriteKernel) -> str:
    """The kernel of an operator that writes."""
    function, functional = kernel.function, kernel.functional
    tensors = [argument for argument in function.arguments.all if argument.type.is_tensor_like]
    all_written = " && ".join(
        ["true"] + [_is_functional(tensor.name) for tensor in tensors if tensor.annotation is not None]
    )
    read = [tensor for tensor in tensors if tensor.annotation is None]
    any_read = " || ".join(["false"] + [_is_functional(argument.name) for argument in read])
    any_xla = " || ".join(
        ["false"]
        + [
            f"{argument.name}.device().type() == c10::DeviceType::XLA"
            for argument in read
            if argument.type.text == "Tensor"
        ]
    )
    takes_storage = any(argument.type.text == "Storage" for argument in function.arguments.all)
    checked = "true" if function.kind is SchemaKind.inplace and not takes_storage else "false"
    meta = ", ".join([plan.meta.text for plan in kernel.passed])
    result = shared_types.returns_type(functional.schema.returns, function.style).value
    return f"""
    {kernel.signature.definition(native.name(function.schema), first=_KEY_SET)} {{
      if ({checked} && !disable_meta_reference()) {{
        // Before converting the mutable op to its functional variant, run meta tensors through the original op.
        // This will help us catch shape errors that apply to inplace ops that wouldn't apply to their functional \
variants.
        // (We can only do this for inplace ops today though, because they technically all support meta tensors).
        {_joined([plan.to_meta for plan in kernel.passed], 8)}
        at::AutoDispatchSkipFunctionalize func_guard;
        c10::impl::ExcludeDispatchKeyGuard guard(exclude_keys_for_meta_dispatch);
        at::_ops::{function.name.unambiguous}::call({meta});
      }}
      {_joined([plan.unwrap_synced for plan in kernel.passed], 6)}
      if (!({all_written})) {{
        // We want to disable this check if there are any XLA tensors.
        // cpu_tensor.copy_(xla_tensor) is valid code.
        if (!({any_xla}) && ({any_read})) {{
         // case 1: trying to mutate a non functional tensor with a functional tensor is an error
         TORCH_INTERNAL_ASSERT(false,
           "mutating a non-functional tensor with a functional tensor is not allowed.",
           " Please ensure that all of your inputs are wrapped inside of a functionalize() call.");
        }} else {{
         // case 2: arguments are not functional tensors, so we no-op and redispatch.
         at::AutoDispatchSkipFunctionalize guard;
{_unfunctional_call(kernel)}
        }}
      }} else {{
        {result.text} {_OUTPUT};
        {{
          at::AutoDispatchSkipFunctionalize guard;
          {_OUTPUT} = at::_ops::{functional.name.unambiguous}::call({", ".join(kernel.functional_arguments)});
        }}
        {_updates(kernel)}
      }}
    }}"""


def registration(function: NativeFunction) -> str:
    """The registration of an operator's kernel; one that is composed of others is registered as it is."""
    composite = function.kernels.get(COMPOSITE_IMPLICIT)
    if composite is None:
        kernel = f"TORCH_FN(functionalization::{native.name(function.schema)})"
    else:
        signature = native.symint_signature(function) if composite.symint else native.signature(function)
        pointer = f"{signature.returns.text} (*)({signature.definition_parameters})"
        kernel = f"static_cast<{pointer}>(at::native::{composite.name})"
    return f'm.impl("{function.name.text}", {kernel});'


def _writes(function: NativeFunction) -> bool:
    return any(argument.is_write for argument in function.arguments.all)


def registered(unit: FunctionalizedUnit, rules: Rules) -> list[NativeFunction]:
    """The functions of a unit that are registered."""
    by_hand = REGISTERED_BY_HAND.in_release(rules)
    if isinstance(unit, ViewGroup):
        if unit.view.name.text in by_hand:
            return []
        views = [function for function in (unit.view, unit.view_inplace) if function is not None]
        if rules.composite_views_registered_to_functionalize:
            return views
        return [function for function in views if not function.has_composite_implicit]
    if isinstance(unit, NativeFunctionsGroup):
        functions = [function for function in unit.functions() if not function.has_composite_implicit]
        return [] if any(function.name.text in by_hand for function in functions) else list(filter(_writes, functions))
    left_out = unit.name.text in NOT_FUNCTIONALIZED.in_any_release or unit.has_composite_implicit
    return [unit] if not left_out and _writes(unit) else []


def definitions(unit: FunctionalizedUnit, rules: Rules) -> list[str]:
    """The kernels of a unit's functions."""
    if isinstance(unit, ViewGroup):
        if unit.composite:
            return []
        texts = [_view_definition(unit.view, unit, rules)]
        if unit.view_inplace is not None:
            texts.append(_view_definition(unit.view_inplace, unit, rules))
        return texts
    if isinstance(unit, NativeFunctionsGroup):
        written = (unit.out, unit.inplace, unit.mutable)
        return [write_definition(write_kernel(function, unit, rules)) for function in written if function is not None]
    return []


def _view_definition(function: NativeFunction, group: ViewGroup, rules: Rules) -> str:
    kernel = view_kernel(function, group, rules)
    return inplace_view_definition(kernel) if "inplace_view" in function.tags else view_definition(kernel)


def _units(job: Job) -> list[FunctionalizedUnit]:
    """The groups, the view groups, then the functions that stand in neither."""
    catalog = job.catalog
    groups: list[FunctionalizedUnit] = [group for group in catalog.groups if isinstance(group, NativeFunctionsGroup)]
    views: list[FunctionalizedUnit] = [group for group in catalog.view_groups if isinstance(group, ViewGroup)]
    return (
        groups
        + views
        + [function for function in catalog.functions if function.group is None and function.view_group is None]
    )


def _includes(unit: FunctionalizedUnit) -> list[str]:
    if isinstance(unit, ViewGroup):
        return view_group_includes(unit)
    return operator_includes(unit.functions() if isinstance(unit, NativeFunctionsGroup) else [unit])


def _fragment(unit: FunctionalizedUnit, context: FragmentContext) -> Slots:
    if not context.selection.everything:
        return {"ops_headers": _includes(unit)}
    return {
        "ops_headers": _includes(unit),
        "func_definitions": definitions(unit, context.rules),
        "func_registrations": [registration(function) for function in registered(unit, context.rules)],
    }


def emitters(job: Job) -> list[AnyEmitter]:
    """The emitter of `RegisterFunctionalization.cpp`."""
    return [
        Emitter(
            name="register_functionalization_source",
            family="sources",
            template="RegisterFunctionalization.cpp",
            units=_units,
            fragment=_fragment,
            layout=Sharded(
                "RegisterFunctionalization.cpp", job.rules.functionalization_shards, lambda unit: unit.root_name
            ),
            file_slots=lambda job: {"ops_headers": [], "func_definitions": [], "func_registrations": []},
        )
    ]
