"""The codes of operators that static runtime's generated code cannot call, or calls otherwise than meant: x170x."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register


def _code(number: int, title: str, explanation: str, letter: str = "E") -> str:
    return register(Code(f"{letter}17{number:02}", title, explanation))


UNNAMED_TEST: Final = _code(
    1,
    "operator whose name static runtime cannot use",
    """
Static runtime registers code under the base name of an operator, which leaves out two underscores on each side. So
code for `__shift__` would be that of an operator `shift`, which does not exist. PyTorch's own program ends with an
assertion.

    - func: __shift__(Tensor self) -> Tensor
            ^^^^^^^^^ static runtime would register `aten::shift`
    - func: __shift__.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)

Give the out overload another name than `out`, or make the operator without an out overload: it then gets no code.
""",
)
OTHER_NAME: Final = _code(
    2,
    "operator that static runtime registers under another name",
    """
Static runtime's generated code registers each operator as `aten::`, with its base name. An operator of another
namespace, or one whose name ends in `_functional`, is never found under that name, so its code does not run. PyTorch's
own program writes it all the same, and so does Opwright.

    - func: acme::turn(Tensor self) -> Tensor
            ^^^^ its code is registered as `aten::turn`
    - func: acme::turn.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)

To avoid code that never runs, give the out overload another name than `out`.
""",
    "W",
)
OTHER_NAMESPACE: Final = _code(
    3,
    "kernel that static runtime looks for in `at::native`",
    """
Static runtime's generated code calls kernels in `at::native`, whatever namespace the entry names. The generated file
does not compile then, unless there is a function of the same name in `at::native`.

    - func: turn(Tensor self) -> Tensor
      dispatch:
        CPU: acme::turn_cpu
             ^^^^ the code calls `at::native::turn_cpu`
    - func: turn.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)

Put the kernel into `at::native`, or give the out overload another name than `out`: it then gets no code.
""",
    "W",
)
NO_FORMATTER: Final = _code(
    4,
    "no clang-format on the path",
    """
PyTorch's program formats static runtime's files with `clang-format`, and fails without it. Opwright writes them as they
are before formatting, which compiles as well, and warns.

    python -m opwright.torchgen.gen_static_runtime_ops -s aten/src/ATen

Install clang-format (`pip install clang-format`), or ask for files that are not formatted with `--no-format`.
""",
    "W",
)
FORMATTER_FAILED: Final = _code(
    5,
    "clang-format fails",
    """
The `clang-format` on the path ended with an error. No file is replaced. The message has what it printed.

    .clang-format:1:17: error: unknown enumerated scalar
    BasedOnStyle: Acme
                  ^~~~ no such style

Correct the `.clang-format` file of the output folder or of a folder above it, or pass `--no-format`.
""",
)
NO_OPERATOR: Final = _code(
    6,
    "no such operator",
    """
No operator of the inputs has the name that is asked about.

    --why sinhh
          ^^^^^ did you mean `sinh`?

Give a name with or without overload, or a pattern such as `conv*`.
""",
)
