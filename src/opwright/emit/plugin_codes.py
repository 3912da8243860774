"""The codes of what plug-ins cannot add to the wrappers of a backend: E235x."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register

__all__ = ["LAZY_KERNEL", "NO_SELECTOR", "SELECTION", "UNKNOWN_CONVENTION", "UNTRANSLATABLE"]


def _code(number: int, title: str, explanation: str) -> str:
    return register(Code(f"E23{number}", title, explanation))


NO_SELECTOR: Final = _code(
    50,
    "no plug-in chooses among the kernels of an operator",
    """
An entry whose `family` is a list has a kernel in each family. A plug-in writes the C++ that chooses one of them when
the operator runs: its kernel selector. The run has none that serves the operator.

    supported:
    - add.Tensor: {family: [fast, exact]}
      ^^^^^^^^^^ name a plug-in with a kernel selector, or write one family

Name the plug-in with `--plugin`, or in `plugins` in the head of the file.
""",
)
SELECTION: Final = _code(
    51,
    "a kernel selector's statements have a mistake",
    """
In the statements of a kernel selector, the name of a family in braces stands for the call of its kernel. Only families
of the entry and the values of hooks may stand in braces, and at least one kernel has to be called.

    select=lambda wrapper, candidates: "return {fats};"
                                                ^^^^ did you mean `fast`?

Braces of C++ need a blank before the name: `Range range{ begin };`.
""",
)
UNKNOWN_CONVENTION: Final = _code(
    52,
    "no plug-in has a calling convention of that name",
    """
`convention` names how kernels take their arguments. Conventions are defined by plug-ins, and the run has none with this
convention.

    backend: PrivateUse1
    convention: acme_tensors
                ^^^^^^^^^^^^ name a plug-in that has it

Name the plug-in with `--plugin`, or in `plugins` in the head of the file.
""",
)
UNTRANSLATABLE: Final = _code(
    53,
    "a kernel's convention needs a value that a wrapper cannot make",
    """
A wrapper has the arguments of an operator with PyTorch's types, and translates them for the kernel. The convention of a
plug-in wants another type, and neither PyTorch's conversions nor those of the convention make it.

    - add.Tensor: {family: fast}
      ^^^^^^^^^^ no conversion makes argument `alpha` of type `acme::Number` from `const at::Scalar &`

Add a `TypeConversion` to the convention: the wanted type, the given one, and the C++ expression.
""",
)
LAZY_KERNEL: Final = _code(
    54,
    "a kernel of lazy tensors that a plug-in would have to call",
    """
The wrappers of lazy tensors are those of PyTorch's own generator: plug-ins add nothing to them. So an entry cannot have
kernels in several families, and no calling convention of a plug-in.

    opwright generate --backend lazy.yaml --only lazy

    supported:
    - max_pool2d: {family: [fast, exact]}
      ^^^^^^^^^^ write one family

Write one family without a convention.
""",
)
