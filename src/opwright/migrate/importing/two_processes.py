"""Compares an original library with its port as they run, each loaded alone in a process of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from opwright.migrate.importing.comparison import (
    OperatorKey,
    RegisteredSide,
    RegistrationDifference,
    raises_in_backward,
)
from opwright.migrate.importing.process import LoadedLibrary, LoadedOperator
from opwright.source.records import NamedTuple

_COMPARED: Final = (
    "schemas, tags, alias analyses, the keys that have kernels, which of these are fallthroughs, and fakes, rules and "
    "modules with fakes in Python"
)
_NOT_COMPARED: Final = "calls: results, written arguments, gradients and errors"
#: Tags that follow from the name or the kind of an operator.
_IMPLIED_TAGS: Final = frozenset(("inplace", "out"))


class ProcessComparison(NamedTuple):
    """The differences, how many operators and kernels were compared, and operators whose gradients are not known."""

    differences: Sequence[RegistrationDifference]
    operators: int
    kernels: int
    unknown: Sequence[str]

    @property
    def unexplained(self) -> int:
        """How many differences no line of the library file explains."""
        return sum(difference.kind != "intended" for difference in self.differences)

    @property
    def summary(self) -> str:
        """What was compared, and what was not."""
        intended = len(self.differences) - self.unexplained
        return (
            f"compared in two processes: {self.operators} operators with {self.kernels} kernels: {self.unexplained} "
            f"differences are lost, added or changed, {intended} are intended; compared are {_COMPARED}; "
            f"not compared are {_NOT_COMPARED}"
        )


def compare_processes(original: LoadedLibrary, port: LoadedLibrary, generated: RegisteredSide) -> ProcessComparison:
    """Compare what two processes have for the namespaces of the original; `generated` is what a library file says."""
    differences: list[RegistrationDifference] = []
    unknown: list[str] = []
    namespaces = {namespace for namespace, _ in original.operators}
    for operator, old in original.operators.items():
        new = port.operators.get(operator)
        if new is None:
            differences.append(_difference("lost", operator, "the port does not register it"))
            continue
        differences += _facts(operator, old, new)
        differences += _keys(operator, old, new, generated, unknown)
    for operator in port.operators.keys() - original.operators.keys():
        if operator[0] in namespaces:
            differences.append(_difference("added", operator, "the original does not register it"))
    differences += _others(original.others, port.others)
    kernels = sum(len(old.kernels) for old in original.operators.values())
    return ProcessComparison(differences, len(original.operators), kernels, unknown)


def _difference(kind: str, operator: OperatorKey, text: str) -> RegistrationDifference:
    return RegistrationDifference(kind, "::".join(operator), text)


def _facts(operator: OperatorKey, old: LoadedOperator, new: LoadedOperator) -> Iterator[RegistrationDifference]:
    """What differs beside kernels."""
    for what, before, after in (
        ("schema", old.schema, new.schema),
        ("tags", _shown(old.tags - _IMPLIED_TAGS), _shown(new.tags - _IMPLIED_TAGS)),
        ("alias analysis", old.alias_analysis, new.alias_analysis),
    ):
        if before != after:
            text = f"its {what}: `{before}` in the original, and `{after}` in the port"
            yield _difference("changed", operator, text)
    for kind, side, other in (("lost", old, new), ("added", new, old)):
        for fact in side.in_python:
            if fact not in other.in_python:
                yield _difference(kind, operator, f"{fact} in Python")


def _shown(names: Collection[str]) -> str:
    return ", ".join(sorted(names))


def _keys(
    operator: OperatorKey, old: LoadedOperator, new: LoadedOperator, generated: RegisteredSide, unknown: list[str]
) -> Iterator[RegistrationDifference]:
    """The keys whose kernels differ. What the library file says is intended; what only raises is not known to be."""
    generated_kernels = generated.kernels.get(operator, {})
    for key in dict.fromkeys((*old.kernels, *new.kernels)):
        before, after = old.kernels.get(key), new.kernels.get(key)
        does = generated_kernels[key] if key in generated_kernels and generated_kernels[key].does else None
        if after is None:
            yield _difference("lost", operator, f"its kernel for {key}")
        elif before is None and does is not None and raises_in_backward(does):
            unknown.append("::".join(operator))
        elif before is None:
            reason = f", {does}, as the library file says" if does is not None else ""
            kind = "intended" if does is not None else "added"
            yield _difference(kind, operator, f"its kernel for {key}{reason}")
        elif (before == "fallthrough") != (after == "fallthrough"):
            names = ["a fallthrough" if kind == "fallthrough" else "a kernel" for kind in (before, after)]
            yield _difference("changed", operator, f"{names[0]} for {key} is {names[1]} in the port")
        elif does is not None and raises_in_backward(does):
            yield _difference("changed", operator, f"its kernel for {key} is {does}")


def _others(old: Mapping[str, int], new: Mapping[str, int]) -> Iterator[RegistrationDifference]:
    """Kernels for operators of other libraries, which are only counted."""
    for key in dict.fromkeys((*old, *new)):
        before, after = old.get(key, 0), new.get(key, 0)
        if before != after:
            kind = "lost" if before > after else "added"
            text = f"the original has {before} kernels for {key}, and the port {after}"
            yield RegistrationDifference(kind, "operators of other libraries", text)
