"""The overloads that users name: by the names of operators, or by any other that leads to some."""

from __future__ import annotations

from typing import Final, TypeAlias

from opwright.dialects.native_functions.resolution import (
    Entries,
    Resolution,
    known_names,
    overloads_named,
    plain_name,
    resolve,
)
from opwright.model.native_function import NativeFunction
from opwright.source.diagnostic import Diagnostics, did_you_mean
from opwright.tools.explain.generated_files import file_names, resolve_file
from opwright.tools.explain.gradients import differentiable_function
from opwright.tools.explain.loading import Explained, ExplainRequest, load_jobs

NamedOverload: TypeAlias = "tuple[NativeFunction, Explained]"

#: Names that lead to more operators do not stand for all of them.
_FEW: Final = 12


def named_overloads(
    request: ExplainRequest, sink: Diagnostics
) -> tuple[dict[str, list[NamedOverload]], dict[str, Resolution]]:
    """The overloads that each name means, and what the names were taken for that are not those of operators."""
    matches = _matches(request, sink)
    entries = Entries(request.inputs)
    unknown = [name for name in matches if not matches[name]]
    answers = {name: resolve(name, entries) or resolve_file(name, request) for name in unknown}
    resolutions = {name: answer for name, answer in answers.items() if answer is not None}
    few = {name: answer for name, answer in resolutions.items() if len(answer.operators) <= _FEW}
    operators = dict.fromkeys([operator for resolution in few.values() for operator in resolution.operators])
    if operators:
        by_operator = _matches(request._replace(names=tuple(operators)), sink)
        for name, resolution in few.items():
            named = [match for operator in resolution.operators for match in by_operator[operator]]
            matches[name] = [match for match in named if not resolution.node or _has_node(*match, resolution.node)]
    return matches, resolutions


def _has_node(function: NativeFunction, explained: Explained, node: str) -> bool:
    """Whether an autograd node is that of an overload."""
    differentiable = differentiable_function(function, explained.job)
    return differentiable is not None and any(info.node_name == node for info in differentiable.infos.values())


def _matches(request: ExplainRequest, sink: Diagnostics) -> dict[str, list[NamedOverload]]:
    """The overloads that each name means, with the job that has them."""
    matches: dict[str, list[NamedOverload]] = {name: [] for name in request.names}
    for explained in load_jobs(request, sink):
        for catalog in explained.catalogs:
            namespaces = {function.namespace for function in catalog.functions}
            for name, functions in matches.items():
                if not functions:
                    named = overloads_named(plain_name(name, namespaces), catalog)
                    functions += [(function, explained) for function in named]
        if all(matches.values()):
            break
    return matches


def unknown_name(name: str, request: ExplainRequest) -> str:
    """What to say of a name that leads to nothing, with the nearest name."""
    entries = Entries(request.inputs)
    plain = plain_name(name, ("aten",)).removeprefix("aten::")
    overloads = [operator for operator in entries.texts if operator.partition(".")[0] == plain.partition(".")[0]]
    nearest = did_you_mean(plain, file_names(plain, request) or known_names(plain, entries))
    hint = f"there are {', '.join(overloads)}" if overloads else str(nearest)
    return f"no operator `{name}`{'; ' + hint if hint else ''}"
