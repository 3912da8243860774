"""What the programs for lazy tensors share: the check of the file with the kernels that are not generated."""

from __future__ import annotations

# Modules that do the work are imported only if there is work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from opwright.run.generation import Generation
    from opwright.source.diagnostic import Diagnostics

__all__ = ["check_kernel_file"]


def check_kernel_file(path: str, generation: Generation, sink: Diagnostics) -> None:
    """Report kernels that a C++ file does not define, and that are not generated either. Raises FaultsFound."""
    from opwright.emit.backend.definitions import check_definitions
    from opwright.source.text import SourceFile

    file = SourceFile.read(path)
    for backend in generation.job.lazy_backends:
        generated = {entry.function for entry in backend.generated}
        check_definitions([backend.backend], file, sink, generated=generated)
    sink.raise_if_errors()
