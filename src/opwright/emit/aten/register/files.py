"""The files `Register{Key}.cpp`: one sharded file for each backend of the run."""

from __future__ import annotations

from functools import partial

from opwright.emit.aten.backend import Backend, WrappedUnit, backends, wrapped_units
from opwright.emit.aten.native_aot import NATIVE_AOT_KERNELS, has_kernels
from opwright.emit.aten.register.devices import guard_headers
from opwright.emit.aten.register.helpers import (
    operator_headers,
    registration_headers,
    registration_helpers,
)
from opwright.emit.aten.register.registration import REGISTRATION_TEXT, definitions
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, Sharded, Slots


def _fragment(backend: Backend, wrapped: WrappedUnit, context: FragmentContext) -> Slots:
    return {"dispatch_definitions": [definitions(wrapped, backend, context)]}


def _units(backend: Backend, job: Job) -> list[WrappedUnit]:
    return list(wrapped_units(job)[backend.key])


def _file_slots(backend: Backend, job: Job) -> Slots:
    per_operator, rocm = job.options.per_operator_headers, job.options.rocm
    return {
        "extra_cuda_headers": guard_headers(backend.key, rocm=rocm, rules=job.rules),
        "external_backend_headers": "",
        "dispatch_headers": registration_headers(
            backend, per_operator_headers=per_operator, rocm=rocm, native_aot=has_kernels(backend.key, job)
        ),
        "ops_headers": operator_headers(backend, job),
        "dispatch_helpers": registration_helpers(backend),
        "dispatch_definitions": [],
    }


def emitters(job: Job) -> list[AnyEmitter]:
    """The emitters of the registrations of each backend of the run."""
    return [
        Emitter(
            name=f"register_{backend.key.lower}_source",
            family="sources",
            template="RegisterDispatchKey.cpp",
            units=partial(_units, backend),
            fragment=partial(_fragment, backend),
            reads=(NATIVE_AOT_KERNELS, REGISTRATION_TEXT),
            file_slots=partial(_file_slots, backend),
            layout=Sharded(
                f"Register{backend.key.name}.cpp",
                job.rules.value(backend.key.shards_rule),
                lambda wrapped: wrapped[0].root_name,
            ),
        )
        for backend in backends(job)
    ]
