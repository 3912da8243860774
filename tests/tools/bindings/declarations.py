"""`Declarations.yaml` from a dump for bindings, as `docs/bindings.md` says field by field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opwright.emit.aten.declarations import default_value

__all__ = ["Record", "declarations"]

Record = dict[str, Any]


def declarations(document: Record) -> Iterator[Record]:
    """The entries that PyTorch's file has, with all their fields."""
    for operator in document["operators"]:
        yield _entry(operator, document["types"])


def _entry(operator: Record, types: Record) -> Record:
    friendly = next(call for call in operator["cpp"] if not call["symint"])
    name = friendly["name"].rpartition("::")[2].removeprefix("__dispatch_")
    is_method, is_function = ("method" in operator["variants"], "function" in operator["variants"])
    in_order = [_argument(operator, index, types) for index in range(len(operator["arguments"]))]
    signature = ", ".join([argument["type"] for argument in in_order])
    return {
        "name": name,
        "operator_name": operator["operator"],
        "overload_name": operator["overload"],
        "manual_kernel_registration": operator.get("manual_kernel_registration", False),
        "category_override": operator.get("category_override", ""),
        "schema_string": f"{operator['namespace']}::{operator['schema']}",
        "arguments": _packed(operator, in_order),
        "schema_order_cpp_signature": f"{friendly['returns']} ({signature})",
        "schema_order_arguments": in_order,
        "method_of": ["Type", *["Tensor"] * is_method, *["namespace"] * is_function],
        "mode": "native",
        "python_module": operator.get("python_module", ""),
        "returns": [_return(result, types) for result in operator["returns"]],
        "inplace": operator["operator"].endswith("_") and operator["kind"] == "inplace",
        "is_factory_method": _options(operator) is not None and not is_method,
        "abstract": operator["abstract"],
        "device_guard": operator["device_guard"],
        "with_gil": False,
        "deprecated": False,
        "has_math_kernel": any(kernel["key"] == "CompositeImplicitAutograd" for kernel in operator["kernels"]),
    }


def _argument(operator: Record, index: int, types: Record) -> Record:
    argument = operator["arguments"][index]
    record: Record = {
        "annotation": _annotation(argument),
        "dynamic_type": _dynamic_type(argument["type"], _cpp_type(operator, index, types), types),
        "is_nullable": _is_nullable(argument["type"], types),
        "name": argument["name"],
        "type": _cpp_type(operator, index, types),
    }
    if "cpp_default" in argument:
        record["default"] = default_value(argument["cpp_default"])
    if argument["kind"] == "keyword":
        record["kwarg_only"] = True
    if argument["kind"] == "out":
        outs = [number for number, listed in enumerate(operator["arguments"]) if listed["kind"] == "out"]
        result = operator["returns"][outs.index(index)] if outs.index(index) < len(operator["returns"]) else {}
        record |= {"allocate": True, "output": True}
        record |= {"field_name": result["name"]} if "name" in result else {}
    size = _size(argument["type"], types)
    return record if size is None else {**record, "size": size}


def _packed(operator: Record, in_order: list[Record]) -> list[Record]:
    """The arguments in the order of the function that packs the tensor options: outs first."""
    outs = [index for index, argument in enumerate(operator["arguments"]) if argument["kind"] == "out"]
    rest = [index for index in range(len(in_order)) if index not in outs]
    options = _options(operator)
    records: list[Record] = []
    for index in outs + rest:
        if options is None or index not in options["arguments"]:
            records.append(in_order[index])
        elif index == options["arguments"][0]:
            fixed = {"annotation": None, "is_nullable": False, "kwarg_only": True}
            cpp = {"name": options["name"], "type": options["type"], "dynamic_type": options["type"]}
            default = {"default": options["default"]} if "default" in options else {}
            records.append({**fixed, **cpp, **default})
    return records


def _options(operator: Record) -> Record | None:
    """The parameter of the tensor options."""
    parameters = [parameter for call in operator["cpp"] for parameter in call["parameters"]]
    return next((parameter for parameter in parameters if len(parameter["arguments"]) == 4), None)


def _cpp_type(operator: Record, index: int, types: Record) -> str:
    """The type of a parameter; of `self`, which methods alone do not have, that of a tensor."""
    for call in operator["cpp"]:
        for parameter in call["parameters"]:
            if parameter["arguments"] == [index] and not call["symint"]:
                return str(parameter["type"])
    is_written = operator["arguments"][index].get("alias", {}).get("write") and "const_ref_mutables" not in operator
    return "at::Tensor &" if is_written else str(types[operator["arguments"][index]["type"]]["cpp_type"])


def _annotation(argument: Record) -> str | None:
    alias = argument.get("alias")
    if alias is None:
        return None
    after = f" -> {'|'.join(alias['after'])}" if alias["after"] else ""
    return f"{'|'.join(alias['before'])}{'!' * alias['write']}{after}"


def _dynamic_type(text: str, cpp: str, types: Record) -> str:
    """The C++ type without `optional`; tensors without reference."""
    inner = text
    while types[inner]["kind"] == "optional":
        inner = types[inner]["of"]
    if inner == "Tensor":
        return "at::Tensor"
    return cpp if inner == text else str(types[inner]["cpp_type"])


def _is_nullable(text: str, types: Record) -> bool:
    type = types[text]
    return type["kind"] == "optional" or (type["kind"] == "list" and _is_nullable(type["of"], types))


def _size(text: str, types: Record) -> int | None:
    type = types[text]
    if type["kind"] == "optional":
        return _size(type["of"], types)
    return type.get("size") if type.get("of") != "bool" else None


def _return(result: Record, types: Record) -> Record:
    cpp = str(result["cpp_type"])
    own = types.get(result["type"], {}).get("cpp_type", cpp)
    record = {
        "dynamic_type": "at::Tensor" if result["type"] in ("Tensor", "Tensor?") else own,
        "name": result["cpp_name"],
        "type": cpp,
    }
    return {**record, "field_name": result["name"]} if "name" in result else record
