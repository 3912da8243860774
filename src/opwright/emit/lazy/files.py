"""The files of the run's backends with lazy tensors, in the style that the run names."""

from __future__ import annotations

from opwright.emit.emitter import AnyEmitter, Job
from opwright.emit.lazy.style import STYLES, lazy_emitters


def emitters(job: Job) -> list[AnyEmitter]:
    """The emitters of all files of lazy tensors."""
    style = STYLES[job.options.lazy.style]
    return [emitter for backend in job.lazy_backends for emitter in lazy_emitters(backend, style, "lazy")]
