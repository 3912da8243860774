"""The Python signatures of an overload."""

from __future__ import annotations

from collections.abc import Iterator

from opwright.convention.python.bound import MODULES
from opwright.convention.python.signature import function_signature
from opwright.emit.emitter import Job
from opwright.emit.python.units import bindings
from opwright.explain.records import FilePlace, PythonRecord
from opwright.model.library import PYTORCH
from opwright.model.native_function import NativeFunction

__all__ = ["python_records"]


def python_records(function: NativeFunction, job: Job) -> tuple[PythonRecord, ...]:
    """The signatures by which Python calls an overload; deprecated ones come last."""
    return tuple(sorted(_records(function, job), key=lambda record: record.deprecated))


def _records(function: NativeFunction, job: Job) -> Iterator[PythonRecord]:
    if function.library is not PYTORCH:
        text = function_signature(function, method=False).text
        yield PythonRecord(f"torch.ops.{function.namespace}.{function.name.name}", text, False, None)
        return
    for module in MODULES:
        for binding in bindings(job, module):
            for pair in binding.pairs:
                if function not in (pair.base, pair.out):
                    continue
                signature, span = pair.signature, pair.signature.span
                place = None if span is None else FilePlace(span.file.path, span.line)
                name = f"{module.name}.{signature.name}"
                yield PythonRecord(name, signature.text.removesuffix("|deprecated"), signature.deprecated, place)
