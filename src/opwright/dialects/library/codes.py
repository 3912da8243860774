"""The codes of mistakes in library files: E11xx."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register


def _code(number: int, title: str, explanation: str, letter: str = "E") -> str:
    return register(Code(f"{letter}11{number:02}", title, explanation))


FILE_SHAPE: Final = _code(
    1,
    "the file is not a library file",
    """
A library file is a list of entries, each of which names its namespace, or a mapping whose key `operators` has the list:

    namespace: acme
    operators:
      - func: scale(Tensor self, float factor) -> Tensor
""",
)
HEAD_KEY: Final = _code(
    2,
    "unknown key in the head of a library file",
    """
The head of a library file says what holds for all its entries. It has a fixed set of keys:

    namespaces: acme
    ^^^^^^^^^^ write `namespace`
    operators: []
""",
)
NO_NAMESPACE: Final = _code(
    3,
    "an operator of a library without a namespace",
    """
Each operator of a library is in a namespace, which the head of the file names for all entries, or an entry for itself:

    - func: scale(Tensor self, float factor) -> Tensor
            ^^^^^ write `acme::scale`, or `namespace: acme` in the head
""",
)
NAMESPACE_NAME: Final = _code(
    4,
    "a namespace that a library cannot have",
    """
The namespace of operators is one name, which is also a namespace in C++. The C++ namespace of a library may be nested,
but it is not one of PyTorch's own, such as `at`. Neither is a word or a macro of C++, such as `new` and `linux`. The
outermost namespace has no name that C++ headers declare, such as `index` and `log`; with `cpp_namespace`, the namespace
of operators can have it.

    namespace: acme-ops
               ^^^^^^^^ write `acme_ops`
    operators: []
""",
)
TORCH_RANGE: Final = _code(
    5,
    "a range of releases that cannot be read",
    """
`torch` is a list of bounds with commas between them. Each has one of `>=`, `>`, `<=`, `<`, `==` and `!=` and a release.
A release without a patch number stands for all its patch releases.

    namespace: acme
    torch: "2.10 and later"
            ^^^^^^^^^^^^^^ write `>=2.10`
    operators: []
""",
)
TORCH_EXCLUDED: Final = _code(
    6,
    "a library is not for this release of PyTorch",
    """
The head of the library file says which releases of PyTorch the library is for, and the run is for another one.

    namespace: acme
    torch: ">=2.10,<2.12"
            ^^^^^^^^^^^^ this run is for PyTorch 2.13.0
    operators: []

Generate for another release with `--torch` or `--release`, or extend the range after testing the library.
""",
)
OPERATOR_EXISTS: Final = _code(
    7,
    "PyTorch already has the operator",
    """
An operator of this name is part of the release, so registering it again fails when the library is loaded.

    - func: aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
            ^^^^^^^^^^^^^^^^ PyTorch has it

Use a namespace of your own. To replace a kernel of PyTorch's operator, write a backend instead of a library.
""",
)
KERNEL_TWICE: Final = _code(
    8,
    "two operators have the same kernel",
    """
Two operators with the same arguments and results name the same C++ function, so they do the same. Usually the name was
not changed after copying an entry.

    - func: sine(Tensor self) -> Tensor
      dispatch:
        CPU: sine_cpu
    - func: cosine(Tensor self) -> Tensor
      dispatch:
        CPU: sine_cpu
             ^^^^^^^^ the kernel of `sine`

If one operator should be another name of the other, give it a kernel that calls it. A structured kernel serves one
operation, because it is a class with the arguments of that operation.
""",
)
UNKNOWN_ABI: Final = _code(
    9,
    "unknown C++ interface",
    """
`abi` says which of PyTorch's C++ interfaces the library uses: `native` for all of them, `stable` for the one that stays
compatible between releases.

    namespace: acme
    abi: stabel
         ^^^^^^ write `stable`
    operators: []
""",
)
HEADS_DIFFER: Final = _code(
    16,
    "two library files disagree about a namespace",
    """
The operators of a namespace may be in several files. Their heads then say the same of it, or only one of them says it.
Two namespaces cannot share a C++ namespace, because their headers would have the same names.

    namespace: acme
    cpp_namespace: acme::more
                   ^^^^^^^^^^ another file says `acme::ops`
    operators: []
""",
)
AUTOCAST_POLICY: Final = _code(
    10,
    "unknown autocast policy",
    """
PyTorch has five policies for operators under autocast: `lower_precision_fp`, `fp32`, `fp32_set_opt_dtype`,
`fp32_append_dtype` and `promote`.

    - func: attend(Tensor query, Tensor key) -> Tensor
      autocast: lower_precision
                ^^^^^^^^^^^^^^^ write `lower_precision_fp`
""",
)
AUTOCAST_DEVICE: Final = _code(
    11,
    "autocast for a device that has none",
    """
Where the policies of an operator differ between devices, `autocast` is a mapping from devices to policies. Each device
is one for which PyTorch has an Autocast key.

    - func: attend(Tensor query, Tensor key) -> Tensor
      autocast: {GPU: lower_precision_fp}
                 ^^^ write `CUDA`
""",
)
AUTOCAST_SCHEMA: Final = _code(
    12,
    "an autocast policy that does not fit the operator",
    """
Autocast passes copies of the tensors in another dtype, so it serves only operators that write to none of their
arguments. `fp32_set_opt_dtype` needs an argument of type `ScalarType?`, and `fp32_append_dtype` an overload that takes
the same arguments and a `ScalarType` after them.

    - func: scale_(Tensor(a!) self, float factor) -> Tensor(a!)
      autocast: fp32
                ^^^^ it would scale a copy
""",
)
BATCH_RULE: Final = _code(
    13,
    "a batch rule that is not the name of a function",
    """
`batch_rule` names the C++ function that `vmap` calls instead of the operator. A name without a namespace is in that of
the library's kernels.

    - func: scale(Tensor self, float factor) -> Tensor
      batch_rule: scale batch rule
                  ^^^^^^^^^^^^^^^^ write `scale_batch_rule`

Operators that take and return tensors, and write to no other argument than the first, can have a rule, and so can
operators that return nothing. It takes after each tensor the index of its batch dimension, and returns a tuple with
such an index after each result.
""",
)
SAMPLE_SYNTAX: Final = _code(
    14,
    "a sample that is not a list of arguments",
    """
A sample is the Python text of the arguments of a call, which generated tests make.

    - func: scale(Tensor self, float factor) -> Tensor
      samples: "torch.randn(3, 2.0"
                           ^ not closed
""",
)
SAMPLE_ARGUMENTS: Final = _code(
    15,
    "a sample does not fit the schema",
    """
A sample has an argument for each parameter of the operator that has no default, and no others.

    - func: scale(Tensor self, float factor) -> Tensor
      samples: "torch.randn(3), facter=2.0"
                                ^^^^^^ did you mean `factor`?

Samples of out overloads leave out the out arguments, which the tests make.
""",
)
NEAR_NAMESPACE: Final = _code(
    17,
    "a namespace that is nearly that of the head",
    """
A file may have operators of several namespaces, each of which becomes a library. A namespace that differs in a letter
from the one in the head is usually misspelt.

    namespace: acme
    operators:
      - func: acne::scale(Tensor self, float factor) -> Tensor
              ^^^^ did you mean `acme`?

If both namespaces are meant, put their operators into two files.
""",
    "W",
)
C_SHIM_DEVICE: Final = _code(
    18,
    "C shims for a device that has none",
    """
`c_shims` names the devices for which AOTInductor gets C functions that call the operators, as it names the devices.

    namespace: acme
    c_shims: [cpu, CUDA]
                   ^^^^ write `cuda`
    operators: []

Models for other devices find the operators by their names, and need no shim.
""",
)
HEADER_PATH: Final = _code(
    21,
    "not the path of a header",
    """
`includes` and `derivative_includes` name headers as `#include` does, without the brackets or quotes around the path. A
path has no quotes, angle brackets, backslashes or line breaks, which would end the `#include`.

    namespace: acme
    includes: [<acme/kernels.h>]
               ^^^^^^^^^^^^^^^^ write `acme/kernels.h`
    operators: []
""",
)
NO_CONVERSION: Final = _code(
    22,
    "an operator that generated code cannot call",
    """
Generated kernels pass on the arguments that they get: to the operator that a view consists of, to the functional form
of an operator, or to a structured kernel. Arguments of some types exist in C++ only as references to values of the
caller, and cannot be passed on in another form. The same holds for an argument that has no counterpart in the operator
that is called.

    - func: rows(Tensor(a) self, float[][] weights) -> Tensor(a)
            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ a view keeps its arguments
    - func: rows_copy(Tensor self, float[][] weights) -> Tensor
      tags: view_copy

Choose another type for the argument, or give the operator a kernel for `CompositeImplicitAutograd`.
""",
)
NO_SHAPES: Final = _code(
    19,
    "an operator without shapes",
    """
While PyTorch traces a function, for `torch.compile` or `torch.export`, operators compute only sizes and dtypes. If no
kernel of an operator does that, tracing fails:

    - func: transform(Tensor self) -> Tensor
            ^^^^^^^^^ declare `outputs: like(self)`
      dispatch:
        CPU: transform_cpu

Declared outputs say it in the entry. A kernel for `Meta` says it in C++; composite kernels and the shape functions of
structured kernels say it too.
""",
    "W",
)
PYTHON_PACKAGE: Final = _code(
    20,
    "a Python package that no program can import",
    """
`python_package` is the package that gets the Python functions, as programs import it: names with dots between them. A
project may be called `acme-ops`; its package cannot.

    namespace: acme
    python_package: acme-ops
                    ^^^^^^^^ write `acme_ops`
    operators: []
""",
)
DERIVATIVES_FILE: Final = _code(
    80,
    "the file with the derivatives of a library cannot be read",
    """
The head of a library file names the file with the derivatives of its operators, by a path relative to the library file:

    namespace: acme
    derivatives: derivative.yaml
                 ^^^^^^^^^^^^^^^ there is no such file
    operators: []
""",
)
DERIVATIVE_ELSEWHERE: Final = _code(
    81,
    "a derivative of an operator of another library",
    """
A library has derivatives for its own operators. PyTorch's operators have theirs in PyTorch.

    - name: aten::scale(Tensor self, float factor) -> Tensor
            ^^^^ write `acme::scale`, or no namespace
      self: grad * factor
""",
)
DERIVATIVE_HIDDEN: Final = _code(
    83,
    "derivatives of an operator with a kernel for autograd",
    """
A kernel under `Autograd`, or the Autograd key of a device, computes the gradients of an operator itself. Derivatives
would give the operator a second kernel for the same calls:

    - name: scale(Tensor self, float factor) -> Tensor
      self: grad * factor
            ^^^^^^^^^^^^^ the entry of `scale` has `dispatch: {CPU: scale_cpu, Autograd: scale_autograd}`
""",
)
UNEXPORTED_HELPER: Final = _code(
    82,
    "a formula calls a function that PyTorch does not export",
    """
The formulas of PyTorch's own operators call functions such as `pow_backward`, which are inside PyTorch's shared objects
and cannot be called from outside. Write the formula with operators, or write the function yourself, declare it in a
header, and name the header in the head of the library file:

    - name: raise(Tensor self, Scalar exponent) -> Tensor
      self: pow_backward(grad, self, exponent)
            ^^^^^^^^^^^^ write `grad * (exponent * self.pow(exponent - 1)).conj()`
""",
)
