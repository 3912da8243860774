"""Stubs of kernels compiled ahead of time, and the call by which a structured wrapper tries such a kernel.

The files are `NativeAotStubs.h` and `NativeAotStubs.cpp`, in releases that have them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from opwright.convention import structured
from opwright.emit.aten.units import file_emitter
from opwright.emit.emitter import AnyEmitter, DeclaredRead, FragmentContext, Job, Slots, per_job
from opwright.model.dispatch_key import DispatchKey
from opwright.model.more_inputs import NativeAotKernel
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup

STUBS: Final = "#include <ATen/NativeAotStubs.h>"


@per_job
def _kernels(job: Job) -> Mapping[tuple[DispatchKey, NativeFunction], NativeAotKernel]:
    """Kernels by key and functional overload. A kernel declared for the overload's full name replaces others."""
    ordered = sorted(job.native_aot, key=lambda kernel: kernel.operator == kernel.group.functional.name.text)
    return {(kernel.key, kernel.group.functional): kernel for kernel in ordered}


#: The kernels compiled ahead of time that structured wrappers try first.
NATIVE_AOT_KERNELS: Final[DeclaredRead[Mapping[tuple[DispatchKey, NativeFunction], NativeAotKernel]]] = DeclaredRead(
    "native_aot_kernels",
    _kernels,
    # A fragment looks up the functional overload of its own unit, so the overload's name identifies it here.
    lambda kernels: tuple(
        [
            (key.name, function.namespace, function.name.text, kernel.operator, kernel.unconditional)
            for (key, function), kernel in kernels.items()
        ]
    ),
    lambda job: [kernel.group.functional for kernel in job.native_aot],
)


def kernel_for(group: NativeFunctionsGroup, key: DispatchKey, context: FragmentContext) -> NativeAotKernel | None:
    """Kernel to try for an operation under a key, if one is declared."""
    return context.read(NATIVE_AOT_KERNELS).get((key, group.functional))


def has_kernels(key: DispatchKey, job: Job) -> bool:
    """Whether a kernel is declared for a key."""
    return any(kernel.key is key for kernel in job.native_aot)


_SWITCHED: Final = """\
// the stub is never called when AOT is switched off or the device is
// unsupported. op.impl below is the ordinary aten kernel, and it runs in
// exactly those three cases: switched off, unsupported device, or declined.
"""
_UNCONDITIONAL: Final = """\
// the stub is never called when the device is unsupported. op.impl
// below is the ordinary aten kernel.
// declared UNCONDITIONAL: these kernels are the implementation, so
// torch._native.set_aot_enabled(False) does NOT mask them -- only the
// private reference-computation hatch does. op.impl runs when that hatch
// is set, when the device is unsupported, or when the kernels decline
// this shape.
"""


def attempt(kernel: NativeAotKernel, arguments: str) -> str:
    """Statement that tries the kernel, and calls `impl` if the kernel does not handle the call."""
    stub, device = f"{kernel.group.library.native}::{kernel.stub}", f"c10::DeviceType::{kernel.key}"
    gate = "allowNativeAot()"
    if kernel.unconditional:
        gate = "maskUnconditionalNativeAot()"
    return f"""\
// native-AOT: the last conjunct is the LAUNCH, not a query -- it runs the
// AOT kernel into the meta()-allocated outputs and returns true if it
// handled the call, false if it declined this shape. && short-circuits, so
{_UNCONDITIONAL if kernel.unconditional else _SWITCHED}\
if (!({"!" if kernel.unconditional else ""}at::globalContext().{gate} && \
{stub}.is_device_supported({device}) && {stub}({device}, {arguments}))) {{ op.impl({arguments}); }}"""


def _declaration(kernel: NativeAotKernel, context: FragmentContext) -> Slots:
    parameters = ", ".join([argument.declaration for argument in structured.impl_arguments(kernel.group)])
    function = f"{kernel.identifier}_aot_fn"
    text = f"using {function} = bool (*)({parameters});\nDECLARE_DISPATCH({function}, {kernel.stub})\n"
    return {_DECLARATIONS: [text]}


def _definition(kernel: NativeAotKernel, context: FragmentContext) -> Slots:
    text = f"DEFINE_DISPATCH({kernel.stub});\nREGISTER_NO_CPU_DISPATCH({kernel.stub})\n"
    return {_DEFINITIONS: [text]}


_DECLARATIONS: Final = "native_aot_stub_declarations"
_DEFINITIONS: Final = "native_aot_stub_definitions"


def _units(job: Job) -> Sequence[NativeAotKernel]:
    return job.native_aot


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the header and the source of the stubs."""
    if not job.rules.native_aot_stubs:
        return []
    return [
        file_emitter(
            "native_aot_stubs_header", "NativeAotStubs.h", _units, _declaration, (_DECLARATIONS,), family="headers"
        ),
        file_emitter("native_aot_stubs_source", "NativeAotStubs.cpp", _units, _definition, (_DEFINITIONS,)),
    ]
