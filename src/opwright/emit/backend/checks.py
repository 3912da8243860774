"""Checks that the kernels of external backends can be declared and wrapped, before Opwright writes any file."""

from __future__ import annotations

from opwright.emit.aten.backend import kernel_signature
from opwright.emit.backend.kernel_signatures import check_conventions
from opwright.emit.backend.registrations import registration_faults
from opwright.emit.backend.section_file import SectionFile
from opwright.emit.backend.sections import section_additions, section_files
from opwright.emit.emitter import Job
from opwright.model.external_backend import BackendEntry
from opwright.schema.function import SchemaKind
from opwright.source.codes import LAZY_KERNEL
from opwright.source.diagnostic import Diagnostics, Fault

__all__ = ["check_wrappers"]


def check_wrappers(job: Job, sink: Diagnostics) -> None:
    """Report entries whose kernels cannot be declared, or whose groups need wrappers that cannot be made.

    The emitters would raise the same faults, at the operators' places in PyTorch's own file.
    """
    check_conventions(job, sink)
    for file in section_files(job):
        faults = Diagnostics()
        for entry in file.section.entries:
            if job.lazy_backends and (entry.options.convention or entry.options.candidates):
                _report_lazy(entry, faults)
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


def _report_lazy(entry: BackendEntry, sink: Diagnostics) -> None:
    # Only a run with this fault needs it.

    what = "several families" if entry.options.candidates else "a calling convention"
    message = f"wrappers of lazy tensors cannot call the kernel of `{entry.function.name}`, which has {what}"
    sink.error(LAZY_KERNEL, message, entry.span, help="write one family without a convention")


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
