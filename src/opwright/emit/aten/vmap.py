"""Plumbing of vmap: `VmapGeneratedPlumbing.h`.

Each operator has a C++ template that unwraps batched tensors, calls the operator's batching rule with plain tensors and
the indices of their batch dimensions, and wraps the results.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Final

from opwright.convention import dispatcher
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Slots, per_job
from opwright.model.native_function import NativeFunction
from opwright.release.operator_names.functionalization import MIXED_RETURNS
from opwright.schema.function import Argument, Return, SchemaKind
from opwright.schema.types import ListType, Type


class Plumbing(enum.Enum):
    """What an operator's plumbing does with the results of the batching rule. The value is its name at run time."""

    WRAPS = "gen_vmap_plumbing"
    WRITES_SELF = "gen_vmap_inplace_plumbing"
    RETURNS_NOTHING = "gen_vmap_plumbing_no_returns"


def plumbing_kind(function: NativeFunction) -> Plumbing | None:
    """Plumbing of an operator; None if the operator needs plumbing that is written by hand.

    These are operators without tensors, with other returns than tensors unless PyTorch lists them,
    in-place views, and operators that write to other arguments than the first.
    """
    schema = function.schema
    if not any(argument.type.is_tensor_like for argument in schema.arguments.all):
        return None
    if not schema.returns:
        return Plumbing.RETURNS_NOTHING
    tensors_only = all(result.type.is_tensor_like for result in schema.returns)
    knows_mixed = function.library.known_by_name and schema.name.unambiguous in MIXED_RETURNS.in_any_release
    if not tensors_only and not knows_mixed:
        return None
    if "inplace_view" in function.tags:
        return None
    if schema.kind is SchemaKind.functional:
        return Plumbing.WRAPS
    writes = [argument.is_write for argument in schema.arguments.all]
    writes_first_only = writes[0] and sum(writes) == 1
    if schema.kind is SchemaKind.inplace and writes_first_only and all(_wrapping(item.type) for item in schema.returns):
        return Plumbing.WRITES_SELF
    return None


def _wrapping(type: Type) -> str:
    """Function that wraps a result; empty for types that no batching rule has in batches."""
    if type.text == "Tensor":
        return "makeBatched"
    return "makeBatchedVector" if isinstance(type, ListType) and type.elem.text == "Tensor" else ""


def unwrapping(arguments: Sequence[Argument]) -> tuple[str, str]:
    """Statements that unwrap batched tensors, and the arguments of the batching rule."""
    plain, optional, passed = [], [], []
    for argument in arguments:
        name, type = argument.name, argument.type.text
        if type == "Tensor":
            plain.append(f"  auto [{name}_value, {name}_bdim] = unwrapTensorAtLevel({name}, cur_level);")
        elif type == "Tensor?":
            optional.append(
                f"  std::optional<Tensor> {name}_value;\n"
                f"  std::optional<int64_t> {name}_bdim;\n"
                f"  if ({name}) {{\n"
                f"      std::tie({name}_value, {name}_bdim) = unwrapTensorAtLevel({name}.value(), cur_level);\n"
                "  }"
            )
        else:
            passed.append(name)
            continue
        passed.append(f"{name}_value, {name}_bdim")
    return "\n".join(plain + optional), ", ".join(passed)


def wrapped_results(returns: Sequence[Return]) -> str:
    """Expression that is returned. The rule's results have the batch dimension of each tensor after the tensor.

    >>> from opwright.schema import parse_schema
    >>> wrapped_results(parse_schema("scale(Tensor self) -> Tensor").returns)
    'makeBatched(std::get<0>(results), std::get<1>(results), cur_level)'
    """
    wrapped = []
    index = 0
    for result in returns:
        if wrap := _wrapping(result.type):
            wrapped.append(f"{wrap}(std::get<{index}>(results), std::get<{index + 1}>(results), cur_level)")
            index += 2
        else:
            wrapped.append(f"std::get<{index}>(results)")
            index += 1
    return wrapped[0] if len(wrapped) == 1 else f"std::make_tuple({', '.join(wrapped)})"


def plumbing(function: NativeFunction, kind: Plumbing) -> str:
    """Plumbing of one operator."""
    arguments = function.arguments.all
    signature = dispatcher.signature(function)
    name = function.name.unambiguous
    no_batch = " && ".join(
        [f"!isBatchedAtLevel({argument.name}, cur_level)" for argument in arguments if argument.type.is_tensor_like]
    )
    unwrapped, passed = unwrapping(arguments)
    match kind:
        case Plumbing.WRAPS:
            ending = f"  auto results = batch_rule({passed});\n  return {wrapped_results(function.schema.returns)};"
        case Plumbing.WRITES_SELF:
            ending = f"  batch_rule({passed});\n  return {arguments[0].name};"
        case Plumbing.RETURNS_NOTHING:
            ending = f"  batch_rule({passed});"
    return f"""\
template <typename batch_rule_t, batch_rule_t batch_rule>
{signature.definition(f"{name}_generated_plumbing")} {{
  c10::impl::ExcludeDispatchKeyGuard guard(DispatchKey::FuncTorchBatched);
{_current_level(function, kind)}
  if ({no_batch}) {{
    return {function.library.operators}::{name}::call({signature.arguments});
  }}
{unwrapped}
{ending}
}}"""


def _current_level(function: NativeFunction, kind: Plumbing) -> str:
    """Statements that find the level of the vmap whose batches are unwrapped.

    PyTorch has it in a type whose header is not usable outside, so libraries take the innermost level of the arguments.
    """
    if function.library.in_libtorch:
        return f"""\
  auto maybe_layer = maybeCurrentDynamicLayer();
  vmap_check_escaped(maybe_layer, "{kind.value}");
  int64_t cur_level = maybe_layer->layerId();"""
    tensors = ", ".join([argument.name for argument in function.arguments.all if argument.type.is_tensor_like])
    return f"  int64_t cur_level = ::opwright::batch_level({tensors});"


_OPENING: Final = """
#pragma once
#include <ATen/Operators.h>
#include <ATen/functorch/PlumbingHelper.h>

namespace at { namespace functorch {

"""

_ENDING: Final = """
}} // namespace at::functorch
"""


@per_job
def _plumbed_functions(job: Job) -> Sequence[NativeFunction]:
    return [function for function in job.catalog.functions if plumbing_kind(function) is not None]


def _units(job: Job) -> Sequence[NativeFunction | None]:
    """Overloads; None stands for the end of the file."""
    return [*_plumbed_functions(job), None]


def _fragment(function: NativeFunction | None, context: FragmentContext) -> Slots:
    kind = None if function is None else plumbing_kind(function)
    if function is None or kind is None:
        return {"text": _ENDING}
    return {"text": f"{plumbing(function, kind)}\n"}


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitter of `VmapGeneratedPlumbing.h`."""
    return [
        Emitter(
            name="vmap_plumbing_header",
            family="headers",
            template=None,
            units=_units,
            fragment=_fragment,
            layout=OneFile("VmapGeneratedPlumbing.h"),
            file_slots=lambda job: {"text": _OPENING if _plumbed_functions(job) else f"{_OPENING}\n"},
        )
    ]
