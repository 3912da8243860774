"""The codes of mistakes in the templates of the stub files of torch."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register

NO_TEMPLATE: Final = register(
    Code(
        "E2001",
        "no template of a stub file",
        """
        The stub files of torch are made from five templates, whose names end in `.pyi.in`. They are in PyTorch's source
        tree only: an installed PyTorch and its wheels have the finished files instead.

            error[E2001]: there is no template `torch/_C/_nn.pyi.in`

        Name the top of a source tree, or the folder with the templates with `--template-dir`.
        """,
    )
)
MISSING_SLOT: Final = register(
    Code(
        "W2002",
        "template of a stub file without a slot",
        """
        A template of a stub file lacks a slot that PyTorch's own has, so that the hints for it are in no file.
        PyTorch's generator leaves them out silently.

            warning[W2002]: `torch/return_types.pyi.in` has no slot `structseq_defs`

        Write the slot in a line of its own, as `${structseq_defs}`.
        """,
    )
)
