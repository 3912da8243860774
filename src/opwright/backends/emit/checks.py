"""Checks that the kernels of external backends can be declared, wrapped and called, before any file is written."""

from __future__ import annotations

from opwright.backends import backend_codes
from opwright.backends.emit.kernel_signatures import check_conventions
from opwright.backends.emit.registrations import registration_faults
from opwright.backends.emit.section_file import SectionFile
from opwright.backends.emit.sections import section_additions, section_files
from opwright.backends.external_backend import BackendEntry, RunBackends
from opwright.backends.hooks import Implementation
from opwright.backends.lazy_backend import RunLazyBackends
from opwright.backends.operator_names import HIDDEN_KERNELS
from opwright.emit.aten.backend import kernel_signature
from opwright.emit.emitter import Job, per_job
from opwright.model.native_function import Kernel, NativeFunction
from opwright.release.operator_names.kernels import IN_MAIN_LIBRARY
from opwright.release.rules import Rules
from opwright.schema.function import SchemaKind
from opwright.source.diagnostic import Diagnostics, Fault, did_you_mean


def check_wrappers(job: Job, sink: Diagnostics) -> None:
    """Report entries whose kernels cannot be declared, or whose groups need wrappers that cannot be made.

    The emitters would raise the same faults, at the operators' places in PyTorch's file.
    """
    check_conventions(job, sink)
    for file in section_files(job):
        faults = Diagnostics()
        for entry in file.section.entries:
            if job.of(RunLazyBackends).lazy_backends and (entry.options.convention or entry.options.candidates):
                what = "several families" if entry.options.candidates else "a calling convention"
                message = (
                    f"wrappers of lazy tensors cannot call the kernel of `{entry.function.name}`, which has {what}"
                )
                faults.error(
                    backend_codes.LAZY_KERNEL, message, entry.span, help="write one family without a convention"
                )
            _check_declaration(entry, faults)
            _check_group(entry, file, faults)
        sink.extend(faults)
        # Plug-ins see wrappers, which cannot be made of entries with faults.
        if not faults.has_errors:
            sink.extend(section_additions(job, file).faults)
            sink.extend(registration_faults(file, job))


def _check_declaration(entry: BackendEntry, sink: Diagnostics) -> None:
    """Report a kernel that would take symbolic integers that the schema lacks."""
    if entry.options.convention:
        return
    try:
        kernel_signature(entry.function, entry.kernel, external=True)
    except Fault as fault:
        sink.error(fault.diagnostic.code, fault.diagnostic.message, entry.span, help="delete the name from `symint`")


def _check_group(entry: BackendEntry, file: SectionFile, sink: Diagnostics) -> None:
    """Report a functional kernel that cannot serve the other overloads of its group."""
    group = entry.function.group
    if group is None or entry.function.kind is not SchemaKind.functional:
        return
    try:
        file.wrapping.wrapped_overloads(group)
    except Fault as fault:
        missing = [f"`{member.name}`" for member in group.functions() if member not in file.wrapping.kernels]
        help = f"list {' and '.join(missing)} too, or write `use_out_as_primary: true`"
        sink.error(fault.diagnostic.code, fault.diagnostic.message, entry.span, help=help)


def check_inherited_kernels(job: Job, sink: Diagnostics) -> None:
    """Report kernels of PyTorch that it does not declare, does not export, or declares with other types."""
    entries = [entry for backend in job.of(RunBackends).backends for entry in backend.entries]
    for entry in entries:
        if entry.options.implementation is not Implementation.inherited:
            continue
        name = entry.options.callee
        uses = _kernels(job).get(name)
        if uses is None:
            help = did_you_mean(name, _kernels(job), "name the header that declares it in `includes`")
            sink.error(backend_codes.UNDECLARED_KERNEL, f"PyTorch has no kernel `{name}`", entry.span, help=help)
        elif not any(is_exported(kernel, job.rules) for _, kernel in uses):
            message = f"PyTorch's library for the CPU does not export `{name}`"
            sink.error(backend_codes.UNEXPORTED_KERNEL, message, entry.span, help="write a kernel of your own")
        else:
            _check_type(entry, uses, sink)


@per_job
def _kernels(job: Job) -> dict[str, list[tuple[NativeFunction, Kernel]]]:
    """Kernels of PyTorch that are functions, by name, with the functions that they implement."""
    kernels: dict[str, list[tuple[NativeFunction, Kernel]]] = {}
    for function in job.catalog.functions:
        for kernel in function.kernels.values():
            if not kernel.structured:
                kernels.setdefault(f"{kernel.namespace}::{kernel.name}", []).append((function, kernel))
    return kernels


def is_exported(kernel: Kernel, rules: Rules) -> bool:
    """Whether PyTorch's main library exports a kernel: those that only one device needs are in that of the device."""
    if kernel.name in HIDDEN_KERNELS.in_release(rules):
        return False
    device = kernel.key.device
    is_of_main = device is None or not (device.flag or device.export_macro)
    return is_of_main or kernel.name in IN_MAIN_LIBRARY.in_release(rules)


def _check_type(entry: BackendEntry, uses: list[tuple[NativeFunction, Kernel]], sink: Diagnostics) -> None:
    wanted = kernel_signature(entry.function, entry.kernel).type
    functions_by_type = {kernel_signature(function, kernel).type: function for function, kernel in uses}
    if wanted not in functions_by_type:
        type, function = next(iter(functions_by_type.items()))
        message = f"`{entry.options.callee}` is a kernel of `{function.name}`, of type `{type}`"
        sink.error(backend_codes.OTHER_KERNEL, message, entry.span, help=f"`{entry.function.name}` needs `{wanted}`")
