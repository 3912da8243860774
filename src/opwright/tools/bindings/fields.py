"""Fields of a dump for bindings as tables, and the JSON Schema that is made from them.

Operators have the fields that they have in other dumps, without places in files, and those for bindings. The names of
fields are stable: a new release of Opwright may add some, and changes `FORMAT` if it removes or changes one.
"""

from __future__ import annotations

from typing import Final

from opwright.dialects.field import FLAG, TEXT, choice, list_of_schema
from opwright.tools.dump.fields import OPERATORS, TYPES, Record, document_schema, field, optional, reference
from opwright.tools.dump.fields import RECORDS as DUMP_RECORDS

#: The version of the form of dumps for bindings.
FORMAT: Final = 1

#: What the field `kind` of the document says.
KIND: Final = "bindings"

_NAMES: Final = list_of_schema(TEXT)
_INDICES: Final = list_of_schema({"type": "integer"})
#: The fields of operators that lead into files, or say less than a field for bindings does.
_LEFT_OUT: Final = ("entry", "derivative", "c_shim", "returns", "manual_cpp_binding")

_DOCUMENT: Final = (
    field("format", {"enum": [FORMAT]}, "The version of the form of the document."),
    field("kind", choice(KIND), "What the document is for."),
    field("torch", TEXT, "The release of PyTorch whose rules hold, such as `2.13.0`."),
    TYPES,
    field(
        "docstrings",
        {"type": "object", "additionalProperties": TEXT},
        "The docstrings of Python functions and methods, by the names in `python`.",
    ),
    OPERATORS,
)
_TYPE: Final = (
    *DUMP_RECORDS["type"],
    optional("cpp_type", TEXT, "The C++ type of an argument that is not written, with plain integers, if it has one."),
)
_ARGUMENT: Final = (
    *DUMP_RECORDS["argument"],
    optional("cpp_default", TEXT, "The default as a C++ expression. Parameters of `cpp` have those of C++ callers."),
)
_RETURN: Final = (
    *DUMP_RECORDS["return"],
    field("cpp_type", TEXT, "The C++ type: an item of the tuple if there are several returns."),
    field("cpp_name", TEXT, "The name in generated C++: that of the argument if it is one, else `result` or the like."),
)
_CPP: Final = (
    field("form", choice("function", "method"), "Whether it is a function of a namespace or a method of tensors."),
    field("name", TEXT, "The name with namespace and class, such as `at::add_out` or `at::Tensor::add`."),
    field("declaration", TEXT, "The declaration, as it would stand outside of namespaces."),
    field("schema_order", FLAG, "Whether parameters are the arguments in the order of the schema, one for one."),
    field("symint", FLAG, "Whether integers that may be symbols are `c10::SymInt`, not `int64_t`."),
    field("returns", TEXT, "The C++ type of the result: `void`, that of the only return, or a tuple."),
    field("parameters", list_of_schema(reference("cpp_parameter")), "The parameters; `self` of a method is none."),
)
_CPP_PARAMETER: Final = (
    field("name", TEXT, "The name."),
    field("type", TEXT, "The C++ type."),
    field("arguments", _INDICES, "The indices of the arguments that it passes: one, or the four tensor options."),
    optional("default", TEXT, "The default as a C++ expression."),
)
_PYTHON: Final = (
    field("name", TEXT, "Where Python finds the function or method, such as `torch.add` or `torch.Tensor.add`."),
    field("declaration", TEXT, "The name with parameters and result, annotated as in PyTorch's stubs."),
    field("deprecated", FLAG, "Whether the signature is deprecated."),
    field("method", FLAG, "Whether it is a method of tensors, whose `self` is no parameter."),
    field("parameters", list_of_schema(reference("python_parameter")), "The parameters."),
    optional("docstring", TEXT, "The key in `docstrings`, if there is a docstring."),
)
_PYTHON_PARAMETER: Final = (
    field("name", TEXT, "The name."),
    field("keyword", FLAG, "Whether it is passed by name alone."),
    optional("annotation", TEXT, "The annotation, if the type has one."),
    optional("default", TEXT, "The default as a Python expression."),
)
_DISPATCH: Final = (
    field("keys", _NAMES, "The dispatch keys under which it runs."),
    field("serving", TEXT, "What serves it: `kernel`, `composite`, `autograd`, `fallback` and so on."),
    field("kernel", TEXT, "The C++ function or class that does the work."),
    optional("through", TEXT, "The operator that the kernel belongs to, if it is another one."),
)
_GRADIENTS: Final = (
    field("status", TEXT, "What happens to gradients: `formulas`, `composite`, `none`, `unimplemented` and so on."),
    field("text", TEXT, "The same in words."),
    field("formulas", list_of_schema(reference("gradient")), "The formulas by dispatch key."),
)
_GRADIENT: Final = (
    field("key", TEXT, "The dispatch key, `Default` for all that have no formulas of their own."),
    field("node", TEXT, "The node of the backward graph, such as `MulBackward0`."),
    field("backward", list_of_schema(reference("formula")), "The formulas of gradients."),
    field("forward", list_of_schema(reference("formula")), "The formulas of tangents."),
    field("not_differentiable", _NAMES, "The arguments that have no gradient."),
)
_FORMULA: Final = (
    field("names", _NAMES, "The arguments, or in forward mode the results, that it is for."),
    field("formula", TEXT, "The C++ expression."),
)
_C_SHIM: Final = (
    field("device", TEXT, "The device whose kernels it calls; `aten` for the dispatcher."),
    field("name", TEXT, "The name of the C function."),
    field("declaration", TEXT, "Its declaration."),
    optional("since", TEXT, "The macro of the release that first has it."),
)
_OPERATOR: Final = (
    *[row for row in DUMP_RECORDS["operator"] if row.name not in _LEFT_OUT],
    field("returns", list_of_schema(reference("return")), "The returns."),
    field("operator", TEXT, "The name without the overload: `add`."),
    field("overload", TEXT, "The name of the overload: `Tensor`, empty for the default one."),
    field("c_name", TEXT, "A name that no other overload has, and that is an identifier in C: `add_Tensor`."),
    field("header", TEXT, "The header that declares the functions of the operator: `ATen/ops/add.h`."),
    field("manual_cpp_binding", FLAG, "Whether PyTorch writes the public C++ function by hand (`cpp` has its twin)."),
    field("abstract", FLAG, "Whether it has kernels of its own, not only one that calls other operators."),
    field("factory", FLAG, "Whether it makes a tensor from tensor options."),
    field("cpp", list_of_schema(reference("cpp")), "The functions and methods of C++ that call it."),
    field("python", list_of_schema(reference("python")), "The signatures of Python, deprecated ones last."),
    field("dispatch", list_of_schema(reference("dispatch")), "The kernels, each with the dispatch keys of its calls."),
    field("gradients", reference("gradients"), "What happens to gradients."),
    field("c_shims", list_of_schema(reference("c_shim")), "The C functions by which AOTInductor calls it."),
    optional("c_shim_refusal", TEXT, "Which argument or return keeps the operator from having a shim."),
)

#: The name of a record -> its fields.
RECORDS: Final[dict[str, Record]] = {
    **{name: DUMP_RECORDS[name] for name in ("alias", "kernel", "precomputed", "loop", "group", "view_group")},
    "dump": _DOCUMENT,
    "type": _TYPE,
    "argument": _ARGUMENT,
    "return": _RETURN,
    "cpp": _CPP,
    "cpp_parameter": _CPP_PARAMETER,
    "python": _PYTHON,
    "python_parameter": _PYTHON_PARAMETER,
    "dispatch": _DISPATCH,
    "gradients": _GRADIENTS,
    "gradient": _GRADIENT,
    "formula": _FORMULA,
    "c_shim": _C_SHIM,
    "operator": _OPERATOR,
}


def json_schema() -> dict[str, object]:
    """Schema: the whole document, with a definition for each kind of record."""
    return document_schema(f"Dump of operators for bindings by Opwright, format {FORMAT}", RECORDS)
