"""Finds C shims whose parameters change, and says which version of the shim the operator needs instead."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from opwright.convention.c_shim import operator_key
from opwright.dialects.nearest import schema_span
from opwright.emit.aten.c_shim import ShimUnit, header_name, shim_units
from opwright.emit.emitter import Job
from opwright.model.native_function import NativeFunction
from opwright.source.codes import NO_VERSION, NO_VERSION_WARNING
from opwright.source.diagnostic import Diagnostics
from opwright.source.named_tuple import NamedTuple

_DECLARATION: Final = re.compile(r"AOTITorchError (\w+)\(([^)]*)\)")
_NAME: Final = re.compile(r"\w+$")


class _Parameters(NamedTuple):
    """The parameters of a C function: types, which compiled code relies on, and names."""

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
        kept_functions = {} if text is None else dict(_declarations(text))
        for unit in units if kept_functions else ():
            before = _kept_parameters(unit, kept_functions)
            if before is not None and unit.function not in reported:
                reported.add(unit.function)
                message, help = _advice(unit, before, job)
                report(code, message, schema_span(unit.function), help=help)


def _declarations(text: str) -> Iterator[tuple[str, _Parameters]]:
    """The C functions that a text declares, with their parameters."""
    for name, listed in _DECLARATION.findall(text):
        parameters = listed.split(", ") if listed else []
        types = tuple([_NAME.sub("", parameter).strip() for parameter in parameters])
        yield name, _Parameters(types, frozenset([parameter.rpartition(" ")[2] for parameter in parameters]))


def _kept_parameters(unit: ShimUnit, kept_functions: dict[str, _Parameters]) -> _Parameters | None:
    """The kept parameters of a version of a shim that has others now, None if no version has."""
    for function in unit.shim.functions:
        for name, parameters in _declarations(function.head):
            if name in kept_functions and kept_functions[name].types != parameters.types:
                return kept_functions[name]
    return None


def _advice(unit: ShimUnit, before: _Parameters, job: Job) -> tuple[str, str]:
    """What is wrong with an operator's shim, and what to write."""
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
