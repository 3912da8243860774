"""Drafts of a derivative file, from the autograd classes that kernels apply.

A kernel for Autograd that applies a class is what a derivative says: with a formula, nothing of it is needed. Where the
class has no formulas, or the kernel is that of all devices, the draft is a comment, and the class stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from opwright.libraries.importing.autograd_classes import AppliedClass, AutogradClass, Gradients, gradients_of
from opwright.libraries.importing.registration import RegistrationStatement, SourcePlace
from opwright.schema.fault import SchemaFault
from opwright.schema.parser import read_written_schema
from opwright.source.record_fields import NamedTuple
from opwright.source.yaml_scalar import comment, scalar

_OF_TORCH: Final = re.compile(r"\btorch::(?=\w+\()")
#: Nodes save sizes as symbolic integers; this makes integers of them.
_SIZES: Final = re.compile(r"\b(\w+)\.size(?:s\(\)|\((\d+)\))")
_CALLED: Final = re.compile(r"(?<![\w.>])((?:\w+::)*\w+)\(")
_SHARED: Final = "its kernel serves all devices; with kernels for devices, these formulas take the place of the class"


class DraftedDerivatives(NamedTuple):
    """The text of a derivative file, what it makes needless, and the functions that its formulas call.

    `taken` are statements, which register kernels for Autograd; `deletable` are the functions and classes of these.
    """

    text: str = ""
    taken: Sequence[RegistrationStatement] = ()
    deletable: Sequence[SourcePlace] = ()
    called: frozenset[str] = frozenset()


def draft_derivatives(
    statements: Sequence[RegistrationStatement], classes: Iterable[tuple[AppliedClass, AutogradClass]]
) -> DraftedDerivatives:
    """The derivatives of operators whose kernels apply classes."""
    schemas = {(row.namespace, row.name): row.schema for row in statements if row.schema}
    applied = {function.function: (function, given) for function, given in classes}
    entries: list[str] = []
    taken: list[RegistrationStatement] = []
    deletable: list[SourcePlace] = []
    called: set[str] = set()
    for row in statements:
        schema = schemas.get((row.namespace, row.name), "")
        function, given = applied.get(row.kernel.rpartition("::")[2], (None, None))
        if function is None or given is None or not schema:
            continue
        gradients = _renamed(function, given, schema)
        reason = gradients.reason or ("" if all(key.startswith("Autograd") for key in row.keys) else _SHARED)
        lines = _entry(f"{row.namespace}::{schema}", gradients) if gradients.formulas else []
        if reason:
            head = f"{given.place}: `{given.name}` of `{row.name}` stays by hand: {reason}"
            entries += [comment(head), *[f"# {line}" for line in lines]]
            continue
        entries += [comment(f"{given.place}: from `{given.name}`"), *lines]
        taken.append(row)
        deletable += [given.place, function.place]
        called.update(name for formula in gradients.formulas.values() for name in _CALLED.findall(formula))
    text = "".join([f"{line}\n" for line in entries])
    return DraftedDerivatives(text, taken, deletable, frozenset(called))


def _renamed(function: AppliedClass, given: AutogradClass, schema: str) -> Gradients:
    """The formulas of a class with the names that the schema gives to what the function hands on."""
    try:
        names = [argument.name for argument in read_written_schema(schema).arguments.all]
    except SchemaFault as fault:
        return Gradients({}, (), fault.message)
    if len(names) != len(function.parameters) or len(function.given) != len(given.parameters):
        return Gradients({}, (), "its parameters are not those of the schema")
    by_parameter = dict(zip(function.parameters, names, strict=True))
    named = {
        parameter: by_parameter.get(text) for parameter, text in zip(given.parameters, function.given, strict=True)
    }
    gradients = gradients_of(given, named)
    formulas = {
        str(named[parameter]): _SIZES.sub(_integers, _OF_TORCH.sub("at::", formula))
        for parameter, formula in gradients.formulas.items()
        if named[parameter] is not None
    }
    if len(formulas) != len(gradients.formulas):
        return gradients._replace(formulas={}, reason="it computes a gradient for what is no argument")
    return gradients._replace(formulas=formulas)


def _integers(match: re.Match[str]) -> str:
    index = f"[{match[2]}]" if match[2] else ""
    return f"C10_AS_INTARRAYREF_SLOW({match[1]}.sym_sizes()){index}"


def _entry(schema: str, gradients: Gradients) -> list[str]:
    lines = [f"- name: {scalar(schema)}"]
    if not all(gradients.differentiable):
        lines.append(f"  output_differentiability: [{', '.join(map(str, gradients.differentiable))}]")
    return [*lines, *[f"  {scalar(name)}: {scalar(formula)}" for name, formula in gradients.formulas.items()]]


def headers_of(called: frozenset[str], declared: Mapping[str, str]) -> list[str]:
    """The headers that declare the functions that formulas call."""
    return sorted({declared[name] for name in called if name in declared})
