"""Registrations under the Autocast key of a backend: policies of operators, and nothing for all others."""

from __future__ import annotations

from collections.abc import Iterator

from opwright.convention import dispatcher
from opwright.emit.aten.register.hooks import operator_class
from opwright.emit.backend.section_file import SectionFile
from opwright.emit.emitter import Job
from opwright.emit.library.autocast import APPEND_DTYPE, policy_kernel
from opwright.emit.registrations import Registration
from opwright.model.external_backend import BackendEntry
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument
from opwright.source import codes
from opwright.source.diagnostic import Fault

__all__ = ["autocast_registrations", "has_policies"]

_FALLTHROUGH = "torch::CppFunction::makeFallthrough()"


def has_policies(file: SectionFile) -> bool:
    """Whether the file has operators with a policy."""
    return any(entry.options.policy for entry in file.section.entries)


def autocast_registrations(file: SectionFile, job: Job) -> Iterator[Registration]:
    """The registrations of the policies of a file for the Autocast key; none for other files.

    PyTorch lets operators without a kernel pass only for the Autocast keys of its own devices.
    """
    if not file.is_autocast:
        return
    key = file.section.key.name
    for entry in file.section.entries:
        if entry.options.policy:
            function = entry.function
            kernel = _kernel(entry, file, job)
            yield Registration(function.namespace, key, function.name.text, kernel, entry.options.register_if)
    yield Registration("_", key, "", _FALLTHROUGH)


def _kernel(entry: BackendEntry, file: SectionFile, job: Job) -> str:
    function, policy = entry.function, entry.options.policy
    called = function if policy != APPEND_DTYPE else _overload_with_dtype(entry, job)
    callee = f"::{operator_class(called)}::call"
    return policy_kernel(policy, file.backend.key.name, callee, dispatcher.signature(function).type)


def _overload_with_dtype(entry: BackendEntry, job: Job) -> NativeFunction:
    """The overload that takes the arguments of an operator and a dtype after them. Raises Fault if there is none."""
    function = entry.function
    for overload in job.by_root.get(function.root_name, ()):
        types = [_type(argument) for argument in overload.arguments.all]
        if types == [*map(_type, function.arguments.all), "ScalarType"]:
            return overload
    message = f"`{function.name}` has no overload that takes a dtype after its arguments"
    raise Fault.at(codes.NO_DTYPE_OVERLOAD, message, entry.span, help="choose another policy")


def _type(argument: Argument) -> str:
    """The type of an argument, whether it is optional or not: C++ makes an optional one of any value."""
    return argument.type.text.removesuffix("?")
