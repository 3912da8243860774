"""The codes of mistakes in `derivatives.yaml`: E09xx for what cannot be generated, W09xx for what looks wrong."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register


def _error(number: int, title: str, explanation: str) -> str:
    return register(Code(f"E09{number:02}", title, explanation))


def _warning(number: int, title: str, explanation: str) -> str:
    return register(Code(f"W09{number:02}", title, explanation))


FILE_SHAPE: Final = _error(
    1,
    "the file of derivatives is not a list of entries",
    """
`derivatives.yaml` is a list of entries, each of which names a function and gives a formula for each argument that
is differentiable:

    - name: mul.Tensor(Tensor self, Tensor other) -> Tensor
      self: mul_tensor_backward(grad, other, self.scalar_type())
      other: mul_tensor_backward(grad, self, other.scalar_type())
""",
)
ENTRY_SHAPE: Final = _error(
    2,
    "an entry is not a mapping of names to formulas",
    """
An entry is a mapping: `name` with the function's whole schema, optionally `output_differentiability` and `dispatch`,
and arguments and results with their formulas.

    - abs(Tensor self) -> Tensor
      ^^^^^^^^^^^^^^^^^^^^^^^^^^ an entry is a mapping, not a string

Write `- name: abs(Tensor self) -> Tensor`, and the formulas below it.
""",
)
NO_NAME: Final = _error(
    3,
    "an entry does not name its function",
    """
The field `name` holds the whole schema of the function, as `func` has it in `native_functions.yaml`:

    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()
""",
)
UNKNOWN_OPERATOR: Final = _error(
    4,
    "the function is not in native_functions.yaml",
    """
`name` is the schema of a function that PyTorch has: its name, its overload and its arguments. No function has this
name.

    - name: absolut(Tensor self) -> Tensor
            ^^^^^^^ did you mean `absolute`?
""",
)
SCHEMA_DIFFERS: Final = _error(
    5,
    "the schema is not the one in native_functions.yaml",
    """
The function exists, but its schema differs: an argument was added, renamed or given another default. An entry repeats
the schema exactly, so that whoever changes a function checks its derivatives too.

    - name: sin(Tensor input) -> Tensor
            ^^^^^^^^^^^^^^^^^^^^^^^^^^^ `native_functions.yaml` has `sin(Tensor self) -> Tensor`

Copy the schema from `native_functions.yaml`, and check whether the formulas are still right.
""",
)
NAMESPACE: Final = _error(
    6,
    "the function is of a namespace that is not loaded",
    """
Entries name functions without their namespace, and only functions that are loaded can have derivatives. The
derivatives of your own operators are in a file of their own, which `derivatives` in the head of the library file names.

    - name: my::scale(Tensor self) -> Tensor
            ^^^^^^^^^ of a namespace of which no such function is loaded
""",
)
NO_CANONICAL: Final = _error(
    7,
    "the schema is of a variant that has no derivatives",
    """
An `out` overload is never differentiable, and a functional form that PyTorch makes takes its derivatives from the
function that it is made from. Give the entry the schema of the functional or the in-place function.

    - name: abs.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
            ^^^^^^^ write `abs(Tensor self) -> Tensor`
""",
)
UNKNOWN_ARGUMENT: Final = _error(
    8,
    "a formula for something that is neither an argument nor a result",
    """
The keys of an entry are arguments of the function (their formula is the gradient of the argument) and results of it
(their formula is the result's tangent in forward mode). A result without a name is called `result`, or `result0`,
`result1` and so on if there are several.

    - name: abs(Tensor self) -> Tensor
      sefl: grad * self.sgn()
      ^^^^ did you mean `self`?
""",
)
UNKNOWN_FIELD: Final = _error(
    9,
    "misspelt field",
    """
Besides arguments and results an entry has the fields `name`, `output_differentiability` and `dispatch`.

    - name: abs(Tensor self) -> Tensor
      output_diferentiability: [True]
      ^^^^^^^^^^^^^^^^^^^^^^^ did you mean `output_differentiability`?
""",
)
DISPATCH_KEY: Final = _error(
    10,
    "not a dispatch key of autograd",
    """
`dispatch` gives formulas for each of several dispatch keys: `Default`, `AutogradNestedTensor`, and `Autograd` with
the name of a backend, such as `AutogradCUDA`.

    dispatch:
      CUDA:
      ^^^^ write `AutogradCUDA`
""",
)
DISPATCH_SHAPE: Final = _error(
    11,
    "`dispatch` is not a mapping of keys to formulas",
    """
Each key of `dispatch` has arguments and results with their formulas:

    - name: select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)
      dispatch:
        Default:
          self: select_backward_symint(grad, self.sym_sizes(), dim, index)
        AutogradNestedTensor:
          self: _nested_select_backward_symint(grad, self, dim, index)
""",
)
FORMULA_SHAPE: Final = _error(
    12,
    "a formula is not text",
    """
A formula is a C++ expression, written as a YAML string. Put it in quotes if YAML would read it as another type:

    self: "1"
""",
)
DIFFERENTIABILITY_SHAPE: Final = _error(
    13,
    "malformed `output_differentiability`",
    """
`output_differentiability` is a list of `True` and `False`, one for each output, or for a function with one output a
list with one C++ condition:

    output_differentiability: [True, False]
    output_differentiability: ["!dtype || isDifferentiableType(*dtype)"]
""",
)
DIFFERENTIABILITY_LENGTH: Final = _error(
    14,
    "`output_differentiability` does not have one value for each output",
    """
The list says of each output of the function, in order, whether it is differentiable.

    - name: sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
      output_differentiability: [True]
                                ^^^^^^ 1 value for 2 outputs
""",
)
DIFFERENTIABILITY_INPLACE: Final = _error(
    15,
    "an output of an in-place function is marked as not differentiable",
    """
The output of an in-place function is its `self`, whose version must increase on every write. That would not happen for
an output that is not differentiable.

    - name: fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)
      output_differentiability: [False]

Delete the field. Mark an argument without a gradient as `non_differentiable`.
""",
)
RESERVED_ARGUMENT: Final = _error(
    16,
    "an argument has a name that formulas use for something else",
    """
In formulas `grad_input_mask` says which gradients are needed, and `result` is the function's result. An argument
cannot have these names; give it another in `native_functions.yaml`.

    - func: scale(Tensor self, Tensor result) -> Tensor
                                      ^^^^^^ call it `other`
""",
)
BOTH_ARGUMENT_AND_RESULT: Final = _error(
    17,
    "an argument and a result have the same name",
    """
A formula under that name could be the gradient of the argument or the tangent of the result. Rename one of the two in
`native_functions.yaml`.

    - func: scale(Tensor self, Tensor factor) -> (Tensor scaled, Tensor factor)
                                      ^^^^^^ the second result has this name too
""",
)
OVERLAP: Final = _error(
    18,
    "an argument has a formula and is marked as not differentiable",
    """
An argument has a formula or the word `non_differentiable`, not both. A frequent cause is a key for several arguments
and another key for one of them:

    self, other: grad
    self: non_differentiable
""",
)
FIXED_SIZES: Final = _error(
    19,
    "sizes are read as integers",
    """
Sizes and strides may be symbolic while a model is traced, so formulas must read them with `sym_sizes()`, `sym_size(0)`
and `sym_strides()`. The helper that takes them needs a `_symint` form.

    self: grad.expand(self.sizes())
                           ^^^^^ write `self.sym_sizes()`
""",
)
STRIDES_OF_OTHER: Final = _error(
    20,
    "strides of another tensor than the one that is differentiated",
    """
The node checks that a tensor has strides before it saves them, but only for the tensor whose gradient the
formula computes.

    self: scale_backward(grad, other.strides())
                               ^^^^^^^^^^^^^^^ the formula is that of `self`

Avoid the strides, or use them in the formula of the tensor that they belong to.
""",
)
GRADIENT_INDEX: Final = _error(
    21,
    "a gradient of an output that does not exist",
    """
`grads[0]` is the gradient of the first output. The number has to be less than the number of outputs.

    - name: abs(Tensor self) -> Tensor
      self: grads[1] * self.sgn()
            ^^^^^^^^ the function has 1 output
""",
)
MIXED_GRADIENTS: Final = _error(
    22,
    "`grad` and `grads` are mixed",
    """
`grad` is the gradient of the only differentiable output, `grads` are the gradients of several. All formulas of an entry
use one of the two: with several write `grads[0]` for `grad`.

    self: grad * other
    other: grads[1] * self
           ^^^^^^^^ the formula above has `grad`
""",
)
ONLY_FIRST_GRADIENT: Final = _error(
    23,
    "`grads[0]` is the only gradient that is used",
    """
If the first output is the only differentiable one, write `grad`. If not, the formulas ignore the gradients of the
others, and the results are silently wrong.

    - name: frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)
      output_differentiability: [True, False]
      self: grads[0] / exponent.exp2()
            ^^^^^^^^ write `grad`
""",
)
MIXED_NAMED_GRADIENTS: Final = _error(
    24,
    "gradients are taken by name and by number",
    """
The gradient of a named output can be taken by its name, as in `grad_values`. All formulas of an entry refer to
gradients in the same way: by name, by number, or as `grad`.

    self: svd_backward(grad_U, grads[1], grad_V)
                       ^^^^^^ beside `grads[1]`, write `grads[0]`
""",
)
FORWARD_BASE_NAME: Final = _error(
    25,
    "a forward formula uses the bare name of an argument",
    """
In forward mode an argument has a value and a tangent, so that its name alone is ambiguous: `self_p` is the value
("primal"), `self_t` the tangent.

    result: grad * self.cos()
                   ^^^^ write `self_p` or `self_t`
""",
)
ELEMENT_WISE_INPLACE: Final = _error(
    26,
    "`auto_element_wise` for an in-place function",
    """
`auto_element_wise` derives the forward formula from the backward one, which reads `self` as it was before the call. Put
the formula on the functional form of the function; the in-place form uses it too.

    - name: abs_(Tensor(a!) self) -> Tensor(a!)
      self: grad * self.sgn()
      result: auto_element_wise
              ^^^^^^^^^^^^^^^^^ belongs to `abs`
""",
)
ELEMENT_WISE_SHAPE: Final = _error(
    27,
    "`auto_element_wise` for several inputs or outputs",
    """
The Jacobian of a function that works element by element is diagonal, so the backward formula also works in forward
mode. This requires one differentiable input and one differentiable output.

    self: grad * other
    other: grad * self
    result: auto_element_wise
            ^^^^^^^^^^^^^^^^^ write `self_t * other_p + other_t * self_p`
""",
)
ELEMENT_WISE_ALONE: Final = _error(
    28,
    "`auto_element_wise` without a backward formula",
    """
`auto_element_wise` derives the forward formula from the backward formula of the only input, so that must exist.

    - name: abs(Tensor self) -> Tensor
      result: auto_element_wise
              ^^^^^^^^^^^^^^^^^ `self` has no formula

Write the backward formula of the input, or an explicit forward formula.
""",
)
LINEAR_SHAPE: Final = _error(
    29,
    "`auto_linear` for several outputs",
    """
A linear function's tangent is the function called with the tangents of its inputs. `auto_linear` writes that call for
functions with a single differentiable output.

    - name: halves(Tensor self) -> (Tensor left, Tensor right)
      left, right: auto_linear
                   ^^^^^^^^^^^ there are two outputs

Give each output its own formula.
""",
)
LINEAR_ALONE: Final = _error(
    30,
    "`auto_linear` without a differentiable argument",
    """
`auto_linear` calls the function with tangents in place of the arguments that have a backward formula, so at least one
must have one.

    - name: zeros_like(Tensor self) -> Tensor
      self: non_differentiable
      result: auto_linear
              ^^^^^^^^^^^ no argument has a backward formula

Delete the forward formula: a result that depends on no differentiable input has no tangent.
""",
)
FORWARD_OUTPUT: Final = _error(
    31,
    "a forward formula for an output that does not exist",
    """
`result` is the only result of a function that returns one value; `result0`, `result1` and so on are those of a
function that returns several.

    - name: abs(Tensor self) -> Tensor
      result1: self_t * self_p.sgn()
      ^^^^^^^ write `result`
""",
)
INPLACE_ORIGINAL: Final = _error(
    32,
    "the forward formula of an in-place function reads what the call overwrites",
    """
When the formula is evaluated, `self` already holds the result. Write `result` for it, or `original_self_p` for the
value before the call, which generated code then copies.

    - name: exp_(Tensor(a!) self) -> Tensor(a!)
      result: self_t * self_p.exp()
                       ^^^^^^ overwritten: write `self_t * result`
""",
)
INPLACE_OUTPUTS: Final = _error(
    33,
    "an in-place function with several forward formulas",
    """
An in-place function has one output, its `self`, and so at most one forward formula.

    - name: both_(Tensor(a!) self, Tensor(b!) other) -> (Tensor(a!), Tensor(b!))
      result0: self_t
      result1: other_t
      ^^^^^^^ the second one

Delete all but the formula of `self`.
""",
)
MUTABLE_SELF: Final = _error(
    34,
    "the functional form of a mutable function cannot use its formula",
    """
PyTorch's generator synthesizes the functional form of the function, which would use the same formulas. They read `self`
as the mutable function left it, which the functional form does not have.

    self: grad * self
                 ^^^^ read as the function left it

Write the formula in terms of `result`, or of other arguments.
""",
)
INPLACE_STRIDES: Final = _error(
    35,
    "strides of `self` in the formula of an in-place function",
    """
The node saves the strides before the call, when the check that the tensor has strides would test the wrong tensor.

    - name: scale_(Tensor(a!) self) -> Tensor(a!)
      self: scale_backward(grad, self.strides())
                                 ^^^^^^^^^^^^^^ not in place

Avoid the strides in the formula.
""",
)
FOREACH: Final = _error(
    36,
    "no derivative can be made for a function over lists",
    """
The derivatives of a `_foreach_` function come from those of the function that it repeats. For this, all its tensors
must be lists, and the formulas may save no result except `result`.

    - func: _foreach_scale(Tensor self, Tensor[] by) -> Tensor[]
                           ^^^^^^^^^^^ a tensor, not a list

Make the tensors lists, or give the function its own entry in `derivatives.yaml`.
""",
)
BAD_EXPRESSION: Final = _error(
    37,
    "a formula is not a C++ expression",
    """
Generated code contains the formula as an expression, which would not compile: a parenthesis is not closed, is closed
twice or by one of another kind, or an operator lacks an operand.

    self: grad * (self.sgn()
                 ^ never closed

Close it.
""",
)
HELPER_ARGUMENTS: Final = _error(
    38,
    "a helper is called with a wrong number of arguments",
    """
A formula can call the helpers that `torch/csrc/autograd/FunctionsManual.h` declares. If the inputs include that header,
each call must match a declaration of the helper; otherwise it would not compile.

    self: pow_backward(grad, self)
          ^^^^^^^^^^^^ takes 3 arguments, and is called with 2

Pass the arguments that the declaration lists.
""",
)
UNKNOWN_NAME: Final = _warning(
    1,
    "unknown name in a formula",
    """
A formula can name the function's arguments and results, its gradients (`grad`, `grads[i]`, `grad_NAME`),
`grad_input_mask`, `retain_variables`, and in forward mode arguments with `_p` and `_t`. Any other name would not
compile.

    - name: abs(Tensor self) -> Tensor
      self: grad * slef.sgn()
                   ^^^^ did you mean `self`?

A warning while files are generated, an error with `--strict`.
""",
)
UNKNOWN_FUNCTION: Final = _warning(
    3,
    "unknown function in a formula",
    """
A formula can call PyTorch's operators (`at::sum(...)`, or as methods) and the helpers of
`torch/csrc/autograd/FunctionsManual.h`.

    self: pow_bakward(grad, self, exponent)
          ^^^^^^^^^^^ did you mean `pow_backward`?

A warning while files are generated, an error with `--strict`.
""",
)
REPEATED_ENTRY: Final = _warning(
    4,
    "two entries for one function",
    """
If a function has two entries, the later one silently replaces the earlier one. Merge them.

    - name: abs(Tensor self) -> Tensor
      self: grad * self.sgn()
    - name: abs(Tensor self) -> Tensor
            ^^^ replaces the first
""",
)
IGNORED_FIELD: Final = _warning(
    5,
    "a formula beside `dispatch` has no effect",
    """
If an entry has `dispatch`, its formulas belong below a dispatch key; `Default` is for all keys without their own
formulas. Formulas outside `dispatch` have no effect.

    self: grad
    ^^^^ move it below a dispatch key
    dispatch:
      AutogradNestedTensor:
        self: grad.clone()
""",
)
IGNORED_NAME: Final = _warning(
    6,
    "a name that is not an argument, marked as not differentiable",
    """
A key names several arguments as not differentiable, and one of them is not an argument of this overload. PyTorch's
generator accepts such keys, which result from copying one line to several overloads; the name has no effect.

    - name: attend.two(Tensor query, Tensor key) -> Tensor
      query, key, value: non_differentiable
                  ^^^^^ delete it

A warning while files are generated, an error with `--strict`.
""",
)
