"""`Functions.h`: an inline function for each operator, which calls its kernel, or PyTorch's function."""

from __future__ import annotations

from opwright.cpp.namespaces import closing, opening
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Slots
from opwright.mobile.executorch import convention as executorch
from opwright.mobile.executorch.units import ExecutorchNamespace, by_namespace, function_signature, operators
from opwright.mobile.executorch_choices import ExecutorchOptions
from opwright.mobile.executorch_operators import ExecutorchOperator, RunExecutorch


def _fragment(namespace: ExecutorchNamespace, context: FragmentContext) -> Slots:
    chosen = [operator for operator in namespace.operators if context.selection.is_root_named(operator.name)]
    body = "\n".join([_function(operator, context) for operator in chosen])
    return {"Functions_declarations": [f"\n{opening(namespace.name)}\n{body}\n{closing(namespace.name)}\n"]}


def _function(operator: ExecutorchOperator, context: FragmentContext) -> str:
    """Definition of an operator's function; empty if its kernels are registered by hand."""
    options = context.options.of(ExecutorchOptions)
    function = operator.function
    is_atens = options.aten_mode and not operator.is_custom
    if function.manual_kernel_registration and not is_atens:
        return ""
    signature = function_signature(operator, aten_mode=options.aten_mode)
    declaration = signature.declaration(first=executorch.CONTEXT)
    names = [binding.name for binding in signature.bindings]
    if is_atens:
        is_method = function.method and not function.function
        callee = f"{names.pop(0)}.{signature.name}" if is_method else f"at::{signature.name}"
        body = f"return {callee}({', '.join(names)});"
    else:
        arguments = names if options.aten_mode else ["context", *names]
        body = _kernel_call(operator, ", ".join(arguments), as_reference=options.as_reference)
    return f"\n// {function.namespace}::{operator.schema}\nTORCH_API inline {declaration} {{\n    {body}\n}}\n"


def _kernel_call(operator: ExecutorchOperator, arguments: str, *, as_reference: bool) -> str:
    kernel = operator.kernel
    if kernel is None:
        message = f"The number of native function(s) binding to {operator.function.name} is 0."
        return f'\nET_ASSERT_UNREACHABLE_MSG("{message}");\n    '
    if as_reference and len(operator.kernels) == 1 and not kernel.is_default:
        # ExecuTorch's program looks for the default kernel alone.
        return f"return ::::({arguments});"
    return f"return ::{kernel.namespace}::{kernel.name}({arguments});"


def _includes(job: Job) -> list[str]:
    if not job.options.of(ExecutorchOptions).aten_mode:
        return ['#include "NativeFunctions.h"']
    custom = ['#include "CustomOpsNativeFunctions.h"'] if job.of(RunExecutorch).executorch.has_custom_file else []
    return ["#include <ATen/Functions.h>", *custom]


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitter of the header."""
    return [
        Emitter(
            name="executorch_functions_header",
            family="executorch_headers",
            template="executorch/Functions.h",
            folder="executorch",
            units=lambda job: by_namespace(operators(job)),
            fragment=_fragment,
            file_slots=lambda job: {"static_dispatch_extra_headers": _includes(job), "Functions_declarations": ()},
            layout=OneFile("Functions.h"),
        )
    ]
