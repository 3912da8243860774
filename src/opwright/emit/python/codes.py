"""The codes of what stands in the way of a Python binding."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register

__all__ = [
    "ALIKE",
    "MIXED_NAMES",
    "NO_BASE",
    "NO_OPTIONS",
    "NO_PYTHON_ARGUMENT",
    "NO_PYTHON_RESULT",
    "RESERVED_ARGUMENT",
]

ALIKE: Final = register(
    Code(
        "E1021",
        "two overloads have the same Python signature",
        """
        Python's argument parser tells the overloads of a function apart by their signatures. Where two have the same,
        the second could never be called. What Python does not tell apart: an optional argument with None as default
        from one without, names of overloads, and annotations of aliases.

            error[E1021]: overloads `tile.twice` and `tile` have the same Python signature

        Give one of them another type or name of an argument, or take one out.
        """,
    )
)
NO_BASE: Final = register(
    Code(
        "E1022",
        "an overload with `out` has no counterpart without",
        """
        In Python `out=` is an optional argument of the function that makes its result anew, so an overload with `out`
        needs one that has the same arguments but for `out`: the same names, types, defaults and order.

            error[E1022]: `tile.out` has no counterpart without `out`
              = note: `tile` differs: it has `Scalar times`, the overload with `out` has `int64_t times`

        Make the two agree, or add the one that is missing.
        """,
    )
)
NO_OPTIONS: Final = register(
    Code(
        "E1023",
        "an operator that makes a tensor takes no tensor options",
        """
        A function that returns a tensor and takes none is a factory, and so is one named `new_...` or `..._like`. In
        Python it has the arguments dtype, layout, device, pin_memory and requires_grad, and its operator has to have
        the first four:

            - func: tile(int times, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,
                bool? pin_memory=None) -> Tensor

        An operator that makes no tensor for its caller says so with `category_override: dummy`.
        """,
    )
)
NO_PYTHON_ARGUMENT: Final = register(
    Code(
        "E1024",
        "an argument of a type that Python cannot pass",
        """
        Python's argument parser knows tensors, numbers, truth values, strings, generators, storages, streams, dtypes,
        layouts, devices, memory formats, lists of most of them, and their optional forms. Other types have no
        Python form.

            error[E1024]: Python can pass nothing to `tile`, which has an argument of type `SymBool`

        Take another type, or write the binding by hand.
        """,
    )
)
NO_PYTHON_RESULT: Final = register(
    Code(
        "E1025",
        "a result of a type that Python cannot get",
        """
        The results of an operator are turned into Python objects. That is possible for tensors, lists of tensors,
        numbers, truth values, dtypes and streams, and for some tuples of them.

            error[E1025]: Python has no form of what `tile` returns: `::std::tuple<bool,at::Tensor>`

        Return something else, or write the binding by hand.
        """,
    )
)
MIXED_NAMES: Final = register(
    Code(
        "E1026",
        "some of several results have names",
        """
        Results with names can be taken from the tuple by them: `torch.max(input, 0).values`. Either all have names,
        or none has.

            error[E1026]: some results of `tile` have names and some have not
        """,
    )
)
RESERVED_ARGUMENT: Final = register(
    Code(
        "E1027",
        "an argument named `requires_grad`",
        """
        Python bindings of operators that make a tensor have an argument `requires_grad` of their own: it sets the flag
        on the tensor that the operator makes, which knows nothing of it. So no operator has an argument of that name.

            error[E1027]: `tile` has an argument `requires_grad`, which bindings have themselves

        Give the argument another name, or write the binding by hand.
        """,
    )
)
UNKNOWN_MODULE: Final = register(
    Code(
        "W1028",
        "a Python module that is not there",
        """
        `python_module` names the module that gets the function: fft, linalg, nested, nn, sparse or special. A function
        of any other module gets no binding at all, so that Python does not have it.

            - func: special_erf(Tensor self) -> Tensor
              python_module: specia

            warning[W1028]: there is no Python module `specia`, so `special_erf` gets no binding
              = help: did you mean `special`?
        """,
    )
)
