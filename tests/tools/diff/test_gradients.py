"""Differences between formulas: what gets or loses a gradient, and what another formula saves."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.cli.main import main
from tests.tools.diff.test_backend import folder_of

OPERATORS = """\
- func: scale(Tensor self, Tensor other) -> Tensor
  dispatch:
    CPU, CUDA: scale
"""
HEAD = "- name: scale(Tensor self, Tensor other) -> Tensor\n"

#: The formulas before and after, what is said of them, and whether it breaks anybody.
CASES = {
    "a gradient appears": (
        "  self: grad * other\n",
        "  self: grad * other\n  other: grad * self\n",
        ["the gradient of `other` is known", "`self` is saved for gradients"],
    ),
    "a gradient disappears": (
        "  self: grad * other\n  other: grad * self\n",
        "  self: grad * other\n",
        ["the gradient of `other` is no longer known: breaks gradients", "`self` is no longer saved for gradients"],
    ),
    "a gradient is not implemented": (
        "  self: grad * other\n  other: grad\n",
        '  self: grad * other\n  other: not_implemented("scale")\n',
        ["the gradient of `other` is no longer known: breaks gradients"],
    ),
    "another formula": (
        "  self: grad * other\n",
        "  self: grad * other.conj()\n",
        ["the gradient of `self` is `grad * other.conj()` instead of `grad * other`"],
    ),
    "forward mode": (
        "  self: grad * other\n",
        "  self: grad * other\n  result: self_t * other_p\n",
        ["the tangent of `result` is known"],
    ),
    "another key": (
        "  dispatch:\n    Default:\n      self: grad\n",
        "  dispatch:\n    Default:\n      self: grad\n    AutogradCUDA:\n      self: -grad\n",
        ["it has formulas under AutogradCUDA"],
    ),
    "a key disappears": (
        "  dispatch:\n    Default:\n      self: grad\n    AutogradCUDA:\n      self: -grad\n",
        "  dispatch:\n    Default:\n      self: grad\n",
        ["it no longer has formulas under AutogradCUDA"],
    ),
    "all gradients of a key": (
        "  dispatch:\n    AutogradCUDA:\n      self: grad * other\n",
        "  dispatch:\n    AutogradCUDA:\n      self: grad\n      result: self_t\n",
        [
            "the gradient of `self` under AutogradCUDA is `grad` instead of `grad *",
            "other`",
            "the tangent of `result` is known under AutogradCUDA",
            "`other` is no longer saved for gradients under AutogradCUDA",
        ],
    ),
    "the same with other blanks": ("  self: grad *   other\n", "  self: grad * other\n", []),
}


@pytest.mark.parametrize("case", CASES)
def test_each_difference_is_said(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What differs between the formulas of one operator."""
    old, new, expected = CASES[case]
    sides = [folder_of(OPERATORS, tmp_path / name, HEAD + text) for name, text in (("old", old), ("new", new))]
    status = main(["diff", *sides, "--all"])
    text = capsys.readouterr().out
    _, _, said = text.partition("  scale\n")
    assert [" ".join(line.split()) for line in said.splitlines()] == expected
    assert status == int(any("breaks" in line for line in expected))


@pytest.mark.network
@pytest.mark.parametrize(
    ("sides", "operator", "expected"),
    [
        (("2.14.1", "2.15.0"), "fmax", "the gradient of `self` is `"),
        (("2.14.1", "2.15.0"), "special_bessel_j0", "the gradient of `self` is known"),
        (("2.12.1", "2.13.0"), "nextafter", "the gradient of `other` is known"),
    ],
)
def test_gradients_of_releases(
    sides: tuple[str, str], operator: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Operators that became differentiable, or got another formula, in a release."""
    assert main(["diff", *sides, operator, "--all"]) == 0
    assert expected in capsys.readouterr().out
