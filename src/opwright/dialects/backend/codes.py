"""The codes of mistakes in backend files: E13xx."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register


def _code(number: int, title: str, explanation: str, letter: str = "E") -> str:
    return register(Code(f"{letter}13{number:02}", title, explanation))


FILE_SHAPE: Final = _code(
    1,
    "the file is not a backend file",
    """
A backend file is a mapping with a name for the backend, the C++ namespace of its kernels, and the operators that it
implements:

    backend: PrivateUse1
    cpp_namespace: acme
    supported:
    - add.Tensor
""",
)
UNKNOWN_KEY: Final = _code(
    2,
    "unknown key in a backend file",
    """
A backend file has a fixed set of keys:

    backend: PrivateUse1
    cpp_namespace: acme
    suported:
    ^^^^^^^^ write `supported`
""",
)
MISSING_KEY: Final = _code(
    3,
    "a backend file without a key that it needs",
    """
A backend file says which dispatch key its kernels are for, as `backend`, and the C++ namespace that they are in, as
`cpp_namespace`. Neither is empty.
""",
)
UNKNOWN_BACKEND: Final = _code(
    4,
    "the dispatch key of a backend does not exist",
    """
`backend` is the name of one of PyTorch's dispatch keys. Backends outside PyTorch use `PrivateUse1`, or a key that
PyTorch keeps for them, such as `XLA`. The section `autograd` needs an Autograd key of the same device, which not all
devices have.

    backend: Privateuse1
             ^^^^^^^^^^^ write `PrivateUse1`
""",
)
BACKEND_IN_USE: Final = _code(
    5,
    "the dispatch key of a backend has kernels in PyTorch",
    """
PyTorch's own `native_functions.yaml` has kernels for the dispatch key, so no backend outside PyTorch can have it. Use
`PrivateUse1`.
""",
)
UNKNOWN_OPERATOR: Final = _code(
    6,
    "a backend file names an operator that does not exist",
    """
An entry names an operator of PyTorch with its overload, without namespace:

    supported:
    - add.Tensors
      ^^^^^^^^^^^ write `add.Tensor`

Operators come and go with the releases of PyTorch: `--torch` chooses the release that the operator is looked up in.
""",
)
MIXED_GROUP: Final = _code(
    7,
    "overloads of one operation have kernels for different dispatch keys",
    """
The functional, in-place and out overloads of one operation, such as `add.Tensor`, `add_.Tensor` and `add.out`, stand in
one section: all in `supported`, or all in `autograd`. PyTorch's generator makes overloads without an entry from the
functional one, and could not tell for which key.
""",
)
NAMESPACE_DEPTH: Final = _code(
    8,
    "the C++ namespace of a backend has too many levels",
    """
PyTorch's generator accepts `cpp_namespace` with one level, such as `acme`, or two, such as `acme::native`. With
`opwright generate --backend`, it can have more.
""",
)
REPEATED_ENTRY: Final = _code(
    9,
    "an operator stands in a section twice",
    """
    supported:
    - add.Tensor
    - add.Tensor
      ^^^^^^^^^^ delete this entry

PyTorch's generator lets this pass.
""",
)
REPEATED_ENTRY_WARNING: Final = _code(9, "an operator stands in a section twice", "See E1309.", "W")
UNUSED_SYMINT: Final = _code(
    10,
    "a name in `symint` is in no section",
    """
`symint` lists operators of the sections whose kernels take symbolic integers. Each name is written as in its section,
with the overload. A name that is in no section has no effect, and the kernel is then called with plain integers.

    supported:
    - view
    symint:
    - views
      ^^^^^ write `view`
""",
)
UNUSED_SYMINT_WARNING: Final = _code(10, "a name in `symint` is in no section", "See E1310.", "W")
ENTRY_SHAPE: Final = _code(
    11,
    "an entry of a backend file is not the name of an operator",
    """
An entry is the name of an operator, or a mapping with that name as its only key:

    supported:
    - add.Tensor
    - mul.out: {structured: true}

PyTorch's own generator takes names alone.
""",
)
EMPTY_SECTION: Final = _code(
    12,
    "a section has no effect",
    """
PyTorch's generator writes no file if `supported` and `full_codegen` have no operator, even if `autograd` has some.
""",
    "W",
)
