"""What the fragments of autograd's files are made from."""

from __future__ import annotations

from collections.abc import Sequence

from opwright.emit.autograd.views import has_kernel
from opwright.emit.emitter import Job, per_job
from opwright.model.derivatives import DifferentiableFunction


@per_job
def functions_with_kernels(job: Job) -> Sequence[DifferentiableFunction]:
    """The functions of the run that have a generated kernel, with their derivatives, ordered by C++ name."""
    return [function for function in job.derivatives.functions if has_kernel(function)]
