"""The codes of mistakes with comparisons."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register

NO_SIDE: Final = register(
    Code(
        "E2103",
        "a file without operators to compare",
        """
        `opwright diff OLD NEW` compares releases (`2.13.0`, `auto`, the path of a wheel), folders of PyTorch's inputs
        (a source tree), files of operators (like `native_functions.yaml`, or a library file), and what `opwright dump`
        writes. The file is something else.

            error[E2103]: `derivatives.yaml` has no operators that can be compared

        Name the file with the operators, or the folder that holds it.
        """,
    )
)
