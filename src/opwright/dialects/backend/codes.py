"""The codes of mistakes in backend files: E13xx."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register, register_warning


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

    supported:
    - add.Tensor
    backend: PrivateUse1
    cpp_namespace: acme
    ^^^^^^^^^^^^^ both are needed
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
PyTorch's own `native_functions.yaml` has kernels for the dispatch key, so no backend outside PyTorch can have it:

    backend: CUDA
             ^^^^ write `PrivateUse1`
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

    supported:
    - add.Tensor
    autograd:
    - add.out
      ^^^^^^^ move it to `supported`
""",
)
NAMESPACE_DEPTH: Final = _code(
    8,
    "the C++ namespace of a backend has too many levels",
    """
PyTorch's generator accepts `cpp_namespace` with one level, such as `acme`, or two, such as `acme::native`. With
`opwright generate --backend`, it can have more.

    cpp_namespace: acme::native::ops
                   ^^^^^^^^^^^^^^^^^ has three levels
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
REPEATED_ENTRY_WARNING: Final = register_warning(REPEATED_ENTRY)
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
UNUSED_SYMINT_WARNING: Final = register_warning(UNUSED_SYMINT)
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
    "a backend file without operators",
    """
PyTorch's generator writes no file if `supported` and `full_codegen` have no operator, even if `autograd` has some.

    supported:
    autograd:
    - max_pool2d
      ^^^^^^^^^^ has no effect
""",
    "W",
)
MERGED: Final = _code(
    13,
    "a merge key in a backend file",
    """
YAML's merge key `<<` takes the entries of another mapping. PyTorch's generator refuses it:

    <<: *defaults
    ^^ write the keys of `defaults` here
    supported:
    - add.Tensor

`opwright generate --backend` accepts it.
""",
)
TAKEN_VALUE: Final = _code(
    14,
    "a value of the wrong type that PyTorch's generator accepts",
    """
PyTorch's generator does not look at the type of some values. If `full_codegen` is a text, it takes each letter for an
operator; if `class_name` is a number, it writes that into the C++ code.

    class_name: 5
                ^ write a name
""",
    "W",
)
CPP_NAME: Final = _code(
    15,
    "a name that C++ cannot have",
    """
`cpp_namespace` and `class_name` are in the generated code, which the compiler refuses if they are not C++ names.
PyTorch's generator accepts any, and so does its stand-in as far as letters, digits and `_` go.

    cpp_namespace: acme-ops
                   ^^^^^^^^ write `acme_ops`
""",
)
CPP_NAME_WARNING: Final = register_warning(CPP_NAME)
KERNEL_DEFINITIONS: Final = _code(
    16,
    "a C++ file does not define the kernels of a backend",
    """
With `--impl-path`, PyTorch's generator counts the lines of a C++ file that look like definitions of a kernel, such as
`PrivateUse1NativeFunctions::abs(`. There have to be as many as operators that need a kernel of that name; overloads of
an operator share one. Definitions with the namespace before the class do not count, and those in comments do.

    supported:
    - abs
      ^^^ no line with `PrivateUse1NativeFunctions::abs(`

The notes of the diagnostic show the definition that each operator needs. A kernel with other arguments than these is
not found by this check, but by the compiler.
""",
)
OWN_DIALECT: Final = _code(
    33,
    "PyTorch's generator does not know this part of a backend file",
    """
`python -m opwright.torchgen.gen_backend_stubs` stands in for PyTorch's own program, and reads what that program reads.
What Opwright adds to backend files works with `opwright generate --backend`:

    supported:
    - mul.out: {structured: true}
      ^^^^^^^^^^^^^^^^^^^^^^^^^^^ only with `opwright generate --backend`
""",
)
FLAT_ENTRY: Final = _code(
    34,
    "an option stands beside its operator",
    """
The options of an entry are a mapping under the name of the operator. Earlier proposals for PyTorch's generator had them
beside it:

    supported:
    - mul.out:
      structured: true
      ^^^^^^^^^^ indent it

Write `- mul.out: {structured: true}`, or indent the options by two more blanks.
""",
)
UNKNOWN_OPTION: Final = _code(
    35,
    "unknown option of an entry",
    """
Entries have a fixed set of options:

    supported:
    - mul.out: {structred: true}
                ^^^^^^^^^ write `structured`

What earlier proposals called `ext_structured_meta` is `define_meta`.
""",
)
UNKNOWN_WORD: Final = _code(
    36,
    "a field has a value that it cannot have",
    """
The field is one of a few words.

    fallback: cuda
              ^^^^ write `cpu` or `error`
""",
)
NOT_STRUCTURED: Final = _code(
    37,
    "an operator cannot have a structured kernel",
    """
A structured kernel runs after the shape function of PyTorch, so PyTorch's own entry of the operator has to be
structured. The entry names the out overload, whose kernel serves the functional and the in-place overload too, in the
section `supported`:

    supported:
    - mul.Tensor: {structured: true}
      ^^^^^^^^^^ write `mul.out`
""",
)
NEEDS_OUT_AS_PRIMARY: Final = _code(
    38,
    "a structured kernel without `use_out_as_primary`",
    """
Structured kernels are kernels of out overloads, and the other overloads of a group follow from them. So the head of the
file has to say `use_out_as_primary: true`:

    use_out_as_primary: true
    supported:
    - mul.out: {structured: true}
""",
)
NEEDS_OPTION: Final = _code(
    39,
    "an option without another one that it needs",
    """
`define_meta` gives a structured kernel a shape function of its own, so it needs `structured: true`; `register_meta`
registers that shape function, so it needs `define_meta: true`. Only entries of `autocast` have a `policy`.

    - mul.out: {define_meta: true}
                ^^^^^^^^^^^ add `structured: true`
""",
)
TWO_WAYS: Final = _code(
    40,
    "an entry with two ways to implement its operator",
    """
An operator has a structured kernel (`structured`), PyTorch's structured kernel (`stub`), a C++ function (`kernel`), a
kernel of PyTorch (`inherit`) or the CPU's kernel (`fallback: cpu`). An entry names at most one of these; without any,
the kernel is a member of the backend's class.

    - view: {kernel: "at::native::view", inherit: shared}
                                         ^^^^^^^ delete one
""",
)
_COMPOSITE: Final = """
PyTorch implements the operator with calls of other operators (`CompositeImplicitAutograd`), which have derivatives.
With a kernel for the backend, the dispatcher no longer uses that implementation for tensors of the backend, neither in
the forward pass nor to record the backward graph. The operator then has no derivative, unless the file has a kernel for
it in `autograd`, or PyTorch's `derivatives.yaml` has a formula for it.

    supported:
    - linear
      ^^^^^^ delete it, or write `linear: {override_composite: true}`

Without an entry, the operator works on the backend as soon as the operators that it calls do.
"""
COMPOSITE_OVERRIDE: Final = _code(41, "a kernel replaces a composite operator", _COMPOSITE)
COMPOSITE_OVERRIDE_WARNING: Final = register_warning(COMPOSITE_OVERRIDE)
CPP_TEXT: Final = _code(
    42,
    "a text cannot stand in C++",
    """
Names of classes, macros and functions are C++ names; functions and types may have namespaces. Headers are written
without quotes and angle brackets. Code is not empty.

    export_macro: acme-api
                  ^^^^^^^^ write `ACME_API`
""",
)
TORCH_RANGE: Final = _code(
    43,
    "`torch` is not a range of releases",
    """
`torch` says for which releases of PyTorch the file is: bounds with commas between them.

    torch: 2.10+
           ^^^^^ write `>=2.10`
""",
)
TORCH_EXCLUDED: Final = _code(
    44,
    "a backend file is not for the release",
    """
`torch` says for which releases of PyTorch the file is, and the release of the run is not one of them.

    torch: ">=2.14"
           ^^^^^^^^ this run is for 2.13.0
""",
)
RELEASE: Final = _code(
    45,
    "`since` and `until` are not releases in order",
    """
`since` is the first release of PyTorch with an entry, and `until` the first one without it. Each is a release such as
`2.11`, and `since` comes first.

    - mm.out: {since: 2.14, until: 2.11}
                                   ^^^^ before 2.14
""",
)
NO_INHERITED_KERNEL: Final = _code(
    46,
    "PyTorch has no kernel to inherit",
    """
`inherit` names where PyTorch's kernel of an operator is taken from: `CPU`, `CUDA`, or `shared` if both have the same
one. `stub` needs a structured kernel that both share: it calls a loop that each device registers.

    - topk: {inherit: shared}
             ^^^^^^^ the CPU and CUDA have different kernels
""",
)
FALLBACK_VIEW: Final = _code(
    47,
    "a view falls back to the CPU",
    """
The CPU's kernel runs on copies of the tensors, so what should be a view of a tensor becomes a copy, and later changes
of the one do not reach the other.

    - unfold: {fallback: cpu}
               ^^^^^^^^ write `inherit: shared`

The kernels of most views only compute sizes and strides, and serve all devices. `fallback_views: copy` in the head of
the file allows such copies.
""",
)
NO_EFFECT: Final = _code(
    48,
    "an option has no effect",
    """
The wrapper of an operator has a device guard if the head of the file and the entry say so. `override_composite` is for
operators that PyTorch implements with calls of other operators.

    - mul.out: {override_composite: true}
                ^^^^^^^^^^^^^^^^^^ delete it
""",
    "W",
)
REPEATS_INHERITED: Final = _code(
    49,
    "an option repeats what holds without it",
    """
An entry has the facts of PyTorch's own entry of the operator and of the head of the file. Only differences need to be
written.

    - mul.out: {device_guard: true}
                ^^^^^^^^^^^^ delete it
""",
    "W",
)
DERIVED_OVERLOAD: Final = _code(
    50,
    "an overload has an entry, and follows from a structured kernel",
    """
The structured kernel of an out overload serves the functional and the in-place overload of its group too:

    - mul.out: {structured: true}
    - mul.Tensor
      ^^^^^^^^^^ delete it

If the overload has a C++ function of its own, name that:

    - mul_.Tensor: {kernel: acme::mul_in_place}
""",
)
SAME_KERNEL: Final = _code(
    51,
    "an operator has the same kernel for two dispatch keys",
    """
The kernels of a backend are members of one class, so the kernels of an operator for several dispatch keys need
different names.

    supported:
    - mul.Tensor
    autograd:
    - mul.Tensor: {kernel_name: mul_autograd}

In sections other than `supported` and `autograd`, names end in that of the section: `mul_sparse`.
""",
)
MANUAL_ENTRY: Final = _code(
    52,
    "an operator in `manual` has an entry",
    """
`manual` lists operators that the author registers without the generator, so they have no entries.

    supported:
    - empty.memory_format
    manual: [empty.memory_format]
             ^^^^^^^^^^^^^^^^^^^ delete one
""",
)
SAME_CLASS: Final = _code(
    60,
    "two structured kernels have the same class",
    """
A structured kernel is a class `structured_NAME`, where NAME is the name of the operator and `_out`. Overloads of an
operator therefore need different names:

    - eq.Tensor_out: {structured: true}
    - eq.Scalar_out: {structured: true, kernel_name: eq_Scalar_out}
                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^ add this
""",
)
KERNEL_PATTERN: Final = _code(
    53,
    "a pattern of kernel names has a mistake",
    """
The names of kernels are C++ names. A pattern may have parts of the operator's name in braces: `{name}`, `{base}`,
`{overload}`, `{section}` and `{key}`.

    kernel_name: acme_{nam}
                       ^^^ write `name`
""",
)
FAMILY: Final = _code(
    54,
    "a mistake in a family of kernels",
    """
The kernels of a family are functions of a C++ namespace, or static members of a class. A family has one of both.

    families:
      bang: {kernel_name: "bang_{name}"}
      ^^^^ add `namespace: acme::bang` or `class: AcmeBang`

An entry may name several families, each once. A structured kernel has one. Families in a list are named like C++
identifiers, because the code that chooses among the kernels names them.
""",
)
OVERLAP: Final = _code(
    55,
    "two entries or values for the same release",
    """
An operator may have several entries in a section, and an option several values, if each is for other releases:

    - sum.IntList_out: {structured: [{value: true, since: 2.11}, {value: false, until: 2.12}]}
                                                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^ both are for 2.11

`since` is the first release with a value, and `until` the first one without it.
""",
)
HOOK: Final = _code(
    56,
    "a hook has a mistake",
    """
A hook is code before, after or around the calls of kernels: either a text, or a function to call. Its values exist
where it is: `result` only after the call, and `call` only around it. A text around a call contains the call.

    hooks:
    - {at: before, text: "acme::log({result});"}
                                     ^^^^^^ write `at: after`
""",
)
HOOK_VALUE: Final = _code(
    57,
    "braces in a hook with nearly the name of a value",
    """
Names in braces that are values of hooks are replaced. Others stay, because they can be C++: `Range range{begin};`.

    hooks:
    - {at: before, text: "acme::log({nam});"}
                                     ^^^ write `name`
""",
    "W",
)
OWN_OPERATOR: Final = _code(
    61,
    "an own operator of a backend stands in a section",
    """
The entries of sections are operators that PyTorch or another library defines. Those that the file defines itself, in
`operators` or in a file that `library` names, have their kernels there:

    operators:
    - func: scale(Tensor self, float factor) -> Tensor
      dispatch: {PrivateUse1: scale, AutogradPrivateUse1: scale_autograd}
    supported:
    - acme::scale
      ^^^^^^^^^^^ delete it
""",
)
FOREIGN_SCHEMA: Final = _code(
    62,
    "the schema of an operator of another library has a mistake",
    """
An operator of another library than PyTorch has its namespace in its name, and its schema in `func` or in a file that
the run names with `--operators`:

    supported:
    - torchvision::nms: {func: "nsm(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"}
                                ^^^ write `nms`
""",
)
LIBRARY_FILE: Final = _code(
    63,
    "a library file of a backend cannot be read",
    """
`library` is the path of a library file with the backend's own operators, relative to the backend file.

    library: operators.yml
             ^^^^^^^^^^^^^ no such file
""",
)
DERIVED_DTYPE: Final = _code(
    66,
    "a functional overload has the dtype of `self`",
    """
With `use_out_as_primary: true`, the functional overload of an operator passes a new tensor without elements to the
kernel of the out overload. The tensor has the dtype of `self`, and a kernel can resize it, but not change its dtype:

    - eq.Tensor_out

So `eq` of two float tensors is a float tensor. PyTorch has a shape function for structured operators, which chooses
the dtype and the size:

    - eq.Tensor_out: {structured: true}
                     ^^^^^^^^^^^^^^^^^^ write this, and the kernel as `structured_eq_out::impl`
""",
    "W",
)
