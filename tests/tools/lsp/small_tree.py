"""A small source tree of PyTorch, written for tests."""

from __future__ import annotations

from pathlib import Path

from opwright.release.inputs import open_inputs
from opwright.source.text import SourceFile
from opwright.tools.lsp.project import Project
from tests.tools.lsp.session import write_templates

__all__ = ["SmallTree"]

_TAGS = """\
- tag: core
  desc: |
    An operator that others are built from.
- tag: out
  desc: |
    Writes its result into an argument.
- tag: functional
  desc: |
    Has no effects.
- tag: inplace
  desc: |
    Writes its first argument.
"""
_NATIVE = """\
# The operators of the tests.
- func: scale.out(Tensor self, Scalar factor, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU: scale_out
  tags: core

- func: scale(Tensor self, Scalar factor) -> Tensor
  structured_delegate: scale.out
  variants: function, method

- func: shift(Tensor self, int[] by=[]) -> Tensor
  cpp_no_default_args: [by]
  dispatch:
    CPU: shift_cpu
  autogen: shift.out

- func: half(Tensor self) -> Tensor
"""
_DERIVATIVES = """\
- name: scale(Tensor self, Scalar factor) -> Tensor
  self: grad * factor
  result: self_t * factor

- name: shift(Tensor self, int[] by=[]) -> Tensor
  self: shift_backward(grad, by)
"""
_FILES = {
    "aten/src/ATen/native/tags.yaml": _TAGS,
    "aten/src/ATen/native/native_functions.yaml": _NATIVE,
    "tools/autograd/derivatives.yaml": _DERIVATIVES,
    "tools/autograd/deprecated.yaml": "[]\n",
}


class SmallTree:
    """The tree below a folder, as a project whose files an editor has open or not."""

    def __init__(self, folder: Path) -> None:
        for name, text in _FILES.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        write_templates(folder)
        self.folder = folder
        aten = str(folder / "aten/src/ATen")
        self.project = Project(lambda: open_inputs(None, aten))

    def open(self, name: str, text: str | None = None) -> SourceFile:
        """Open a file, by default as it is on disk."""
        path = next((self.folder / path for path in _FILES if path.endswith(name)), self.folder / name)
        return self.project.put(str(path), path.read_text() if text is None else text)
