"""The codes of what is wrong between kernels and the wrappers that are made for them."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register

__all__ = [
    "COPIED_RESULT",
    "MADE_KERNEL",
    "STRUCTURED_ARGUMENT",
    "STRUCTURED_OUTPUT",
    "SYMINT_KERNEL",
    "UFUNC_ARGUMENT",
    "UFUNC_LOOPS",
]

SYMINT_KERNEL: Final = register(
    Code(
        "E0451",
        "symbolic kernel of a function without symbolic integers",
        """
        A kernel whose name has `_symint` in it is declared with `c10::SymInt` where the schema says `SymInt`. The
        schema of this function says it nowhere, so that the name promises what the kernel does not do.

            - func: crop(Tensor self, int size) -> Tensor
              dispatch:
                CPU: crop_symint

        Make the argument a `SymInt`, or rename the kernel.
        """,
    )
)
MADE_KERNEL: Final = register(
    Code(
        "E0452",
        "kernel for a key under which structured kernels are made",
        """
        For structured operations the kernels under Meta and CompositeExplicitAutogradNonFunctional are made: the
        first runs the shape function alone, the second calls the out overload. No entry can name others.

            - func: relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
              structured: True
              dispatch:
                CPU: relu_out
                Meta: relu_meta

        Delete the line; what it wants to do belongs into the shape function `TORCH_META_FUNC(relu)`.
        """,
    )
)
STRUCTURED_OUTPUT: Final = register(
    Code(
        "E0453",
        "structured kernel with an output that is no tensor",
        """
        The classes of structured kernels hold tensors as their outputs. Outs that are lists or may be missing have no
        place there.

            - func: halve.out(Tensor self, *, Tensor(a!)[] out) -> ()
              structured: True

        Write the kernel as a plain function, without `structured`.
        """,
    )
)
STRUCTURED_ARGUMENT: Final = register(
    Code(
        "E0457",
        "structured kernel with an argument that cannot reach it",
        """
        The shape function and the kernel of a structured operation take some types in another form than the operator
        does, and for lists of scalars and optional lists of symbolic integers there is no way from one form to the
        other. PyTorch's generator fails on them.

            - func: pick.out(Tensor self, Scalar[] values, *, Tensor(a!) out) -> Tensor(a!)
              structured: True

        Write the kernel as a plain function, without `structured`, or give the argument another type.
        """,
    )
)
UFUNC_LOOPS: Final = register(
    Code(
        "E0454",
        "loops that make no kernel",
        """
        `ufunc_inner_loop` makes a kernel for the CPU and one for CUDA. Both need a scalar function, from `Generic` or
        `ScalarOnly`; if both are given, with one name, since a CUDA functor is made from it once for all dtypes. A
        loop over vectors needs one over scalars for the same dtypes. The functors `CUDAFunctorOnSelf` and
        `CUDAFunctorOnOther` are for two tensors, of which one is a scalar on the CPU.

            ufunc_inner_loop:
              Generic: add (AllAndComplex)
              ScalarOnly: plus (Bool)

        Here one of the names has to change.
        """,
    )
)
UFUNC_ARGUMENT: Final = register(
    Code(
        "E0455",
        "argument that loops cannot pass on",
        """
        The scalar function of a ufunc takes elements of tensors, and scalars that are the same for all elements. It
        cannot take other things, such as lists, integers or truth values.

            - func: add.out(Tensor self, Tensor other, *, int times, Tensor(a!) out) -> Tensor(a!)
              structured: True
              ufunc_inner_loop:
                Generic: add (AllAndComplex)

        Make the argument a `Scalar`, or write the kernels by hand.
        """,
    )
)
COPIED_RESULT: Final = register(
    Code(
        "E0456",
        "overload that cannot copy the functional one's result",
        """
        A backend with a kernel for the functional overload alone gets out and in-place overloads that copy its
        result. That can be done for overloads that return what they write, and for a list of outs; it cannot for
        functions that write other arguments, nor for in-place functions on lists.

            supported:
            - _foreach_add.List

        List the overload among the supported ones as well, and write its kernel.
        """,
    )
)
