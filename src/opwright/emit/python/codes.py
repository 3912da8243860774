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
        Python's argument parser distinguishes the overloads of a function by their signatures. If two have the
        same, the second could never be called. The parser ignores a default of None for an optional argument, names
        of overloads, and annotations of aliases.

            error[E1021]: overloads `tile.twice` and `tile` have the same Python signature

        Change the type or the name of an argument in one of them, or remove one.
        """,
    )
)
NO_BASE: Final = register(
    Code(
        "E1022",
        "an overload with `out` has no counterpart without it",
        """
        In Python `out=` is an optional argument of the function that returns a new result, so an overload with
        `out` needs another one with the same arguments except `out`: the same names, types, defaults and order.

            error[E1022]: `tile.out` has no counterpart without `out`
              = note: `tile` differs: it has `Scalar times`, the overload with `out` has `int64_t times`

        Make the two agree, or add the missing overload.
        """,
    )
)
NO_OPTIONS: Final = register(
    Code(
        "E1023",
        "an operator that makes a tensor takes no tensor options",
        """
        A function that returns a tensor and takes none is a factory, and so is one named `new_...` or `..._like`.
        In Python it has the arguments dtype, layout, device, pin_memory and requires_grad; its operator must have
        the first four:

            - func: tile(int times, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,
                bool? pin_memory=None) -> Tensor

        Mark an operator that creates no tensor for its caller with `category_override: dummy`.
        """,
    )
)
NO_PYTHON_ARGUMENT: Final = register(
    Code(
        "E1024",
        "an argument of a type that Python cannot pass",
        """
        Python's argument parser supports tensors, numbers, booleans, strings, generators, storages, streams,
        dtypes, layouts, devices, memory formats, lists of most of them, and their optional forms. Other types have
        no Python form.

            error[E1024]: Python can pass nothing to `tile`, which has an argument of type `SymBool`

        Use another type, or write the binding by hand.
        """,
    )
)
NO_PYTHON_RESULT: Final = register(
    Code(
        "E1025",
        "a result of a type without a Python form",
        """
        Bindings convert the results of an operator to Python objects. They support tensors, lists of tensors,
        numbers, booleans, dtypes and streams, and some tuples of them.

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
        Users access named results as attributes of the tuple: `torch.max(input, 0).values`. Either all results have
        names, or none has.

            error[E1026]: some results of `tile` have names and some have not
        """,
    )
)
RESERVED_ARGUMENT: Final = register(
    Code(
        "E1027",
        "an argument named `requires_grad`",
        """
        Python bindings of operators that create a tensor have their own argument `requires_grad`, which sets the
        flag on the new tensor. So no operator may have an argument of that name.

            error[E1027]: `tile` has an argument `requires_grad`, which bindings have themselves

        Give the argument another name, or write the binding by hand.
        """,
    )
)
UNKNOWN_MODULE: Final = register(
    Code(
        "W1028",
        "a Python module that does not exist",
        """
        `python_module` names the module that gets the function: fft, linalg, nested, nn, sparse or special. A
        function of any other module gets no binding, so Python does not have it.

            - func: special_erf(Tensor self) -> Tensor
              python_module: specia

            warning[W1028]: there is no Python module `specia`, so `special_erf` gets no binding
              = help: did you mean `special`?
        """,
    )
)
