"""Library files that are made for measurements."""

from __future__ import annotations

from pathlib import Path

__all__ = ["write_library"]

#: Entries and derivatives of operators of different kinds; `{n}` is a number.
_KINDS = (
    (
        """\
- func: scale{n}(Tensor self, float factor=1.0) -> Tensor
  outputs: like(self)
  dispatch:
    CPU: scale{n}
""",
        """\
- name: scale{n}(Tensor self, float factor=1.0) -> Tensor
  self: grad * factor
  result: auto_linear
""",
    ),
    (
        """\
- func: mix{n}(Tensor self, Tensor other, *, Scalar weight=1) -> Tensor
  structured_delegate: mix{n}.out
- func: mix{n}_(Tensor(a!) self, Tensor other, *, Scalar weight=1) -> Tensor(a!)
  structured_delegate: mix{n}.out
- func: mix{n}.out(Tensor self, Tensor other, *, Scalar weight=1, Tensor(a!) out) -> Tensor(a!)
  structured: True
  outputs: broadcast(self, other)
  dispatch:
    CPU: mix{n}_out
""",
        """\
- name: mix{n}(Tensor self, Tensor other, *, Scalar weight=1) -> Tensor
  self: grad
  other: grad * weight
  result: self_t + other_t * weight
""",
    ),
    (
        """\
- func: range{n}(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor least, Tensor greatest)
  outputs: [reduce(self, dim, keepdim), reduce(self, dim, keepdim)]
  dispatch:
    CPU: range{n}
""",
        "",
    ),
    ("- func: chain{n}(Tensor self, Tensor? bias=None, SymInt[] sizes=[]) -> Tensor\n", ""),
)


def write_library(folder: Path, operators: int) -> Path:
    """Write a library file with about this many operators, overloads counted, and its derivatives. Gives its path.

    Of six operators, three are overloads of a structured kernel, and two kinds of four have derivatives.
    """
    rounds = max(1, round(operators / 6))
    entries = [entry.format(n=number) for number in range(rounds) for entry, _ in _KINDS]
    derivatives = [text.format(n=number) for number in range(rounds) for _, text in _KINDS]
    path = folder / "many.yaml"
    path.write_text("namespace: many\nderivatives: derivatives.yaml\noperators:\n" + "".join(entries), encoding="utf-8")
    (folder / "derivatives.yaml").write_text("".join(derivatives), encoding="utf-8")
    return path
