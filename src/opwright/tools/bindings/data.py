"""Operators as data for bindings: what other dumps have, with C++ and Python signatures, dispatch and formulas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, cast

from opwright.convention import public_api, shared_types
from opwright.convention.defaults import cpp_default
from opwright.convention.public_api import CppSignature
from opwright.convention.python.bound import TENSOR_METHODS
from opwright.convention.python.hints import HintedParameter, Hints, corrected
from opwright.convention.python.parameter import NoPythonType, Parameter
from opwright.convention.python.signature import PythonSignature
from opwright.cpp.binding import Binding
from opwright.dialects.dialect import LoadContext
from opwright.dialects.table import DOCSTRINGS
from opwright.emit.emitter import Job
from opwright.emit.torch_stubs.hints import docstring_lines, hints_of
from opwright.model.more_inputs import Docstring
from opwright.model.native_function import NativeFunction, TypeStyle
from opwright.release.inputs import Inputs
from opwright.release.tree import rules_of
from opwright.schema.function import Argument, TensorOptions
from opwright.schema.parser import parse_type
from opwright.schema.types import Type
from opwright.source.diagnostic import Diagnostics
from opwright.tools.bindings.fields import FORMAT, KIND
from opwright.tools.dump.data import JsonValue, operator_data, types_data
from opwright.tools.dump.shims import shim_refusal
from opwright.tools.explain.explanation import dispatch_records
from opwright.tools.explain.gradients import derivative_record
from opwright.tools.explain.loading import ExplainRequest, load_pytorch
from opwright.tools.explain.records import FormulaRecord
from opwright.tools.explain.signatures import (
    call_text,
    python_signatures,
    qualified_cpp_name,
    qualified_declaration,
    shims_by_function,
    with_plain_names,
)

#: Where Python's modules with docstrings find methods, and how callers name the class.
_METHODS: Final = ("torch._C.TensorBase.", f"{TENSOR_METHODS.name}.")


def docstring_data(docstrings: Mapping[str, Docstring]) -> dict[str, JsonValue]:
    """Docstrings by the names that callers use, without the indentation of the modules that have them."""
    return {
        name.replace(*_METHODS): "\n".join(docstring_lines(docstring.text))
        for name, docstring in sorted(docstrings.items())
    }


def cpp_types_data(functions: Iterable[NativeFunction]) -> dict[str, JsonValue]:
    """Types as other dumps have them, with the C++ type of an argument of the type, if it has one."""
    records = cast("dict[str, dict[str, JsonValue]]", types_data(functions))
    return {text: {**record, **_cpp_type(parse_type(text))} for text, record in records.items()}


def _cpp_type(type: Type) -> dict[str, JsonValue]:
    if not shared_types.has_cpp_type(type):
        return {}
    return {
        "cpp_type": shared_types.argument_type(type, mutable=False, symint=False, style=TypeStyle.PLAIN).text,
    }


def binding_data(function: NativeFunction, job: Job, docstrings: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Record of an operator. `docstrings` are those that Python's functions may have, by name."""
    name, record = function.name, operator_data(function)
    return {
        **record,
        "arguments": [
            argument if default is None else {**argument, "cpp_default": default}
            for argument, default in zip(
                cast("list[dict[str, JsonValue]]", record["arguments"]),
                [cpp_default(argument, symint=False) for argument in function.arguments.all],
                strict=True,
            )
        ],
        "returns": [
            {**result, "cpp_type": shared_types.return_type(origin, function.style).text, "cpp_name": cpp_name}
            for result, origin, cpp_name in zip(
                cast("list[dict[str, JsonValue]]", record["returns"]),
                function.schema.returns,
                public_api.return_names(function),
                strict=True,
            )
        ],
        "operator": name.name,
        "overload": name.overload,
        "c_name": name.unambiguous,
        "header": f"{function.library.headers}/{function.root_name}.h",
        "manual_cpp_binding": function.manual_cpp_binding,
        "abstract": function.is_abstract,
        "factory": function.is_factory,
        "cpp": [_cpp_data(signature) for signature in _cpp_signatures(function)],
        "python": list(_python(function, job, docstrings)),
        "dispatch": _dispatch(function, job),
        "gradients": _gradients(function, job),
        **_c_shims(function, job),
    }


def _cpp_signatures(function: NativeFunction) -> list[CppSignature]:
    functions = public_api.function_signatures(function).all() if function.function else []
    methods = public_api.method_signatures(function).all() if function.method else []
    return functions + methods


def _cpp_data(signature: CppSignature) -> JsonValue:
    arguments = signature.function.arguments
    places = {argument: index for index, argument in enumerate(arguments.all)}
    parameters = [_parameter_data(binding, places) for binding in signature.bindings]
    return {
        "form": "method" if signature.method else "function",
        "name": qualified_cpp_name(signature),
        "declaration": qualified_declaration(signature),
        "schema_order": signature.faithful or not (arguments.out or arguments.options),
        "symint": signature.symint,
        "returns": signature.returns.text,
        "parameters": cast("list[JsonValue]", parameters),
    }


def _parameter_data(binding: Binding, places: Mapping[Argument, int]) -> dict[str, JsonValue]:
    passed = binding.argument
    assert passed is not None, "parameters of the public API are arguments"
    arguments = passed.all if isinstance(passed, TensorOptions) else (passed,)
    record: dict[str, JsonValue] = {
        "name": binding.name,
        "type": binding.type.text,
        "arguments": [places[argument] for argument in arguments],
    }
    return record if binding.default is None else {**record, "default": binding.default}


def _python(function: NativeFunction, job: Job, docstrings: Mapping[str, JsonValue]) -> Iterator[JsonValue]:
    """Records of the signatures of Python, deprecated ones last."""
    hints = hints_of(job)
    for name, signature in python_signatures(function, job):
        documented: dict[str, JsonValue] = {"docstring": name} if name in docstrings else {}
        yield {
            "name": name,
            "declaration": name + call_text(signature, hints),
            "deprecated": signature.deprecated,
            "method": signature.method,
            "parameters": list(_python_parameters(signature, hints)),
            **documented,
        }


def _python_parameters(signature: PythonSignature, hints: Hints) -> Iterator[JsonValue]:
    for index, parameter in enumerate(_hinted_parameters(signature, hints)):
        record: dict[str, JsonValue] = {"name": parameter.name, "keyword": index >= len(signature.inputs)}
        optional = {"annotation": parameter.hint or None, "default": parameter.default}
        yield {**record, **{field: text for field, text in optional.items() if text is not None}}


def _hinted_parameters(signature: PythonSignature, hints: Hints) -> list[HintedParameter]:
    """Parameters with their annotations; without any if a type that a tree taught has none."""
    try:
        return [_hinted_parameter(parameter, signature, hints) for parameter in signature.parameters]
    except NoPythonType:
        return [HintedParameter(parameter.name, "", parameter.default) for parameter in signature.parameters]


def _hinted_parameter(parameter: Parameter, signature: PythonSignature, hints: Hints) -> HintedParameter:
    """A parameter with its annotation, as `call_text` has it."""
    name, hint, default = hints.parameter(parameter, method=signature.method, deprecated=signature.deprecated)
    if default is not None:
        hint, _, default = corrected(f": {hint} = {default}").removeprefix(": ").partition(" = ")
    return HintedParameter(name, with_plain_names(hint), default)


def _dispatch(function: NativeFunction, job: Job) -> JsonValue:
    """Kernels, each with the keys under which it runs."""
    keys: dict[tuple[str, str, str], list[JsonValue]] = {}
    for row in dispatch_records(function, job):
        if row.registered_for:
            keys.setdefault((row.serving, row.kernel, row.through), []).append(row.key)
    return [
        {"keys": keys, "serving": serving, "kernel": kernel, **({"through": through} if through else {})}
        for (serving, kernel, through), keys in keys.items()
    ]


def _gradients(function: NativeFunction, job: Job) -> JsonValue:
    record = derivative_record(function, job)
    formulas: list[JsonValue] = [
        {
            "key": gradient.key,
            "node": gradient.node,
            "backward": _formulas(gradient.formulas),
            "forward": _formulas(gradient.forward),
            "not_differentiable": list(gradient.not_differentiable),
        }
        for gradient in record.gradients
    ]
    return {"status": record.status, "text": record.text, "formulas": formulas}


def _formulas(formulas: Iterable[FormulaRecord]) -> JsonValue:
    return [{"names": list(record.names), "formula": record.formula} for record in formulas]


def _c_shims(function: NativeFunction, job: Job) -> dict[str, JsonValue]:
    """Field of the C shims, and why there can be none."""
    shims: list[JsonValue] = [
        {
            "device": unit.target.name,
            "name": shim.name,
            "declaration": shim.head,
            **({"since": shim.guard} if shim.guard is not None else {}),
        }
        for unit in shims_by_function(job).get(function, ())
        for shim in unit.shim.functions
    ]
    refusal = "" if shims else shim_refusal(function)
    return {"c_shims": shims, **({"c_shim_refusal": refusal} if refusal else {})}


def dump_for_bindings(inputs: Inputs, release: str | None, sink: Diagnostics) -> dict[str, JsonValue]:
    """Dump of PyTorch's operators for bindings.

    Raises FaultsFound with every mistake in the files.

    >>> from opwright.release.inputs import open_inputs
    >>> document = dump_for_bindings(open_inputs("auto"), None, Diagnostics())
    >>> relu = next(operator for operator in document["operators"] if operator["name"] == "relu")
    >>> [call["declaration"] for call in relu["cpp"]]
    ['at::Tensor at::relu(const at::Tensor & self)', 'at::Tensor at::Tensor::relu() const']
    """
    rules = rules_of(inputs, release, sink)
    job = load_pytorch(ExplainRequest((), inputs, release), inputs, rules, sink)
    functions = job.catalog.functions
    # There are none if the inputs have none, or some that only running them would tell.
    docstrings = docstring_data(DOCSTRINGS.load_inputs(LoadContext(Diagnostics(), rules, inputs)) or {})
    names = {name for function in functions for name, _ in python_signatures(function, job)}
    docstrings = {name: text for name, text in docstrings.items() if name in names}
    return {
        "format": FORMAT,
        "kind": KIND,
        "torch": str(rules.version),
        "types": cpp_types_data(functions),
        "docstrings": docstrings,
        "operators": [binding_data(function, job, docstrings) for function in functions],
    }
