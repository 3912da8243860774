"""Compares two catalogs, operator by operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from opwright.backends.operator_records import shown_name
from opwright.dialects.native_functions.fields import ROWS
from opwright.libraries.operator_library import OperatorLibrary, PythonGradient
from opwright.model.catalog import Catalog
from opwright.model.derivatives import DEFAULT_KEY, DifferentiabilityInfo, DifferentiableFunction
from opwright.model.native_function import FIELD_NAMES, NativeFunction
from opwright.schema.function import SchemaKind
from opwright.source.diagnostic import did_you_mean
from opwright.tools.diff.callers import cpp_faults, kernel_faults, python_faults
from opwright.tools.diff.libraries import (
    formula_reasons,
    is_internal,
    library_reasons,
    on_one_line,
    operator_reasons,
    python_gradient_reasons,
    removal_text,
)
from opwright.tools.diff.records import Audience, ChangeKind, Comparison, Level, OperatorChange, Reason, merge_reasons
from opwright.tools.diff.schema_rules import backward_faults, forward_faults
from opwright.tools.dump.data import JsonValue, field_data
from opwright.tools.dump.shims import OperatorShims, shim_faults


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
            yield from formula_reasons("gradient", _backward(before), _backward(after), where)
            yield from formula_reasons("tangent", _forward(old, key), _forward(new, key), where)
            yield from _saved_reasons(before, after, where)


def _backward(info: DifferentiabilityInfo | None) -> dict[str, str]:
    """Formulas of gradients by the argument; those that say that there is none are left out."""
    derivatives = () if info is None else info.derivatives
    return {
        f"`{name}`": on_one_line(derivative.original_formula)
        for derivative in derivatives
        for name in derivative.var_names
        if not derivative.is_not_implemented
    }


def _forward(function: DifferentiableFunction, key: str) -> dict[str, str]:
    """Formulas of tangents by the result."""
    return {
        f"`{', '.join(derivative.var_names)}`": on_one_line(derivative.formula)
        for derivative in function.forward.get(key, ())
    }


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


#: The fields of entries about which nothing else is said.
_OTHER_ROWS: Final = tuple(
    [row for row in ROWS if row.attribute not in ("", "tags", "structured", "structured_delegate", "python_module")]
)

#: Whoever calls, saves or implements operators.
_ALL: Final = frozenset((Audience.python, Audience.cpp, Audience.serialized, Audience.kernel))


class Side(NamedTuple):
    """One side of a comparison: what it is, its operators, and the C shims by the names of operators.

    `derivatives` are the formulas of operators, by them; None for sides of which no formulas are known. `libraries` are
    the operator libraries that the side is made of, if it is. Of one that `runs` no more is known than the schemas and
    the tags of its operators.
    """

    label: str
    catalog: Catalog
    shims: Mapping[str, OperatorShims]
    derivatives: Mapping[NativeFunction, DifferentiableFunction] | None = None
    libraries: tuple[OperatorLibrary, ...] = ()
    runs: bool = False

    def by_name(self) -> dict[str, NativeFunction]:
        """Operators by their names, those of `aten` without the namespace."""
        return {shown_name(function): function for function in self.catalog.functions if not is_internal(function)}

    def formulas(self, function: NativeFunction) -> DifferentiableFunction:
        """Formulas of an operator, if any."""
        return (self.derivatives or {}).get(function) or DifferentiableFunction(function, {}, {})

    def python_gradients(self) -> dict[str, PythonGradient]:
        """Formulas that autograd computes in Python, by the names of operators."""
        return {
            shown_name(gradient.function): gradient
            for library in self.libraries
            for gradient in library.derivatives.python
        }


def compare(old: Side, new: Side) -> Comparison:
    """What differs between two catalogs: removed, changed and added operators, each kind in alphabetical order."""
    before, after = old.by_name(), new.by_name()
    running = tuple([side.label for side in (old, new) if side.runs])
    has_gradients = old.derivatives is not None and new.derivatives is not None and not running
    gradients = [side.python_gradients() for side in (old, new)]
    changes: list[OperatorChange] = []
    added = [name for name in after if name not in before]
    for name, function in before.items():
        shims = _shims_of(function, old)
        if name not in after:
            reasons = _removed_reasons(
                function, shims, removal_text(function) if old.libraries else "the operator is gone"
            )
            similar = tuple(_similar(function, [after[other] for other in added]))
            changes.append(OperatorChange(name, ChangeKind.removed, function, None, reasons, similar))
            continue
        differences = [*_reasons(function, after[name], shims, _shims_of(after[name], new), in_full=not running)]
        if has_gradients:
            differences += gradient_differences(old.formulas(function), new.formulas(after[name]))
        if old.libraries and new.libraries and not running:
            differences += operator_reasons(function, after[name])
            differences += python_gradient_reasons(*[formulas.get(name) for formulas in gradients])
        reasons = merge_reasons(differences)
        if reasons:
            changes.append(OperatorChange(name, ChangeKind.changed, function, after[name], reasons))
    changes += [OperatorChange(name, ChangeKind.added, None, after[name]) for name in added]
    order = list(ChangeKind)
    changes.sort(key=lambda change: (order.index(change.kind), change.name.lstrip("_").lower(), change.name))
    has_verdict = bool(old.libraries and new.libraries)
    if has_verdict and not running:
        changes = [*_library_changes(old, new), *changes]
    lacking = {Audience.gradients: not has_gradients, Audience.shim: not (old.shims or has_verdict)}
    return Comparison(
        old.label,
        new.label,
        tuple(changes),
        tuple([audience for audience, lacks in lacking.items() if lacks]),
        has_verdict,
        running,
    )


def _library_changes(old: Side, new: Side) -> Iterator[OperatorChange]:
    """What differs between libraries of one namespace as wholes."""
    before = {library.library.namespace: library for library in old.libraries}
    for library in new.libraries:
        namespace = library.library.namespace
        reasons = tuple(library_reasons(before[namespace], library)) if namespace in before else ()
        if reasons:
            yield OperatorChange(namespace, ChangeKind.changed, None, None, reasons)


def _shims_of(function: NativeFunction, side: Side) -> OperatorShims | None:
    return side.shims.get(f"{function.namespace}::{function.name}")


def _removed_reasons(function: NativeFunction, shims: OperatorShims | None, text: str) -> tuple[Reason, ...]:
    broken = _ALL if shims is None or not shims.versions else _ALL | {Audience.shim}
    if function.is_synthesized:
        broken -= {Audience.kernel}
    return (Reason(text, broken),)


def _reasons(
    old: NativeFunction,
    new: NativeFunction,
    old_shims: OperatorShims | None,
    new_shims: OperatorShims | None,
    *,
    in_full: bool,
) -> Iterator[Reason]:
    """What differs between two forms of an operator: schemas and tags, and fields of entries and kernels `in_full`."""
    finders: tuple[tuple[Audience, Callable[[], Iterable[str]]], ...] = (
        (Audience.python, lambda: python_faults(new, old)),
        (Audience.cpp, lambda: cpp_faults(new, old)),
        (Audience.serialized, lambda: backward_faults(new.schema, old.schema)),
        (Audience.forward, lambda: forward_faults(new.schema, old.schema)),
        (Audience.kernel, lambda: kernel_faults(new, old)),
    )
    if old.schema is not new.schema and str(old.schema) != str(new.schema):
        for audience, find in finders:
            yield from (Reason(text, frozenset((audience,))) for text in find())
        yield from (Reason(text, level=Level.minor) for text in _additions(old, new))
    elif any(getattr(old, name) != getattr(new, name) for name in FIELD_NAMES):
        for audience, find in finders[:2]:
            yield from (Reason(text, frozenset((audience,))) for text in find())
    yield from (Reason(text, frozenset((Audience.shim,))) for text in shim_faults(new_shims, old_shims))
    yield from (Reason(f"it has the tag `{tag}`") for tag in sorted(new.tags - old.tags))
    yield from (Reason(f"it no longer has the tag `{tag}`") for tag in sorted(old.tags - new.tags))
    if in_full:
        yield from (Reason(text) for text in _other_differences(old, new))


def _additions(old: NativeFunction, new: NativeFunction) -> Iterator[str]:
    """What the new schema has in addition."""
    names = {argument.name for argument in old.arguments.all}
    for argument in new.arguments.all:
        if argument.name not in names and argument.default is not None:
            yield f"new argument `{argument.text}`"
    before = {argument.name: argument for argument in old.arguments.all}
    for argument in new.arguments.all:
        earlier = before.get(argument.name)
        if earlier in old.arguments.keyword_only and argument in new.arguments.positional:
            yield f"argument `{argument.name}` may be passed by position"
        if earlier is not None and earlier.type is not argument.type:
            yield f"argument `{argument.name}` is `{argument.type}` instead of `{earlier.type}`"


def _other_differences(old: NativeFunction, new: NativeFunction) -> Iterator[str]:
    """What differs besides the schema, and breaks nobody."""
    if new.function and not old.function:
        yield "it is a function too"
    if new.method and not old.method:
        yield "it is a method too"
    if new.in_structured_group != old.in_structured_group:
        yield "its kernels are structured" if new.in_structured_group else "its kernels are no longer structured"
    for row in _OTHER_ROWS:
        before, after = field_data(getattr(old, row.attribute)), field_data(getattr(new, row.attribute))
        if before != after:
            yield f"its `{row.field.name}` is {_shown(after)} instead of {_shown(before)}"
    yield from _kernel_differences(old, new)


def _shown(value: JsonValue) -> str:
    if isinstance(value, dict):
        return "another one"
    if isinstance(value, list):
        return ", ".join([f"`{item}`" for item in value]) or "empty"
    return "missing" if value is None else f"`{value}`"


def _kernel_differences(old: NativeFunction, new: NativeFunction) -> Iterator[str]:
    before = {key.name: kernel.name for key, kernel in old.kernels.items()}
    after = {key.name: kernel.name for key, kernel in new.kernels.items()}
    for key in sorted(after.keys() - before.keys()):
        yield f"it has a kernel for {key}: `{after[key]}`"
    for key in sorted(before.keys() - after.keys()):
        yield f"it no longer has a kernel for {key}"
    for key in sorted(after.keys() & before.keys()):
        if after[key] != before[key]:
            yield f"its kernel for {key} is `{after[key]}` instead of `{before[key]}`"


def _similar(function: NativeFunction, added: list[NativeFunction]) -> Iterator[str]:
    """Added operators that take and return the same under another name, the most similar name first."""
    same = [
        other
        for other in added
        if other.schema.arguments is function.schema.arguments and other.schema.returns == function.schema.returns
    ]
    names = {shown_name(other): other for other in same}
    hint = did_you_mean(function.name.text, names)
    ordered = sorted(names, key=lambda name: (f"`{name}`" not in str(hint), name))
    yield from ordered[:3] if len(ordered) <= 3 or str(hint) else ()
