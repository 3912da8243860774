"""C shims for AOTInductor: `c_shim_cpu.cpp` and its like, and their headers.

Code compiled ahead of time reaches operators through these C functions, whose declarations must stay as they are
for good. The headers are therefore kept beside PyTorch's sources and written only on demand; an operator that gets
a new argument gets a further version of its shim.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from opwright.convention import c_shim, cpp
from opwright.dialects.shim_tables.codes import UNKNOWN_SHIM
from opwright.emit.aten.register.helpers import device_headers
from opwright.emit.codes import NO_C_FORM
from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, Job, Slots, per_job
from opwright.model.dispatch_key import (
    COMPOSITE_EXPLICIT,
    COMPOSITE_EXPLICIT_NON_FUNCTIONAL,
    COMPOSITE_IMPLICIT,
    CPU,
    CUDA,
    MPS,
    XPU,
    DispatchKey,
)
from opwright.model.native_function import NativeFunction
from opwright.release.tables import ShimOperator
from opwright.schema.function import Argument, FunctionSchema
from opwright.source.diagnostic import Diagnostics, did_you_mean
from opwright.source.span import Span

_DEVICES: Final = (CPU, CUDA, MPS, XPU)

#: The keys whose kernels serve a device that has none of its own, the best first.
_SHARED_KEYS: Final = (COMPOSITE_EXPLICIT, COMPOSITE_EXPLICIT_NON_FUNCTIONAL, COMPOSITE_IMPLICIT)


class Target(NamedTuple):
    """What shims are made for: the kernels of a device, or (`aten`, without key) the dispatcher."""

    name: str
    key: DispatchKey | None


_DISPATCHER: Final = Target("aten", None)


def targets(job: Job) -> list[Target]:
    """What the run makes shims for."""
    return [*[Target(key.lower, key) for key in _DEVICES if key in job.catalog.kernels], _DISPATCHER]


class ShimFunction(NamedTuple):
    """One C function: its head, what it calls with what, and how results leave it.

    `guard` is the macro of the release whose stable interface the function belongs to, or None.
    """

    head: str
    called: str
    arguments: Sequence[str]
    results: Sequence[c_shim.CResult]
    guard: str | None


class Shim(NamedTuple):
    """An operator's shim: its include, and a function for each of its versions, the newest first.

    Where a type has no form in C, `refusal` says which, and there is only the include.
    """

    include: str
    functions: Sequence[ShimFunction]
    refusal: c_shim.NoCForm | None = None


def operator_key(function: NativeFunction) -> str:
    """The name by which the table of operators with a shim knows an overload.

    It is `namespace.name.overload`, where `default` stands for no overload.
    """
    return f"{function.namespace}.{function.name.name}.{function.name.overload or 'default'}"


def kernel_key(function: NativeFunction, key: DispatchKey, *, own_only: bool) -> DispatchKey | None:
    """The dispatch key whose kernel a device's shim calls; with `own_only` no other than the device's own."""
    out = function.group.out if function.group is not None and function.structured_delegate is not None else None
    if key in function.kernels or (out is not None and key in out.kernels):
        return key
    if own_only:
        return None
    return next((shared for shared in _SHARED_KEYS if shared in function.kernels), None)


def _called(function: NativeFunction, key: DispatchKey | None) -> str:
    """The C++ function that a shim calls: of a dispatch key, or of the public API."""
    schema = function.schema
    name = cpp.name(schema, symint=schema.has_symint)
    if key is not None:
        return f"at::{key.lower}::{name}"
    if schema.has_symint and not function.function:
        return f"at::symint::{cpp.name(schema).removesuffix('_symint')}<c10::SymInt>"
    return f"at::{name}"


def _ordered_arguments(schema: FunctionSchema) -> tuple[Argument, ...]:
    """The arguments as shims take them: outs first."""
    return schema.arguments.out + schema.arguments.non_out


def shim(function: NativeFunction, row: ShimOperator, target: Target, *, own_only: bool) -> Shim | None:
    """The shim of an operator for a target; None where the target has no kernel that it could call."""
    key = None
    include = f"#include <ATen/ops/{function.root_name}.h>"
    if target.key is not None:
        key = kernel_key(function, target.key, own_only=own_only)
        if key is None:
            return None
        include = f"#include <ATen/ops/{function.root_name}_{key.lower}_dispatch.h>"
    try:
        return Shim(include, _versions(function, row, target, _called(function, key)))
    except c_shim.NoCForm as refusal:
        return Shim(include, (), refusal)


def _versions(function: NativeFunction, row: ShimOperator, target: Target, called: str) -> list[ShimFunction]:
    """The functions of a shim. Raises NoCForm where a type has no form in C."""
    newest_first = sorted(row.versions, key=lambda version: int(version.name[1:]), reverse=True)
    versions = [(f"_{version.name}", version.new_arguments, version.guard) for version in newest_first]
    missing: set[str] = set()
    functions = []
    for suffix, new_arguments, guard in [*versions, ("", (), row.guard)]:
        name = f"aoti_torch_{target.name}_{function.name.unambiguous}{suffix}"
        functions.append(_shim_function(name, called, function.schema, missing, guard))
        missing.update(new_arguments)
    return functions


def _shim_function(
    name: str, called: str, schema: FunctionSchema, missing: set[str], guard: str | None
) -> ShimFunction:
    """One version of a shim, that is without the arguments that it misses."""
    declared: list[str] = []
    passed = []
    for argument in _ordered_arguments(schema):
        if argument.name in missing:
            passed.append(c_shim.left_out(argument))
        else:
            taken = c_shim.parameters(argument)
            declared += taken.declarations
            passed.append(taken.expression)
    results = c_shim.results(schema)
    declared += [result.declaration for result in results]
    return ShimFunction(f"AOTITorchError {name}({', '.join(declared)})", called, passed, results, guard)


def _chosen(job: Job, target: Target) -> list[tuple[NativeFunction, ShimOperator]]:
    """The operators of a target's table that the catalog has, ordered by the names they have there."""
    table = job.shim_tables.aten if target.key is None else job.shim_tables.device
    functions = {operator_key(function): function for function in job.catalog.functions}
    return [(functions[name], table[name]) for name in sorted(table) if name in functions]


@per_job
def _made(job: Job) -> dict[Target, list[tuple[NativeFunction, Shim]]]:
    """For each target its operators with their shims."""
    shims_by_target: dict[Target, list[tuple[NativeFunction, Shim]]] = {}
    for target in targets(job):
        shims = shims_by_target[target] = []
        for function, row in _chosen(job, target):
            shim_text = shim(function, row, target, own_only=job.options.extend_c_shim)
            shims += [] if shim_text is None else [(function, shim_text)]
    return shims_by_target


def check_names(job: Job, sink: Diagnostics) -> None:
    """Warns of names in the tables of the inputs that the catalog does not have.

    The operators of a backend are few of those in the tables, so without an operator nothing is said there.
    """
    tables = job.shim_tables
    functions = {operator_key(function): function for function in job.catalog.functions}
    for table in (tables.device, tables.aten):
        for name, row in table.items():
            function, span = functions.get(name), tables.spans.get(name)
            if span is None:
                continue
            if function is not None:
                _check_new_arguments(function, name, row, span, sink)
            elif not job.options.extend_c_shim:
                message = f"no operator `{name}`: it gets no C shim"
                sink.warning(UNKNOWN_SHIM, message, span, help=did_you_mean(name, functions))


def _check_new_arguments(function: NativeFunction, name: str, row: ShimOperator, span: Span, sink: Diagnostics) -> None:
    """Warns of new arguments of an operator's shim that the operator does not have."""
    arguments = [argument.name for argument in function.schema.arguments.all]
    for version in row.versions:
        for new in version.new_arguments:
            if new not in arguments:
                message = f"`{name}` has no argument `{new}`, which `{version.name}` of its C shim is to add"
                sink.warning(UNKNOWN_SHIM, message, span, help=did_you_mean(new, arguments))


def check_c_forms(job: Job, sink: Diagnostics) -> None:
    """Notes each operator that is to have a shim and has a type without C form."""
    for target, function, shim in [(target, *row) for target, rows in _made(job).items() for row in rows]:
        reason = shim.refusal
        if reason is not None:
            blamed = f"{reason.what} of type `{reason.type}` has no form in C"
            sink.note(NO_C_FORM, f"no C shim for `{function.name}` on {target.name}: {blamed}", function.entry)


def declaration(function: ShimFunction) -> str:
    """The declaration of one C function, guarded by its release."""
    text = f"AOTI_TORCH_EXPORT {function.head};"
    if function.guard is None:
        return text
    condition = f"TORCH_FEATURE_VERSION >= {function.guard}"
    return f"#if {condition}\n{text}\n#endif // {condition}"


def definition(function: ShimFunction) -> str:
    """The definition of one C function."""
    assignment = "auto tmp_result = " if function.results else ""
    written = "\n".join([f"\t\t{result.statement}" for result in function.results])
    return f"""
{function.head} {{
    AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({{
        {assignment}{function.called}(
            {", ".join(function.arguments)}
        );
{written}
    }});
}}
"""


_OPENING: Final = """

// WARNING: THIS FILE IS AUTOGENERATED BY torchgen. DO NOT MODIFY BY HAND.
// See https://github.com/pytorch/pytorch/blob/7e86a7c0155295539996e0cf422883571126073e/torchgen/gen.py#L2424-L2436 \
for details"""
_DISPATCHER_OPENING: Final = """

// This file corresponds to the aten_shimified_ops list in torchgen/aoti/fallback_ops.py
"""


def _opening(target: Target) -> str:
    return _OPENING + _DISPATCHER_OPENING if target.key is None else _OPENING


def header_text(target: Target, job: Job) -> str:
    """The text of a target's header."""
    shims = _made(job)[target]
    body = "\n".join([declaration(function) for _, shim in shims for function in shim.functions])
    return f"""{_opening(target)}

#pragma once

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#ifdef __cplusplus
extern "C" {{
#endif

{body}

#ifdef __cplusplus
}} // extern "C"
#endif
"""


def source_text(target: Target, job: Job) -> str:
    """The text of a target's source file."""
    shims = _made(job)[target]
    body = "\n".join([definition(function) for _, shim in shims for function in shim.functions])
    includes = "\n".join(sorted({shim.include for _, shim in shims}))
    devices, functions = "", "Functions.h"
    if target.key is not None:
        devices = device_headers(target.key, rocm=job.options.rocm, rules=job.rules)
        functions = f"{target.key.name}Functions.h"
    folder = "extend/" if job.options.extend_c_shim else ""
    return f"""{_opening(target)}

#include <torch/csrc/inductor/aoti_torch/generated/{folder}{header_name(target)}>
#include <torch/csrc/inductor/aoti_torch/utils.h>

#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/{functions}>
#include <ATen/CompositeExplicitAutogradFunctions.h>
#include <ATen/CompositeExplicitAutogradNonFunctionalFunctions.h>
#include <ATen/CompositeImplicitAutogradFunctions.h>
#else
{includes}
{devices}
#endif // AT_PER_OPERATOR_HEADERS

using namespace torch::aot_inductor;

{body}"""


def header_name(target: Target) -> str:
    """The name of a target's header."""
    return f"c_shim_{target.name}.h"


def source_name(target: Target) -> str:
    """The name of a target's source file."""
    return f"c_shim_{target.name}.cpp"


def headers(job: Job) -> Iterator[tuple[str, str]]:
    """The name and the text of each header, to compare with those that are kept."""
    for target in targets(job):
        yield header_name(target), header_text(target, job)


def _source(target: Target, job: Job) -> Slots:
    return {"text": source_text(target, job)}


def _header(target: Target, job: Job) -> Slots:
    return {"text": header_text(target, job)}


#: The lines that declare or define a shim.
_SHIM_LINE: Final = r"(?:AOTI_TORCH_EXPORT )?AOTITorchError aoti_torch_[a-z0-9]+_(?P<overload>\w+)\("


def emitters(job: Job) -> list[AnyEmitter]:
    """The emitters of the C shims; headers only where they are to be updated."""
    sources: AnyEmitter = Emitter(
        name="c_shim_sources",
        family="sources",
        template=None,
        folder="aoti",
        units=targets,
        fragment=_source,
        line_names=_SHIM_LINE,
        layout=FilePerUnit(source_name),
    )
    kept_emitter: AnyEmitter = Emitter(
        name="c_shim_headers",
        family="sources",
        template=None,
        folder="aoti",
        units=targets,
        fragment=_header,
        line_names=_SHIM_LINE,
        layout=FilePerUnit(header_name),
        belong_to_sources=True,
    )
    return [kept_emitter, sources] if job.options.update_c_shim else [sources]
