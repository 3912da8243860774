"""Files of a run for ExecuTorch, and its choices."""

from __future__ import annotations

from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile


class ExecutorchFiles(NamedTuple):
    """Files of a run for ExecuTorch: those like `functions.yaml`, and those of custom operators.

    `names_custom` says that the run names a file of custom operators, even if there is none.
    """

    functions: tuple[SourceFile, ...] = ()
    custom: tuple[SourceFile, ...] = ()
    names_custom: bool = False

    @property
    def files(self) -> tuple[SourceFile, ...]:
        """All files."""
        return self.functions + self.custom


class ExecutorchOptions(NamedTuple):
    """Choices of a run for ExecuTorch that change the text of files.

    With `aten_mode`, kernels take PyTorch's tensors. With `manual_registration`, a program registers kernels by a
    call, not when it starts. `exception_boundary` catches the exceptions of kernels. With `as_reference`, the outputs
    are the bytes of ExecuTorch's program also where these are wrong; otherwise they are right.
    """

    aten_mode: bool = False
    manual_registration: bool = False
    exception_boundary: bool = False
    as_reference: bool = False
