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
Operator name and overload name together name one overload, and each overload has one entry. Give one of the two
another overload name: `add.Tensor`, `add.Scalar`.

    - func: zero(Tensor self) -> Tensor
    - func: zero(Tensor self) -> Tensor
            ^^^^
""",
)
TWO_NAMESPACES: Final = _code(
    11,
    "one operator name in two namespaces",
    """
Generated structures and headers are named after the operator without its namespace, so that two operators that
differ in the namespace alone would collide.

    - func: one::zero(Tensor self) -> Tensor
    - func: two::zero(Tensor self) -> Tensor
            ^^^^^^^^^
""",
)
DELEGATE_MISSING: Final = _code(
    12,
    "structured delegate without entry",
    """
`structured_delegate` names the out overload that has the structured kernel, such as `add.out`. There is no entry of
that name.

    - func: scale(Tensor self) -> Tensor
      structured_delegate: scale.owt
                           ^^^^^^^^^
""",
)
DELEGATE_PLAIN: Final = _code(
    13,
    "delegate that is not structured",
    """
The overload that others delegate to has `structured: True`.

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
An overload delegates to the out overload that has its own signature, since wrappers pass their arguments on.

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
An in-place view is functionalized by its out-of-place form, `squeeze_` by `squeeze`, which must exist.

    - func: window_(Tensor(a!) self) -> Tensor(a!)
            ^^^^^^^
      tags: inplace_view
""",
)
SAME_SIGNATURE: Final = _code(
    16,
    "two overloads of one signature",
    """
Two overloads of one operator that take and return the same, and do the same with their arguments (both functional,
both out, and so on), cannot be told apart when called.

Functional, in-place and out forms of one operation share a signature, and are one of each kind at most.

    - func: zero.first(Tensor self) -> Tensor
    - func: zero.second(Tensor self) -> Tensor
            ^^^^^^^^^^^
""",
)
VARIANT_MISFIT: Final = _code(
    17,
    "an overload that cannot be made",
    """
From the entry another overload would be made, as its `autogen` asks, but its schema would not fit to the entry's:

- alias sets out of order: arguments that are written to are named `a!`, `b!`, `c!` in their order;
- tensors and other values in the returns: an out overload could return neither rightly.

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
Each out overload belongs to a functional overload with the same arguments. Where the two differ, if only in the type
of one argument, they are not matched:

    - func: scale(Tensor self, float by) -> Tensor
    - func: scale.out(Tensor self, Scalar by, *, Tensor(a!) out) -> Tensor(a!)
            ^^^^^^^^^ no functional overload takes a Scalar
""",
)
NO_TENSOR_RETURN: Final = _code(
    19,
    "function without tensor in its returns",
    """
Functions that are not composite get an out form. One that returns no tensor cannot have it; PyTorch's own ones are
listed by name, and others are not expected. Make it composite (CompositeImplicitAutograd), or let it return a tensor.

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
An operation with several overloads, such as an in-place and an out one, has a functional overload too.

    - func: zero_(Tensor(a!) self) -> Tensor(a!)
            ^^^^^
    - func: zero.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
""",
)
SCRATCH_GROUP: Final = _code(
    21,
    "scratch space in an operation of several overloads",
    """
An overload whose out arguments hold scratch space (`_scratch_...`) stands by itself.

    - func: zero(Tensor self) -> (Tensor, Tensor)
    - func: zero.out(Tensor self, *, Tensor(a!) out, Tensor(b!) _scratch_more) -> Tensor(a!)
            ^^^^^^^^
""",
)
GROUP_NAMESPACE: Final = _code(
    22,
    "overloads of one operation in several namespaces",
    """
All overloads of an operation stand in one namespace.

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
A mutable function and its functional form would be ambiguous in C++ if they had one name. The functional one is named
with the ending `_functional`.

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
STRUCTURED_MIX: Final = _code(
    24,
    "operation that is structured in parts",
    """
Where the out overload of an operation is structured, its functional and in-place overloads delegate to it:

    - func: relu(Tensor self) -> Tensor
      structured_delegate: relu.out
""",
)
STRUCTURED_COMPOSITE: Final = _code(
    25,
    "structured kernel that is composite",
    """
A structured kernel is written for backends; an implicit composite kernel beside it is not supported.

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
The kernels of a function are declared together, in one C++ namespace. Those without a namespace are in `at::native`.

    - func: mine::zero(Tensor self) -> Tensor
      dispatch:
        CPU: mine::zero_cpu
        CUDA: yours::zero_cuda
              ^^^^^^^^^^^^^^^^
""",
)
AUTOGEN_MISSING: Final = _code(
    30,
    "overloads are made that no entry names",
    """
Where an operation has an out overload and no functional one, that is made from what there is. So that a reader of
the file knows of it, the entry says so:

    - func: fill_(Tensor(a!) self, Scalar value) -> Tensor(a!)
      autogen: fill, fill.out
""",
)
AUTOGEN_WRONG: Final = _code(
    31,
    "autogen names the wrong overloads",
    """
`autogen` lists the overloads that are made from the entry, parted by a comma and one blank: the out overload is named
`NAME.out` or `NAME.OVERLOAD_out`, the functional one as the operator without `_`.

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
Functionalization replaces a view by a form that copies, which has an entry of its own with the same signature:

    - func: diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor
      tags: view_copy

Views with a kernel for CompositeImplicitAutograd need none, since they are made of other views.
""",
)
VIEW_COPY_NAME: Final = _code(
    33,
    "wrong name of a view or its copying form",
    """
The copying form of view `x` is `x_copy` (of `x_inverse`, `x_scatter`), and no view has such a name itself.

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
The copying form of a view has `tags: view_copy`; its kernel is made from the view's.

    - func: window(Tensor(a) self) -> Tensor(a)
    - func: window_copy(Tensor self) -> Tensor
            ^^^^^^^^^^^
""",
)
VIEW_COMPOSITE: Final = _code(
    35,
    "view and in-place form differ in being composite",
    """
Where a view has an implicit composite kernel, its in-place form has one too.

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
    "two functions in one place around a view",
    """
A view has one in-place form and one copying form, which all share its signature. Two functions compete for one of
these places.

    - func: window(Tensor(a) self) -> Tensor(a)
    - func: window_copy(Tensor(a) self) -> Tensor(a)
            ^^^^^^^^^^^
""",
)
