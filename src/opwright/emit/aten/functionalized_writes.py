"""Kernels of functionalization for operators that write to arguments: they call the functional form instead."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from opwright.convention import dispatcher, native, shared_types
from opwright.cpp import c_types
from opwright.cpp.binding import Binding, Expression
from opwright.cpp.c_types import CType
from opwright.cpp.signature import Signature
from opwright.cpp.translation import translate
from opwright.emit.aten.units import key_set_parameter, own_name
from opwright.model.native_function import NativeFunction
from opwright.release.operator_names.functionalization import CUMULATIVE_OUT
from opwright.release.rules import Rules
from opwright.schema.function import SchemaKind
from opwright.schema.signature import unreturned_writes
from opwright.source.records import NamedTuple

IMPL: Final = "at::functionalization::impl::"
OUTPUT: Final = "tmp_output"


class UnwrapPlan(NamedTuple):
    """How a kernel passes on one argument.

    `inner` is the argument without its functional wrapper, and `meta` the argument as a meta tensor. `unwrap`,
    `unwrap_synced` and `to_meta` are the statements that define them; they are empty for arguments without tensors.
    """

    inner: Expression
    meta: Expression
    unwrap: str = ""
    unwrap_synced: str = ""
    to_meta: str = ""


@cache
def unwrap_plan(argument: Binding) -> UnwrapPlan:
    """How a kernel passes on the argument."""
    name, role, type = argument.name, argument.role, argument.type
    if not dispatcher.is_tensor_like(argument):
        same = Expression(name, role, type)
        return UnwrapPlan(same, same)
    return UnwrapPlan(
        Expression(f"{name}_", role, type),
        Expression(f"{name}_meta", role, type),
        _unwrapping(name, type, ""),
        _unwrapping(name, type, f"        {IMPL}sync({name});"),
        f"auto {name}_meta = to_meta({name});",
    )


def _unwrapping(name: str, type: CType, sync: str) -> str:
    """Statements that remove the functional wrapper. Lists of tensors are copied into a vector."""
    value = type.value
    owned, plain = value, name
    if value is c_types.TENSOR_LIST:
        owned, plain = c_types.vector(c_types.TENSOR), f"{name}.vec()"
    elif value is c_types.ITENSOR_LIST_REF:
        owned, plain = c_types.vector(c_types.TENSOR), f"{{{name}.begin(), {name}.end()}}"
    return f"""
      {owned.text} {name}_;
      if ({IMPL}isFunctionalTensor({name})) {{
{sync}
        {name}_ = {IMPL}from_functional_tensor({name});
      }} else {{
        {name}_ = {plain};
      }}"""


def join_lines(statements: Sequence[str], indent: int) -> str:
    """Statements that are not empty, each on a line of its own."""
    return f"\n{' ' * indent}".join([statement for statement in statements if statement])


class WriteKernel(NamedTuple):
    """Kernel of an operator that writes to its arguments.

    `returned` names the argument that each return aliases, with None for new values. `fresh` are the results of the
    functional form that the kernel returns as new values. `written` are the written arguments, each with the result
    that becomes its value. `needs_reference` is the condition under which the kernel runs the operator on meta tensors
    first.
    """

    function: NativeFunction
    functional: NativeFunction
    signature: Signature
    passed: Sequence[UnwrapPlan]
    functional_arguments: Sequence[str]
    returned: Sequence[str | None]
    fresh: Sequence[str]
    written: Sequence[tuple[str, str]]
    output: str
    needs_reference: str


def write_kernel(function: NativeFunction, functional: NativeFunction, rules: Rules) -> WriteKernel:
    """Parts of the kernel of an in-place, out or mutable overload, which calls the functional one."""
    signature = dispatcher.signature(function)
    passed = [unwrap_plan(binding) for binding in signature.bindings]
    wanted = dispatcher.arguments(functional.schema, style=function.style)
    arguments: Sequence[str] = translate(tuple([plan.inner for plan in passed]), wanted)
    keeps_dtype = rules.cumulative_out_keeps_out_dtype and function.library.known_by_name
    if keeps_dtype and function.name.text in CUMULATIVE_OUT.in_release(rules):
        arguments = _with_dtype_of_out(arguments, wanted, function.arguments.out[0].name)
    output = own_name(function, OUTPUT)
    results = dispatcher.fresh_results(dispatcher.returned_arguments(functional.schema), output)
    returned = dispatcher.returned_arguments(function.schema)
    fresh = [result for name, result in zip(returned, results, strict=False) if name is None]
    written = list(_written_results(function, results).items())
    takes_storage = any(argument.type.text == "Storage" for argument in function.arguments.all)
    checked = "true" if function.kind is SchemaKind.inplace and not takes_storage else "false"
    return WriteKernel(
        function=function,
        functional=functional,
        signature=signature,
        passed=passed,
        functional_arguments=arguments,
        returned=returned,
        fresh=fresh,
        written=written,
        output=output,
        needs_reference=f"{checked} && !disable_meta_reference()",
    )


def returned_values(returned: Sequence[str | None], fresh: Sequence[str]) -> list[str]:
    """Values that a kernel returns: arguments and new values, each at its place.

    >>> returned_values(["self", None], ["output_0"])
    ['self', 'output_0']
    """
    new = iter(fresh)
    return [next(new) if name is None else name for name in returned]


def _written_results(function: NativeFunction, results: Sequence[str]) -> dict[str, str]:
    """Result of the functional form that becomes the value of each written argument, in the order of arguments.

    PyTorch's operators take the last results in the order of their arguments, as its generator does, also where
    the functional form returns them in another one (`_native_batch_norm_legit.out`).
    """
    schema = function.schema
    writes = [argument.name for argument in function.arguments.all if argument.is_write]
    if not function.library.takes_any_schema:
        return dict(zip(writes, results[len(results) - len(writes) :], strict=True))
    names = [*dispatcher.returned_arguments(schema), *[argument.name for argument in unreturned_writes(schema)]]
    values = dict(zip(names, results, strict=True))
    return {name: values[name] for name in writes}


def _with_dtype_of_out(arguments: Sequence[str], wanted: Sequence[Binding], out: str) -> list[str]:
    return [
        f"{text}.has_value() ? {text} : std::optional<at::ScalarType>({out}_.scalar_type())"
        if binding.name == "dtype"
        else text
        for text, binding in zip(arguments, wanted, strict=True)
    ]


def _is_functional(name: str) -> str:
    return f"{IMPL}isFunctionalTensor({name})"


def _unfunctional_call(kernel: WriteKernel) -> str:
    """Statements that call the operator itself, and return its new results and the unchanged arguments."""
    function = kernel.function
    schema = function.schema
    inner = ", ".join([plan.inner.text for plan in kernel.passed])
    assignment = f"{kernel.signature.returns.value.text} {kernel.output} = " if schema.returns else ""
    values = returned_values(kernel.returned, dispatcher.fresh_results(kernel.returned, kernel.output))
    return f"""\
         {assignment}{function.library.operators}::{function.name.unambiguous}::call({inner});
         {dispatcher.return_statement(schema.returns, values, function.style)}"""


def _updates(kernel: WriteKernel) -> str:
    outputs = [f"output_{index}" for index in range(len(kernel.fresh))]
    statements = [
        f"  auto {output} = {IMPL}to_functional_tensor({result});"
        for output, result in zip(outputs, kernel.fresh, strict=True)
    ]
    for name, result in kernel.written:
        statements.append(f"""\
  auto {name}_inner = {IMPL}from_functional_tensor({name});
  {IMPL}replace_({name}, {result});
  {IMPL}commit_update({name});
  {IMPL}sync({name});
  auto {name}_inner_updated = {IMPL}from_functional_tensor({name});
  {IMPL}propagate_xla_data_direct({name}_inner, {name}_inner_updated);""")
    function = kernel.function
    values = returned_values(kernel.returned, outputs)
    statements.append("    " + dispatcher.return_statement(function.schema.returns, values, function.style))
    return "\n".join(statements)


def write_definition(kernel: WriteKernel) -> str:
    """Kernel of an operator that writes."""
    function, functional = kernel.function, kernel.functional
    operators = function.library.operators
    tensors = [argument for argument in function.arguments.all if argument.type.is_tensor_like]
    written = [tensor.name for tensor in tensors if tensor.annotation is not None]
    read = [tensor for tensor in tensors if tensor.annotation is None]
    of_xla = [
        f"{tensor.name}.device().type() == c10::DeviceType::XLA" for tensor in read if tensor.type.text == "Tensor"
    ]
    all_written = " && ".join(["true", *map(_is_functional, written)])
    any_read = " || ".join(["false", *[_is_functional(tensor.name) for tensor in read]])
    any_xla = " || ".join(["false", *of_xla])
    meta = ", ".join([plan.meta.text for plan in kernel.passed])
    result = shared_types.returns_type(functional.schema.returns, function.style).value
    return f"""
    {kernel.signature.definition(native.name(function.schema), first=key_set_parameter(function))} {{
      if ({kernel.needs_reference}) {{
        // Before converting the mutable op to its functional variant, run meta tensors through the original op.
        // This will help us catch shape errors that apply to inplace ops that wouldn't apply to their functional \
variants.
        // (We can only do this for inplace ops today though, because they technically all support meta tensors).
        {join_lines([plan.to_meta for plan in kernel.passed], 8)}
        at::AutoDispatchSkipFunctionalize func_guard;
        c10::impl::ExcludeDispatchKeyGuard guard(exclude_keys_for_meta_dispatch);
        {operators}::{function.name.unambiguous}::call({meta});
      }}
      {join_lines([plan.unwrap_synced for plan in kernel.passed], 6)}
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
        {result.text} {kernel.output};
        {{
          at::AutoDispatchSkipFunctionalize guard;
          {kernel.output} = {operators}::{functional.name.unambiguous}::call({", ".join(kernel.functional_arguments)});
        }}
        {_updates(kernel)}
      }}
    }}"""
