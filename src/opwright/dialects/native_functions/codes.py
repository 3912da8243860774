"""The codes of mistakes in one entry of `native_functions.yaml`: E03xx."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register


def _code(number: int, title: str, explanation: str) -> str:
    return register(Code(f"E03{number:02}", title, explanation))


ENTRY_SHAPE: Final = _code(
    1,
    "an entry is not a mapping",
    """
Each item of `native_functions.yaml` is a mapping of fields, of which only `func` is required:

    - func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
      variants: function, method
""",
)
NO_SCHEMA: Final = _code(
    2,
    "an entry has no schema",
    """
The field `func` holds the schema of the overload, and every entry has it. A frequent cause is an extra `-`, which
splits an entry in two:

    - func: relu(Tensor self) -> Tensor
    - variants: function
      ^^^^^^^^^^^^^^^^^^ an entry without `func`
""",
)
UNKNOWN_FIELD: Final = _code(
    3,
    "unknown field",
    """
The fields of an entry are func, variants, dispatch, autogen, device_check, tags, structured, structured_delegate,
structured_inherits, precomputed, ufunc_inner_loop, cpp_no_default_args, device_guard,
use_const_ref_for_mutable_tensors, python_module, category_override, manual_cpp_binding and manual_kernel_registration.
Any other field would have no effect.

    - func: relu(Tensor self) -> Tensor
      variant: function, method
      ^^^^^^^ did you mean `variants`?
""",
)
NAMESPACE: Final = _code(
    4,
    "an operator has more than one namespace",
    """
An operator is in one namespace; without a name that is `aten`:

    - func: mine::relu(Tensor self) -> Tensor

Nested ones, such as `mine::deep::relu`, cannot be registered with the dispatcher.
""",
)
VARIANT: Final = _code(
    5,
    "unknown variant",
    """
`variants` says how the C++ API offers the overload: `function`, `method`, or `function, method` (separated by a comma
and one blank). Without the field it is a function.

    - func: zero(Tensor self) -> Tensor
      variants: function, metod
                          ^^^^^
""",
)
DEVICE_CHECK: Final = _code(
    6,
    "unknown device check",
    """
`device_check` says whether generated wrappers check that all tensors are on one device: `ExactSame` (the default) or
`NoCheck`.

    - func: zero(Tensor self) -> Tensor
      device_check: nocheck
                    ^^^^^^^
""",
)
OUT_METHOD: Final = _code(
    20,
    "out overload that is not just a function",
    """
An overload with out arguments has `variants: function`, or no `variants`. As a method it would conflict with Python's
argument binding, with undefined results.

    - func: zero(Tensor self) -> Tensor
    - func: zero.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
      variants: function, method
                ^^^^^^^^^^^^^^^^
""",
)
MODULE_METHOD: Final = _code(
    32,
    "function of a Python module as a method",
    """
`python_module: nn` and similar fields put the function into that module instead of `torch`; it cannot be a method of
tensors at the same time.

    - func: zero(Tensor self) -> Tensor
      variants: function, method
                ^^^^^^^^^^^^^^^^
      python_module: nn
""",
)
NO_DEFAULT: Final = _code(
    33,
    "cpp_no_default_args names an argument without default",
    """
`cpp_no_default_args` lists arguments that have no default in C++, so each must be an argument of the schema with a
default.

    - func: zero(Tensor self, int dim, int much=1) -> Tensor
      cpp_no_default_args: [much, dim]
                                  ^^^
""",
)
CONST_REF_OUT: Final = _code(
    34,
    "const references on an out overload",
    """
`use_const_ref_for_mutable_tensors` passes written tensors as `const Tensor &`. The C++ API of out overloads relies on
`Tensor &`, so they cannot have this field.

    - func: zero(Tensor self) -> Tensor
    - func: zero.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
      use_const_ref_for_mutable_tensors: True
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
)
UNKNOWN_TAG: Final = _code(
    35,
    "unknown tag",
    """
`tags.yaml` defines each tag, with a description. Add the tag there, or correct its name.

    - func: zero(Tensor self) -> Tensor
      tags: [core, pointwize]
                   ^^^^^^^^^
""",
)
TAG_TYPE: Final = _code(
    36,
    "a tag is not a name",
    """
`tags` is a tag, or a list of tags: `tags: core`, `tags: [core, pointwise]`.

    - func: zero(Tensor self) -> Tensor
      tags: 1
            ^
""",
)
SEED_TAG: Final = _code(
    37,
    "missing tag nondeterministic_seeded",
    """
A function that draws random numbers gives another result with another seed. Opwright recognises it by its arguments (a
`Generator`), and PyTorch's own functions by names too (`rand`, `dropout`, an argument named dropout). It needs the tag:

    tags: nondeterministic_seeded
""",
)
FOREACH_CHECK: Final = _code(
    38,
    "device check on a foreach function",
    """
`_foreach_*` functions accept lists with tensors on several devices, for which they use a slow path. A device check
would refuse such lists, so the entry needs `device_check: NoCheck`.

    - func: _foreach_zero(Tensor[] self) -> Tensor[]
            ^^^^^^^^^^^^^
""",
)
KEYWORD_ARGUMENT: Final = _code(
    39,
    "argument named like a Python keyword",
    """
Arguments are passed by name from Python, where a keyword such as `from` is not allowed. Three old operators have such
arguments; new ones may not.

    - func: zero(Tensor self, int from) -> Tensor
                              ^^^^^^^^
""",
)
INPLACE_VIEW_TAG: Final = _code(
    45,
    "in-place view without its tag",
    """
An in-place function that makes `self` a view (its return aliases without writing, or joins the wildcard set) needs
`tags: inplace_view`, because functionalization treats it differently.

    - func: window_(Tensor(a!) self, Tensor(b -> *) other) -> Tensor(a!)
            ^^^^^^^
""",
)
INPLACE_VIEW_NAME: Final = _code(
    46,
    "tag inplace_view on a function that is not in-place",
    """
An in-place view changes the sizes or strides of `self`; its name ends with `_`, as the name of each in-place function
does.

    - func: window(Tensor(a) self) -> Tensor(a)
      tags: [core, inplace_view]
                   ^^^^^^^^^^^^
""",
)
ARGUMENT_TYPE: Final = _code(
    47,
    "argument of a type without a form in C++",
    """
The schema language has types that C++ kernels cannot take. An argument in `native_functions.yaml` cannot be a class of
TorchScript, a `GraphModule`, a list of booleans without a fixed length, or a type that nests symbolic integers deeper
than `SymInt[]?`.

    - func: where_all(Tensor self, bool[] mask) -> Tensor
                                   ^^^^^^^^^^^ write bool[3], or take a Tensor
""",
)
RETURN_TYPE: Final = _code(
    48,
    "return of a type without a form in C++",
    """
A kernel returns tensors, scalars, and lists of these without a fixed length. It cannot return a list with a fixed
length (except `bool[2]` and similar), an optional scalar or list, a class of TorchScript or a `GraphModule`.

    - func: halves(Tensor self) -> Tensor[2]
                                   ^^^^^^^^^ write (Tensor, Tensor), or Tensor[]
""",
)
METHOD_SELF: Final = _code(
    49,
    "method without a tensor to call it on",
    """
A method is called on the argument `self`, which must be a tensor: not a list of tensors, and not an optional one.

    - func: stack(Tensor[] tensors) -> Tensor
      variants: function, method
                          ^^^^^^ only a function
""",
)
DEFAULT_FORM: Final = _code(
    50,
    "default without a form in C++",
    """
C++ declarations repeat the default of an argument. Numbers and strings need no change. The only words with a C++ form
are `True`, `False`, `None`, `Mean` (of an `int`), `long` (of a `ScalarType`) and `contiguous_format` (of a
`MemoryFormat`), and none of them has one inside a list.

    - func: cast(Tensor self, ScalarType dtype=float) -> Tensor
                              ^^^^^^^^^^^^^^^^^^^^^^ no form in C++

Make the argument optional with the default `None`, and let the kernel decide.
""",
)
UNMARKED_OUT: Final = _code(
    51,
    "out argument that is not marked",
    """
An annotation marks the argument that an out overload writes its result to, and the return:

    - func: scale.out(Tensor self, *, Tensor out) -> Tensor
                                      ^^^^^^^^^^ write `Tensor(a!) out`

Without the annotation the argument is only read, and the overload does not belong to the operation.
""",
)
FIELD_WORD: Final = _code(
    52,
    "field that is not a word",
    """
`python_module` and `category_override` are words of letters, digits and `_`; outputs contain them unchanged.

    - func: solve(Tensor self) -> Tensor
      python_module: "linalg; special"
                     ^^^^^^^^^^^^^^^^^ one word
""",
)
