"""The codes of operators whose nodes or kernels cannot be generated: E161x."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register


def _code(number: int, title: str, explanation: str, letter: str = "E") -> str:
    return register(Code(f"{letter}16{number:02}", title, explanation))


ARGUMENT_TYPE: Final = _code(
    11,
    "argument of a type that nodes cannot have",
    """
Nodes of graphs of lazy tensors keep tensors, numbers, texts, booleans, dtypes, devices, generators, layouts, memory
formats, and optionals and lists of these. They have no form for others, such as storages and streams.

    full_codegen:
    - set_.source_Storage
      ^^^^^^^^^^^^^^^^^^^ `source` is a `Storage`

Write the kernel by hand: move the operator to `supported`.
""",
)
INPUT_LIST: Final = _code(
    12,
    "list that cannot be an input of a node",
    """
A list of tensors is one input of a node. Lists of optional tensors cannot be inputs, and kernels cannot make inputs
from lists of numbers.

    full_codegen:
    - index.Tensor
      ^^^^^^^^^^^^ `indices` is a `Tensor?[]`

Write the kernel by hand: move the operator to `supported`.
""",
)
SEVERAL_GENERATORS: Final = _code(
    13,
    "several generators of random numbers",
    """
PyTorch's generator takes one keyword-only argument of the type `Generator` in operators with lazy tensors.

    full_codegen:
    - shuffle
      ^^^^^^^ has `first` and `second`

Write the kernel by hand: move the operator to `supported`.
""",
)
NO_DEVICE: Final = _code(
    14,
    "kernel that cannot tell its device",
    """
A kernel of lazy tensors takes its device from its tensors, from its symbolic integers, or from an argument of the type
`Device?`. This operator has none of them.

    full_codegen:
    - _cufft_get_plan_cache_size
      ^^^^^^^^^^^^^^^^^^^^^^^^^^ has neither tensors nor a device

Write the kernel by hand: move the operator to `supported`.
""",
)
RESULT_COUNT: Final = _code(
    15,
    "overload that writes several results, or none",
    """
The kernel of an in-place or out overload replaces the value of one tensor, and returns that tensor. It cannot do so for
several, or for lists, which are not returned.

    full_codegen:
    - max.dim_max
      ^^^^^^^^^^^ returns 2 results

Leave the overload out: PyTorch makes it from the functional one. Or write the kernel by hand, in `supported`.
""",
)
RESULTS_WITHOUT_TENSOR: Final = _code(
    16,
    "results of a kernel without tensors",
    """
A kernel with several results needs a tensor among its arguments, and so does every kernel of a backend that makes
results from its first tensor. This operator takes no tensor.

    full_codegen:
    - make_pair
      ^^^^^^^^^ makes 2 results, and takes no tensor

Write the kernel by hand: move the operator to `supported`.
""",
)
COPY_WITHOUT_KERNEL: Final = _code(
    17,
    "view copy without the kernel that gives its shapes",
    """
The shapes of the copying form of a view come from its CompositeExplicitAutogradNonFunctional kernel. This operator has
the tag `view_copy`, and no such kernel.

    full_codegen:
    - frob_copy
      ^^^^^^^^^ has no CompositeExplicitAutogradNonFunctional kernel

Add the kernel to the operator's `dispatch` in `native_functions.yaml`.
""",
)
NO_SHAPE_FUNCTION: Final = _code(
    18,
    "missing shape function",
    """
PyTorch has functions for the shapes of structured operators and of view copies. For other operators, a header declares
a shape function, on one line and exactly in the form that the help shows:

    full_codegen:
    - isnan
      ^^^^^ `shape_inference.h` does not declare `compute_shape_isnan`

Declare the function in the header, and define it in the source beside it.
""",
)
RESULT_TYPE: Final = _code(
    19,
    "kernel with results that are not tensors",
    """
A generated kernel returns lazy tensors. C++ code that returns them for other types, or for lists, does not compile.

    full_codegen:
    - unbind_copy.int
      ^^^^^^^^^^^^^^^ returns a `Tensor[]`

PyTorch's generator lets this pass. Write the kernel by hand: move the operator to `supported`.
""",
    "W",
)
SAME_CLASS: Final = _code(
    20,
    "two nodes of the same class",
    """
The class of a node is named after its operator and overload, without underscores. In-place and functional overloads
have the same class, which is defined twice if both are listed. That does not compile.

    full_codegen:
    - relu
    - relu_
      ^^^^^ the class `Relu` is that of `relu`

PyTorch's generator lets this pass. Delete one of the entries: an in-place overload without an entry copies the result
of the functional one.
""",
    "W",
)
