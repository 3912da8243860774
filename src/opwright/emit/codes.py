"""The codes of what emitters find."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register

__all__ = [
    "BOXED_OUTSIDE",
    "COPY_WITHOUT_KERNEL",
    "HEADER_OF_PYTORCH",
    "NOT_FUNCTIONAL",
    "NO_C_FORM",
    "OPTIONS_OUT_OF_REACH",
    "OPTIONS_TYPE",
    "SAME_HEADER",
    "SHIM_CHANGED",
    "SHIM_MISSING",
    "UNCLEAR_WRITE",
    "VIEW_FORM",
    "VIEW_RETURNS",
    "VIEW_WITHOUT_COPY",
]

BOXED_OUTSIDE: Final = register(
    Code(
        "W0708",
        "a selected operator has no boxed function",
        """
        Boxed functions are registered in namespace `aten`, whatever the namespace of the operator, and PyTorch's
        program selects them by that name. A selection that names the operator with its own namespace selects no boxed
        function, and PyTorch's program says nothing.

            warning[W0708]: `vend::frob` selects no boxed function

        Select `aten::frob` for `UnboxingFunctions.cpp` and `RegisterCodegenUnboxedKernels.cpp`.
        """,
    )
)
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
UNCLEAR_WRITE: Final = register(
    Code(
        "E0460",
        "unclear write",
        """
        It has to be clear which tensor an operator writes to. An optional tensor that is written to is passed by the
        dispatcher as a plain one and taken by a kernel as an optional one, and there is no way from the one to the
        other. Of two arguments in one alias set (`Tensor(a!) self, Tensor(a!) out`) none can tell which is returned.

            error[E0460]: `tally` writes to the optional tensor `seen`

        Write to tensors that are not optional, or have them passed as constant references
        (`use_const_ref_for_mutable_tensors: True`), and give each an alias set of its own.
        """,
    )
)
OPTIONS_OUT_OF_REACH: Final = register(
    Code(
        "E0461",
        "tensor options out of reach",
        """
        Out, in-place and mutable forms of an operation are carried out by its functional form where functionalization
        is on, and with it what is synthesized. Where the functional form takes tensor options, they are those of the
        tensor `out`.

            error[E0461]: `sow.result` has no tensor `out`, of which its functional form `sow` could take dtype,
            layout and device

        Call the out argument `out`, or leave the tensor options away.
        """,
    )
)
VIEW_WITHOUT_COPY: Final = register(
    Code(
        "E0462",
        "view without its copying form",
        """
        Functionalization replaces a view that is not made of other views by its copying form, where views are not
        wanted. The two are found to belong together by their names and their signatures: `x` goes with `x_copy`, and
        `x_inverse` with `x_scatter`.

            error[E0462]: view `cut_inverse` has no copying form, with the same signature

        Add the entry, or give the two the same arguments.
        """,
    )
)
COPY_WITHOUT_KERNEL: Final = register(
    Code(
        "E0463",
        "copying form of a view without a kernel",
        """
        The kernel of `x_copy` is made from the view `x`. The entry has to name it, under
        `CompositeExplicitAutogradNonFunctional`, so that it is declared and registered.

            error[E0463]: `turn_copy` is the copying form of `turn` and has no kernel for it

        Add `CompositeExplicitAutogradNonFunctional: turn_copy` to its `dispatch` (`turn_copy_symint` where the schema
        has symbolic integers).
        """,
    )
)
VIEW_RETURNS: Final = register(
    Code(
        "E0464",
        "view that cannot be copied",
        """
        The copying form of a view clones what the view returns, which is one tensor or a list of tensors.

            error[E0464]: `halves` returns neither a tensor nor a list of tensors, which is all that can be copied

        Return a list, `Tensor(a)[]`, or give the view a `CompositeImplicitAutograd` kernel made of other views.
        """,
    )
)
VIEW_FORM: Final = register(
    Code(
        "E0465",
        "view that functionalization cannot replay",
        """
        Functionalization remembers a view by its first argument, the tensor it looks at, and replays it later with
        the other arguments. A view with several bases cannot be replayed.

            error[E0465]: view `both` must alias its first argument, a tensor, and no other

        Put the tensor first, annotate it alone (`Tensor(a) self`), or give the view a `CompositeImplicitAutograd`
        kernel made of other views.
        """,
    )
)
NOT_FUNCTIONAL: Final = register(
    Code(
        "E0466",
        "write that functionalization cannot replace",
        """
        Where functionalization is on, an operator that writes is replaced by its functional form. One that has
        none, and is not composed of others, would be called as it is, and its writes would be lost.

            error[E0466]: `smudge` writes to its arguments, and has neither out nor functional form

        Let the forms be made, with `autogen: smudge_functional, smudge.out`, or give the operator a
        `CompositeImplicitAutograd` kernel.
        """,
    )
)
OPTIONS_TYPE: Final = register(
    Code(
        "E0467",
        "tensor options of another type",
        """
        The public API packs the arguments dtype, layout, device and pin_memory, where they stand in a row, into one
        `TensorOptions`, which may hold a memory format as well. Each of them may be missing there, so each has to be
        optional: `ScalarType?`, `Layout?`, `Device?`, `bool?`, and `MemoryFormat?` for a `memory_format` beside them.

            error[E0467]: `device` of `sow` is of type `Device`, not `Device?`

        Make the argument optional, or give it another name.
        """,
    )
)
SAME_HEADER: Final = register(
    Code(
        "E0468",
        "two operators that need one header",
        """
        The headers of an operator are named after it: `foo.h`, `foo_ops.h`, `foo_native.h`, `foo_meta.h` and
        `foo_cpu_dispatch.h` and its like for other keys. An operator with such a name would have its own header in
        the same place.

            - func: foo(Tensor self) -> Tensor
            - func: foo_ops(Tensor self) -> Tensor

        Rename one of the two, or build without headers per operator.
        """,
    )
)
HEADER_OF_PYTORCH: Final = register(
    Code(
        "E0469",
        "a library's operator that needs a header of PyTorch's",
        """
        The headers of an operator are named after it, without its namespace: those of `vend::clip` are `ops/clip.h`,
        `ops/clip_ops.h` and so on. PyTorch's operator `clip` has headers of the same names. The headers of a library
        stand before PyTorch's, so that they would hide these, and code that includes them to call `at::clip` would
        not compile.

            - func: vend::clip(Tensor self) -> Tensor

            error[E0469]: `vend::clip` needs the header `ops/clip.h`, which is that of PyTorch's own `clip`

        Give the operator another name, such as `vend::vend_clip`.
        """,
    )
)
