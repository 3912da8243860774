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
    "dispatch beside manual registration",
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
    "lone composite kernel with a name of its own",
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
A function that draws random numbers gives another result with another seed. Opwright recognises it by its name (`rand`,
`dropout`) or its arguments (a `Generator`, an argument named dropout). It needs the tag:

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
    "unknown place of a loop",
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
    "kernel beside loops",
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
