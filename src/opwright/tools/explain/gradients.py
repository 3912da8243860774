"""What happens to the gradients of an overload, with the formulas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from opwright.backends.dispatch.registrations import RegistrationKind, registrations
from opwright.emit.autograd.saved import saved_type
from opwright.emit.emitter import Job, per_job
from opwright.libraries.operator_library import RunLibraries
from opwright.model.derivatives import Derivative, DifferentiableFunction, ForwardDerivative
from opwright.model.native_function import NativeFunction
from opwright.tools.explain.records import DerivativeRecord, FilePlace, FormulaRecord, GradientRecord, SavedRecord

#: What happens to gradients, in words.
_TEXTS: Final = {
    "formulas": "recorded by formulas",
    "out": "refused: a call with `out` raises an error if a tensor requires a gradient",
    "composite": "recorded by the operators that the kernel calls",
    "by_hand": "recorded by a kernel that is written by hand",
    "own": "recorded by a kernel that the entry names for Autograd",
    "mixed": "recorded by the operators that the kernel calls, and by formulas under keys with a kernel of their own",
    "unimplemented": "an error: no formula is known",
    "none": "none: nothing is differentiable",
}


_WITHOUT_GRADIENT: Final = {
    RegistrationKind.not_implemented: "unimplemented",
    RegistrationKind.not_differentiable: "none",
    RegistrationKind.refuses_gradients: "out",
}
_WITH_FORMULAS: Final = ("formulas", "mixed", "unimplemented")


def derivative_record(function: NativeFunction, job: Job) -> DerivativeRecord:
    """What happens to gradients."""
    differentiable = differentiable_function(function, job)
    status = _status(function, job, differentiable)
    gradients = tuple(_gradients(differentiable)) if differentiable is not None and status in _WITH_FORMULAS else ()
    return DerivativeRecord(status, _TEXTS[status], gradients)


def differentiable_function(function: NativeFunction, job: Job) -> DifferentiableFunction | None:
    """An overload with the formulas that it uses; None if the job has none for it."""
    return _differentiable(job).get(function)


@per_job
def _differentiable(job: Job) -> Mapping[NativeFunction, DifferentiableFunction]:
    """Functions of PyTorch and of libraries with the derivatives that they use."""
    matched = [*job.derivatives.functions]
    for library in job.of(RunLibraries).libraries:
        matched += library.derivatives.matched.functions
    return {differentiable.function: differentiable for differentiable in matched}


def _status(function: NativeFunction, job: Job, differentiable: DifferentiableFunction | None) -> str:
    if any(key.name.startswith("Autograd") for key in function.kernels):
        return "own"
    registration = registrations(job, function).get("Autograd")
    infos = {} if differentiable is None else differentiable.infos
    if registration is None and not infos:
        return "composite" if function.has_composite_implicit else "none"
    if registration is not None and registration.kind is RegistrationKind.by_hand:
        return "by_hand"
    if registration is not None and registration.kind in _WITHOUT_GRADIENT:
        return _WITHOUT_GRADIENT[registration.kind]
    if not any(info.has_derivatives for info in infos.values()):
        return "none"
    return "mixed" if function.has_composite_implicit and not function.has_composite_explicit else "formulas"


def _gradients(differentiable: DifferentiableFunction) -> Iterator[GradientRecord]:
    for key, info in differentiable.infos.items():
        saved = [(value, False) for value in info.saved_inputs] + [(value, True) for value in info.saved_outputs]
        yield GradientRecord(
            key,
            info.node_name or "",
            info.name,
            tuple([_formula(each, each.original_formula) for each in info.derivatives]),
            tuple(
                [
                    SavedRecord(value.name, saved_type(value, info).text, value.expression, is_result)
                    for value, is_result in saved
                ]
            ),
            tuple([_formula(each, each.formula) for each in differentiable.forward.get(key, ())]),
            info.non_differentiable,
        )


def _formula(derivative: Derivative | ForwardDerivative, text: str) -> FormulaRecord:
    span = derivative.span
    return FormulaRecord(derivative.var_names, text, FilePlace(span.file.path, span.line))
