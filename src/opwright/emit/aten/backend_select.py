"""`RegisterBackendSelect.cpp`: factory functions find their backend from the tensor options."""

from __future__ import annotations

from collections.abc import Sequence

from opwright.convention import dispatcher, native
from opwright.emit.aten.units import file_emitter, include
from opwright.emit.emitter import AnyEmitter, FragmentContext, Job, Slots
from opwright.model.native_function import NativeFunction


def factories(job: Job) -> Sequence[NativeFunction]:
    """Selected overloads that find their backend from the tensor options."""
    return [function for function in job.catalog.functions if function.is_factory and job.selection.selects(function)]


def definition(function: NativeFunction) -> str:
    """Kernel, which computes the dispatch keys from the options and the tensor arguments, and redispatches."""
    library = function.library
    signature = dispatcher.signature(function)
    options = "c10::DispatchKeySet(c10::computeDispatchKey(dtype, layout, device))"
    tensors = ", ".join([argument.name for argument in function.arguments.all if argument.type.is_tensor_like])
    if tensors:
        keys = f"""\
DispatchKeySet _dk_set = {options} | c10::detail::multi_dispatch_key_set({tensors});
DispatchKeySet _dk_mask = c10::DispatchKeySet(DispatchKeySet::FULL_AFTER, DispatchKey::BackendSelect);
DispatchKeySet _dk = c10::impl::computeDispatchKeySet(_dk_set, _dk_mask);"""
    else:
        keys = f"DispatchKeySet _dk = {options};"
    return f"""\
// {library.namespace}::{function.schema}
C10_ALWAYS_INLINE
{signature.definition(native.name(function.schema))} {{
  {keys}
  return {library.operators}::{function.name.unambiguous}::redispatch(
      _dk, {signature.arguments});
}}
"""


def _fragment(function: NativeFunction, context: FragmentContext) -> Slots:
    kernel = native.name(function.schema)
    operator = f"{function.library.namespace}::{function.name}"
    return {
        "ops_headers": (include(function, "_ops"),),
        "backend_select_method_definitions": (definition(function),),
        "backend_select_function_registrations": (f'm.impl("{operator}", TORCH_FN({kernel}));',),
    }


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitter of the file."""
    slots = ("ops_headers", "backend_select_method_definitions", "backend_select_function_registrations")
    return [file_emitter("register_backend_select_source", "RegisterBackendSelect.cpp", factories, _fragment, slots)]
