"""Sources that declare custom operators to PyTorch and register kernels for them.

`RegisterSchema.cpp` has the schemas, and `RegisterCPUCustomOps.cpp` the kernels. `RegisterCPUStub.cpp` has kernels that
compute nothing, for programs that only export models.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from opwright.convention import dispatcher
from opwright.cpp.translation import translated_call
from opwright.emit.aten.backend import Backend, WrapperKind
from opwright.emit.aten.register import wrapper as plain
from opwright.emit.aten.register.registration import registration
from opwright.emit.aten.schemas import file_slots, library_slots
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Slots
from opwright.mobile.executorch.units import (
    PYTORCH_KEY,
    ExecutorchNamespace,
    by_namespace,
    custom_operators,
    pytorch_kernel,
)
from opwright.mobile.executorch_operators import ExecutorchOperator
from opwright.schema.function import FunctionSchema

#: The definition of a wrapper. PyTorch's files, which are filled from the same text, lose its blank lines.
_DEFINITION: Final = """\
namespace {{

{head} {{
    // No device check


  // DeviceGuard omitted
  return {call};
}}

}} // anonymous namespace

"""


def _backend(chosen: Sequence[ExecutorchOperator]) -> Backend:
    kernels = {operator.function: kernel for operator in chosen if (kernel := pytorch_kernel(operator)) is not None}
    return Backend(PYTORCH_KEY, kernels, symint=False)


def _wrapper(operator: ExecutorchOperator, context: FragmentContext) -> Slots:
    backend = _backend([operator])
    if not backend.wrapped_overloads(operator.function):
        return {}
    wrapper = plain.plain_wrapper(operator.function, WrapperKind.kernel, backend)
    kernel = backend.kernels[operator.function]
    wanted = backend.kernel_signature(operator.function).bindings
    call = translated_call(f"{kernel.namespace}::{kernel.name}", wrapper.signature.bindings, wanted)
    definition = _DEFINITION.format(head=wrapper.signature.definition(wrapper.name), call=call)
    return {"dispatch_anonymous_definitions": [definition]}


def stub_result(schema: FunctionSchema) -> str | None:
    """Expression that a stub returns: outs, an argument of the result's type, or empty tensors.

    None if there is no such expression; empty if the operator returns nothing.

    >>> from opwright.schema import parse_schema
    >>> stub_result(parse_schema("twice(Tensor self, int count) -> Tensor"))
    'self'
    >>> stub_result(parse_schema("count(Tensor self) -> int")) is None
    True
    """
    returns, outs = schema.returns, schema.arguments.out
    if len(returns) == 1:
        if outs:
            return outs[0].name
        same = [argument.name for argument in schema.arguments.non_out if argument.type is returns[0].type]
        if same:
            return same[0]
    elif returns and len(outs) == len(returns):
        return _tuple("at::Tensor &", [argument.name for argument in outs])
    if any(result.type.text != "Tensor" for result in returns):
        return None
    if len(returns) == 1:
        return "at::Tensor()"
    return _tuple("at::Tensor", ["at::Tensor()"] * len(returns)) if returns else ""


def _tuple(type: str, values: Sequence[str]) -> str:
    types = ", ".join([type] * len(values))
    return f"::std::tuple<{types}>(\n                {', '.join(values)}\n            )"


def _stub(operator: ExecutorchOperator, context: FragmentContext) -> Slots:
    function = operator.function
    if not function.function:
        return {}
    name = plain.wrapper_name(function, _backend([operator]))
    result = stub_result(function.schema)
    body = f"return {result};" if result else ""
    definition = dispatcher.concrete_signature(function).definition(name)
    return {"dispatch_anonymous_definitions": [f"\n{definition} {{\n    {body}\n}}\n    "]}


def _registrations(namespace: ExecutorchNamespace) -> str:
    backend = _backend(namespace.operators)
    statements = [
        registration(plain.plain_wrapper(operator.function, WrapperKind.kernel, backend))
        for operator in namespace.operators
        if backend.wrapped_overloads(operator.function)
    ]
    body = "\n".join([f"{statement}\n" for statement in statements])
    return f"\nTORCH_LIBRARY_IMPL({namespace.name}, {PYTORCH_KEY.name}, m) {{\n{body}\n}}"


def _file_slots(headers: str, job: Job) -> Slots:
    return {
        "ops_headers": headers,
        "DispatchKey": PYTORCH_KEY.name,
        "dispatch_namespace": PYTORCH_KEY.lower,
        "dispatch_namespaced_definitions": "",
        "dispatch_anonymous_definitions": (),
        "static_init_dispatch_registrations": "".join(
            [_registrations(each) for each in by_namespace(custom_operators(job))]
        ),
    }


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the sources; none for a run without custom operators."""
    if not custom_operators(job):
        return []
    kernels, stubs = (
        Emitter(
            name=f"executorch_{name}_source",
            family="executorch_sources",
            template="executorch/RegisterDispatchKeyCustomOps.cpp",
            folder="executorch",
            units=custom_operators,
            fragment=fragment,
            file_slots=partial(_file_slots, headers),
            layout=OneFile(f"Register{PYTORCH_KEY.name}{file}.cpp"),
        )
        for name, fragment, headers, file in (
            ("custom_operators", _wrapper, '#include "CustomOpsNativeFunctions.h"', "CustomOps"),
            ("stubs", _stub, "", "Stub"),
        )
    )
    schemas = Emitter(
        name="executorch_schemas_source",
        family="executorch_sources",
        template="executorch/RegisterSchema.cpp",
        folder="executorch",
        units=lambda job: by_namespace(custom_operators(job)),
        fragment=lambda namespace, context: library_slots(
            namespace.name, [operator.function for operator in namespace.operators]
        ),
        file_slots=file_slots,
        layout=OneFile("RegisterSchema.cpp"),
    )
    return [kernels, stubs, schemas]
