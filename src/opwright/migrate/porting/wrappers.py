"""The header with the functions that ported kernels call: calls of operators through the dispatcher, and helpers."""

from __future__ import annotations

import os
import re
from functools import cache
from typing import Final

from opwright.cpp.text import include_line
from opwright.libraries import stable_convention as stable
from opwright.migrate.porting.stable_api import CUDA_HEADER, NUMBERS, PROMOTED
from opwright.schema.function import Argument, FunctionSchema
from opwright.schema.parser import parse_schema
from opwright.schema.types import BaseType, OptionalType
from opwright.source.diagnostic import Fault
from opwright.source.records import NamedTuple

#: The C++ namespace of the functions of the header.
NAMESPACE: Final = "stable_ops"
_HELPERS: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "helpers.h")
_MARK: Final = "//! "
_SCHEMA_LINE: Final = re.compile(r"(?m)^// (aten::\S.* -> .*)$")
_HELPER_LINE: Final = re.compile(r"(?m)^//! (\w+)$")
_HEAD: Final = """\
// Operators of PyTorch, called through the dispatcher. `opwright port` wrote this file, and adds to it.
#pragma once

#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/device.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/core/TensorAccessor.h>
#include <torch/headeronly/util/Exception.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#ifndef STABLE_TORCH_ERROR_CODE_CHECK
#define STABLE_TORCH_ERROR_CODE_CHECK(call) TORCH_ERROR_CODE_CHECK(call)
#endif

namespace stable_ops {

using torch::headeronly::ScalarType;
using torch::stable::Device;
using torch::stable::Tensor;
using torch::stable::detail::to;
using Numbers = torch::headeronly::IntHeaderOnlyArrayRef;

"""
_CUDA: Final = f"#if __has_include(<{CUDA_HEADER}>)\n{include_line(CUDA_HEADER)}\n#endif\n\n"


class _Helper(NamedTuple):
    """A function of `helpers.h`: its text, and the helpers that it calls."""

    text: str
    needs: tuple[str, ...]


@cache
def _helpers() -> dict[str, _Helper]:
    with open(_HELPERS, encoding="utf-8") as file:
        parts = file.read().split(_MARK)[1:]
    helpers = {}
    for part in parts:
        names, _, text = part.partition("\n")
        name, *needs = names.split()
        helpers[name] = _Helper(text.strip("\n"), tuple(needs))
    return helpers


def argument_text(argument: Argument) -> str | None:
    """The C++ type of a parameter of a call; None if the dispatcher takes no such value from stable code.

    >>> schema = parse_schema("f(str? a, str b, Tensor?[] c, int[]? d, Generator? e, Tensor f) -> ()")
    >>> print(*map(argument_text, schema.arguments.all), sep="\\n")
    const std::optional<std::string>&
    const std::string&
    torch::headeronly::HeaderOnlyArrayRef<std::optional<torch::stable::Tensor>>
    std::optional<torch::headeronly::HeaderOnlyArrayRef<int64_t>>
    None
    const torch::stable::Tensor&
    """
    type = argument.type
    item = type.elem if isinstance(type, OptionalType) else type
    if isinstance(item, BaseType) and item.name == "str":
        return "const std::optional<std::string>&" if item is not type else "const std::string&"
    if isinstance(item, BaseType) and item.name == "Generator":
        return None
    if type.text == "Tensor?[]":
        return "torch::headeronly::HeaderOnlyArrayRef<std::optional<torch::stable::Tensor>>"
    cpp = stable.argument_type(type)
    return None if cpp is None else cpp.text.replace(" &", "&").replace("::std::", "std::")


class Wrappers:
    """The functions that ported files need. `header` is the text of the header of an earlier run, or empty."""

    def __init__(self, header: str = "") -> None:
        self._schemas: Final[dict[str, FunctionSchema]] = {}
        self._used: Final[set[str]] = set()
        for text in _SCHEMA_LINE.findall(header):
            try:
                self.need_operator(parse_schema(text.removeprefix("aten::")))
            except Fault:
                continue
        for name in _HELPER_LINE.findall(header):
            self.need_helper(name)

    def need_helper(self, name: str) -> None:
        """Have a helper in the header, and those that it calls."""
        if name in _helpers() and name not in self._used:
            self._used.add(name)
            for needed in ("call", *_helpers()[name].needs):
                self.need_helper(needed)

    def need_operator(self, schema: FunctionSchema) -> None:
        """Have the call of an overload in the header. One with numbers calls the overload with tensors beside it."""
        self._schemas[str(schema)] = schema
        for name in ("call", *re.findall(r"\w+", text_of_number(schema) if _numbers(schema) else "")):
            self.need_helper(name)

    def header(self) -> str:
        """The text of the header; empty if nothing needs it."""
        if not self._used:
            return ""
        helpers = [f"{_MARK}{name}\n{helper.text}\n" for name, helper in _helpers().items() if name in self._used]
        ordered = sorted(self._schemas.values(), key=lambda schema: (bool(_numbers(schema)), str(schema)))
        calls = [_wrapper(schema) if not _numbers(schema) else _number_wrapper(schema) for schema in ordered]
        head = _HEAD.replace("#ifndef", f"{_CUDA}#ifndef", 1) if "current_cuda_stream" in self._used else _HEAD
        return head + "\n".join([*helpers, *calls]) + f"\n}} // namespace {NAMESPACE}\n"


def is_header_of_calls(text: str) -> bool:
    """Whether a text is a header that `opwright port` wrote."""
    return text.startswith(_HEAD.partition("\n")[0])


def _wrapper(schema: FunctionSchema) -> str:
    """The function that calls an overload.

    >>> print(_wrapper(parse_schema("sort(Tensor self, int dim=-1) -> (Tensor values, Tensor indices)")))
    // aten::sort(Tensor self, int dim=-1) -> (Tensor values, Tensor indices)
    inline std::tuple<Tensor, Tensor> sort(const Tensor& self, int64_t dim = -1) {
      const auto stack = call("aten::sort", "", self, dim);
      return {to<Tensor>(stack[0]), to<Tensor>(stack[1])};
    }
    <BLANKLINE>
    """
    parameters, passed = [], []
    for argument in schema.arguments.all:
        type = argument_text(argument)
        if type is None:
            passed.append("std::nullopt")
            continue
        default = stable.default_text(argument)
        parameters.append(f"{_shorter(type)} {argument.name}{f' = {default}' if default else ''}")
        passed.append(argument.name)
    types = [stable.return_type(result.type) for result in schema.returns]
    texts = [_shorter(type.text) for type in types if type is not None]
    result = "void" if not texts else texts[0] if len(texts) == 1 else f"std::tuple<{', '.join(texts)}>"
    values = [f"to<{text}>(stack[{index}])" for index, text in enumerate(texts)]
    called = f'call("aten::{schema.name.name}", "{schema.name.overload}", {", ".join(passed)})'
    returned = values[0] if len(values) == 1 else f"{{{', '.join(values)}}}"
    body = f"  {called};\n" if not values else f"  const auto stack = {called};\n  return {returned};\n"
    return f"// aten::{schema}\ninline {result} {schema.name.name}({', '.join(parameters)}) {{\n{body}}}\n"


def _numbers(schema: FunctionSchema) -> list[str]:
    """The parameters of a schema for numbers of any kind."""
    return [argument.name for argument in schema.arguments.all if argument.type.text.removesuffix("?") == "Scalar"]


def text_of_number(schema: FunctionSchema) -> str:
    """What takes the place of a number in the call of an overload with tensors; empty if no tensor does what it did."""
    return NUMBERS.get(schema.name.text) or NUMBERS.get(schema.name.name, "")


def _number_wrapper(schema: FunctionSchema) -> str:
    """The function that calls the overload with tensors in place of the numbers of this one.

    >>> print(_number_wrapper(parse_schema("mul.Scalar(Tensor self, Scalar other) -> Tensor")))
    // aten::mul.Scalar(Tensor self, Scalar other) -> Tensor
    template <typename Other>
    auto mul(const Tensor& self, const Other& other) {
      if (self.dim() == 0) {
        const Tensor row = torch::stable::unsqueeze(self, 0);
        return torch::stable::squeeze(mul(row, number(row, other)), 0);
      }
      return mul(self, number(self, other));
    }
    <BLANKLINE>
    """
    numbers = _numbers(schema)
    tensors = [argument.name for argument in schema.arguments.all if argument.type.text == "Tensor"]
    beside = next((name for name in tensors if name not in ("condition", "mask", "index")), "")
    text = text_of_number(schema)
    types, parameters, passed = [], [], []
    for argument in schema.arguments.all:
        type, default = argument_text(argument) or "", stable.default_text(argument)
        if argument.name in numbers:
            name = argument.name.title().replace("_", "")
            types.append(f"typename {name}{' = std::nullopt_t' if default else ''}")
            type = f"const {name}&"
            value = text.format(number=argument.name, tensor=beside, numbers=", ".join(numbers))
            passed.append(f"std::optional<Tensor>({value})" if argument.type.text != "Scalar" else value)
        else:
            passed.append(argument.name)
        parameters.append(f"{_shorter(type)} {argument.name}{f' = {default}' if default else ''}")
    head = f"// aten::{schema}\ntemplate <{', '.join(types)}>\nauto {schema.name.name}({', '.join(parameters)}) {{\n"
    called = f"{schema.name.name}({', '.join(passed)})"
    if text == PROMOTED:
        row = re.sub(rf"\b{beside}\b", "row", called)
        result = f"torch::stable::squeeze({row}, 0)" if not schema.arguments.writes else f"{row}, {beside}"
        head += f"  if ({beside}.dim() == 0) {{\n    const Tensor row = torch::stable::unsqueeze({beside}, 0);\n"
        head += f"    return {result};\n  }}\n"
    return f"{head}  return {called};\n}}\n"


def _shorter(type: str) -> str:
    """A type as the namespace of the header names it."""
    numbers = type.replace("torch::headeronly::HeaderOnlyArrayRef<int64_t>", "Numbers").replace("::std::", "std::")
    return re.sub(r"torch::(?:stable|headeronly)::(?=(?:Tensor|Device|ScalarType)\b)", "", numbers)
