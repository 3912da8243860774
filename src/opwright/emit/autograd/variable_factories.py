"""`variable_factories.h`: PyTorch's factories as functions of `torch::`, whose tensors may require gradients."""

from __future__ import annotations

from opwright.convention import public_api
from opwright.convention.public_api import CppSignature
from opwright.emit.aten.units import include
from opwright.emit.autograd.kernels import autograd_emitter
from opwright.emit.emitter import AnyEmitter, FragmentContext, Job, Slots
from opwright.model.native_function import NativeFunction
from opwright.schema.function import TensorOptions


def is_factory(function: NativeFunction) -> bool:
    """Whether the overload is a function that takes tensor options, or is named like those that copy them."""
    if not function.function:
        return False
    return function.arguments.options is not None or public_api.name(function.schema).endswith("_like")


def _definition(signature: CppSignature) -> str:
    """One function: it calls the public one without recording gradients and sets the flag on the new tensor."""
    passed, requires_grad = [], "false"
    for binding in signature.bindings:
        if isinstance(binding.argument, TensorOptions):
            # The public function refuses options with `requires_grad`.
            passed.append(f"at::TensorOptions({binding.name}).requires_grad(::std::nullopt)")
            requires_grad = f"{binding.name}.requires_grad()"
        else:
            passed.append(binding.name)
    parameters = [
        f"{binding.definition} = {binding.default}" if binding.default else binding.definition
        for binding in signature.bindings
    ]
    name = public_api.name(signature.function.schema, symint=signature.symint)
    call = f"{signature.function.library.api}::{name}({', '.join(passed)})"
    return f"""inline at::Tensor {name}({", ".join(parameters)}) {{
  at::AutoDispatchBelowADInplaceOrView guard;
  return autograd::make_variable({call}, /*requires_grad=*/{requires_grad});
}}
"""


def definition(function: NativeFunction) -> str:
    """Functions of one overload: with integers and, where it has some, with symbolic ones."""
    signatures = public_api.function_signatures(function)
    text = _definition(signatures.friendly)
    if signatures.friendly_symint is not None:
        text += _definition(signatures.friendly_symint)
    return text


def _factories(job: Job) -> list[NativeFunction]:
    return [function for function in job.catalog.functions if is_factory(function)]


def _fragment(function: NativeFunction, context: FragmentContext) -> Slots:
    return {
        "ops_headers": (include(function, ""),),
        "function_definitions": (definition(function),),
    }


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitter of the factories."""
    slots = ("ops_headers", "function_definitions")
    return [autograd_emitter("variable_factories_header", "variable_factories.h", _factories, _fragment, slots)]
