"""`python_torch_functions_N.cpp`: the functions of the module `torch`, which are most of all functions."""

from __future__ import annotations

from typing import Final

from opwright.convention.python.bound import TORCH
from opwright.emit.emitter import AnyEmitter, Emitter, Job, Sharded
from opwright.emit.python.files import binding_file_slots, binding_fragment
from opwright.emit.python.units import bindings

_FILE: Final = "python_torch_functions.cpp"


def emitters(job: Job) -> list[AnyEmitter]:
    """The emitter of the shards."""
    return [
        Emitter(
            name="python_torch_functions_source",
            family="python",
            template=f"autograd/{_FILE}",
            folder="autograd",
            units=lambda job: bindings(job, TORCH),
            fragment=binding_fragment,
            layout=Sharded(_FILE, job.rules.torch_functions_shards, lambda binding: binding.name.base),
            file_slots=binding_file_slots(_FILE),
        )
    ]
