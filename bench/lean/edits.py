"""Ten edits of PyTorch's inputs that its developers make often."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

FUNCTIONS: Final = "aten/src/ATen/native/native_functions.yaml"
TAGS: Final = "aten/src/ATen/native/tags.yaml"
DERIVATIVES: Final = "tools/autograd/derivatives.yaml"

#: What the files of a tree have for each replaced text; an empty text is replaced at the end of the file.
Replacements = Sequence[tuple[str, str, str]]

_STRUCTURED: Final = """
- func: benched(Tensor self, float factor=1.0) -> Tensor
  structured_delegate: benched.out
  variants: function

- func: benched.out(Tensor self, float factor=1.0, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    CPU, CUDA: benched_out
"""
_FLIPLR: Final = "- func: fliplr(Tensor self) -> Tensor\n"
_BINCOUNT: Final = "    CPU: _bincount_cpu\n"


class Edit(NamedTuple):
    """An edit, and what it is called."""

    name: str
    replacements: Replacements

    def apply(self, texts: dict[str, str]) -> dict[str, str]:
        """The files that the edit changes, with their texts. Raises ValueError where a text is not there."""
        edited: dict[str, str] = {}
        for path, old, new in self.replacements:
            text = edited.get(path, texts[path])
            if old not in text:
                raise ValueError(f"{path} has no {old!r}")
            edited[path] = text.replace(old, new, 1) if old else text + new
        return edited


EDITS: Final = (
    Edit(
        "new operator of other operators", [(FUNCTIONS, "", "\n- func: benched(Tensor self, float x=1.0) -> Tensor\n")]
    ),
    Edit(
        "new operator with kernels and a derivative",
        [
            (FUNCTIONS, "", _STRUCTURED),
            (DERIVATIVES, "", "\n- name: benched(Tensor self, float factor=1.0) -> Tensor\n  self: grad * factor\n"),
        ],
    ),
    Edit(
        "new method",
        [(FUNCTIONS, "", "\n- func: benched(Tensor self) -> Tensor\n  variants: function, method\n")],
    ),
    Edit(
        "new out overload of a method",
        [(FUNCTIONS, _FLIPLR, "- func: fliplr.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n\n" + _FLIPLR)],
    ),
    Edit("new argument of a method", [(FUNCTIONS, _FLIPLR, _FLIPLR.replace("self", "self, int start=0"))]),
    Edit(
        "other default of a function",
        [(FUNCTIONS, "trapz.dx(Tensor y, *, float dx=1", "trapz.dx(Tensor y, *, float dx=2")],
    ),
    Edit("other kernel", [(FUNCTIONS, _BINCOUNT, _BINCOUNT.replace("cpu", "host"))]),
    Edit("kernel for another key", [(FUNCTIONS, _BINCOUNT, _BINCOUNT + "    SparseCPU: bincount_sparse\n")]),
    Edit("new tag of an operator", [(FUNCTIONS, _FLIPLR, f"{_FLIPLR}  tags: core\n")]),
    Edit("other derivative", [(DERIVATIVES, "grad * (self * self - 1).rsqrt()", "grad * (self.square() - 1).rsqrt()")]),
)
