"""The codes of what emitters find."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register

__all__ = [
    "BOXED_OUTSIDE",
    "COPY_WITHOUT_KERNEL",
    "FAMILY_WITHOUT_FILE",
    "HEADER_OF_PYTORCH",
    "NOT_COMPILED",
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

FAMILY_WITHOUT_FILE: Final = register(
    Code(
        "E0709",
        "a family is made from a file that is not named",
        """
Some families are not made from PyTorch's operators but from a file of yours: a library file, a backend file, or
ExecuTorch's files of operators. `--only` chooses such a family, and no option names its file.

    opwright generate --torch auto --out build --only backend

Name the file, for instance with `--backend acme.yaml`. Without `--only`, the file alone chooses the family.
""",
    )
)
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
        PyTorch's source tree contains the headers of the C shims, `c_shim_cpu.h` and similar. Code that was
        compiled ahead of time calls the functions that they declare, so an existing declaration must not change:
        such code would call a function with other parameters than it was compiled for. Opwright generates the
        headers from the operators' schemas, and this diagnostic shows how they differ from the existing ones.

            error[E0801]: C shim `c_shim_cpu.h` differs from the header that is kept

        Change the headers only if

        1. an operator was added to the table of operators with a C shim, or
        2. an operator of the table got a new argument with a default, and the table has a further version of the
           shim (`v2`) that names the argument.

        Then update them with `--update-aoti-c-shim`.
        """,
    )
)
SHIM_MISSING: Final = register(
    Code(
        "E0802",
        "no header to compare a C shim with",
        """
        Opwright compares the headers of the C shims with those in PyTorch's source tree, in the folder that
        `--aoti-install-dir` names. This note lists those that the folder does not have.

            note[E0802]: no header to compare with in `build/aoti` for `c_shim_cpu.h`, `c_shim_cuda.h`

        Nothing is wrong unless the folder should have them.
        """,
    )
)
NO_C_FORM: Final = register(
    Code(
        "E0803",
        "operator without C shim",
        """
        The table of operators with a C shim names an operator that has an argument or a return of a type without a
        form in C: a stream or a storage, a list of lists, a list of booleans without a fixed length, a returned
        list. The operator gets no shim, and code compiled ahead of time cannot call it.

            note[E0803]: no C shim for `split.Tensor` on cpu: return `Tensor(a)[]` has no form in C

        Remove the operator from the table, or give it an overload whose arguments and returns have a C form.
        """,
    )
)
UNCLEAR_WRITE: Final = register(
    Code(
        "E0460",
        "unclear write",
        """
        It must be clear which tensor an operator writes to. The dispatcher passes an optional written tensor as a
        plain tensor, a kernel takes it as an optional one, and neither can be converted to the other. If two
        arguments are in one alias set (`Tensor(a!) self, Tensor(a!) out`), it is unknown which of them is returned.

            error[E0460]: `tally` writes to the optional tensor `seen`

        Write only to tensors that are not optional, and give each its own alias set.
        """,
    )
)
OPTIONS_OUT_OF_REACH: Final = register(
    Code(
        "E0461",
        "tensor options out of reach",
        """
        With functionalization, the functional form of an operation implements its out, in-place and mutable forms,
        including synthesized ones. If the functional form takes tensor options, they are those of the tensor `out`.

            error[E0461]: `sow.result` has no tensor `out`, of which its functional form `sow` could take dtype,
            layout and device

        Name the out argument `out`, or remove the tensor options.
        """,
    )
)
VIEW_WITHOUT_COPY: Final = register(
    Code(
        "E0462",
        "view without its copying form",
        """
        To remove views, functionalization replaces a view that does not consist of other views with its copying
        form. The two belong together if their names and their signatures match: `x` goes with `x_copy`, and
        `x_inverse` with `x_scatter`.

            error[E0462]: view `cut_inverse` has no copying form, with the same signature

        Add the entry, or give both the same arguments.
        """,
    )
)
COPY_WITHOUT_KERNEL: Final = register(
    Code(
        "E0463",
        "copying form of a view without a kernel",
        """
        Opwright generates the kernel of `x_copy` from the view `x`. The entry must name it, under
        `CompositeExplicitAutogradNonFunctional`, so that it is declared and registered.

            error[E0463]: `turn_copy` is the copying form of `turn` and has no kernel for it

        Add `CompositeExplicitAutogradNonFunctional: turn_copy` to its `dispatch` (`turn_copy_symint` if the schema
        has symbolic integers).
        """,
    )
)
VIEW_RETURNS: Final = register(
    Code(
        "E0464",
        "view that cannot be copied",
        """
        The copying form of a view clones the result of the view, which must be a tensor or a list of tensors.

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
        Functionalization records a view with its first argument, the base tensor, and replays it later with the
        other arguments. A view with several bases cannot be replayed.

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
        Functionalization replaces an operator that writes with its functional form. If it has none and does not
        consist of other operators, its writes would be lost.

            error[E0466]: `smudge` writes to its arguments, and has neither out nor functional form

        Request the forms with `autogen: smudge_functional, smudge.out`, or give the operator a
        `CompositeImplicitAutograd` kernel.
        """,
    )
)
NOT_COMPILED: Final = register(
    Code(
        "W0470",
        "an operator of a library that `torch.compile` cannot replace",
        """
        A compiled program has no writes: PyTorch replaces each operator that writes by one that returns new tensors. It
        does so by itself for operators that return nothing of what they write, and otherwise needs a functional
        overload.

            - func: fill(Tensor! self, float value) -> Tensor!
                    ^^^^ return `()`, or add `fill_functional(Tensor self, float value) -> Tensor`

        Outside compiled programs, the operator works.
        """,
    )
)
OPTIONS_TYPE: Final = register(
    Code(
        "E0467",
        "tensor options of another type",
        """
        The public API packs the arguments dtype, layout, device and pin_memory, if they follow each other, into one
        `TensorOptions`, which may also hold a memory format. Each of them may be missing there, so each must be
        optional: `ScalarType?`, `Layout?`, `Device?`, `bool?`, and `MemoryFormat?` for a `memory_format` beside
        them.

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
        The headers of an operator have its name: `foo.h`, `foo_ops.h`, `foo_native.h`, `foo_meta.h` and
        `foo_cpu_dispatch.h`, and similar names for other keys. The header of an operator with such a name would
        have the same path.

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
        The headers of an operator have its name without the namespace: those of `vend::clip` are `ops/clip.h`,
        `ops/clip_ops.h` and so on. PyTorch's operator `clip` has headers of the same names. The compiler finds a
        library's headers before PyTorch's, so they would hide these, and code that includes them to call `at::clip`
        would not compile.

            - func: vend::clip(Tensor self) -> Tensor

            error[E0469]: `vend::clip` needs the header `ops/clip.h`, which is that of PyTorch's own `clip`

        Give the operator another name, such as `vend::vend_clip`.
        """,
    )
)
