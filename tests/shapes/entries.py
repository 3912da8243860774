"""The entries of a library file for one row: what each factor adds to them."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tests.shapes.pairs import Factors, Row

__all__ = ["FACTORS", "HELPERS", "Entries", "entries_of"]

#: What an entry can say, for each factor the most ordinary value first.
FACTORS: Final[Factors] = {
    # The argument that varies.
    "type": (
        "Tensor", "int", "SymInt", "float", "bool", "Scalar", "str", "ScalarType", "Layout", "Device", "MemoryFormat",
        "Generator", "Storage", "Stream", "QScheme", "SymBool", "DeviceIndex", "DimVector", "GraphModule",
    ),
    "form": ("plain", "?", "[]", "[2]", "?[]", "[]?", "[2]?", "[][]"),
    "access": ("read", "write", "alias", "alias of all"),
    "position": ("last", "first", "alone", "keyword", "before an optional tensor", "before a list"),
    "default": ("none", "given"),
    "name": ("x", "self", "out", "result", "grad", "ks", "op", "dispatchKeySet", "tmp_output", "default", "T", "other"),
    # The results.
    "returns": (
        "Tensor", "()", "(Tensor, Tensor)", "(Tensor mean, Tensor count)", "Tensor[]", "Tensor?", "(Tensor, int)",
        "int", "SymInt", "float", "bool", "Scalar", "str", "ScalarType", "Device", "int[]", "SymInt[]", "Tensor?[]",
        "written", "aliased", "aliased list", "written and new", "Generator", "Layout",
    ),
    # The overloads of the operation.
    "overloads": (
        "one", "autogen", "structured", "with out", "with inplace", "named overload", "in place", "in place structured",
        "out alone", "view",
    ),
    # The fields.
    "key": (
        "CPU", "none", "CUDA", "CPU, CUDA", "Meta", "CompositeExplicitAutograd", "CompositeImplicitAutograd",
        "CompositeExplicitAutogradNonFunctional", "CPU symint", "Composite symint", "Autograd", "AutogradCPU",
        "SparseCPU", "QuantizedCPU", "PrivateUse1", "MPS", "AutocastCUDA", "CPU and Meta", "ADInplaceOrView",
        "Functionalize", "FuncTorchBatched", "NestedTensorCPU", "BackendSelect", "ZeroTensor", "of another namespace",
    ),
    "outputs": ("none", "like", "sizes", "broadcast", "fields", "subject"),
    "derivative": (
        "none", "grad", "saved", "result", "forward", "linear", "non_differentiable", "subject", "undifferentiable",
    ),
    "autocast": (
        "none", "fp32", "lower_precision_fp", "promote", "fp32_set_opt_dtype", "fp32_append_dtype",
        "fp32_cast_back", "by device",
    ),
    "batch_rule": ("none", "given"),
    "samples": ("none", "given"),
    "tags": ("none", "pointwise", "nondeterministic_seeded", "pt2_compliant_tag", "dynamic_output_shape"),
    "field": (
        "none", "method", "device_check", "device_guard", "cpp_no_default_args", "const_ref",
        "manual_kernel_registration", "manual_cpp_binding", "python_module", "doc", "function, method",
    ),
}  # fmt: skip

_DEFAULTS: Final = {
    "Tensor": "None", "int": "1", "SymInt": "2", "float": "0.5", "bool": "True", "Scalar": "1", "str": '"a"',
    "ScalarType": "float", "Layout": "strided", "Device": "cpu", "MemoryFormat": "contiguous_format",
    "Generator": "None", "SymBool": "False",
}  # fmt: skip

#: What the author of the library declares for formulas.
HELPERS: Final = """\
#pragma once
#include <ATen/core/Tensor.h>
namespace helpers {
template <class... Arguments>
at::Tensor backward(const Arguments&...) {
  return at::Tensor();
}
template <class... Arguments>
::std::vector<at::Tensor> backward_of_list(const Arguments&...) {
  return {};
}
} // namespace helpers
"""

#: An argument of each type, as a sample says it.
_SAMPLES: Final = {
    "Tensor": "torch.randn(3, 4)", "int": "1", "SymInt": "2", "float": "0.5", "bool": "True", "Scalar": "1",
    "str": "'a'", "ScalarType": "torch.float32", "Layout": "torch.strided", "Device": "torch.device('cpu')",
    "MemoryFormat": "torch.contiguous_format", "SymBool": "False",
}  # fmt: skip

_ANNOTATIONS: Final = {"read": "", "write": "(a!)", "alias": "(a)", "alias of all": "(a -> *)"}
_ANNOTATION: Final = re.compile(r"(?<=Tensor)\([a-z]!?( -> \*)?\)")
_FIELDS: Final = {
    "method": "variants: method",
    "function, method": "variants: function, method",
    "device_check": "device_check: NoCheck",
    "device_guard": "device_guard: False",
    "const_ref": "use_const_ref_for_mutable_tensors: True",
    "manual_kernel_registration": "manual_kernel_registration: True",
    "manual_cpp_binding": "manual_cpp_binding: True",
    "python_module": "python_module: nn",
    "doc": 'doc: "Says */ what \\\\ it \\"\\"\\" does."',
}


class Entries(NamedTuple):
    """The entries of a row and of its derivative, as YAML; schemas name it by `op` and a number."""

    entries: str
    derivative: str


class _Subject(NamedTuple):
    """The argument that varies, as it is in a schema, and the name of the tensor beside it; its own if it is alone."""

    name: str
    text: str
    tensor: str


def _subject(row: Row) -> _Subject:
    form = "" if row["form"] == "plain" else row["form"]
    base, annotation = row["type"], _ANNOTATIONS[row["access"]]
    default = ""
    if row["default"] == "given" or row["field"] == "cpp_no_default_args":
        value = "None" if form.endswith("?") else "[]" if "[" in form else _DEFAULTS.get(base, "None")
        default = f"={value}"
    tensor = "input" if row["name"] == "self" else "self"
    alone = row["position"] == "alone"
    return _Subject(row["name"], f"{base}{annotation}{form} {row['name']}{default}", row["name"] if alone else tensor)


def _annotation(row: Row) -> str:
    """The annotation of the tensor beside the subject: what results and names of the row ask for."""
    if row["overloads"] in ("in place", "in place structured") or row["returns"] in ("written", "written and new"):
        return "" if row["access"] == "write" and row["position"] == "first" else "(y!)"
    if row["access"] == "read" and (row["overloads"] == "view" or row["returns"] == "aliased"):
        return "(y)"
    return "(y -> *)" if row["access"] == "read" and row["returns"] == "aliased list" else ""


def _arguments(row: Row, subject: _Subject) -> str:
    tensor = f"Tensor{_annotation(row)} {'input' if subject.name == 'self' else 'self'}"
    positional, keyword = [tensor, subject.text], []
    match row["position"]:
        case "first":
            positional.reverse()
        case "alone":
            positional = [subject.text]
        case "keyword":
            positional, keyword = [tensor], [subject.text]
        case "before an optional tensor":
            positional.append("Tensor? bias=None")
        case "before a list":
            positional.append("Tensor?[] indices=[]")
    if row["autocast"] == "fp32_set_opt_dtype":
        keyword.append("ScalarType? dtype=None")
    return ", ".join([*positional, "*", *keyword] if keyword else positional)


def _returns(row: Row) -> str:
    """The results. Those that alias an argument name the alias set of the tensor or of the subject."""
    own = _annotation(row)[1:-1].removesuffix(" -> *")
    alias = own or {"write": "a!", "alias": "a", "alias of all": "a"}.get(row["access"], "a")
    if row["overloads"] == "out alone":
        return "Tensor(z!)"
    if row["overloads"] in ("in place", "in place structured") or row["returns"] == "written":
        return f"Tensor({alias})"
    if row["returns"] == "written and new":
        return f"(Tensor({alias}), Tensor)"
    if row["returns"] == "aliased list":
        return f"Tensor({alias})[]"
    return f"Tensor({alias})" if row["returns"] == "aliased" or row["overloads"] == "view" else row["returns"]


def _dispatch(key: str, kernel: str) -> list[str]:
    """The lines of the field with the kernels."""
    named = {
        "none": [],
        "CPU symint": [f"CPU: {kernel}_symint"],
        "Composite symint": [f"CompositeExplicitAutograd: {kernel}_symint"],
        "CPU and Meta": [f"CPU: {kernel}", f"Meta: {kernel}_meta"],
        "of another namespace": [f"CPU: mine::{kernel}"],
    }
    lines = named.get(key, [f"{key}: {kernel}"])
    return ["  dispatch:", *[f"    {line}" for line in lines]] if lines else []


def _fields(row: Row, subject: _Subject) -> list[str]:
    """The lines of the fields that an entry has besides schema and kernels."""
    lines = []
    if row["field"] == "cpp_no_default_args":
        lines.append(f"cpp_no_default_args: [{subject.name}]")
    elif row["field"] != "none":
        lines.append(_FIELDS[row["field"]])
    if row["autocast"] == "by device":
        lines.append("autocast: {CPU: fp32, CUDA: lower_precision_fp}")
    elif row["autocast"] != "none":
        lines.append(f"autocast: {row['autocast']}")
    if row["samples"] == "given":
        lines.append(f"samples: {_sample(row)}")
    tags = "nondeterministic_seeded" if row["tags"] == "none" and row["type"] == "Generator" else row["tags"]
    if tags != "none":
        lines.append(f"tags: {tags}")
    return [f"  {line}" for line in lines]


def _sample(row: Row) -> str:
    """Arguments for a call."""
    tensor, value = "torch.randn(3, 4)", _SAMPLES.get(row["type"], "None")
    if "[" in row["form"]:
        value = f"[{value}, {value}]"
    match row["position"]:
        case "first":
            return f"{value}, {tensor}"
        case "alone":
            return value
        case "keyword":
            return f"{tensor}, {row['name']}={value}"
    return f"{tensor}, {value}"


def _outputs(row: Row, subject: _Subject) -> list[str]:
    tensor = subject.tensor
    value = {
        "like": f"like({tensor})",
        "sizes": f"[{tensor}.size(0), 3]",
        "broadcast": f"broadcast({tensor}, {subject.name})",
        "fields": f"{{size: {tensor}.sizes(), dtype: float32, device: {tensor}.device}}",
        "subject": _output_of(row, subject),
    }.get(row["outputs"])
    if value is None:
        return []
    count = 2 if row["returns"] in ("(Tensor, Tensor)", "(Tensor mean, Tensor count)") else 1
    return [f"  outputs: [{value}, {value}]" if count == 2 else f"  outputs: {value}"]


def _output_of(row: Row, subject: _Subject) -> str:
    """An output that the subject says something of."""
    name, form = subject.name, row["form"]
    if form in ("[]", "[2]", "?[]"):
        return f"[len({name})]"
    if form in ("[]?", "[2]?", "?"):
        return f"[1 if {name} is None else 2]"
    if row["type"] in ("ScalarType", "Device"):
        return f"{{like: {subject.tensor}, {'dtype' if row['type'] == 'ScalarType' else 'device'}: {name}}}"
    return f"[{name}.size(0)]" if row["type"] == "Tensor" else f"[{name}, 2]"


def _derivative(row: Row, subject: _Subject, schema: str) -> str:
    tensor, is_list = subject.tensor, "[" in row["form"]
    count = 2 if re.match(r"\(Tensor.*, Tensor", _returns(row)) else 1
    grad = "grads" if _returns(row).endswith("[]") else "grads[0]" if count == 2 else "grad"
    first = _returns(row).partition(",")[0]
    # Without results there is no name for one.
    result = {"(Tensor mean": "mean", "()": grad}.get(first, "result0" if first.startswith("(Tensor") else "result")
    forward = "backward_of_list" if _returns(row).endswith("[]") else "backward"
    formulas = {
        "grad": [f"{tensor}: helpers::backward({grad})" if grad == "grads" else f"{tensor}: {grad}"],
        "saved": [f"{tensor}: helpers::backward({grad}, {subject.name})"],
        "result": [f"{tensor}: helpers::backward({grad}, {result})"],
        "forward": [f"{tensor}: helpers::backward({grad})", f"result: helpers::{forward}({tensor}_t, {tensor}_p)"],
        "linear": [f"{tensor}: helpers::backward({grad})", "result: auto_linear"],
        "non_differentiable": [f"{tensor}: non_differentiable"],
        "subject": [
            f"{subject.name}: helpers::backward{'_of_list' if is_list else ''}({grad}, {subject.name})",
        ],
        "undifferentiable": [f"output_differentiability: [{', '.join(['False'] * count)}]"],
    }[row["derivative"]]
    return "\n".join([f"- name: {schema}", *[f"  {line}" for line in formulas], ""])


def _entry(schema: str, lines: list[str]) -> str:
    return "\n".join([f"- func: {schema}", *lines, ""])


def entries_of(number: int, row: Row) -> Entries:
    """The entries of a row."""
    subject = _subject(row)
    name, kernel = f"op{number}", f"kernel{number}"
    arguments, returns = _arguments(row, subject), _returns(row)
    key = "none" if row["field"] == "manual_kernel_registration" else row["key"]
    fields = [*_fields(row, subject), *([f"  batch_rule: rules::{name}"] if row["batch_rule"] == "given" else [])]
    outputs = _outputs(row, subject)
    with_out = f"{arguments}{', ' if '*, ' in arguments else ', *, '}Tensor(z!) out"
    spelled = {
        "named overload": f"{name}.Named",
        "in place": f"{name}_",
        "in place structured": f"{name}_",
        "out alone": f"{name}.out",
    }.get(row["overloads"], name)
    schema = f"{spelled}({with_out if row['overloads'] == 'out alone' else arguments}) -> {returns}"
    lines = [*_dispatch(key, kernel), *fields, *outputs]
    plain = _ANNOTATION.sub("", f"({arguments}) -> {returns}")
    entries = [_entry(schema, lines)]
    match row["overloads"]:
        case "autogen":
            entries = [_entry(schema, [*lines, f"  autogen: {name}.out"])]
        case "structured" | "in place structured":
            out = ["  structured: True", *_dispatch(key, f"{kernel}_out"), *outputs]
            entries = [
                _entry(schema, [f"  structured_delegate: {name}.out", *fields]),
                _entry(f"{name}.out({with_out.replace('(y!)', '')}) -> Tensor(z!)", out),
            ]
            if spelled != name:
                entries.append(_entry(f"{name}{plain}", [f"  structured_delegate: {name}.out"]))
        case "with out":
            entries.append(_entry(f"{name}.out({with_out}) -> Tensor(z!)", _dispatch(key, f"{kernel}_out")))
        case "with inplace":
            inplace = arguments.replace("Tensor self", "Tensor(z!) self", 1)
            entries.append(_entry(f"{name}_({inplace}) -> Tensor(z!)", _dispatch(key, f"{kernel}_inplace")))
        case "in place":
            entries.append(_entry(f"{name}{plain}", _dispatch(key, f"{kernel}_functional")))
        case _ if row["returns"] == "written":
            entries = [_entry(schema, [*lines, f"  autogen: {name}_functional, {name}.out"])]
        case _ if "view" in row["overloads"] or "aliased" in row["returns"] or row["access"].startswith("alias"):
            kernels = _dispatch("CompositeExplicitAutogradNonFunctional", f"{kernel}_copy")
            entries.append(_entry(f"{name}_copy{plain}", ["  tags: view_copy", *kernels]))
    if row["autocast"] == "fp32_append_dtype":
        more = f"{name}.dtype({arguments}{', ' if '*, ' in arguments else ', *, '}ScalarType dtype) -> {returns}"
        entries.append(_entry(more, _dispatch(key, f"{kernel}_dtype")))
    derivative = "" if row["derivative"] == "none" else _derivative(row, subject, schema)
    return Entries("".join(entries), derivative)
