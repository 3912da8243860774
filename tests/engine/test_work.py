"""How much work a run does: in proportion to its operators."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import FrameType

import pytest

from opwright.cli.main import main
from opwright.emit.registry import build_folders
from opwright.libraries.emit import parts
from opwright.release.inputs import from_source_path
from opwright.run.generation import Generation
from opwright.run.request import Request
from tests.engine.project import ENTRIES, Project
from tests.engine.steps import Steps

#: Names that stand for operators in the entries.
NAMES = re.compile(r"\b(twice|shifted|rows|mean_of|blank)(?=[_.(]|$|\n)")


def repeated(count: int) -> str:
    """The entries as often as asked, each time under other names."""
    return "\n".join(NAMES.sub(rf"\g<1>{number}", ENTRIES) for number in range(count))


def calls_of_a_run(project: Project, out: Path) -> int:
    """How many functions of the package a whole run calls."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    inputs = from_source_path(str(project.inputs))
    families = ("headers", "sources", "declarations_yaml")
    request = Request(inputs=inputs, folders=build_folders(str(out)), families=families, release="2.13")
    sys.setprofile(count)
    try:
        Generation(request).write()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.thorough
def test_work_is_linear_in_operators(project: Project, tmp_path: Path) -> None:
    """Ten times the operators are at most twelve times the work, counted in calls."""
    project.yaml.write_text(repeated(10))
    calls_of_a_run(project, tmp_path / "warm")
    few = calls_of_a_run(project, tmp_path / "few")
    project.yaml.write_text(repeated(100))
    many = calls_of_a_run(project, tmp_path / "many")
    assert few > 10_000
    assert many < 12 * few


#: The entries of a library for one number: operators of several kinds, with most of what entries can say.
LIBRARY_ENTRIES = """\
- func: scale{n}(Tensor self, float factor) -> Tensor
  doc: Multiplies.
  outputs: like(self)
  autogen: scale{n}.out
  autocast: fp32
  batch_rule: mine::scale{n}_batch
  samples: torch.randn(3), 2.0
  dispatch:
    CPU: scale{n}
- func: moments{n}(Tensor self) -> (Tensor mean, Tensor variance)
  outputs: [like(self), like(self)]
  dispatch:
    CPU, CUDA: moments{n}
- func: twice{n}(Tensor self) -> Tensor
  structured_delegate: twice{n}.out
- func: twice{n}_(Tensor(a!) self) -> Tensor(a!)
  structured_delegate: twice{n}.out
- func: twice{n}.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  outputs: like(self)
  dispatch:
    CPU: twice{n}_out
- func: pick.by{n}(Tensor self, *, int by{n}) -> Tensor
  dispatch:
    CompositeImplicitAutograd: pick_by{n}
- func: pick.by{n}_out(Tensor self, *, int by{n}, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    CompositeImplicitAutograd: pick_by{n}_out
"""
LIBRARY_DERIVATIVES = """\
- name: scale{n}(Tensor self, float factor) -> Tensor
  self: grad * factor
  result: auto_linear
- name: twice{n}(Tensor self) -> Tensor
  self: grad.mul(2)
"""
LIBRARY_HEADS = ("derivatives: derivatives.yaml\nc_shims: [cpu]\n", "abi: stable\n")


def written_library(folder: Path, head: str, count: int) -> Path:
    """A library file with the entries as often as asked."""
    folder.mkdir()
    own = LIBRARY_ENTRIES
    if "stable" in head:
        own = own[own.index("- func: moments") : own.index("- func: twice")]
    entries = "".join([own.format(n=number) for number in range(count)])
    derivatives = "".join([LIBRARY_DERIVATIVES.format(n=number) for number in range(count)])
    (folder / "derivatives.yaml").write_text(derivatives)
    file = folder / "acme.yaml"
    file.write_text(f"namespace: acme\n{head}operators:\n{entries}")
    return file


def steps_of_a_run(*arguments: str) -> int:
    """How many steps a run of the program takes."""
    steps = Steps()
    steps.start()
    try:
        status = main([*arguments, "--torch", "auto"])
    finally:
        steps.stop()
    assert status == 0
    return steps.count


@pytest.mark.thorough
@pytest.mark.parametrize("head", LIBRARY_HEADS)
def test_work_is_linear_in_the_operators_of_a_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: str
) -> None:
    """The 65th to 128th entries are at most 2% more work each than the 33rd to 64th, to check and to generate."""
    monkeypatch.setattr(parts, "_OPERATIONS_PER_FILE", 4)
    files = [written_library(tmp_path / str(count), head, count) for count in (16, 32, 64, 128)]
    for command in (("check",), ("generate", "--jobs", "1", "--out", str(tmp_path / "out"), "--library")):
        _, few, more, many = [steps_of_a_run(*command, str(file)) for file in files]
        assert few > 10_000
        assert many - more < 1.02 * 2 * (more - few)


def _wide(count: int) -> tuple[str, str]:
    """A library with one operator of many arguments, and its derivatives."""
    names = [f"a{number}" for number in range(count)]
    signature = f"op({', '.join([f'Tensor {name}' for name in names])}) -> Tensor"
    dims = ", ".join([f'{name}: "n{name} m"' for name in names])
    dtypes = ", ".join([f"{name}: {[f'a{number - 1}', '[float32]'][not number]}" for number, name in enumerate(names)])
    requires = ", ".join([f'"n{name} > 0"' for name in names])
    formulas = "".join([f"  {name}: grad * {name}\n" for name in names])
    entry = (
        f'derivatives: derivatives.yaml\nnamespace: acme\noperators:\n- func: "{signature}"\n  outputs: like(a0)\n'
        f"  dims: {{{dims}}}\n  dtypes: {{{dtypes}}}\n  requires: [{requires}]\n  dispatch: {{CPU: op}}\n"
    )
    return entry, f"- name: {signature}\n{formulas}"


@pytest.mark.thorough
def test_work_is_linear_in_the_arguments_of_an_operator(tmp_path: Path) -> None:
    """Four times the arguments, sizes, dtypes that follow others, conditions and formulas are four times the work."""
    counts = []
    for count in (8, 40, 160):
        entry, derivatives = _wide(count)
        (tmp_path / "derivatives.yaml").write_text(derivatives)
        (tmp_path / "acme.yaml").write_text(entry)
        counts.append(steps_of_a_run("check", str(tmp_path / "acme.yaml")))
    _, few, many = counts
    assert few > 10_000
    assert many < 4.5 * few
