"""Kernels that generated code registers for an operator, by dispatch key."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from opwright.backends.emit.section_file import SectionFile
from opwright.backends.emit.sections import registered_units, section_files
from opwright.backends.hooks import Implementation
from opwright.backends.operator_names import BY_HAND
from opwright.convention import native
from opwright.convention.structured import meta_name
from opwright.emit.aten.backend import Backend, WrapperKind, backends, wrapped_units
from opwright.emit.aten.backend_select import factories
from opwright.emit.aten.functionalization import functionalized_units, registered_functions
from opwright.emit.aten.register.structured_kernels import structured_parent
from opwright.emit.autograd.kernels import is_hand_written, kernel_name
from opwright.emit.autograd.nodes import functions_with_kernels
from opwright.emit.autograd.variable_type import boxed_kernel
from opwright.emit.autograd.wrappers import wrapper
from opwright.emit.emitter import Job, per_job
from opwright.libraries.emit.checks import has_view_kernel
from opwright.libraries.emit.parts import library_parts
from opwright.libraries.emit.sources import source_sections
from opwright.libraries.kernels import python_function
from opwright.libraries.operator_library import RunLibraries
from opwright.model.derivatives import DEFAULT_KEY, DifferentiableFunction
from opwright.model.dispatch_key import COMPOSITE_IMPLICIT
from opwright.model.native_function import NativeFunction
from opwright.schema.function import SchemaKind
from opwright.source.records import NamedTuple


class RegistrationKind(enum.Enum):
    """What a registered kernel does."""

    kernel = "calls the kernel"
    structured = "runs the structured kernel: meta, then impl"
    meta = "runs the shape function"
    default_backend = "runs the shape function to allocate the results"
    refusal = "refuses tensors that are not on the meta device"
    functional = "copies the result of the functional overload"
    out = "calls the kernel of the out overload"
    backend_select = "finds the dispatch key from the tensor options"
    functionalization = "calls the functional form, or records the view"
    autograd = "records the gradient"
    not_implemented = "records that the gradient is not implemented"
    refuses_gradients = "raises an error if a tensor requires a gradient"
    not_differentiable = "passes the call on: nothing is differentiable"
    view = "counts versions and records views"
    tracer = "records the call in a graph of `torch.jit.trace`"
    autocast = "casts the arguments, and calls the operator again"
    batching = "runs the operator over a batch"
    cpu_fallback = "runs the kernel for the CPU on copies of the tensors"
    refused = "raises an error"
    by_hand = "is written and registered by hand"

    __hash__ = object.__hash__


class RegisteredKernel(NamedTuple):
    """A kernel that is registered for an operator.

    `kernel` is the qualified C++ name of the function or class that does the work, empty for kernels without a name,
    and `through` the operator whose kernel that is, if it is another one.
    """

    kind: RegistrationKind
    kernel: str = ""
    through: NativeFunction | None = None


#: Key -> the registration for it.
Registrations = Mapping[str, RegisteredKernel]

KeyedKernel: TypeAlias = tuple[NativeFunction, str, RegisteredKernel]

_REGISTRATIONS: Final = re.compile(r"TORCH_LIBRARY_IMPL\(\w+, ")
_REGISTERED: Final = re.compile(r'm\.impl\("([^"]+)",\s*([^;]*)\);')
#: The function that an expression registers, without the types to which it is cast.
_CALLEE: Final = re.compile(r"(?:^|[&(])((?:::)?\w+(?:::\w+)*)\)*$")

#: The start of a key's name -> what the kernels do that a library has generated for the key.
_LIBRARY_KINDS: Final = {
    "Autograd": RegistrationKind.autograd,
    "ADInplaceOrView": RegistrationKind.view,
    "Functionalize": RegistrationKind.functionalization,
    "Autocast": RegistrationKind.autocast,
    "FuncTorchBatched": RegistrationKind.batching,
    "BatchedNestedTensor": RegistrationKind.batching,
    "BackendSelect": RegistrationKind.backend_select,
}

_KINDS: Final = {
    WrapperKind.refusal: RegistrationKind.refusal,
    WrapperKind.functional: RegistrationKind.functional,
    WrapperKind.out: RegistrationKind.out,
}

_NONE: Final[Registrations] = {}


def registrations(job: Job, function: NativeFunction) -> Registrations:
    """Kernels that are registered for a function, by the names of dispatch keys, aliases among them.

    >>> import opwright
    >>> from opwright.release.rules import Rules
    >>> from opwright.release.version import parse_version
    >>> catalog = opwright.load()
    >>> job = opwright.Job(catalog, Rules(parse_version("2.13.0")), opwright.Options())
    >>> registered = registrations(job, catalog["add.out"])
    >>> registered["CPU"].kernel, registered["SparseCPU"].kernel
    ('at::native::structured_ufunc_add_CPU::impl', 'at::native::add_out_sparse_cpu')
    """
    return _by_function(job).get(function, _NONE)


@per_job
def _by_function(job: Job) -> Mapping[NativeFunction, Registrations]:
    by_function: dict[NativeFunction, dict[str, RegisteredKernel]] = {}
    for function, key, registration in _all(job):
        by_function.setdefault(function, {})[key] = registration
    return by_function


def _all(job: Job) -> Iterator[KeyedKernel]:
    """Each function with each key that has a registration; a later one replaces an earlier one."""
    yield from _of_libraries(job)
    units = wrapped_units(job)
    for backend in backends(job):
        for _, members in units[backend.key]:
            for function, kind in members:
                yield function, backend.key.name, _wrapper(function, kind, backend)
    for function in factories(job):
        if function.library.in_libtorch:
            kernel = f"at::{native.name(function.schema)}"
            yield function, "BackendSelect", RegisteredKernel(RegistrationKind.backend_select, kernel)
    for functionalized in functionalized_units(job):
        if functionalized.library.in_libtorch:
            for function in registered_functions(functionalized, job.rules):
                yield function, "Functionalize", _functionalization(function)
    yield from _of_autograd(job)
    for function in job.catalog.functions:
        if function.library.in_libtorch and not is_hand_written(function):
            name = f"torch::TraceType::{kernel_name(function)}"
            yield function, "Tracer", RegisteredKernel(RegistrationKind.tracer, name)
    for key_name, table in BY_HAND.items():
        for name in table.in_release(job.rules):
            if name in job.catalog and job.catalog[name].library.in_libtorch:
                yield job.catalog[name], key_name, RegisteredKernel(RegistrationKind.by_hand)
    for file in section_files(job):
        yield from _of_section(file, job)


def _of_section(file: SectionFile, job: Job) -> Iterator[KeyedKernel]:
    key = file.section.key.name
    for entry in file.section.entries:
        if entry.options.policy:
            yield entry.function, key, RegisteredKernel(RegistrationKind.autocast)
        elif entry.options.implementation is Implementation.fallback:
            yield entry.function, key, RegisteredKernel(RegistrationKind.cpu_fallback)
        elif entry.options.implementation is Implementation.refused:
            yield entry.function, key, RegisteredKernel(RegistrationKind.refused)
    if file.section.key is file.backend.key:
        for function in file.backend.options.manual:
            yield function, key, RegisteredKernel(RegistrationKind.by_hand)
    for unit in registered_units(file, job):
        for function, kind in unit.wrapped[1]:
            yield function, key, _wrapper(function, kind, file.wrapping)


def _of_libraries(job: Job) -> Iterator[KeyedKernel]:
    """Registrations of the job's libraries, as their generated sources have them."""
    if not job.of(RunLibraries).libraries:
        return
    for part in library_parts(job):
        functions = {function.name.text: function for function in part.functions}
        for section in source_sections(part, job):
            for block in _REGISTRATIONS.split(section.text)[1:]:
                key, _, statements = block.partition(",")
                for name, expression in _REGISTERED.findall(statements):
                    if name in functions:
                        yield functions[name], key, _of_library(key, expression.strip())
    for library in job.of(RunLibraries).libraries:
        for function in library.catalog.functions:
            for kernel in function.kernels.values():
                if python_function(kernel):
                    yield function, kernel.key.name, RegisteredKernel(RegistrationKind.kernel, python_function(kernel))


def _of_library(key: str, expression: str) -> RegisteredKernel:
    """Kernel that generated code of a library registers for a key, as an expression of C++."""
    callee = _CALLEE.search(expression)
    kinds = (kind for start, kind in _LIBRARY_KINDS.items() if key.startswith(start))
    kind = next(kinds, RegistrationKind.kernel)
    if kind is RegistrationKind.autograd and "autogradNotImplementedFallback" in expression:
        kind = RegistrationKind.not_implemented
    return RegisteredKernel(kind, "" if callee is None else callee[1])


def _of_autograd(job: Job) -> Iterator[KeyedKernel]:
    """Registrations for Autograd and its keys, and for ADInplaceOrView."""
    for differentiable in functions_with_kernels(job):
        function = differentiable.function
        if boxed_kernel(differentiable, job.rules):
            yield function, "Autograd", RegisteredKernel(RegistrationKind.not_implemented)
        else:
            kernel = f"torch::autograd::VariableType::{kernel_name(function)}"
            for key in differentiable.infos or (DEFAULT_KEY,):
                is_default = key == DEFAULT_KEY
                registration = RegisteredKernel(
                    _autograd_kind(differentiable, key), kernel if is_default else f"{kernel}_{key}"
                )
                yield function, "Autograd" if is_default else key, registration
        if has_view_kernel(function, job.rules):
            kernel = f"torch::ADInplaceOrView::{kernel_name(function)}"
            yield function, "ADInplaceOrView", RegisteredKernel(RegistrationKind.view, kernel)


def _autograd_kind(differentiable: DifferentiableFunction, key: str) -> RegistrationKind:
    """What the generated kernel of VariableType does with the gradient."""
    if is_hand_written(differentiable.function):
        return RegistrationKind.autograd
    decisions = wrapper(differentiable, key)
    if not decisions.records:
        return RegistrationKind.not_differentiable
    if differentiable.function.kind is SchemaKind.out:
        return RegistrationKind.refuses_gradients
    has_formulas = decisions.info is not None and not decisions.info.is_not_implemented
    return RegistrationKind.autograd if has_formulas else RegistrationKind.not_implemented


def _wrapper(function: NativeFunction, kind: WrapperKind, backend: Backend) -> RegisteredKernel:
    group = function.group
    if kind is WrapperKind.structured and group is not None:
        through = None if function is group.out else group.out
        if group.out in backend.kernels:
            return RegisteredKernel(RegistrationKind.structured, f"{structured_parent(group, backend)}::impl", through)
        meta = f"{group.library.api}::meta::structured_{meta_name(group)}::meta"
        is_shared = backend.key.is_composite
        return RegisteredKernel(RegistrationKind.default_backend if is_shared else RegistrationKind.meta, meta, through)
    if kind is WrapperKind.kernel:
        return RegisteredKernel(RegistrationKind.kernel, _callee(function, backend))
    callee = None
    if group is not None:
        callee = {WrapperKind.functional: group.functional, WrapperKind.out: group.out}.get(kind)
    return RegisteredKernel(_KINDS[kind], "" if callee is None else _callee(callee, backend), callee)


def _callee(function: NativeFunction, backend: Backend) -> str:
    """The C++ function of a backend's kernel for an overload; empty if it has none."""
    kernel = backend.kernels.get(function)
    if kernel is None:
        return ""
    return backend.callees.get(function) or python_function(kernel) or f"{backend.owner(kernel)}::{kernel.name}"


def _functionalization(function: NativeFunction) -> RegisteredKernel:
    composite = function.kernels.get(COMPOSITE_IMPLICIT)
    if composite is not None:
        name = python_function(composite) or f"{composite.namespace}::{composite.name}"
        return RegisteredKernel(RegistrationKind.kernel, name)
    kernel = f"at::functionalization::{native.name(function.schema)}"
    return RegisteredKernel(RegistrationKind.functionalization, kernel)
