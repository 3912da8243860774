"""The codes of mistakes between entries of `native_functions.yaml`: E04xx."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register


def _code(number: int, title: str, explanation: str) -> str:
    return register(Code(f"E04{number:02}", title, explanation))


OVERLOAD_TWICE: Final = _code(
    10,
    "two entries for one overload",
    """
Operator name and overload name together identify an overload, and each overload has one entry. Give one of the two
entries another overload name: `add.Tensor`, `add.Scalar`.

    - func: zero(Tensor self) -> Tensor
    - func: zero(Tensor self) -> Tensor
            ^^^^
""",
)
TWO_NAMESPACES: Final = _code(
    11,
    "one operator name in two namespaces",
    """
Generated structures and headers have the operator's name without its namespace, so two operators that differ only in
the namespace would collide.

    - func: one::zero(Tensor self) -> Tensor
    - func: two::zero(Tensor self) -> Tensor
            ^^^^^^^^^
""",
)
DELEGATE_MISSING: Final = _code(
    12,
    "structured delegate without entry",
    """
`structured_delegate` names the out overload with the structured kernel, such as `add.out`. No entry has that name.

    - func: scale(Tensor self) -> Tensor
      structured_delegate: scale.owt
                           ^^^^^^^^^
""",
)
DELEGATE_PLAIN: Final = _code(
    13,
    "delegate that is not structured",
    """
The overload that others delegate to must have `structured: True`.

    - func: scale(Tensor self) -> Tensor
      structured_delegate: scale.out
                           ^^^^^^^^^
    - func: scale.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
""",
)
DELEGATE_OTHER: Final = _code(
    14,
    "delegate from another operation",
    """
An overload delegates to the out overload with the same signature, because wrappers pass their arguments on.

    - func: scale(Tensor self) -> Tensor
      structured_delegate: shift.out
                           ^^^^^^^^^
    - func: scale.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
      structured: True
    - func: shift(Tensor self) -> Tensor
      structured_delegate: shift.out
    - func: shift.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
      structured: True
""",
)
INPLACE_VIEW_ALONE: Final = _code(
    15,
    "in-place view without its view",
    """
Functionalization replaces an in-place view with its out-of-place form, `squeeze_` with `squeeze`, which must exist.

    - func: window_(Tensor(a!) self) -> Tensor(a!)
            ^^^^^^^
      tags: inplace_view
""",
)
SAME_SIGNATURE: Final = _code(
    16,
    "two overloads with the same signature",
    """
Two overloads of one operator that take and return the same, and do the same with their arguments (both functional, both
out, and so on), are indistinguishable in a call.

Functional, in-place and out forms of one operation share a signature; there is at most one of each kind.

    - func: zero.first(Tensor self) -> Tensor
    - func: zero.second(Tensor self) -> Tensor
            ^^^^^^^^^^^
""",
)
VARIANT_MISFIT: Final = _code(
    17,
    "an overload that cannot be synthesized",
    """
`autogen` requests another overload from this entry, but its schema would not match the entry's:

- alias sets out of order: the annotations of written arguments are `a!`, `b!`, `c!` in this order;
- tensors and other values in the returns: an out overload could not return both.

    - func: zero(Tensor self) -> (Tensor, int)
            ^^^^
      dispatch:
        CPU: zero_cpu
      autogen: zero.out
""",
)
LONE_OUT: Final = _code(
    18,
    "out overload without a functional one",
    """
Each out overload belongs to a functional overload with the same arguments. If the two differ, even only in the type of
one argument, they do not belong together:

    - func: scale(Tensor self, float by) -> Tensor
    - func: scale.out(Tensor self, Scalar by, *, Tensor(a!) out) -> Tensor(a!)
            ^^^^^^^^^ no functional overload takes a Scalar
""",
)
NO_TENSOR_RETURN: Final = _code(
    19,
    "function without tensor in its returns",
    """
Functions that are not composite get an out form, which requires that they return a tensor. Opwright has a list of
PyTorch's own exceptions. Make the function composite (CompositeImplicitAutograd), or return a tensor.

    - func: zero(Tensor self) -> int
                                 ^^^
      dispatch:
        CPU: zero_cpu
""",
)
NO_FUNCTIONAL: Final = _code(
    20,
    "operation without functional overload",
    """
An operation with several overloads, such as an in-place and an out overload, must also have a functional one.

    - func: zero_(Tensor(a!) self) -> Tensor(a!)
            ^^^^^
    - func: zero.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
""",
)
SCRATCH_GROUP: Final = _code(
    21,
    "scratch space in an operation of several overloads",
    """
An overload whose out arguments hold scratch space (`_scratch_...`) must be the only one of its operation.

    - func: zero(Tensor self) -> (Tensor, Tensor)
    - func: zero.out(Tensor self, *, Tensor(a!) out, Tensor(b!) _scratch_more) -> Tensor(a!)
            ^^^^^^^^
""",
)
GROUP_NAMESPACE: Final = _code(
    22,
    "overloads of one operation in several namespaces",
    """
All overloads of an operation are in one namespace.

    - func: one::zero(Tensor self) -> Tensor
      dispatch:
        CPU: zero_cpu
    - func: two::zero.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
            ^^^^^^^^^^^^^
      dispatch:
        CPU: zero_out
""",
)
FUNCTIONAL_NAME: Final = _code(
    23,
    "functional overload beside a mutable one",
    """
A mutable function and its functional form would be ambiguous in C++ if they had the same name. The name of the
functional one ends with `_functional`.

    - func: zero(Tensor self, Tensor(a!) other) -> Tensor
      dispatch:
        CPU: zero_cpu
      autogen: zero.out
    - func: zero.plain(Tensor self, Tensor other) -> (Tensor, Tensor)
            ^^^^^^^^^^
      dispatch:
        CPU: zero_plain
""",
)
FUNCTIONAL_ALIASES: Final = _code(
    27,
    "the functional form of an overload that writes is a view",
    """
In place of an overload that writes to its arguments, functionalization calls the functional overload of the same
signature, and takes the new values from its results. A view has no new values: its result is memory of its argument.

    - func: zero(Tensor(a) self) -> Tensor(a)
                                    ^^^^^^^^^ write `Tensor`, and `Tensor self`
    - func: zero.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
      dispatch:
        CPU: zero_out

If the operator is a view indeed, give the overload that writes another name.
""",
)
STRUCTURED_MIX: Final = _code(
    24,
    "operation that is only partly structured",
    """
If the out overload of an operation is structured, its functional and in-place overloads must delegate to it:

    - func: relu(Tensor self) -> Tensor
      structured_delegate: relu.out
""",
)
STRUCTURED_COMPOSITE: Final = _code(
    25,
    "structured kernel that is composite",
    """
A structured kernel is for backends; the same operator cannot have an implicit composite kernel.

    - func: scale(Tensor self) -> Tensor
      structured_delegate: scale.out
    - func: scale.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
      structured: True
      dispatch:
        CPU: scale_out
        CompositeImplicitAutograd: scale_out
        ^^^^^^^^^^^^^^^^^^^^^^^^^
""",
)
KERNEL_NAMESPACES: Final = _code(
    26,
    "kernels of one function in several namespaces",
    """
Generated code declares the kernels of a function together, in one C++ namespace. Kernels without a namespace are
in `at::native`.

    - func: mine::zero(Tensor self) -> Tensor
      dispatch:
        CPU: mine::zero_cpu
        CUDA: yours::zero_cuda
              ^^^^^^^^^^^^^^^^
""",
)
AUTOGEN_MISSING: Final = _code(
    30,
    "synthesized overloads that no entry lists",
    """
If an operation has an out overload and no functional one, Opwright synthesizes the functional one from its overloads.
The entry must list it, so that readers of the file know that it exists:

    - func: fill_(Tensor(a!) self, Scalar value) -> Tensor(a!)
      autogen: fill, fill.out
""",
)
AUTOGEN_WRONG: Final = _code(
    31,
    "autogen names the wrong overloads",
    """
`autogen` lists the overloads to synthesize from the entry, separated by a comma and one blank. The out overload has the
name `NAME.out` or `NAME.OVERLOAD_out`, the functional one the operator's name without `_`.

    - func: zero(Tensor self) -> Tensor
      dispatch:
        CPU: zero_cpu
      autogen: zero.owt
               ^^^^^^^^
""",
)
NO_VIEW_COPY: Final = _code(
    32,
    "view without its copying form",
    """
Functionalization replaces a view with a form that copies, which has its own entry with the same signature:

    - func: diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor
      tags: view_copy

Views with a kernel for CompositeImplicitAutograd need none, because they consist of other views.
""",
)
VIEW_COPY_NAME: Final = _code(
    33,
    "wrong name of a view or its copying form",
    """
The copying form of the view `x` is `x_copy` (of `x_inverse` it is `x_scatter`), and no view may have such a name.

    - func: window_copy(Tensor(a) self) -> Tensor(a)
            ^^^^^^^^^^^
    - func: window(Tensor self) -> Tensor
      tags: view_copy
""",
)
VIEW_COPY_TAG: Final = _code(
    34,
    "copying form of a view without its tag",
    """
The copying form of a view has `tags: view_copy`; Opwright generates its kernel from the view.

    - func: window(Tensor(a) self) -> Tensor(a)
    - func: window_copy(Tensor self) -> Tensor
            ^^^^^^^^^^^
""",
)
VIEW_COMPOSITE: Final = _code(
    35,
    "view and in-place form differ in being composite",
    """
If a view has an implicit composite kernel, its in-place form must have one too.

    - func: window(Tensor(a) self) -> Tensor(a)
    - func: window_(Tensor(a!) self) -> Tensor(a!)
            ^^^^^^^
      tags: inplace_view
      dispatch:
        CPU: window_
""",
)
VIEW_TWICE: Final = _code(
    36,
    "two functions with one role for a view",
    """
A view has one in-place form and one copying form, with the same signature. Here two functions are the same form of one
view.

    - func: window(Tensor(a) self) -> Tensor(a)
    - func: window_copy(Tensor(a) self) -> Tensor(a)
            ^^^^^^^^^^^
""",
)
