"""What the fragments of autograd's files are made from."""

from __future__ import annotations

from collections.abc import Sequence

from opwright.emit.emitter import Job
from opwright.model.derivatives import DifferentiableFunction


def differentiable_functions(job: Job) -> Sequence[DifferentiableFunction]:
    """The functions of the run with their derivatives, ordered by C++ name."""
    return job.derivatives.functions
