"""The codes of mistakes in `native_functions.yaml` and `tags.yaml`: E03xx within an entry, E04xx between entries."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register


def _entry(number: int, title: str, explanation: str) -> str:
    return register(Code(f"E03{number:02}", title, explanation))


def _cross(number: int, title: str, explanation: str) -> str:
    return register(Code(f"E04{number:02}", title, explanation))


ENTRY_SHAPE: Final = _entry(
    1,
    "an entry is not a mapping",
    """
Each item of `native_functions.yaml` is a mapping of fields, of which `func` is the one that must be there:

    - func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
      variants: function, method
""",
)
NO_SCHEMA: Final = _entry(
    2,
    "an entry has no schema",
    """
The field `func` holds the schema of the overload, and every entry has it. A frequent cause is a `-` too much, which
makes two entries of one:

    - func: relu(Tensor self) -> Tensor
    - variants: function
      ^^^^^^^^^^^^^^^^^^ an entry without `func`
""",
)
UNKNOWN_FIELD: Final = _entry(
    3,
    "unknown field",
    """
The fields of an entry are func, variants, dispatch, autogen, device_check, tags, structured, structured_delegate,
structured_inherits, precomputed, ufunc_inner_loop, cpp_no_default_args, device_guard,
use_const_ref_for_mutable_tensors, python_module, category_override, manual_cpp_binding and
manual_kernel_registration. A field that is not among them would have no effect.

    - func: relu(Tensor self) -> Tensor
      variant: function, method
      ^^^^^^^ did you mean `variants`?
""",
)
NAMESPACE: Final = _entry(
    4,
    "an operator has more than one namespace",
    """
An operator stands in one namespace, `aten` where none is named:

    - func: mine::relu(Tensor self) -> Tensor

Nested ones, such as `mine::deep::relu`, cannot be registered with the dispatcher.
""",
)
VARIANT: Final = _entry(
    5,
    "unknown variant",
    """
`variants` says where the C++ API has the overload: `function`, `method`, or `function, method` (parted by a comma and
one blank). Without the field there is a function.
""",
)
DEVICE_CHECK: Final = _entry(
    6,
    "unknown device check",
    """
`device_check` says whether generated wrappers check that all tensors are on one device: `ExactSame` (what holds
without the field) or `NoCheck`.
""",
)
UNKNOWN_KEY: Final = _entry(
    10,
    "unknown dispatch key",
    """
The keys of `dispatch` are names of dispatch keys; one line may name several, parted by commas.

    dispatch:
      CPU, CUDAA: relu
           ^^^^^ did you mean `CUDA`?
""",
)
UNSUPPORTED_KEY: Final = _entry(
    11,
    "dispatch key that an entry cannot have a kernel for",
    """
Registrations are generated for the backends and the composites that PyTorch builds itself. Other keys exist, such as
`Autograd` or `Tracer`, but their kernels are generated from other inputs or registered by hand.
""",
)
KEY_TWICE: Final = _entry(
    12,
    "two kernels for one dispatch key",
    """
Each dispatch key has one kernel, and a second line for it would silently win:

    dispatch:
      CPU, CUDA: relu
      CPU: relu_cpu
      ^^^ which one is it?
""",
)
KERNEL_NAME: Final = _entry(
    13,
    "wrong kernel name",
    """
A kernel is named by a C++ identifier, `relu_cpu`, or by one with namespaces, `mine::relu_cpu`. What is generated from
the name would not compile otherwise.
""",
)
KERNEL_NAMESPACE: Final = _entry(
    14,
    "too many namespaces before a kernel",
    """
A kernel's name has three namespaces at most: `one::two::three::kernel`. The kernel is then looked for in
`one::two::three::native`.
""",
)
MANUAL_DISPATCH: Final = _entry(
    15,
    "dispatch beside manual registration",
    """
With `manual_kernel_registration: True` nothing is generated that registers kernels, so `dispatch` has no effect.
Delete one of the two.
""",
)
REDUNDANT_DISPATCH: Final = _entry(
    16,
    "needless dispatch table",
    """
An entry without `dispatch` has one kernel, under CompositeImplicitAutograd, named as the operator is in C++. A table
that says the same is noise:

    - func: relu6(Tensor self) -> Tensor
      dispatch:
        CompositeImplicitAutograd: relu6
""",
)
IMPLICIT_NAME: Final = _entry(
    17,
    "lone composite kernel with a name of its own",
    """
Where CompositeImplicitAutograd has the only kernel, it is named as the operator is in C++, so that the table can be
left out. Kernels that take symbolic integers (`_symint` in their name) are excepted.
""",
)
COMPOSITES: Final = _entry(
    18,
    "several composite kernels",
    """
CompositeExplicitAutograd, CompositeExplicitAutogradNonFunctional and CompositeImplicitAutograd each serve all
backends, so one function has a kernel for one of them. CompositeImplicitAutogradNestedTensor may stand beside the
first or the last.

To give a function a derivative formula, use CompositeExplicitAutograd; otherwise CompositeImplicitAutograd.
""",
)
FACTORY_DISPATCH: Final = _entry(
    19,
    "factory function without dispatch",
    """
Functions that make tensors from nothing (`new_*`, `*_like`, and those that take dtype, layout, device and pin_memory
but no tensor) must not be decomposed before `__torch_dispatch__` sees them. They need a kernel of their own:

    dispatch:
      CompositeExplicitAutograd: full
""",
)
OUT_METHOD: Final = _entry(
    20,
    "out overload that is not just a function",
    """
An overload with out arguments has `variants: function`, or no `variants`. As a method it would trip over Python's
argument binding: the result would be undefined.
""",
)
STRUCTURED_OUT: Final = _entry(
    21,
    "structured on an overload that is not the out one",
    """
A structured kernel is written once, for the out overload, which has `structured: True`. The functional and the
in-place overload say `structured_delegate: NAME.out`.
""",
)
STRUCTURED_GUARD: Final = _entry(
    22,
    "structured kernel without device guard",
    """
The classes generated for structured kernels always hold a device guard; `device_guard: False` would not be respected.
""",
)
DELEGATE_OUT: Final = _entry(
    23,
    "out overload that delegates",
    """
`structured_delegate` stands on functional and in-place overloads and names the out overload. The out overload itself
has `structured: True`.
""",
)
STRUCTURED_BOTH: Final = _entry(
    24,
    "structured and delegating at once",
    """
An overload is structured (the out overload) or delegates to the one that is. It cannot do both.
""",
)
DELEGATE_NAMESPACE: Final = _entry(
    25,
    "namespace in structured_delegate",
    """
An overload delegates to the out overload of the same operation, which stands in the same namespace. The name is
written without it: `structured_delegate: add.out`.
""",
)
DELEGATE_DISPATCH: Final = _entry(
    26,
    "kernel on an overload that delegates",
    """
CPU, CUDA, MPS, XPU and MTIA kernels of an operation with `structured_delegate` are generated from the structured
kernel of its out overload. Name the kernel there.
""",
)
INHERITS: Final = _entry(
    27,
    "wrong structured_inherits",
    """
`structured_inherits` names the class that the generated meta class derives from, such as `TensorIteratorBase`. It
stands beside `structured: True` and has no namespace.
""",
)
PRECOMPUTED_STRUCTURED: Final = _entry(
    28,
    "precomputed values on a function that is not structured",
    """
`precomputed` lists what the `meta` of a structured kernel hands to its `impl`. Only an entry with `structured: True`
has the two.
""",
)
PRECOMPUTED: Final = _entry(
    29,
    "wrong line in precomputed",
    """
`precomputed` is a list of lines. Each replaces an argument of the kernel by others; the last may have no arrow, and
adds arguments:

    precomputed:
      - kernel_size -> int poolSizeT, int poolSizeH
      - int outputHeight, int outputWidth
""",
)
PRECOMPUTED_ARGUMENT: Final = _entry(
    31,
    "precomputed values replace no argument",
    """
What stands before the arrow is the name of an argument of the kernel, which the precomputed values take the place of:

    - func: max_pool.out(Tensor self, int size, *, Tensor(a!) out) -> Tensor(a!)
      precomputed:
        - sise -> int height, int width
          ^^^^ not an argument
""",
)
PRECOMPUTED_NAME: Final = _entry(
    30,
    "precomputed name in upper case",
    """
A template parameter is made from each precomputed name by turning it to upper case. A name that is upper case already
would collide with it.
""",
)
MODULE_METHOD: Final = _entry(
    32,
    "function of a Python module as a method",
    """
`python_module: nn` and the like put the function into that module instead of `torch`; it cannot be a method of
tensors at the same time.
""",
)
NO_DEFAULT: Final = _entry(
    33,
    "cpp_no_default_args names an argument without default",
    """
`cpp_no_default_args` lists arguments whose default is left out in C++, so each must be an argument of the schema that
has a default.
""",
)
CONST_REF_OUT: Final = _entry(
    34,
    "const references on an out overload",
    """
`use_const_ref_for_mutable_tensors` passes written tensors as `const Tensor &`. The C++ API of out overloads relies on
`Tensor &`, so that they cannot have it.
""",
)
UNKNOWN_TAG: Final = _entry(
    35,
    "unknown tag",
    """
Tags are defined in `tags.yaml`, with a description each. Add the tag there, or correct its name.
""",
)
TAG_TYPE: Final = _entry(
    36,
    "a tag is not a name",
    """
`tags` is a tag, or a list of tags: `tags: core`, `tags: [core, pointwise]`.
""",
)
SEED_TAG: Final = _entry(
    37,
    "missing tag nondeterministic_seeded",
    """
A function that draws random numbers gives another result with another seed. That is told by its name (`rand`,
`dropout`) or its arguments (a `Generator`, an argument named dropout), and needs the tag:

    tags: nondeterministic_seeded
""",
)
FOREACH_CHECK: Final = _entry(
    38,
    "device check on a foreach function",
    """
`_foreach_*` functions take lists whose tensors are on several devices, and fall back to a slow path then. A device
check would refuse such lists, so the entry says `device_check: NoCheck`.
""",
)
UFUNC_STRUCTURED: Final = _entry(
    40,
    "loops on a function that is not structured",
    """
`ufunc_inner_loop` makes the `impl` of a structured kernel, so the entry needs `structured: True`.
""",
)
UFUNC_LOOP: Final = _entry(
    41,
    "wrong inner loop",
    """
A loop is the name of a C++ function template and the dtypes that it holds for:

    ufunc_inner_loop:
      Generic: add (AllAndComplex, BFloat16, Half, ComplexHalf)
""",
)
UFUNC_KEY: Final = _entry(
    42,
    "unknown place of a loop",
    """
Loops are given for Generic (all), ScalarOnly (all but vectorized CPU loops), or one of CUDAFunctor,
CUDAFunctorOnOther, CUDAFunctorOnSelf, CPUScalar, CPUVector.
""",
)
UFUNC_DTYPE: Final = _entry(
    43,
    "unknown dtype",
    """
The dtypes of a loop are names such as Float or BFloat16, or one of the classes Integral, Floating, Complex, All,
AllAndComplex, FloatingAndComplex.
""",
)
UFUNC_DISPATCH: Final = _entry(
    44,
    "kernel beside loops",
    """
`ufunc_inner_loop` makes the CPU and the CUDA kernel of a function; `dispatch` must not name them as well.
""",
)
KEYWORD_ARGUMENT: Final = _entry(
    39,
    "argument named like a Python keyword",
    """
Arguments are passed by name from Python, where a keyword such as `from` cannot stand. Three old operators have such
arguments; no new ones may.
""",
)
INPLACE_VIEW_TAG: Final = _entry(
    45,
    "in-place view without its tag",
    """
An in-place function that makes `self` a view (its return aliases without writing, or joins the wildcard set) is
functionalized in its own way, for which it needs `tags: inplace_view`.
""",
)
INPLACE_VIEW_NAME: Final = _entry(
    46,
    "tag inplace_view on a function that is not in-place",
    """
An in-place view changes the sizes or strides of `self`; its name ends with `_`, as the name of each in-place function
does.
""",
)
FILE_SHAPE: Final = _cross(
    1,
    "the file is not a list",
    """
`native_functions.yaml` is a list of entries, `tags.yaml` a list of tags; each item starts with `- `. A file without
items is written `[]`.
""",
)
TAG_SHAPE: Final = _cross(
    2,
    "wrong entry in tags.yaml",
    """
Each entry of `tags.yaml` names a tag and describes it:

    - tag: core
      desc: |
        Core ATen operators.
""",
)
TAG_DESCRIPTION: Final = _cross(
    3,
    "tag without description",
    """
Each tag says in `desc` what it means, for those who decide whether an operator has it.
""",
)
TAG_TWICE: Final = _cross(
    4,
    "tag defined twice",
    """
Each tag stands in `tags.yaml` once.
""",
)
OVERLOAD_TWICE: Final = _cross(
    10,
    "two entries for one overload",
    """
Operator name and overload name together name one overload, and each overload has one entry. Give one of the two
another overload name: `add.Tensor`, `add.Scalar`.
""",
)
TWO_NAMESPACES: Final = _cross(
    11,
    "one operator name in two namespaces",
    """
Generated structures and headers are named after the operator without its namespace, so that two operators that
differ in the namespace alone would collide.
""",
)
DELEGATE_MISSING: Final = _cross(
    12,
    "structured delegate without entry",
    """
`structured_delegate` names the out overload that has the structured kernel, such as `add.out`. There is no entry of
that name.
""",
)
DELEGATE_PLAIN: Final = _cross(
    13,
    "delegate that is not structured",
    """
The overload that others delegate to has `structured: True`.
""",
)
DELEGATE_OTHER: Final = _cross(
    14,
    "delegate from another operation",
    """
An overload delegates to the out overload that has its own signature, since wrappers pass their arguments on.
""",
)
INPLACE_VIEW_ALONE: Final = _cross(
    15,
    "in-place view without its view",
    """
An in-place view is functionalized by its out-of-place form, `squeeze_` by `squeeze`, which must exist.
""",
)
SAME_SIGNATURE: Final = _cross(
    16,
    "two overloads of one signature",
    """
Two overloads of one operator that take and return the same, and do the same with their arguments (both functional,
both out, and so on), cannot be told apart when called.

Functional, in-place and out forms of one operation share a signature, and are one of each kind at most.
""",
)
VARIANT_MISFIT: Final = _cross(
    17,
    "an overload that cannot be made",
    """
From the entry another overload would be made, as its `autogen` asks, but its schema would not fit to the entry's:

- alias sets out of order: arguments that are written to are named `a!`, `b!`, `c!` in their order;
- tensors and other values in the returns: an out overload could return neither rightly.
""",
)
LONE_OUT: Final = _cross(
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
NO_TENSOR_RETURN: Final = _cross(
    19,
    "function without tensor in its returns",
    """
Functions that are not composite get an out form. One that returns no tensor cannot have it; PyTorch's own ones are
listed by name, and others are not expected. Make it composite (CompositeImplicitAutograd), or let it return a tensor.
""",
)
NO_FUNCTIONAL: Final = _cross(
    20,
    "operation without functional overload",
    """
An operation with several overloads, such as an in-place and an out one, has a functional overload too.
""",
)
SCRATCH_GROUP: Final = _cross(
    21,
    "scratch space in an operation of several overloads",
    """
An overload whose out arguments hold scratch space (`_scratch_...`) stands by itself.
""",
)
GROUP_NAMESPACE: Final = _cross(
    22,
    "overloads of one operation in several namespaces",
    """
All overloads of an operation stand in one namespace.
""",
)
FUNCTIONAL_NAME: Final = _cross(
    23,
    "functional overload beside a mutable one",
    """
A mutable function and its functional form would be ambiguous in C++ if they had one name. The functional one is named
with the ending `_functional`.
""",
)
STRUCTURED_MIX: Final = _cross(
    24,
    "operation that is structured in parts",
    """
Where the out overload of an operation is structured, its functional and in-place overloads delegate to it:

    - func: relu(Tensor self) -> Tensor
      structured_delegate: relu.out
""",
)
STRUCTURED_COMPOSITE: Final = _cross(
    25,
    "structured kernel that is composite",
    """
A structured kernel is written for backends; an implicit composite kernel beside it is not supported.
""",
)
KERNEL_NAMESPACES: Final = _cross(
    26,
    "kernels of one function in several namespaces",
    """
The kernels of a function are declared together, in one C++ namespace. Those without a namespace are in `at::native`.
""",
)
AUTOGEN_MISSING: Final = _cross(
    30,
    "overloads are made that no entry names",
    """
Where an operation has an out overload and no functional one, that is made from what there is. So that a reader of
the file knows of it, the entry says so:

    - func: fill_(Tensor(a!) self, Scalar value) -> Tensor(a!)
      autogen: fill, fill.out
""",
)
AUTOGEN_WRONG: Final = _cross(
    31,
    "autogen names the wrong overloads",
    """
`autogen` lists the overloads that are made from the entry, parted by a comma and one blank: the out overload is named
`NAME.out` or `NAME.OVERLOAD_out`, the functional one as the operator without `_`.
""",
)
NO_VIEW_COPY: Final = _cross(
    32,
    "view without its copying form",
    """
Functionalization replaces a view by a form that copies, which has an entry of its own with the same signature:

    - func: diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor
      tags: view_copy

Views with a kernel for CompositeImplicitAutograd need none, since they are made of other views.
""",
)
VIEW_COPY_NAME: Final = _cross(
    33,
    "wrong name of a view or its copying form",
    """
The copying form of view `x` is `x_copy` (of `x_inverse`, `x_scatter`), and no view has such a name itself.
""",
)
VIEW_COPY_TAG: Final = _cross(
    34,
    "copying form of a view without its tag",
    """
The copying form of a view has `tags: view_copy`; its kernel is made from the view's.
""",
)
VIEW_COMPOSITE: Final = _cross(
    35,
    "view and in-place form differ in being composite",
    """
Where a view has an implicit composite kernel, its in-place form has one too.
""",
)
VIEW_TWICE: Final = _cross(
    36,
    "two functions in one place around a view",
    """
A view has one in-place form and one copying form, which all share its signature. Two functions compete for one of
these places.
""",
)
