"""The codes of what emitters find."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register

__all__ = ["NO_C_FORM", "SHIM_CHANGED", "SHIM_MISSING"]

SHIM_CHANGED: Final = register(
    Code(
        "E0801",
        "C shim differs from the header that is kept",
        """
        The headers of the C shims, `c_shim_cpu.h` and its like, are kept in PyTorch's source tree. Code that was
        compiled ahead of time calls what they declare, so a declaration that is in them must not change: such code
        would call a function with other parameters than it was compiled for. The headers are made from the operators'
        schemas, and this diagnostic shows how what is made now differs from what is kept.

            error[E0801]: C shim `c_shim_cpu.h` differs from the header that is kept

        It is right to change the headers where

        1. an operator was added to the table of operators with a C shim, or
        2. an operator of the table got a new argument with a default, and the table has a further version of the
           shim (`v2`) that names the argument.

        Then write them anew with `--update-aoti-c-shim`.
        """,
    )
)
SHIM_MISSING: Final = register(
    Code(
        "E0802",
        "no header to compare a C shim with",
        """
        The headers of the C shims are compared with those that are kept in PyTorch's source tree, in the folder that
        `--aoti-install-dir` names. Where there is none, there is nothing to compare, which this note tells.

            note[E0802]: no header to compare with at `build/aoti/c_shim_cpu.h`

        Nothing is wrong unless the folder should have the header.
        """,
    )
)
NO_C_FORM: Final = register(
    Code(
        "E0803",
        "operator without C shim",
        """
        The table of operators with a C shim names an operator that has an argument or a return of a type without a
        form in C: a stream or a storage, a list of lists, a list of truth values of no fixed length, a list that is
        returned. The operator gets no shim, and code compiled ahead of time cannot call it.

            note[E0803]: no C shim for `split.Tensor` on cpu: return `Tensor(a)[]` has no form in C

        Take the operator out of the table, or give it an overload whose arguments and returns have a form in C.
        """,
    )
)
