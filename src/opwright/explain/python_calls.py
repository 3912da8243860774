"""The Python signatures of an overload."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from opwright.convention.python.bound import MODULES, TORCH, PythonModule
from opwright.convention.python.hints import Hints
from opwright.convention.python.parser import NoPythonType
from opwright.convention.python.signature import PythonSignature, function_signature
from opwright.emit.emitter import Job
from opwright.emit.python.units import bindings
from opwright.emit.torch_stubs.declarations import hints_of
from opwright.explain.records import FilePlace, PythonRecord
from opwright.model.library import PYTORCH
from opwright.model.native_function import NativeFunction

__all__ = ["python_name", "python_records"]

#: Functions that the module `torch` does not take over (PRIVATE_OPS of torch/__init__.py).
_PRIVATE: Final = ("unique_dim",)


def python_records(function: NativeFunction, job: Job) -> tuple[PythonRecord, ...]:
    """The signatures by which Python calls an overload; deprecated ones come last."""
    return tuple(sorted(_records(function, job), key=lambda record: record.deprecated))


def _records(function: NativeFunction, job: Job) -> Iterator[PythonRecord]:
    hints = hints_of(job)
    if function.library is not PYTORCH:
        name = f"torch.ops.{function.namespace}.{function.name.name}"
        call = _call(function_signature(function, method=False), hints)
        if function.arguments.all and function.arguments.all[0].name == "self":
            # Functions of `torch` call it `input`; `torch.ops` has the names of the schema.
            call = call.replace("(input: ", "(self: ", 1)
        yield PythonRecord(name, name + call, False, None)
        return
    for module in MODULES:
        for binding in bindings(job, module):
            for pair in binding.pairs:
                if function not in (pair.base, pair.out):
                    continue
                signature, span = pair.signature, pair.signature.span
                place = None if span is None else FilePlace(span.file.path, span.line)
                name = python_name(module, signature.name)
                yield PythonRecord(name, name + _call(signature, hints), signature.deprecated, place)


def python_name(module: PythonModule, name: str) -> str:
    """Where Python finds a function; the public place if it has one.

    >>> from opwright.convention.python.bound import LINALG, NN
    >>> python_name(LINALG, "linalg_inv"), python_name(NN, "gelu")
    ('torch.linalg.inv', 'torch._C._nn.gelu')
    """
    if module.key is not None:
        public = name.removeprefix(f"{module.key}_")
        return f"{module.name}.{public}" if public != name else f"torch._C._{module.key}.{name}"
    if module is TORCH and (name.startswith("__") or name in _PRIVATE):
        return f"torch._C._VariableFunctions.{name}"
    return f"{module.name}.{name}"


def _call(signature: PythonSignature, hints: Hints) -> str:
    """Parameters and result with the types of PyTorch's stubs; those of the parser where a type has no hint."""
    try:
        return hints.call(signature)
    except NoPythonType:
        return signature.text.removesuffix("|deprecated").removeprefix(signature.name)
