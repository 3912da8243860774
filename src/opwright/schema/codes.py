"""The codes of mistakes in schema text."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register


def _code(number: int, title: str, explanation: str) -> str:
    return register(Code(f"E02{number:02}", title, explanation))


SYNTAX: Final = _code(
    1,
    "schema syntax error",
    """
A schema names an operator, its arguments with their types and defaults, and what it returns. Arguments after `*` are
passed only by name; several returns are in parentheses, and no return is `()`.

    add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
    frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)

Write one blank after each comma and around `->`, and none elsewhere, because other tools compare the text.
""",
)
UNKNOWN_TYPE: Final = _code(
    2,
    "unknown type",
    """
A type is one of the base types (Tensor, Scalar, int, SymInt, float, bool, str, ScalarType, Device, Generator ...) or a
class of TorchScript, followed by `?` if the value may be missing, and by `[]` or `[2]` for a list.

    zero(Tensr self) -> Tensor
         ^^^^^ did you mean `Tensor`?
""",
)
BAD_NAME: Final = _code(
    3,
    "not an operator name",
    """
An operator's name is an identifier, followed by a dot and the overload's name if there are several overloads. The
suffix `_out` is reserved for C++ names; in a schema the overload has the name `out`.

    add_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
    ^^^^^^^ write `add.out`
""",
)
BAD_ANNOTATION: Final = _code(
    4,
    "wrong alias annotation",
    """
An annotation names the alias sets of a value before and after the call: `a`, `a!` (written to), `a|b`, `a -> *`. Only
tensors, optional tensors and lists of tensors have one. A value that is written to has one alias set, and only one side
of the arrow may name several.

    fill_(Tensor(a|b!) self) -> Tensor(a!)
                ^^^^^ one set: `Tensor(a!)`
""",
)
BAD_DEFAULT: Final = _code(
    5,
    "wrong default",
    """
The text after `=` is a value of the argument's type: a number, `True`, `None`, a text in double quotes, a list such as
`[0,1]`, or the name of a dtype, a layout, a memory format or a reduction.

    narrow(Tensor self, int dim=abc) -> Tensor
                                ^^^ no whole number
""",
)
DUPLICATE_ARGUMENT: Final = _code(
    6,
    "argument given twice",
    """
Each argument of a schema has its own name; Python callers could not pass two arguments with the same name.

    add(Tensor self, Tensor self) -> Tensor
                            ^^^^ write `other`
""",
)
REQUIRED_AFTER_DEFAULT: Final = _code(
    7,
    "required argument after one with a default",
    """
A required positional argument cannot follow an optional one.

    sum(Tensor self, int dim=0, bool keepdim) -> Tensor
                                ^^^^^^^^^^^^ give it a default, or put it before `dim`

After `*`, where arguments are passed by name, any order is fine.
""",
)
KEYWORD_NAME: Final = _code(
    8,
    "argument named like a Python keyword",
    """
Arguments are passed by name from Python, where this word is reserved.

    reduce(Tensor self, *, bool global=False) -> Tensor
                                ^^^^^^ write `over_all`
""",
)
OUT_PLACE: Final = _code(
    9,
    "argument after the out arguments",
    """
Arguments that are passed by name and written to are the `out` arguments; they come last.

    add.out(Tensor self, *, Tensor(a!) out, Scalar alpha=1) -> Tensor(a!)
                                            ^^^^^^^^^^^^^^ goes before `out`
""",
)
STAR: Final = _code(
    10,
    "wrong `*`",
    """
One `*` starts the arguments that are passed by name, and at least one follows it.

    zero(Tensor self, *) -> Tensor
                      ^ delete it
""",
)
RETURN_ALIAS: Final = _code(
    11,
    "return does not alias its argument",
    """
What a function writes to and returns has the same annotation in both places, in the order of the arguments.

    zero.out(Tensor self, *, Tensor(a!) out) -> Tensor
                                                ^^^^^^ write `Tensor(a!)`
""",
)
RETURN_COUNT: Final = _code(
    12,
    "wrong number of returns",
    """
A function with tensors as out arguments returns each of them once; one with lists of tensors returns nothing.

    split.out(Tensor self, *, Tensor(a!)[] out) -> Tensor(a!)[]
                                                   ^^^^^^^^^^^^ write `()`
""",
)
INPLACE_SELF: Final = _code(
    13,
    "in-place function without writable self",
    """
An in-place function, whose name ends with `_`, writes to `self` and returns it.

    zero_(Tensor self) -> Tensor
          ^^^^^^^^^^^ write `zero_(Tensor(a!) self) -> Tensor(a!)`
""",
)
KIND_CONFLICT: Final = _code(
    14,
    "two kinds at once",
    """
A function is functional, in-place, out, or mutable (it writes to arguments other than `self` and `out`), but only one
of these.

    add_(Tensor(a!) self, *, Tensor(b!) out) -> Tensor(a!)
    ^^^^ in-place, and writes to `out`
""",
)
MIXED_RETURNS: Final = _code(
    15,
    "returns of both kinds",
    """
Either all returns are arguments that were written to, or none is.

    sort.out(Tensor self, *, Tensor(a!) out) -> (Tensor(a!), Tensor)
                                                             ^^^^^^ make it an out argument too
""",
)
OPTIONS_PLACE: Final = _code(
    16,
    "tensor options on a function that writes",
    """
The arguments dtype, layout, device and pin_memory together describe a new tensor. A function that writes to its
arguments creates none: the tensors that it writes to already have all of these.

    zeros.out(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,
              bool? pin_memory=None, Tensor(a!) out) -> Tensor(a!)

Delete all four, or those that are not needed: a `dtype` alone is fine.
""",
)
FUNCTIONAL_OVERLOAD: Final = _code(
    17,
    "overload name says functional",
    """
An overload whose name holds `functional` is the form without side effects of an operator that has no such form. It
cannot write to any argument.

    tally.functional(Tensor(a!) self) -> ()
          ^^^^^^^^^^ belongs to an overload that only returns new tensors
""",
)
MUTABLE_BEFORE_SELF: Final = _code(
    18,
    "written argument before self",
    """
Arguments before `self` cannot be written to.

    copy(Tensor(a!) target, Tensor self) -> ()
         ^^^^^^^^^^^^^^^^^ goes after `self`
""",
)
LIST_SIZE: Final = _code(
    19,
    "wrong list size",
    """
A list has no size, or a whole number above zero. With a size, a caller may pass a single value for the whole list.

    pool(Tensor self, int[0] size) -> Tensor
                          ^ write `int[2]`, or `int[]`
""",
)
TOO_LARGE: Final = _code(
    20,
    "a name, type or default is too long",
    """
Files are named after operators, and file systems take names of 255 characters, so a name in a schema has 200 characters
at most. A type has at most 8 of `?` and `[]`, and a default at most 1,000 characters. Real operators stay far below
these limits.

    pool(Tensor self, int[][][][][][][][][] size) -> Tensor
                                         ^^ the ninth
""",
)
VARIADIC: Final = _code(
    21,
    "any number of arguments",
    """
The dispatcher takes `...` for any number of arguments or returns. Kernels of such operators get them on a stack, so
they have no signature in C++, and no code can be generated around them.

    collect(Tensor first, ...) -> Tensor
                          ^^^ write `Tensor[] others`, or register the operator by hand with a boxed kernel
""",
)
