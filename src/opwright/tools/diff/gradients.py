"""What differs in the gradients of an operator: which arguments have one, by which formula, and what is saved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from opwright.model.derivatives import DEFAULT_KEY, DifferentiabilityInfo, DifferentiableFunction
from opwright.schema.function import SchemaKind
from opwright.tools.diff.records import Audience, Reason

_BREAKS: Final = frozenset((Audience.gradients,))


def gradient_differences(old: DifferentiableFunction, new: DifferentiableFunction) -> Iterator[Reason]:
    """What differs between the gradients of two forms of an operator, under each key that both have."""
    if new.function.kind is SchemaKind.out:
        # A call with `out` refuses tensors that require a gradient.
        return
    for key in dict.fromkeys((*old.infos, *new.infos)):
        where = "" if key == DEFAULT_KEY else f" under {key}"
        before, after = old.infos.get(key), new.infos.get(key)
        if before is None and key != DEFAULT_KEY:
            yield Reason(f"it has formulas{where}")
        elif after is None and key != DEFAULT_KEY:
            yield Reason(f"it no longer has formulas{where}")
        else:
            yield from _formula_reasons("gradient", _backward(before), _backward(after), where)
            yield from _formula_reasons("tangent", _forward(old, key), _forward(new, key), where)
            yield from _saved_reasons(before, after, where)


def _backward(info: DifferentiabilityInfo | None) -> dict[str, str]:
    """The formulas of gradients by the argument; those that say that there is none are left out."""
    derivatives = () if info is None else info.derivatives
    return {
        name: _on_one_line(derivative.original_formula)
        for derivative in derivatives
        for name in derivative.var_names
        if not derivative.is_not_implemented
    }


def _forward(function: DifferentiableFunction, key: str) -> dict[str, str]:
    """The formulas of tangents by the result."""
    return {
        ", ".join(derivative.var_names): _on_one_line(derivative.formula)
        for derivative in function.forward.get(key, ())
    }


def _on_one_line(formula: str) -> str:
    return " ".join(formula.split())


def _formula_reasons(what: str, old: Mapping[str, str], new: Mapping[str, str], where: str) -> Iterator[Reason]:
    for name in new:
        if name not in old:
            yield Reason(f"the {what} of `{name}` is known{where}")
        elif old[name] != new[name]:
            yield Reason(f"the {what} of `{name}`{where} is `{new[name]}` instead of `{old[name]}`")
    for name in old:
        if name not in new:
            yield Reason(f"the {what} of `{name}` is no longer known{where}", _BREAKS)


def _saved_reasons(
    old: DifferentiabilityInfo | None, new: DifferentiabilityInfo | None, where: str
) -> Iterator[Reason]:
    if old is None or new is None or not (_backward(old) and _backward(new)):
        return
    before, after = ({saved.name for saved in (*info.saved_inputs, *info.saved_outputs)} for info in (old, new))
    for name in sorted(after - before):
        yield Reason(f"`{name}` is saved for gradients{where}")
    for name in sorted(before - after):
        yield Reason(f"`{name}` is no longer saved for gradients{where}")
