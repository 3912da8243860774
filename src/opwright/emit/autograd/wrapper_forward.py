"""Statements of a wrapper for forward mode: tangents of the results from tangents of the inputs."""

from __future__ import annotations

from typing import Final

from opwright.cpp import c_types
from opwright.emit.autograd.kernels import name_in_messages
from opwright.emit.autograd.wrappers import Wrapper, check_tangents, is_differentiable, item_of
from opwright.emit.emitter import FragmentContext
from opwright.model.derivatives import ForwardDerivative
from opwright.schema.function import SchemaKind
from opwright.schema.types import ListType

_OPTIONAL_TENSOR: Final = c_types.optional(c_types.TENSOR).text
_OPTIONAL_TENSORS: Final = c_types.optional(c_types.vector(c_types.TENSOR)).text

_NOT_YET: Final = (
    "because it has not been implemented yet.\\nPlease file an issue to PyTorch at "
    "https://github.com/pytorch/pytorch/issues/new?template=feature-request.yml "
    "so that we can prioritize its implementation."
)
_LEVEL: Final = "// The hardcoded 0 here will need to be updated once we support multiple levels."


def _flag(derivative: ForwardDerivative) -> str:
    """Variable that is true if a tangent comes in for a formula."""
    return f"_any_has_forward_grad_{'_'.join(derivative.var_names)}"


def _has_tangent(variable: str, is_list: bool) -> str:
    return f"isFwGradDefinedTensorList({variable})" if is_list else f"isFwGradDefined({variable})"


def any_tangent(wrapper: Wrapper) -> str:
    """Condition that any input, an out included, has a tangent."""
    arguments = wrapper.function.arguments
    checks = [
        _has_tangent(argument.name, argument.type.list_like is not None)
        for argument in arguments.positional + arguments.pre_options + arguments.post_options + arguments.out
        if is_differentiable(argument.name, argument.type, wrapper.info)
    ]
    return f"({' || '.join(checks)})"


def refusal(wrapper: Wrapper) -> str:
    """Statement that refuses inputs with tangents."""
    function = wrapper.function
    name = name_in_messages(function)
    reason = _NOT_YET if function.library.in_libtorch else "because there is no formula for it"
    if function.kind is SchemaKind.out:
        reason = "because it is an out= function"
    return (
        f"TORCH_CHECK_NOT_IMPLEMENTED(!({any_tangent(wrapper)}), "
        f'"Trying to use forward AD with {name} that does not support it {reason}");'
    )


def flag_statements(wrapper: Wrapper) -> list[str]:
    """Statements that find out for each formula whether any tangent comes in."""
    if wrapper.over_lists:
        return [text for derivative in wrapper.forward_derivatives for text in _flags_of_items(wrapper, derivative)]
    lines: list[str] = []
    for derivative in wrapper.forward_derivatives:
        check_tangents(wrapper, derivative)
        checks = [_has_tangent(inp.name, inp.is_list) for inp in wrapper.inputs if inp.name in derivative.tangents]
        condition = f"({' || '.join(checks)})" if derivative.tangents else "true"
        if wrapper.condition:
            condition = f"({wrapper.condition}) && {condition}"
        lines.append(f"[[maybe_unused]] auto {_flag(derivative)} = {condition};")
    return lines


def _flags_of_items(wrapper: Wrapper, derivative: ForwardDerivative) -> list[str]:
    used = [inp for inp in wrapper.inputs if inp.name in derivative.tangents]
    lines = [
        "TORCH_CHECK(\n"
        f"    self.size() == {inp.variable}.size(),\n"
        '      "Tensor lists must have the same number of tensors, got ",\n'
        "    self.size(),\n"
        '      " and ",\n'
        f"    {inp.variable}.size());"
        for inp in used
        if inp.item != inp.variable and inp.variable != "self"
    ]
    checks = " || ".join([f"isFwGradDefined({inp.item})" for inp in used])
    flag = _flag(derivative)
    return [
        *lines,
        f"std::vector<bool> {flag}(self.size());",
        "for (const auto& i : c10::irange(self.size())) {",
        f"  {flag}[i] = {checks};",
        "}",
    ]


def original_statements(wrapper: Wrapper) -> list[str]:
    """Statements that copy what an in-place function overwrites, if a formula reads it."""
    if not wrapper.inplace:
        return []
    flags = [_flag(derivative) for derivative in wrapper.forward_derivatives if derivative.needs_original_self]
    if wrapper.loops:
        lines = [f"std::vector<{_OPTIONAL_TENSOR}> original_selfs(self.size());"]
        if flags:
            lines += [
                "for (const auto& i : c10::irange(self.size())) {",
                f"  if ({' || '.join([f'{flag}[i]' for flag in flags])}) {{",
                "    original_selfs[i] = self[i].clone();",
                "  }",
                "}",
            ]
        return lines
    lines = [f"{_OPTIONAL_TENSOR} original_self;"]
    if flags:
        lines += [f"if ({' || '.join(flags)}) {{", "  original_self = self.clone();", "}"]
    return lines


def _tangent(name: str, item: str, zeros: str) -> list[str]:
    return [
        f"auto {name}_t_raw = toNonOptFwGrad({item});",
        f"auto {name}_tensor = toNonOptTensor({item});",
        f"auto {name}_t = ({name}_t_raw.defined() || !{name}_tensor.defined())",
        f"  ? {name}_t_raw : at::{zeros}({name}_tensor.sym_sizes(), {name}_tensor.options());",
    ]


def _unpack_statements(wrapper: Wrapper, derivative: ForwardDerivative, context: FragmentContext) -> list[str]:
    lines: list[str] = []
    zeros = ""
    for inp in wrapper.inputs:
        # The tangent of a tensor that is written in place is written too, so it must be a tensor of its own.
        is_written = wrapper.inplace and inp.name == "self"
        zeros = "zeros_symint" if is_written else "_efficientzerotensor_symint"
        if inp.name in derivative.tangents:
            lines += _tangent(inp.name, inp.item, zeros)
            if not is_written and context.rules.wrapped_numbers_marked_in_forward_mode:
                lines.append(f"update_wrapped_number({inp.name}_tensor, {inp.name}_t);")
        if inp.name in derivative.primals:
            lines.append(f"auto {inp.name}_p = toNonOptPrimal({inp.item});")
    if derivative.needs_original_self:
        original = "original_selfs[i]" if wrapper.loops else "original_self"
        lines += _tangent("original_self", original, zeros)
        lines.append(f"auto original_self_p = toNonOptPrimal({original});")
    elif wrapper.inplace and derivative.from_functional:
        lines.append("self_t = GradMode::is_enabled() ? self_t.clone() : self_t;")
    return lines


def tangent_statements(wrapper: Wrapper, context: FragmentContext) -> list[str]:
    """Statements that work out the tangents of the results, then those that set them."""
    computed: list[str] = []
    setters: list[str] = []
    flag = "true" if wrapper.inplace else "false"
    for derivative in wrapper.forward_derivatives:
        results = ("self",) if wrapper.inplace else derivative.var_names
        unpacked = _unpack_statements(wrapper, derivative, context)
        if wrapper.over_lists:
            computed.append(_computed_items(wrapper, derivative, results[0], unpacked))
            setters.append(_set_items(results[0], flag))
            continue
        type, more, statements = _setters(derivative, results, flag)
        setters += statements
        variable = f"{'_'.join(results)}_new_fw_grad_opt"
        lines = "\n".join([f"    {line}" for line in unpacked])
        computed.append(
            f"{type} {variable} = ::std::nullopt;\nif ({_flag(derivative)}{more}) {{\n{lines}\n"
            f"    {variable} = {derivative.formula};\n}}"
        )
    return [*computed, "\n".join(setters).rstrip("\n")]


def _setters(derivative: ForwardDerivative, results: tuple[str, ...], flag: str) -> tuple[str, str, list[str]]:
    """For one formula: the type of its value, what else it is evaluated under, and the statements that set tangents."""
    types = derivative.var_types
    first, value = results[0], f"{'_'.join(results)}_new_fw_grad_opt"
    if isinstance(types[0], ListType):
        return _OPTIONAL_TENSORS, "", [_set_list(first, flag)]
    if len(types) == 1:
        setter = (
            f"if ({value}.has_value() && {value}.value().defined() && {first}.defined()) {{\n"
            f"  {_LEVEL}\n"
            f"  {first}._set_fw_grad({value}.value(), /* level */ 0, /* is_inplace_op */ {flag});\n}}\n"
        )
        return _OPTIONAL_TENSOR, f" && ({derivative.var_names[0]}.defined())", [setter]
    setters = []
    for index, name in enumerate(results):
        part = f"std::get<{index}>({value}.value())"
        setters.append(
            f"if ({value}.has_value() && {part}.defined()\n    && {name}.defined()) {{\n"
            f"  {name}._set_fw_grad({part}, /* level */ 0, /* is_inplace_op */ false);\n}}\n"
        )
    return c_types.optional(c_types.tuple_of((c_types.TENSOR,) * len(types))).text, "", setters


def _set_list(name: str, flag: str) -> str:
    value = f"{name}_new_fw_grad"
    return (
        f"if ({value}_opt.has_value()) {{\n"
        f"  auto {value} = {value}_opt.value();\n"
        f"  TORCH_INTERNAL_ASSERT({name}.size() == {value}.size());\n"
        f"  for (const auto i : c10::irange({name}.size())) {{\n"
        f"    if ({value}[i].defined() && {name}[i].defined()) {{\n"
        f"      {_LEVEL}\n"
        f"      {name}[i]._set_fw_grad({value}[i], /* level */ 0, /* is_inplace_op */ {flag});\n"
        "    }\n  }\n}\n"
    )


def _set_items(name: str, flag: str) -> str:
    value = f"{name}_new_fw_grad_opt"
    return (
        f"for (const auto& i : c10::irange({value}s.size())) {{\n"
        f"  auto& {value} = {value}s[i];\n"
        f"  if ({value}.has_value() && {value}.value().defined() && {name}[i].defined()) {{\n"
        f"    {_LEVEL}\n"
        f"    {name}[i]._set_fw_grad({value}.value(), /* level */ 0, /* is_inplace_op */ {flag});\n"
        "  }\n}\n"
    )


def _computed_items(wrapper: Wrapper, derivative: ForwardDerivative, result: str, unpacked: list[str]) -> str:
    values = f"{result}_new_fw_grad_opts"
    flags = " || ".join([f"{_flag(each)}[i]" for each in wrapper.forward_derivatives])
    lines = "\n".join([f"      {line}" for line in unpacked])
    return (
        f"std::vector<{_OPTIONAL_TENSOR}> {values}(self.size(), ::std::nullopt);\n"
        f"for (const auto& i : c10::irange({values}.size())) {{\n"
        f"  if ({flags}) {{\n{lines}\n"
        f"      {values}[i] = {_formula_of_item(wrapper, derivative)};\n  }}\n}}"
    )


def _formula_of_item(wrapper: Wrapper, derivative: ForwardDerivative) -> str:
    formula = derivative.formula
    if not wrapper.inplace:
        return formula if "result[i]" in formula else formula.replace("result", "result[i]")
    for name, argument in wrapper.repeated.items():
        if not argument.type.is_tensor_like:
            formula = formula.replace(name, item_of(argument))
    return formula
