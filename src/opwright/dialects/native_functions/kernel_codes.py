"""The codes of mistakes in the kernels of an entry, its dispatch table, structured kernels and ufuncs: E03xx."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register


def _code(number: int, title: str, explanation: str) -> str:
    return register(Code(f"E03{number:02}", title, explanation))


UNKNOWN_KEY: Final = _code(
    10,
    "unknown dispatch key",
    """
The keys of `dispatch` are names of dispatch keys; one line may name several, separated by commas.

    dispatch:
      CPU, CUDAA: relu
           ^^^^^ did you mean `CUDA`?
""",
)
UNSUPPORTED_KEY: Final = _code(
    11,
    "dispatch key that an entry cannot have a kernel for",
    """
Registrations are generated for the backends and the composites that PyTorch builds itself. Other keys exist, such as
`Autograd` or `Tracer`, but their kernels are generated from other inputs or registered by hand.

    - func: zero(Tensor self) -> Tensor
      dispatch:
        CPU: zero_cpu
        Autograd: zero_cpu
        ^^^^^^^^
""",
)
KEY_TWICE: Final = _code(
    12,
    "two kernels for one dispatch key",
    """
Each dispatch key has one kernel; a second line for the key would silently replace the first:

    dispatch:
      CPU, CUDA: relu
      CPU: relu_cpu
      ^^^ a second kernel for CPU
""",
)
KERNEL_NAME: Final = _code(
    13,
    "wrong kernel name",
    """
The name of a kernel is a C++ identifier, `relu_cpu`, or one with namespaces, `mine::relu_cpu`. Other names lead to code
that does not compile.

    - func: zero(Tensor self) -> Tensor
      dispatch:
        CPU: 7
             ^
""",
)
KERNEL_NAMESPACE: Final = _code(
    14,
    "too many namespaces before a kernel",
    """
A kernel's name has at most two namespaces: `one::two::kernel`. Generated code then calls it in `one::two::native`.

    - func: zero(Tensor self) -> Tensor
      dispatch:
        CPU: one::two::three::zero_cpu
             ^^^^^^^^^^^^^^^^^^^^^^^^^
""",
)
MANUAL_DISPATCH: Final = _code(
    15,
    "dispatch with manual registration",
    """
With `manual_kernel_registration: True` Opwright generates no registrations of kernels, so `dispatch` has no effect.
Delete one of the two.

    - func: zero(Tensor self) -> Tensor
      manual_kernel_registration: True
      dispatch:
      ^^^^^^^^
        CPU: zero_cpu
""",
)
REDUNDANT_DISPATCH: Final = _code(
    16,
    "needless dispatch table",
    """
An entry without `dispatch` has one kernel, under CompositeImplicitAutograd, named as the operator is in C++. A table
that says the same is redundant:

    - func: relu6(Tensor self) -> Tensor
      dispatch:
        CompositeImplicitAutograd: relu6
""",
)
IMPLICIT_NAME: Final = _code(
    17,
    "single composite kernel with a different name",
    """
If CompositeImplicitAutograd has the only kernel, the kernel has the operator's C++ name, so the table is not needed.
Kernels that take symbolic integers (`_symint` in their name) are an exception.

    - func: zero(Tensor self) -> Tensor
      dispatch:
        CompositeImplicitAutograd: zero_other
                                   ^^^^^^^^^^
""",
)
COMPOSITES: Final = _code(
    18,
    "several composite kernels",
    """
CompositeExplicitAutograd, CompositeExplicitAutogradNonFunctional and CompositeImplicitAutograd each serve all backends,
so a function has a kernel for only one of them. CompositeImplicitAutogradNestedTensor may be used together with the
first or the last.

To give a function a derivative formula, use CompositeExplicitAutograd; otherwise CompositeImplicitAutograd.

    - func: zero(Tensor self) -> Tensor
      dispatch:
        CompositeExplicitAutograd: zero_explicit
        CompositeImplicitAutograd: zero
        ^^^^^^^^^^^^^^^^^^^^^^^^^
""",
)
FACTORY_DISPATCH: Final = _code(
    19,
    "factory function without dispatch",
    """
Functions that make tensors from nothing (`new_*`, `*_like`, and those that take dtype, layout, device and pin_memory
but no tensor) must not be decomposed before `__torch_dispatch__` sees them. They need their own kernel:

    dispatch:
      CompositeExplicitAutograd: full
""",
)
STRUCTURED_OUT: Final = _code(
    21,
    "structured on an overload that is not the out one",
    """
A structured kernel exists once, for the out overload, which has `structured: True`. The functional and the in-place
overload have `structured_delegate: NAME.out`.

    - func: scale(Tensor self) -> Tensor
      structured: True
      ^^^^^^^^^^
""",
)
STRUCTURED_GUARD: Final = _code(
    22,
    "structured kernel without device guard",
    """
The classes generated for structured kernels always hold a device guard; `device_guard: False` would have no effect.

    - func: scale(Tensor self) -> Tensor
      structured_delegate: scale.out
    - func: scale.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
      structured: True
      device_guard: False
                    ^^^^^
""",
)
DELEGATE_OUT: Final = _code(
    23,
    "out overload that delegates",
    """
Functional and in-place overloads have `structured_delegate`, which names the out overload. The out overload itself has
`structured: True`.

    - func: scale.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
      structured_delegate: scale.other_out
      ^^^^^^^^^^^^^^^^^^^
""",
)
STRUCTURED_BOTH: Final = _code(
    24,
    "structured and delegating at once",
    """
An overload is structured (the out overload) or delegates to the one that is. It cannot do both.

    - func: scale.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
      structured: True
      structured_delegate: scale.other_out
      ^^^^^^^^^^^^^^^^^^^
""",
)
DELEGATE_NAMESPACE: Final = _code(
    25,
    "namespace in structured_delegate",
    """
An overload delegates to the out overload of the same operation, which is in the same namespace. Write its name without
the namespace: `structured_delegate: add.out`.

    - func: scale(Tensor self) -> Tensor
      structured_delegate: aten::scale.out
                           ^^^^^^^^^^^^^^^
""",
)
DELEGATE_DISPATCH: Final = _code(
    26,
    "kernel on an overload that delegates",
    """
CPU, CUDA, MPS, XPU and MTIA kernels of an operation with `structured_delegate` are generated from the structured
kernel of its out overload. Name the kernel there.

    - func: scale(Tensor self) -> Tensor
      structured_delegate: scale.out
      dispatch:
        SparseCPU, CPU: scale_cpu
                   ^^^
    - func: scale.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
      structured: True
""",
)
INHERITS: Final = _code(
    27,
    "wrong structured_inherits",
    """
`structured_inherits` names the class that the generated meta class derives from, such as `TensorIteratorBase`. It
requires `structured: True` and has no namespace.

    - func: scale(Tensor self) -> Tensor
      structured_inherits: TensorIteratorBase
      ^^^^^^^^^^^^^^^^^^^
""",
)
PRECOMPUTED_STRUCTURED: Final = _code(
    28,
    "precomputed values on a function that is not structured",
    """
`precomputed` lists what the `meta` of a structured kernel passes to its `impl`. Only an entry with `structured: True`
has these two functions.

    - func: scale(Tensor self, int size) -> Tensor
      precomputed:
      ^^^^^^^^^^^
        - size -> int height
""",
)
PRECOMPUTED: Final = _code(
    29,
    "wrong line in precomputed",
    """
`precomputed` is a list of lines. Each replaces an argument of the kernel with others; the last may have no arrow, and
then adds arguments:

    precomputed:
      - kernel_size -> int poolSizeT, int poolSizeH
      - int outputHeight, int outputWidth
""",
)
PRECOMPUTED_ARGUMENT: Final = _code(
    31,
    "precomputed values replace no argument",
    """
The name before the arrow is an argument of the kernel, which the precomputed values replace:

    - func: max_pool.out(Tensor self, int size, *, Tensor(a!) out) -> Tensor(a!)
      precomputed:
        - sise -> int height, int width
          ^^^^ not an argument
""",
)
PRECOMPUTED_NAME: Final = _code(
    30,
    "precomputed name in upper case",
    """
Each precomputed name, in upper case, becomes a template parameter. A name that is already in upper case would collide
with its parameter.

    - func: scale(Tensor self, int size) -> Tensor
      structured_delegate: scale.out
    - func: scale.out(Tensor self, int size, *, Tensor(a!) out) -> Tensor(a!)
      structured: True
      precomputed:
        - size -> int HEIGHT
                  ^^^^^^^^^^
""",
)
UFUNC_STRUCTURED: Final = _code(
    40,
    "loops on a function that is not structured",
    """
`ufunc_inner_loop` makes the `impl` of a structured kernel, so the entry needs `structured: True`.

    - func: scale.Tensor(Tensor self) -> Tensor
      ufunc_inner_loop: scale (Float)
      ^^^^^^^^^^^^^^^^
""",
)
UFUNC_LOOP: Final = _code(
    41,
    "wrong inner loop",
    """
A loop is the name of a C++ function template and the dtypes that it supports:

    ufunc_inner_loop:
      Generic: add (AllAndComplex, BFloat16, Half, ComplexHalf)
""",
)
UFUNC_KEY: Final = _code(
    42,
    "unknown kind of loop",
    """
A loop is for Generic (all), ScalarOnly (all except vectorized CPU loops), or one of CUDAFunctor, CUDAFunctorOnOther,
CUDAFunctorOnSelf, CPUScalar, CPUVector.

    - func: scale(Tensor self) -> Tensor
      structured_delegate: scale.out
    - func: scale.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
      structured: True
      ufunc_inner_loop:
        Genric: scale (Float)
        ^^^^^^
""",
)
UFUNC_DTYPE: Final = _code(
    43,
    "unknown dtype",
    """
The dtypes of a loop are names such as Float or BFloat16, or one of the classes Integral, Floating, Complex, All,
AllAndComplex, FloatingAndComplex.

    - func: scale(Tensor self) -> Tensor
      structured_delegate: scale.out
    - func: scale.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
      structured: True
      ufunc_inner_loop: scale (All, Flaot)
                                    ^^^^^
""",
)
UFUNC_DISPATCH: Final = _code(
    44,
    "kernel in addition to loops",
    """
`ufunc_inner_loop` makes the CPU and the CUDA kernel of a function; `dispatch` must not name them too.

    - func: scale(Tensor self) -> Tensor
      structured_delegate: scale.out
    - func: scale.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
      structured: True
      ufunc_inner_loop: scale (All)
      dispatch:
        CUDA: scale_cuda
        ^^^^
""",
)
