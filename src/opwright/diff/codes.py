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
NOT_GENERATED: Final = register(
    Code(
        "E2104",
        "outputs to compare that cannot be generated",
        """
        `opwright diff --output` generates the files of each side that is not a folder of generated files, with the
        Opwright of this interpreter or of the one that `--python` names. That run has failed; its last lines follow.

            error[E2104]: `python3.9 -m opwright generate --torch 2.13.0` failed with status 1

        Run the command by itself to see all of its messages. The interpreter must have Opwright installed.
        """,
    )
)
