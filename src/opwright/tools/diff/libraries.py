"""What differs between two forms of an operator library besides schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from opwright.libraries.entry_fields import LibraryFields, library_fields, requirements_of
from opwright.libraries.operator_library import OperatorLibrary, PythonGradient
from opwright.libraries.requirements import Requirements
from opwright.model.native_function import DeviceCheck, NativeFunction
from opwright.tools.diff.contracts import contract_reasons
from opwright.tools.diff.records import Audience, Level, Reason

_CALLERS: Final = frozenset((Audience.python, Audience.cpp, Audience.serialized))
_PYTHON: Final = frozenset((Audience.python,))
_BREAKS_GRADIENTS: Final = frozenset((Audience.gradients,))


def is_internal(function: NativeFunction) -> bool:
    """Whether an operator is made for another one alone, as that which saves results is, so that nobody calls it."""
    return bool(library_fields(function).saved)


def operator_reasons(old: NativeFunction, new: NativeFunction) -> Iterator[Reason]:
    """What differs between two forms of an operator in fields that libraries alone have, and in its kernels."""
    yield from _kernel_reasons(old, new)
    before, after = library_fields(old), library_fields(new)
    if after.deprecated and before.deprecated != after.deprecated:
        yield Reason(f"it is deprecated: {after.deprecated}", level=Level.minor)
    elif before.deprecated and not after.deprecated:
        yield Reason("it is no longer deprecated")
    if before.condition and not after.condition:
        yield Reason("it exists in every build", level=Level.minor)
    elif before.condition != after.condition:
        instead = f" instead of `{before.condition}`" if before.condition else ""
        yield Reason(f"it exists only in builds with `{after.condition}`{instead}", _CALLERS)
    yield from _autocast_reasons(before, after)
    if before.allows_overlap and not after.allows_overlap:
        yield Reason("written arguments may no longer share memory with others", _CALLERS)
    elif after.allows_overlap and not before.allows_overlap:
        yield Reason("written arguments may share memory with others", level=Level.minor)
    if old.device_check is not new.device_check:
        if new.device_check is DeviceCheck.NoCheck:
            yield Reason("its tensors may be on several devices", level=Level.minor)
        else:
            yield Reason("its tensors have to be on one device", _CALLERS)
    if before.alias_analysis != after.alias_analysis:
        yield Reason(f"TorchScript assumes {after.alias_analysis or 'what the schema says'} of it")
    if before.batch_rule != after.batch_rule:
        yield Reason(f"its batch rule is {f'`{after.batch_rule}`' if after.batch_rule else 'the usual one'}")
    loops = [(requirements_of(form) or Requirements()).loops() for form in (old, new)]
    if loops[0] is not None and loops[1] is None:
        yield Reason("DTensor no longer knows how it is computed in parts", _PYTHON)
    elif loops[0] is None and loops[1] is not None:
        yield Reason("DTensor knows how it is computed in parts", level=Level.minor)
    yield from contract_reasons(old, new)


def removal_text(function: NativeFunction) -> str:
    """What a report says of an operator of a library that is gone."""
    announced = library_fields(function).deprecated
    return f"the operator is gone, as announced: {announced}" if announced else "the operator is gone, unannounced"


def _kernel_reasons(old: NativeFunction, new: NativeFunction) -> Iterator[Reason]:
    """Devices that gain or lose a kernel. A composite kernel serves all of them."""
    served, serves = (
        any(key.is_composite for key in form.kernels) or form.has_composite_implicit for form in (old, new)
    )
    if served and not serves:
        devices = ", ".join(sorted(key.name for key in new.kernels))
        yield Reason(f"it no longer runs on every device, but on {devices} alone", _CALLERS)
    elif serves and not served:
        yield Reason("it runs on every device", level=Level.minor)
    if served or serves:
        return
    before, after = ({key.name for key in form.kernels} for form in (old, new))
    for key in sorted(before - after):
        yield Reason(f"it no longer runs on {key}", _CALLERS)
    for key in sorted(after - before):
        yield Reason(f"it runs on {key}", level=Level.minor)


def _autocast_reasons(old: LibraryFields, new: LibraryFields) -> Iterator[Reason]:
    if old.autocast == new.autocast:
        return
    if not any(old.autocast):
        yield Reason("autocast computes it in the dtype of its new rule", _PYTHON)
    elif not any(new.autocast):
        yield Reason("it no longer has a rule for autocast", _PYTHON)
    else:
        yield Reason("autocast computes it in another dtype", _PYTHON)


def library_reasons(old: OperatorLibrary, new: OperatorLibrary) -> Iterator[Reason]:
    """What differs between two forms of a library as a whole."""
    if old.python_package != new.python_package:
        text = f"its Python package is `{new.python_package}` instead of `{old.python_package}`"
        yield Reason(text, _PYTHON)
    if old.abi != new.abi:
        gone = "a binary serves one release of PyTorch alone" if old.is_stable else "its C++ headers are gone"
        yield Reason(f"its C++ interface is `{new.abi}` instead of `{old.abi}`: {gone}", frozenset((Audience.cpp,)))
    if old.library.api != new.library.api:
        text = f"its C++ namespace is `{new.library.api}` instead of `{old.library.api}`"
        yield Reason(text, frozenset((Audience.cpp, Audience.kernel)))
    for what, before, after in (
        ("PyTorch ", map(_version, old.releases), map(_version, new.releases)),
        ("", old.frameworks, new.frameworks),
    ):
        served, serves = list(before), list(after)
        gone = ", ".join([name for name in served if name not in serves])
        more = ", ".join([name for name in serves if name not in served])
        if gone:
            yield Reason(f"it no longer serves {what}{gone}", _CALLERS)
        if more:
            yield Reason(f"it serves {what}{more} too", level=Level.minor)
    for device in sorted({*old.c_shims} - {*new.c_shims}):
        yield Reason(f"it no longer has C shims for {device}", frozenset((Audience.shim,)))
    for device in sorted({*new.c_shims} - {*old.c_shims}):
        yield Reason(f"it has C shims for {device}", level=Level.minor)


def _version(release: tuple[int, int]) -> str:
    return ".".join(map(str, release))


def formula_reasons(what: str, old: Mapping[str, str], new: Mapping[str, str], where: str = "") -> Iterator[Reason]:
    """What differs between formulas, by the texts that say what they are of."""
    for name in new:
        if name not in old:
            yield Reason(f"the {what} of {name} is known{where}", level=Level.minor)
        elif old[name] != new[name]:
            yield Reason(f"the {what} of {name}{where} is `{new[name]}` instead of `{old[name]}`")
    for name in old:
        if name not in new:
            yield Reason(f"the {what} of {name} is no longer known{where}", _BREAKS_GRADIENTS)


def on_one_line(formula: str) -> str:
    """A formula without the ends of its lines."""
    return " ".join(formula.split())


def python_gradient_reasons(old: PythonGradient | None, new: PythonGradient | None) -> Iterator[Reason]:
    """What differs between the formulas of an operator that are computed in Python."""
    yield from formula_reasons("gradient", _backward(old), _backward(new))
    yield from formula_reasons("tangent", _forward(old), _forward(new))


def _backward(gradient: PythonGradient | None) -> dict[str, str]:
    formulas = () if gradient is None else gradient.formulas
    return {f"`{name}`": on_one_line(formula.text) for formula in formulas for name in formula.arguments}


def _forward(gradient: PythonGradient | None) -> dict[str, str]:
    formulas = () if gradient is None else gradient.forward
    return {f"result {place}": on_one_line(formula.text) for formula in formulas for place in formula.results}
