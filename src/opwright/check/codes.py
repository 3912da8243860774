"""The codes of `opwright check`: its settings, its suppression comments, and its lints."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register


def _code(code: str, title: str, explanation: str) -> str:
    return register(Code(code, title, explanation))


UNKNOWN_DIALECT: Final = _code(
    "E2201",
    "a file of no known kind",
    """
`opwright check` recognises a file by its name (`native_functions.yaml`, `tags.yaml`, `derivatives.yaml`,
`deprecated.yaml`) or by its first field: `func`, `tag`, `backend`, `namespace`, `operators`.

    $ opwright check settings.yaml
    error[E2201]: `settings.yaml` is of no known kind

Name the kind with `--backend FILE` or `--library FILE`, or leave the file out.
""",
)
SETTINGS_SYNTAX: Final = _code(
    "E2202",
    "`pyproject.toml` is not TOML",
    """
The settings of `opwright check` are in the table `[tool.opwright.check]` of `pyproject.toml`, which cannot be read.

    [tool.opwright.check]
    ignore = [W2216]
              ^ not TOML: the code has no quotes

Fix the file at the place that the message names.
""",
)
WRONG_SETTING: Final = _code(
    "E2203",
    "a setting of `opwright check` that does not exist, or has a wrong value",
    """
The table `[tool.opwright.check]` has the settings `select`, `extend-select`, `ignore`, `per-file-ignores`, `files`,
`torch` and `fail-on`.

    [tool.opwright.check]
    ignored = ["W2216"]
    ^^^^^^^ unknown setting

Correct the name or the value.
""",
)
UNKNOWN_CODE: Final = _code(
    "E2204",
    "a code that does not exist is selected or ignored",
    """
`--select`, `--ignore` and the settings of the same names take diagnostic codes such as `W2216`, beginnings of codes
such as `W22`, and `ALL`.

    [tool.opwright.check]
    ignore = ["W2299"]
              ^^^^^ no code begins like this

`opwright explain` lists all codes.
""",
)
UNKNOWN_SUPPRESSION: Final = _code(
    "W2205",
    "a comment suppresses a code that does not exist",
    """
A comment `# opwright: ignore[CODE]` suppresses diagnostics of its line, or of the next line if it stands alone. It
takes diagnostic codes and beginnings of codes.

    - func: f(Tensor self) -> Tensor  # opwright: ignore[W2299]
                                                         ^^^^^ no code begins like this

`opwright explain` lists all codes.
""",
)
UNUSED_SUPPRESSION: Final = _code(
    "W2206",
    "a comment suppresses nothing",
    """
No diagnostic of the comment's line has one of its codes, so the comment only hides future mistakes.

    - func: f(Tensor self) -> Tensor  # opwright: ignore[W2216]
                                        ^^^^^^^^^^^^^^^^^^^^^^^ unused

Delete the comment, which `opwright check --fix` does.
""",
)
CHANGED_MEANWHILE: Final = _code(
    "E2207",
    "a file changed while it was checked",
    """
`opwright check --fix` writes a file only if it still has the text that the fixes are for. Another program wrote the
file in the meantime, or is about to write it. So the file has what that program wrote, and its fixes are not applied.
Other files are fixed.

    error[E2207]: `acme.yaml` changed while it was checked; it is left as it is

Run the command again.
""",
)
CPP_KEYWORD: Final = _code(
    "W2211",
    "an argument named like a C++ keyword",
    """
The argument's name becomes the name of a parameter in C++, where it is a keyword, so no generated file compiles.

    - func: pad(Tensor self, int default) -> Tensor
                             ^^^^^^^^^^^ `default` is a keyword in C++

Rename the argument.
""",
)
COMPOSITE_OVERRIDE: Final = _code(
    "W2212",
    "a kernel of a backend takes the gradient of a composite operator away",
    """
PyTorch implements the operator by calling other operators, whose gradients autograd knows. A kernel of a backend
replaces this implementation, and autograd knows no gradient of the kernel: results on the device have no gradient.

    supported:
    - silu_backward
      ^^^^^^^^^^^^^ no gradient on the device

Add the operator to `autograd` with a kernel that is differentiable, or delete the entry and implement the operators
that PyTorch's implementation calls. A backend file says `override_composite: true` for each operator of this kind
(E1341), so this check runs only if it is selected: it lists all of them.
""",
)
BACKWARD_LACKS: Final = _code(
    "W2213",
    "a backward formula needs an operator that the backend lacks",
    """
The backend has a kernel for the operator, but calls of `backward()` fail: PyTorch's formula for the gradient calls an
operator for which the backend has no kernel and no fallback.

    supported:
    - tanh
      ^^^^ backward of `tanh` calls `tanh_backward`, which the backend lacks

Add the operators that the message names. `opwright coverage --backward lacks` lists all operators of this kind.
""",
)
MISSING_META: Final = _code(
    "W2214",
    "an operator without a kernel for Meta",
    """
`torch.compile` and `torch.export` run operators on tensors without data to learn the shapes of results. The operator
has no kernel for Meta, is neither structured nor composite, and PyTorch registers no meta function for it in Python:
tracing stops with an error.

    - func: scale(Tensor self, float factor) -> Tensor
      dispatch:
      ^^^^^^^^ no Meta
        CPU: scale_cpu

Add a kernel for `Meta`, or make the operator structured.
""",
)
UNUSED_TAG: Final = _code(
    "W2215",
    "a tag that no operator has",
    """
No entry of `native_functions.yaml` has the tag. Some tags are for operators that are registered elsewhere, so this
check runs only if it is selected.

    - tag: cudagraph_unsafe
           ^^^^^^^^^^^^^^^^ no operator has it

Delete the tag, unless code outside of `native_functions.yaml` uses it.
""",
)
REPEATS_DEFAULT: Final = _code(
    "W2216",
    "a field repeats what holds without it",
    """
The field has the value that it has by default.

    - func: scale(Tensor self, float factor) -> Tensor
      variants: function
      ^^^^^^^^ the default

Delete the field, which `opwright check --fix` does.
""",
)
SUSPICIOUS_ALIAS: Final = _code(
    "W2217",
    "an alias annotation that says nothing, or too much",
    """
An annotation such as `(a)` says which arguments and results share memory. Without a write, it has a meaning only if a
result has it too. Two written arguments with the same annotation are the same memory in every call.

    - func: pack(Tensor(a) self, Tensor other) -> Tensor
                 ^^^^^^^^^^^^^^ no result aliases it

Delete the annotation, or give each written argument a letter of its own.
""",
)
NO_FUNCTIONAL: Final = _code(
    "W2218",
    "an operator writes its arguments, and has no functional form",
    """
`torch.compile` and `torch.export` replace operators that write by their functional forms. This operator has none, so
functionalization stops with an error, or treats the operator as opaque.

    - func: fill_rows_(Tensor(a!) self, int row) -> Tensor(a!)
            ^^^^^^^^^^ no `fill_rows(Tensor self, int row) -> Tensor`

Add an entry for the functional form with the same arguments, or `autogen: NAME` to synthesize it.
""",
)
REPEATED_ITEM: Final = _code(
    "W2219",
    "a list has the same item twice",
    """
The second item has no effect.

    tags: [core, pointwise, core]
                            ^^^^ repeated

Delete it, which `opwright check --fix` does.
""",
)
