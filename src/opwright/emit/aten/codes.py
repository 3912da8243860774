"""The codes of faults in kernels that keep Opwright from generating their wrappers."""

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
        A kernel whose name has `_symint` in it is declared with `c10::SymInt` where the schema has `SymInt`. The
        schema of this function has no `SymInt`, so the name is misleading.

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
        "kernel for a key whose structured kernels are generated",
        """
        Opwright generates the kernels of structured operations under Meta and
        CompositeExplicitAutogradNonFunctional: the first runs only the shape function, the second calls the out
        overload. No entry can name others.

            - func: relu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
              structured: True
              dispatch:
                CPU: relu_out
                Meta: relu_meta

        Delete the line, and move the computation into the shape function `TORCH_META_FUNC(relu)`.
        """,
    )
)
STRUCTURED_OUTPUT: Final = register(
    Code(
        "E0453",
        "structured kernel with an output that is not a tensor",
        """
        The classes of structured kernels hold tensors as their outputs. They cannot hold lists or optional tensors.

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
        The shape function and the kernel of a structured operation take some types in another form than the
        operator does. Lists of scalars and optional lists of symbolic integers cannot be converted from one form to
        the other. PyTorch's generator fails on them.

            - func: pick.out(Tensor self, Scalar[] values, *, Tensor(a!) out) -> Tensor(a!)
              structured: True

        Write the kernel as a plain function, without `structured`, or give the argument another type.
        """,
    )
)
UFUNC_LOOPS: Final = register(
    Code(
        "E0454",
        "loops from which no kernel can be generated",
        """
        `ufunc_inner_loop` generates a CPU kernel and a CUDA kernel. Both need a scalar function, from `Generic`
        or `ScalarOnly`. If the entry has both, they must have the same name, because one CUDA functor serves all
        dtypes. A vectorized loop needs a scalar loop for the same dtypes. The functors `CUDAFunctorOnSelf` and
        `CUDAFunctorOnOther` are for two tensors, of which one is a scalar on the CPU.

            ufunc_inner_loop:
              Generic: add (AllAndComplex)
              ScalarOnly: plus (Bool)

        Change one of the two names.
        """,
    )
)
UFUNC_ARGUMENT: Final = register(
    Code(
        "E0455",
        "argument that loops cannot pass on",
        """
        The scalar function of a ufunc takes elements of tensors, and scalars that are the same for all elements. It
        cannot take other values, such as lists, integers or booleans.

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
        "overload that cannot copy the result of the functional overload",
        """
        A backend with only a kernel for the functional overload gets out and in-place overloads that copy its
        result. This works for overloads that return what they write, and for a list of outs. It does not work for
        functions that write other arguments, or for in-place functions on lists.

            supported:
            - _foreach_add.List

        Add the overload to the supported ones, and write its kernel.
        """,
    )
)
