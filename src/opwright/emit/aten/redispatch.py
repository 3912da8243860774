"""`RedispatchFunctions.h`: the public C++ functions with a key set with which the dispatcher continues."""

from __future__ import annotations

from opwright.convention import public_api
from opwright.emit.aten.functions import call_arguments
from opwright.emit.aten.units import key_set_parameter, overloads
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Slots
from opwright.model.native_function import NativeFunction


def definitions(function: NativeFunction) -> list[str]:
    """The overload's inline functions, for PyTorch those of `at::redispatch`."""
    library = function.library
    operator = f"{library.operators}::{function.name.unambiguous}"
    texts = []
    for signature, arguments in zip(
        public_api.function_signatures(function).all(), call_arguments(function), strict=True
    ):
        passed = f"dispatchKeySet, {arguments}" if arguments else "dispatchKeySet"
        texts.append(f"""
// {library.namespace}::{function.schema}
inline {signature.declaration(first=key_set_parameter(function))} {{
    return {operator}::redispatch({passed});
}}
""")
    return texts


def _fragment(function: NativeFunction, context: FragmentContext) -> Slots:
    return {"function_redispatch_definitions": definitions(function)}


def emitters(job: Job) -> list[AnyEmitter]:
    """The emitter of the header."""
    return [
        Emitter(
            name="redispatch_functions_header",
            family="headers",
            template="RedispatchFunctions.h",
            units=overloads,
            fragment=_fragment,
            layout=OneFile("RedispatchFunctions.h"),
            file_slots=lambda job: {"function_redispatch_definitions": ()},
        )
    ]
