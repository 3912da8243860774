"""The codes of mistakes in ExecuTorch's YAML files and of what cannot be generated from them: E190x to E193x."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register


def _code(number: int, title: str, explanation: str, letter: str = "E") -> str:
    return register(Code(f"{letter}19{number:02}", title, explanation))


#: What the page of a warning says before the page of its error.
_TOLERATED: Final = "ExecuTorch's own program lets this pass, and so does the drop-in program without `--strict`;"


def _warning(number: int, title: str, explanation: str) -> tuple[str, str]:
    """The codes of a mistake that is an error, and a warning in runs that write what ExecuTorch's own program does."""
    error = _code(number, title, explanation)
    page = f"\n{_TOLERATED}\nelsewhere it is an error, {error}.\n\n{explanation.lstrip(chr(10))}"
    return error, _code(number, title, page, "W")


FILE_SHAPE: Final = _code(
    1,
    "a file of ExecuTorch is not a list of operators",
    """
`functions.yaml` and `custom_ops.yaml` are lists. Each item is a mapping with the operator and its kernels:

    - op: add.out
      kernels:
        - arg_meta: null
          kernel_name: torch::executor::add_out
""",
)
UNKNOWN_OPERATOR: Final = _code(
    2,
    "`op` names an operator that PyTorch does not have",
    """
`op` names an operator of `native_functions.yaml`, with its overload; `aten::` may be left out. Out overloads that
PyTorch generates count too.

    - op: add.outt
          ^^^^^^^^ did you mean `add.out`?

An operator that PyTorch does not have is written with its whole schema, as `func`.
""",
)
ENTRY_NAME: Final = _code(
    3,
    "an entry has no operator, or two",
    """
An entry has either `op`, the name of an operator of PyTorch, or `func`, a whole schema. In a file of custom operators
it has `func`.

    - op: add.out
      func: add.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
      ^^^^ delete `op` or `func`
""",
)
KERNEL_SHAPE: Final = _code(
    4,
    "a kernel is not described as expected",
    """
`kernels` is a list. Each item has `kernel_name`, and `arg_meta`, which is `null` for a kernel that serves all dtypes
and dim orders, and otherwise names a type alias and a dim-order alias for each argument:

    type_alias:
      T0: [Float, Double]
    dim_order_alias:
      D0: [0, 1, 2]
    kernels:
      - arg_meta:
          self: [T0, D0]
          out: [T0, D0]
        kernel_name: torch::executor::abs_out
""",
)
KERNEL_NAME: Final = _code(
    5,
    "the name of a kernel is not a C++ name with at most three namespaces",
    """
`kernel_name` is a C++ name with up to three namespaces. The kernel is in the namespace `native` inside the last of
them; without any, in `at::native`.

    kernel_name: torch::executor::add-out
                                  ^^^^^^^ not a C++ identifier
""",
)
UNDEFINED_ALIAS: Final = _code(
    6,
    "a kernel names an alias that is not defined",
    """
`arg_meta` names dtypes and dim orders by the aliases in `type_alias` and `dim_order_alias` of the entry; it does not
list them itself.

    type_alias:
      T0: [Float]
    kernels:
      - arg_meta:
          self: [T1, D0]
                 ^^ did you mean `T0`?
""",
)
UNKNOWN_DTYPE: Final = _code(
    7,
    "a dtype that kernel keys do not have",
    """
The keys of kernels know the dtypes Byte, Char, Short, Int, Long, Float, Double and Bool. ExecuTorch's own program fails
with a KeyError.

    type_alias:
      T0: [Half]
           ^^^^ no kernel key has this dtype
""",
)
REPEATED_KEY: Final = _code(
    8,
    "two kernels of an operator have the same key",
    """
Of two kernels for the same dtypes and dim orders, or of two default kernels, ExecuTorch could call either.

    kernels:
      - arg_meta: null
        kernel_name: mine::add_out
      - arg_meta: null
        kernel_name: mine::fast_add_out
                     ^^^^^^^^^^^^^^^^^^ the same key
""",
)
NO_TYPE: Final = _code(
    9,
    "ExecuTorch has no C++ type for a part of a schema",
    """
Kernels of ExecuTorch take and return tensors, numbers, texts, ScalarType, MemoryFormat, and optionals and lists of
these. A list of booleans has a size. There are no generators, devices, layouts or tensor options.

    - func: mine::fill(Tensor self, Generator? generator, *, Tensor(a!) out) -> Tensor(a!)
                                    ^^^^^^^^^^ ExecuTorch has no such type
""",
)
NO_RESULT: Final = _code(
    10,
    "an operator has neither returns nor `out` arguments",
    """
A boxed function ends with a result: a return, or an argument that the operator writes to. ExecuTorch cannot register
an operator that has neither.

    - func: mine::check(Tensor self) -> ()
            ^^^^^^^^^^^ add an `out` argument, or a return
""",
)
NO_STUB: Final = _code(
    11,
    "no stub can return what an operator returns",
    """
`RegisterCPUStub.cpp` has kernels for custom operators that compute nothing. They return the `out` arguments, an
argument of the type of the result, or empty tensors. There is no such value for other results.

    - func: mine::count(Tensor self) -> int
                                        ^^^ write the result to an `out` tensor
""",
)
MISSING_KERNEL: Final = _code(
    12,
    "a model needs a kernel that the operator does not have",
    """
A selection lists the dtypes and dim orders with which models call an operator (`et_kernel_metadata`). Each needs a
kernel with this key, or a default kernel, whose `arg_meta` is `null`.

    et_kernel_metadata:
      aten::add.out:
      - v1/3;0,1|3;0,1|3;0,1
        ^^^^^^^^^^^^^^^^^^^^ no kernel of `add.out` is for these
""",
)
NO_TEMPLATES: Final = _code(
    13,
    "a folder has no templates of ExecuTorch",
    """
ExecuTorch's program fills templates in the folder `templates` of the source path. Packages of ExecuTorch do not contain
them; they are in its sources, in the folder `codegen`.

    python -m opwright.torchgen.executorch -s executorch/codegen --functions-yaml-path functions.yaml ...

`opwright generate --executorch` has templates of its own and needs no sources.
""",
)
NO_FILE, NO_FILE_WARNING = _warning(
    14,
    "a file of operators does not exist",
    """
The file that a flag names does not exist, so its operators would silently be missing from the outputs.

    --functions-yaml-path kernels/portable/function.yaml
                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ there is no such file
""",
)
UNKNOWN_ARGUMENT, UNKNOWN_ARGUMENT_WARNING = _warning(
    15,
    "`arg_meta` names an argument that the operator does not have",
    """
Each name in `arg_meta` is that of an argument in the schema. A key with a place for another argument is never looked
up, so the kernel is never called.

    arg_meta:
      slef: [T0, D0]
      ^^^^ did you mean `self`?
""",
)
UNKNOWN_FIELD, UNKNOWN_FIELD_WARNING = _warning(
    16,
    "a kernel has an unknown field",
    """
An item of `kernels` has `arg_meta` and `kernel_name`, and nothing else has an effect.

    kernels:
      - arg_meta: null
        kernel_name: mine::add_out
        dtype: Float
        ^^^^^ delete the line
""",
)
NO_KERNEL, NO_KERNEL_WARNING = _warning(
    20,
    "an operator has no kernel",
    """
If any entry of a file has `kernels`, ExecuTorch's program takes kernels from this field alone. An entry without it is
declared, but never registered, and its function in `Functions.h` stops the program. The field `dispatch` of such an
entry has no effect there; Opwright uses it in runs that do not have to write the same bytes.

    - op: add.out
      kernels:
        - arg_meta: null
          kernel_name: mine::add_out
    - op: sub.out
          ^^^^^^^ add `kernels`
""",
)
OVERRIDDEN: Final = _code(
    21,
    "an operator is in both files",
    """
A custom kernel replaces the kernel of the same operator in `functions.yaml`. ExecuTorch's program writes the operator
twice: two equal functions in `Functions.h`, and two registrations with one key, which stop the program when it starts.

    - func: add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
            ^^^^^^^ delete this entry from `functions.yaml`

With `--strict`, and in `opwright generate`, the operator is written once, with the custom kernel.
""",
    "W",
)
SAME_NAME: Final = _code(
    22,
    "operators of two namespaces share their kernels",
    """
ExecuTorch's program finds kernels by the name of the operator without its namespace. If both files have an operator of
the name, the custom kernel is registered for both.

    - func: mine::add.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
            ^^^^^^^^^^^^^ also registered for `aten::add.out`

With `--strict`, and in `opwright generate`, each operator keeps its own kernel.
""",
    "W",
)
NOT_REGISTERED: Final = _code(
    23,
    "selected operators are not registered",
    """
The selection has the operator, but no key of a call in its `et_kernel_metadata`. ExecuTorch's program then declares the
operator and registers no kernel, so a model that calls it fails. This holds for all operators if they are named by
`--op-registration-whitelist`.

    operators:
      aten::add.out: {}
      ^^^^^^^^^^^^^ add its keys to `et_kernel_metadata`, for instance `[default]`

With `--strict`, and in `opwright generate`, all kernels of the operator are registered.
""",
    "W",
)
UNHELD_LIST, UNHELD_LIST_WARNING = _warning(
    24,
    "no value of ExecuTorch holds a list of this type",
    """
The values of ExecuTorch hold lists of tensors, optional tensors, integers, floats and booleans, and no other lists. For
others its program writes a loop over a variable that nothing declares, so the C++ file does not compile. In ATen mode a
list of booleans needs a size.

    - func: mine::scale(Tensor self, Scalar[] factors, *, Tensor(a!) out) -> Tensor(a!)
                                     ^^^^^^^^ write `float[]`
""",
)
SEVERAL_RESULTS, SEVERAL_RESULTS_WARNING = _warning(
    25,
    "a boxed function cannot return several values",
    """
An operator without `out` arguments returns its result in one value. ExecuTorch's program writes the conversion of a
tuple to a value, which does not compile.

    - func: mine::split(Tensor self) -> (Tensor, Tensor)
                                        ^^^^^^^^^^^^^^^^ write to `out` arguments
""",
)
KEY_ORDER: Final = _code(
    26,
    "the key of a kernel has the arguments in the wrong order",
    """
A key has the dtypes and dim orders of the tensors in the order of the schema. ExecuTorch's program sorts the arguments
of kernels in `functions.yaml` by name, so a kernel with different dtypes or dim orders gets a key that no call has. In
`custom_ops.yaml` it keeps the order in which they are written.

    arg_meta:
      self: [T0, D0]
      index: [T1, D0]
      ^^^^^ the key has `index` before `self`

With `--strict`, and in `opwright generate`, keys have the order of the schema.
""",
    "W",
)
SPECIAL_KERNEL: Final = _code(
    27,
    "a function calls nothing, because its operator has no default kernel",
    """
ExecuTorch's program calls the default kernel in `Functions.h`. If the only kernel of an operator is for certain dtypes
and dim orders, it writes `return ::::(...)`, which does not compile. Registrations do not use this header, unless the
program includes it.

    - op: add.out
      kernels:
        - arg_meta:
          ^^^^^^^^ for certain dtypes alone

With `--strict`, and in `opwright generate`, the function calls this kernel.
""",
    "W",
)
LAST_DISPATCH: Final = _code(
    28,
    "only one of several kernels in `dispatch` is used",
    """
An entry of the old style has its kernel in `dispatch`, for one key. Of several, ExecuTorch's program takes the one
whose key is the last to occur first in the file.

    - op: add.out
      dispatch:
        CPU: mine::add_out
        CUDA: mine::add_out_cuda
        ^^^^ delete the line

With `--strict`, and in `opwright generate`, the kernel for `CPU` is used if there is one.
""",
    "W",
)
NO_FILES: Final = _code(
    29,
    "no file of operators is named",
    """
Without `--functions-yaml-path` and `--custom-ops-yaml-path`, the outputs have no operators.

    python -m opwright.torchgen.executorch -s executorch/codegen --tags-path tags.yaml
                                           ^ name a file of operators
""",
    "W",
)
REPEATED_VARIABLE: Final = _code(
    30,
    "two lists of booleans declare the same variable",
    """
In ATen mode ExecuTorch's program declares a variable `_i` for each list of booleans, so a function with two of them
does not compile.

    - func: mine::mask(Tensor self, bool[2] rows, bool[2] columns, *, Tensor(a!) out) -> Tensor(a!)
                                                  ^^^^^^^^^^^^^^^ the second list

With `--strict`, and in `opwright generate`, each list has a variable of its own.
""",
    "W",
)
NO_ARGUMENTS: Final = _code(
    31,
    "a call has a comma after its only argument",
    """
ExecuTorch's program writes `kernel(context, )` for an operator without arguments, which does not compile.

    - func: mine::now() -> Tensor
            ^^^^^^^^^^^ takes nothing

With `--strict`, and in `opwright generate`, the comma is left out.
""",
    "W",
)
ONE_DIMENSION: Final = _code(
    32,
    "the key of a kernel has a comma after a single dimension",
    """
ExecuTorch's program writes the dim order of a tensor with one dimension as `0,`. The key of a call has `0`, so the
kernel is never called.

    dim_order_alias:
      D0: [0]
      ^^ a single dimension

With `--strict`, and in `opwright generate`, the comma is left out.
""",
    "W",
)
LOST_NAMESPACE: Final = _code(
    33,
    "an operator loses its namespace",
    """
ExecuTorch's program takes the schema of the operator that `op` names, without its namespace, so the operator is
registered in `aten`.

    - op: mine::add.out
          ^^^^^^^^^^^^^ registered as `aten::add.out`

With `--strict`, and in `opwright generate`, the operator keeps its namespace.
""",
    "W",
)
