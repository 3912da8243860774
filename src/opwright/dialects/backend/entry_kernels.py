"""The kernels of entries: their names, and the functions that wrappers call."""

from __future__ import annotations

from opwright.dialects.backend.entry_builder import BackendEntryBuilder
from opwright.dialects.names import default_kernel_name
from opwright.model.dispatch_key import CPU, CUDA
from opwright.model.external_backend import Implementation
from opwright.model.native_function import Kernel, NativeFunction
from opwright.source.diagnostic import Suggestion

__all__ = ["PYTORCH_KERNELS", "inherited_kernel", "kernel_of", "shared_kernel"]

#: The C++ namespace of PyTorch's own kernels, which have the convention of `native_functions.yaml`.
PYTORCH_KERNELS = "at::native"


def kernel_of(entry: BackendEntryBuilder) -> Kernel:
    """The kernel of an entry without faults. Sets the callee of its options if that is no member of the class."""
    section = entry.section
    match entry.options.implementation:
        case Implementation.inherited | Implementation.stub if not entry.kernel:
            source = entry.source or "shared"
            kernel = shared_kernel(entry.function) if source == "shared" else entry.function.kernels.get(_KEYS[source])
            assert kernel is not None, "an entry without the kernel has a fault"
            name, namespace = kernel.name, kernel.namespace
        case _:
            namespace, _, name = entry.kernel.rpartition("::")
            name = name or _own_name(entry)
    is_structured = entry.options.implementation in (Implementation.structured, Implementation.stub)
    if namespace:
        callee = f"{namespace}::{'structured_' if is_structured else ''}{name}"
        entry.options = entry.options._replace(callee=callee)
    return Kernel(section.key, name, namespace or section.head.cpp_namespace, is_structured)


_KEYS = {"CPU": CPU, "CUDA": CUDA}


def _own_name(entry: BackendEntryBuilder) -> str:
    """The name of a kernel of the backend. Structured kernels take symbolic integers under their plain name."""
    base = default_kernel_name(entry.function.schema)
    name = entry.kernel_name or entry.section.kind.kernel_name.format(name=base, section=entry.section.kind.name)
    is_plain = entry.options.implementation is not Implementation.structured
    is_symint = is_plain and any(scalar.value == entry.name.value for scalar in entry.section.head.symint)
    return f"{name}_symint" if is_symint and not name.endswith("_symint") else name


def shared_kernel(function: NativeFunction) -> Kernel | None:
    """The kernel that PyTorch has for the CPU and CUDA alike; None if it has none.

    Element-wise kernels that PyTorch generates count: they call loops by the device of their tensors.
    """
    cpu, cuda = function.kernels.get(CPU), function.kernels.get(CUDA)
    if cpu is None or cuda is None:
        return None
    if function.ufunc:
        return cpu
    return cpu if (cpu.name, cpu.namespace) == (cuda.name, cuda.namespace) else None


def inherited_kernel(function: NativeFunction, source: str) -> tuple[Kernel | None, str | Suggestion]:
    """The kernel of PyTorch's that an entry inherits, or None with what to write instead."""
    kernel = shared_kernel(function) if source == "shared" else function.kernels.get(_KEYS[source])
    if kernel is not None:
        return kernel, ""
    names = {key: function.kernels[_KEYS[key]].name for key in _KEYS if _KEYS[key] in function.kernels}
    if len(names) == len(_KEYS):
        return None, "; ".join([f"`inherit: {key}` is `{name}`" for key, name in names.items()])
    if names:
        return None, f"write `inherit: {next(iter(names))}`"
    if function.structured_delegate is not None:
        return None, f"`{function.structured_delegate}` has the kernel"
    return (
        None,
        "delete the entry: PyTorch implements the operator for all devices" if function.has_composite_kernel else "",
    )
