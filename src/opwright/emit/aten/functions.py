"""Public C++ API, for PyTorch the functions in `at::` and the methods of `Tensor`, each a call of its operator.

`ops/{op}.h` and `Functions.h`, which includes all of them or, in builds without per-operator headers, holds them;
`Functions.cpp`; `RedispatchFunctions.h`, whose functions take a key set with which the dispatcher continues;
`core/TensorBody.h` and `core/TensorMethods.cpp`.
"""

from __future__ import annotations

from opwright.convention import dispatcher, public_api
from opwright.convention.caching import per_function
from opwright.cpp.translation import translate
from opwright.emit.aten.static_dispatch import STATIC_BACKENDS, operator_headers
from opwright.emit.aten.units import (
    RootOverloads,
    file_emitter,
    include,
    includes,
    key_set_parameter,
    methods,
    overloads,
    own_name,
    roots,
)
from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, FragmentContext, Job, OneFile, Slots
from opwright.model.native_function import NativeFunction


@per_function
def call_arguments(function: NativeFunction) -> tuple[str, ...]:
    """Arguments of the operator's call for each signature of the function, made from the signature's parameters."""
    wanted = dispatcher.signature(function).bindings
    return tuple(
        [
            ", ".join(translate(signature.bindings, wanted))
            for signature in public_api.function_signatures(function).all()
        ]
    )


def definition(function: NativeFunction) -> str:
    """The overload's inline functions.

    Overloads with symbolic integers, methods included, also have templates in the namespace `symint`. C++ templates
    use them to choose the signature with or without symbolic integers. The two are the same if there are such integers
    only in lists that the dispatcher holds.
    """
    operator = f"{function.library.operators}::{function.name.unambiguous}"
    comment = f"\n// {function.library.namespace}::{function.schema}\ninline "
    has_symint = function.schema.has_symint
    definitions = []
    signatures = public_api.function_signatures(function).all()
    spelt = [(signature.plain_name, signature.parameters) for signature in signatures]
    for signature, arguments in zip(signatures, call_arguments(function), strict=True):
        rest = f"({signature.parameters}) {{\n"
        call = f"    return {operator}::call({arguments});\n"
        returns = signature.returns.text
        if function.function:
            definitions.append(f"{comment}{returns} {signature.name}{rest}{call}}}")
        serves_both = spelt.count((signature.plain_name, signature.parameters)) > 1
        if has_symint and not (serves_both and signature.symint):
            integer = "c10::SymInt" if signature.symint else "int64_t"
            parameter = own_name(function, "T")
            chosen = "" if serves_both else f", typename = std::enable_if_t<std::is_same_v<{parameter}, {integer}>>"
            definitions.append(f"""
namespace symint {{
  template <typename {parameter}{chosen}>
  {returns} {signature.plain_name}{rest}{call}  }}
}}
""")
    return "".join(definitions)


def _root_header(root: RootOverloads, context: FragmentContext) -> Slots:
    functions = root[1]
    backends = context.read(STATIC_BACKENDS)
    return {
        "static_dispatch_ops_headers": [
            line for function in functions for line in operator_headers(function, backends)
        ],
        "operator_includes": include(functions[0], "_ops"),
        "function_definitions": [definition(function) for function in functions],
    }


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


def redispatch_definitions(function: NativeFunction) -> list[str]:
    """The overload's inline functions that continue with a key set, for PyTorch those of `at::redispatch`."""
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


def _headers(job: Job) -> list[AnyEmitter]:
    if not job.options.per_operator_headers:
        return [
            Emitter(
                name="functions_header",
                family="headers",
                template="Functions.h",
                units=overloads,
                fragment=lambda function, context: {"Functions_declarations": (definition(function),)},
                layout=OneFile("Functions.h"),
                file_slots=lambda job: {"Functions_includes": ("#include <ATen/Operators.h>",)},
            )
        ]
    return [
        Emitter(
            name="function_headers",
            family="headers",
            template="Function.h",
            folder="ops",
            units=roots,
            fragment=_root_header,
            reads=(STATIC_BACKENDS,),
            layout=FilePerUnit(lambda root: f"{root[0]}.h"),
        ),
        Emitter(
            name="functions_header",
            family="headers",
            template="Functions.h",
            layout=OneFile("Functions.h"),
            file_slots=lambda job: {"Functions_includes": includes("", None, job), "Functions_declarations": ()},
        ),
    ]


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the functions and methods."""
    return [
        *_headers(job),
        Emitter(
            name="functions_source",
            family="sources",
            template="Functions.cpp",
            layout=OneFile("Functions.cpp"),
        ),
        file_emitter(
            "tensor_body_header",
            "TensorBody.h",
            methods,
            method_slots,
            ("tensor_method_declarations", "tensor_method_definitions"),
            family="headers",
            folder="core",
        ),
        Emitter(
            name="tensor_methods_source",
            family="sources",
            template="TensorMethods.cpp",
            folder="core",
            layout=OneFile("TensorMethods.cpp"),
        ),
        file_emitter(
            "redispatch_functions_header",
            "RedispatchFunctions.h",
            overloads,
            lambda function, context: {"function_redispatch_definitions": redispatch_definitions(function)},
            ("function_redispatch_definitions",),
            family="headers",
        ),
    ]
