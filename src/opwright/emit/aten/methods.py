"""The methods of `Tensor`, each a call of its operator: `core/TensorBody.h` and `core/TensorMethods.cpp`."""

from __future__ import annotations

from opwright.convention import dispatcher, public_api
from opwright.cpp.translation import translate
from opwright.emit.aten.units import methods, whole_file
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Slots
from opwright.model.native_function import NativeFunction


def method_slots(function: NativeFunction, context: FragmentContext) -> Slots:
    """The declarations and definitions of the overload's methods."""
    wanted = dispatcher.signature(function).bindings
    library = function.library
    operator = f"{library.operators}::{function.name.unambiguous}"
    declared, defined = [], []
    for signature in public_api.method_signatures(function).all():
        arguments = ", ".join(translate(signature.bindings, wanted, method=True))
        declared.append(f"{signature.declaration()} const;")
        defined.append(f"""
// {library.namespace}::{function.schema}
inline {signature.definition("Tensor::" + signature.name)} const {{
    return {operator}::call({arguments});
}}
""")
    return {"tensor_method_declarations": declared, "tensor_method_definitions": defined}


def emitters(job: Job) -> list[AnyEmitter]:
    """The emitters of the class and of the definitions outside it."""
    return [
        Emitter(
            name="tensor_body_header",
            family="headers",
            template="TensorBody.h",
            folder="core",
            units=methods,
            fragment=method_slots,
            layout=OneFile("TensorBody.h"),
            file_slots=lambda job: {"tensor_method_declarations": (), "tensor_method_definitions": ()},
        ),
        whole_file(
            "TensorMethods.cpp",
            name="tensor_methods_source",
            family="sources",
            template="TensorMethods.cpp",
            folder="core",
        ),
    ]
