"""C shims for AOTInductor: `c_shim_cpu.cpp` and its like, and their headers.

Code compiled ahead of time reaches operators through these C functions, whose declarations must stay as they are
for good. The headers are therefore stored beside PyTorch's sources and written only on demand. An operator that gets a
new argument gets another version of its shim.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Final

from opwright.convention import c_shim, public_api
from opwright.convention.c_shim import ShimFunction, operator_key, shim_function
from opwright.dialects.nearest import schema_span
from opwright.emit.aten.register.devices import guard_headers
from opwright.emit.aten.units import include
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Slots, per_job
from opwright.model.dispatch_key import (
    COMPOSITE_EXPLICIT,
    COMPOSITE_EXPLICIT_NON_FUNCTIONAL,
    COMPOSITE_IMPLICIT,
    DispatchKey,
)
from opwright.model.native_function import NativeFunction
from opwright.release.operator_names.kernels import NULLABLE_RESULTS
from opwright.release.rules import Rules
from opwright.release.tables import ShimOperator
from opwright.schema.function import FunctionSchema
from opwright.source.codes import NO_C_FORM, NO_VERSION, NO_VERSION_WARNING, UNKNOWN_SHIM
from opwright.source.diagnostic import Diagnostics, did_you_mean
from opwright.source.records import NamedTuple
from opwright.source.span import Span

#: The keys whose kernels serve a device that has none of its own, the best first.
SHARED_KEYS: Final = (COMPOSITE_EXPLICIT, COMPOSITE_EXPLICIT_NON_FUNCTIONAL, COMPOSITE_IMPLICIT)


class Target(NamedTuple):
    """Target of shims: the kernels of a device, or (`aten`, without key) the dispatcher.

    Callers may leave out results of operators with a `nullable` part in their name. `resolves`: tensors are read
    without lazy conjugation or negation.
    """

    name: str
    key: DispatchKey | None
    nullable: frozenset[str] = NULLABLE_RESULTS.in_any_release
    resolves: bool = True


def release_target(name: str, key: DispatchKey | None, rules: Rules) -> Target:
    """A target in a release."""
    return Target(name, key, NULLABLE_RESULTS.in_release(rules), rules.shims_resolve_dispatch_flags)


def targets(job: Job) -> list[Target]:
    """What the run makes shims for."""
    rules = job.rules
    devices = [release_target(key.lower, key, rules) for key in job.catalog.keys if rules.has_c_shim(key)]
    return [*devices, release_target("aten", None, rules)] if rules.shims_through_dispatcher else devices


class Shim(NamedTuple):
    """An operator's shim: a function for each of its versions, the newest first.

    Where a type has no form in C there are none, and `refusal` says which.
    """

    functions: Sequence[ShimFunction]
    refusal: c_shim.NoCForm | None = None


class ShimUnit:
    """Unit of an operator's shim for a target: the overload, its row of the table, and the key of the kernel."""

    def __init__(self, function: NativeFunction, row: ShimOperator, target: Target, key: DispatchKey | None) -> None:
        self.function: Final = function
        self.row: Final = row
        self.target: Final = target
        self.key: Final = key

    @property
    def include(self) -> str:
        """The `#include` of the header that declares what the shim calls."""
        device = "" if self.key is None else f"_{self.key.lower}_dispatch"
        return include(self.function, device)

    @cached_property
    def shim(self) -> Shim:
        """Shim."""
        try:
            called = shim_callee(self.function, self.key)
            return Shim(shim_versions(self.function.schema, self.row, self.target, called))
        except c_shim.NoCForm as refusal:
            return Shim((), refusal)


def shim_kernel_key(function: NativeFunction, key: DispatchKey, *, own_only: bool) -> DispatchKey | None:
    """Dispatch key whose kernel a device's shim calls; with `own_only` no other than the device's own."""
    out = function.group.out if function.group is not None and function.structured_delegate is not None else None
    if key in function.kernels or (out is not None and key in out.kernels):
        return key
    if own_only:
        return None
    return next((shared for shared in SHARED_KEYS if shared in function.kernels), None)


def shim_callee(function: NativeFunction, key: DispatchKey | None = None) -> str:
    """The C++ function that a shim calls: of a dispatch key, or of the public API."""
    if key is not None:
        return callee_of_key(function, key.lower)
    schema, api = function.schema, function.library.api
    if schema.has_symint and not function.function:
        return f"{api}::symint::{public_api.name(schema).removesuffix('_symint')}<c10::SymInt>"
    return f"{api}::{public_api.name(schema, symint=schema.has_symint)}"


def callee_of_key(function: NativeFunction, namespace: str) -> str:
    """The C++ function of a dispatch key, which has a namespace in that of the public API."""
    schema = function.schema
    return f"{function.library.api}::{namespace}::{public_api.name(schema, symint=schema.has_symint)}"


def shim_unit(function: NativeFunction, row: ShimOperator, target: Target, *, own_only: bool) -> ShimUnit | None:
    """Unit of an operator's shim, or None if the target has no kernel that it could call."""
    if target.key is None:
        return ShimUnit(function, row, target, None)
    key = shim_kernel_key(function, target.key, own_only=own_only)
    return None if key is None else ShimUnit(function, row, target, key)


def shim_versions(schema: FunctionSchema, row: ShimOperator, target: Target, called: str) -> list[ShimFunction]:
    """Functions of a shim that calls a C++ function. Raises NoCForm where a type has no form in C."""
    newest_first = sorted(row.versions, key=lambda version: int(version.name[1:]), reverse=True)
    versions = [(f"_{version.name}", version.new_arguments, version.guard) for version in newest_first]
    missing: set[str] = set()
    functions = []
    for suffix, new_arguments, guard in [*versions, ("", (), row.guard)]:
        name = f"aoti_torch_{target.name}_{schema.name.unambiguous}{suffix}"
        shim = shim_function(name, called, schema, missing, guard)
        if not target.resolves:
            shim = shim._replace(arguments=c_shim.passed_arguments(schema, missing, resolves=False))
        functions.append(shim._replace(results=c_shim.results(schema, target.nullable)))
        missing.update(new_arguments)
    return functions


@per_job
def functions_by_key(job: Job) -> dict[str, NativeFunction]:
    """Overloads by the names that tables of shims have for them."""
    return {operator_key(function): function for function in job.catalog.functions}


@per_job
def shim_units(job: Job) -> dict[Target, list[ShimUnit]]:
    """For each target the operators of its table that the catalog has, ordered by the names they have there."""
    functions, own_only = functions_by_key(job), job.options.extend_c_shim
    units: dict[Target, list[ShimUnit]] = {}
    for target in targets(job):
        table = job.shim_tables.aten if target.key is None else job.shim_tables.device
        rows = [(functions[name], table[name]) for name in sorted(table) if name in functions]
        candidates = [shim_unit(function, row, target, own_only=own_only) for function, row in rows]
        units[target] = [unit for unit in candidates if unit is not None]
    return units


def check_names(job: Job, sink: Diagnostics) -> None:
    """Warns of names in the tables of the inputs that the catalog does not have.

    A backend has few of the operators in the tables, so there a name without an operator gets no warning.
    """
    tables = job.shim_tables
    functions = functions_by_key(job)
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
    arguments = [argument.name for argument in function.schema.arguments.all]
    for version in row.versions:
        for new in version.new_arguments:
            if new not in arguments:
                message = f"`{name}` has no argument `{new}`, which `{version.name}` of its C shim is to add"
                sink.warning(UNKNOWN_SHIM, message, span, help=did_you_mean(new, arguments))


def check_c_forms(job: Job, sink: Diagnostics) -> None:
    """Notes each operator that is to have a shim and has a type without C form."""
    for target, units in shim_units(job).items():
        for unit in units:
            reason = unit.shim.refusal
            if reason is not None:
                blamed = f"{reason.what} of type `{reason.type}` has no form in C"
                message = f"no C shim for `{unit.function.name}` on {target.name}: {blamed}"
                sink.note(NO_C_FORM, message, unit.function.entry)


def shim_declaration(function: ShimFunction) -> str:
    """Declaration of one C function, guarded by its release."""
    text = f"AOTI_TORCH_EXPORT {function.head};"
    if function.guard is None:
        return text
    condition = f"TORCH_FEATURE_VERSION >= {function.guard}"
    return f"#if {condition}\n{text}\n#endif // {condition}"


def shim_definition(function: ShimFunction) -> str:
    """Definition of one C function."""
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


def _has_functions(target: Target, job: Job) -> bool:
    return any(unit.shim.functions for unit in shim_units(job)[target])


def _header_opening(target: Target) -> str:
    return f"""{_opening(target)}

#pragma once

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#ifdef __cplusplus
extern "C" {{
#endif

"""


def _header_closing(target: Target, job: Job) -> str:
    lead = "" if _has_functions(target, job) else "\n"
    return f"""{lead}
#ifdef __cplusplus
}} // extern "C"
#endif
"""


def _source_opening(target: Target, job: Job) -> str:
    includes = "\n".join(sorted({unit.include for unit in shim_units(job)[target]}))
    devices, functions = "", "Functions.h"
    if target.key is not None:
        devices = guard_headers(target.key, rocm=job.options.rocm, rules=job.rules)
        functions = f"{target.key.name}Functions.h"
    folder = "extend/" if job.options.extend_c_shim else ""
    end = "" if _has_functions(target, job) else "\n"
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
{end}"""


def header_name(target: Target) -> str:
    """Name of a target's header."""
    return f"c_shim_{target.name}.h"


def source_name(target: Target) -> str:
    """Name of a target's source file."""
    return f"c_shim_{target.name}.cpp"


def headers(job: Job) -> Iterator[tuple[str, str]]:
    """Name and the text of each header, to compare with the headers on disk."""
    for target in targets(job):
        yield header_name(target), header_text(target, job)


def header_text(target: Target, job: Job) -> str:
    """Text of a target's header."""
    return "".join([_header_opening(target), *map(_header_chunk, _header_units(target, job))])


def _header_units(target: Target, job: Job) -> Sequence[ShimUnit | str]:
    """Shims of a header, and what stands below them."""
    return [*shim_units(job)[target], _header_closing(target, job)]


def _header_chunk(unit: ShimUnit | str) -> str:
    if isinstance(unit, str):
        return unit
    return "".join([f"{shim_declaration(function)}\n" for function in unit.shim.functions])


def _declarations(unit: ShimUnit | str, context: FragmentContext) -> Slots:
    return {"text": (_header_chunk(unit),)}


def _definitions(unit: ShimUnit, context: FragmentContext) -> Slots:
    return {"text": [f"\n{shim_definition(function)}" for function in unit.shim.functions]}


#: The lines that declare or define a shim.
_SHIM_LINE: Final = r"(?:AOTI_TORCH_EXPORT )?AOTITorchError aoti_torch_[a-z0-9]+_(?P<overload>\w+)\("


def _source(target: Target) -> AnyEmitter:
    return Emitter(
        name=f"c_shim_{target.name}_source",
        family="sources",
        template=None,
        folder="aoti",
        units=lambda job: shim_units(job)[target],
        fragment=_definitions,
        line_names=_SHIM_LINE,
        layout=OneFile(source_name(target)),
        file_slots=lambda job: {"text": (_source_opening(target, job),)},
    )


def _header(target: Target) -> AnyEmitter:
    return Emitter(
        name=f"c_shim_{target.name}_header",
        family="sources",
        template=None,
        folder="aoti",
        units=lambda job: _header_units(target, job),
        fragment=_declarations,
        line_names=_SHIM_LINE,
        layout=OneFile(header_name(target)),
        file_slots=lambda job: {"text": (_header_opening(target),)},
        belong_to_sources=True,
    )


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the C shims; headers only where they are to be updated."""
    headers = map(_header, targets(job)) if job.options.update_c_shim else ()
    return [*headers, *map(_source, targets(job))]


_DECLARATION: Final = re.compile(r"AOTITorchError (\w+)\(([^)]*)\)")
_NAME: Final = re.compile(r"\w+$")


class _Parameters(NamedTuple):
    """Parameters of a C function: types, which compiled code relies on, and names."""

    types: tuple[str, ...]
    names: frozenset[str]


def check_versions(job: Job, kept_header: Callable[[str], str | None], sink: Diagnostics) -> None:
    """Report operators that have got an argument without a further version of their C shim.

    `kept_header` gives the text of a header in the source tree by its name, None if there is none. If the run updates
    the headers, this is a warning.
    """
    report = sink.warning if job.options.update_c_shim else sink.error
    code = NO_VERSION_WARNING if job.options.update_c_shim else NO_VERSION
    reported: set[NativeFunction] = set()
    for target, units in shim_units(job).items():
        text = kept_header(header_name(target))
        kept_functions = {} if text is None else dict(_declared_functions(text))
        for unit in units if kept_functions else ():
            before = _kept_parameters(unit, kept_functions)
            if before is not None and unit.function not in reported:
                reported.add(unit.function)
                message, help = _advice(unit, before, job)
                report(code, message, schema_span(unit.function), help=help)


def _declared_functions(text: str) -> Iterator[tuple[str, _Parameters]]:
    for name, listed in _DECLARATION.findall(text):
        parameters = listed.split(", ") if listed else []
        types = tuple([_NAME.sub("", parameter).strip() for parameter in parameters])
        yield name, _Parameters(types, frozenset([parameter.rpartition(" ")[2] for parameter in parameters]))


def _kept_parameters(unit: ShimUnit, kept_functions: dict[str, _Parameters]) -> _Parameters | None:
    """Kept parameters of a version of a shim that has others now, None if no version has."""
    for function in unit.shim.functions:
        for name, parameters in _declared_functions(function.head):
            if name in kept_functions and kept_functions[name].types != parameters.types:
                return kept_functions[name]
    return None


def _advice(unit: ShimUnit, before: _Parameters, job: Job) -> tuple[str, str]:
    function, row = unit.function, unit.row
    named = {name for version in row.versions for name in version.new_arguments}
    new = [
        argument
        for argument in function.arguments.non_out
        if argument.name not in before.names and argument.name not in named
    ]
    shown = ", ".join([f"`{argument.name}`" for argument in new])
    if not new:
        help = "restore the schema, or add an overload: compiled code calls the shim as it is"
        return f"the C shim of `{function.name}` changes the types of its parameters", help
    noun = "argument" if len(new) == 1 else "arguments"
    message = f"`{function.name}` has the new {noun} {shown}, and its C shim no version for it"
    if any(argument.default is None for argument in new):
        return message, "give it a default: the older versions of the shim have to leave it out"
    version = max([int(version.name[1:]) for version in row.versions], default=1) + 1
    names = "[" + ", ".join([f'"{argument.name}"' for argument in new]) + "]"
    release = job.rules.version
    macro = f"TORCH_VERSION_{release.major}_{release.minor}_0"
    value = f'{{"new_args": {names}, "since": "{macro}"}}' if job.rules.shims_are_guarded else names
    return message, f'add `"v{version}": {value}` to `{operator_key(function)}` in `fallback_ops.py`'
