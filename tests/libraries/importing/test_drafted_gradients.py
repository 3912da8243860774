"""Gradients of drafted formulas are those of the classes that they come from."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import opwright
from opwright.cli.main import main
from opwright.migrate.importing.run import ImportRequest, write_import
from tests.compile.compiler import Compiler, compiler_program

SOURCES = Path(__file__).parent / "drafted"
INCLUDE = Path(opwright.__file__).parent / "libraries" / "include"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the library file, the formulas that an import drafts, and the sources without what can go."""
    folder = tmp_path_factory.mktemp("drafted")
    shutil.copytree(SOURCES, folder / "csrc")
    files = [str(folder / name) for name in ("csrc", "drafted.yaml", "derivatives.yaml")]
    written = write_import(ImportRequest((files[0],), (), {}, files[1], files[2]), force=False)
    assert not written.left
    ((path, ranges),) = written.deletable.items()
    lines = Path(path).read_text().splitlines()
    for part in ranges.split(", "):
        first, _, last = part.partition("-")
        lines[int(first) - 1 : int(last or first)] = [""] * (int(last or first) - int(first) + 1)
    Path(path).write_text("\n".join(lines))
    return folder


def test_each_class_is_drafted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every class of the sources becomes formulas, in which a check finds no mistakes; nothing of a class is left."""
    text = (folder / "derivatives.yaml").read_text()
    assert "stays by hand" not in text
    assert text.count(": from `") == (SOURCES / "classes.cpp").read_text().count("::apply(")
    assert "Function<" not in (folder / "csrc/classes.cpp").read_text()
    assert "m.impl" not in (folder / "csrc/classes.cpp").read_text()
    main(["check", str(folder / "drafted.yaml"), "--ignore", "W1119"])
    captured = capsys.readouterr()
    assert "warning" not in captured.out + captured.err
    assert "error" not in captured.out + captured.err


@pytest.fixture(scope="module")
def operators(folder: Path, torch: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """The operators with the classes, and those with the formulas, in one build."""
    program = compiler_program()
    if program is None:
        pytest.skip("there is no C++ compiler")
    words = ["--library", str(folder / "drafted.yaml"), "--torch", "auto", "--out", str(folder / "gen")]
    assert main(["generate", *words]) == 0
    before = (SOURCES / "classes.cpp").read_text()
    for old, new in (
        ("(drafted,", "(classes,"),
        ('"drafted::', '"classes::'),
        ("backward_symint", "backward_of_class"),
    ):
        before = before.replace(old, new)
    (folder / "before.cpp").write_text(before)
    compiler = Compiler(program, tmp_path_factory.mktemp("build"), [folder / "gen/include", INCLUDE, folder / "csrc"])
    sources = [folder / "before.cpp", folder / "csrc/classes.cpp", folder / "csrc/kernels.cpp"]
    torch.ops.load_library(compiler.library("drafted", [*sources, *(folder / "gen/src/drafted").glob("*.cpp")]))
    return torch.ops.classes, torch.ops.drafted


def gradients(
    torch: ModuleType, operator: Callable[..., Any], given: Sequence[Any], needed: Sequence[bool], used: int
) -> list[Any]:
    """The results of a call, and the gradients of the inputs that need one; `used` are bits of the results in use.

    Which results require a gradient comes first, if any input gets one: an input without one makes none require it.
    """
    torch.manual_seed(0)
    is_needed = iter(needed)
    inputs = [
        value.clone().requires_grad_(next(is_needed)) if isinstance(value, torch.Tensor) else value for value in given
    ]
    results = operator(*inputs)
    results = results if isinstance(results, tuple) else (results,)
    total = sum(
        (result * torch.rand_like(result)).sum()
        for index, result in enumerate(results)
        if result.requires_grad and used >> index & 1
    )
    if isinstance(total, torch.Tensor):
        total.backward()
    found = [value.grad for value in inputs if isinstance(value, torch.Tensor)]
    is_given = any(gradient is not None and bool(gradient.any()) for gradient in found)
    return [*[result.requires_grad and is_given for result in results], *results, *found]


@pytest.mark.thorough
def test_gradients_are_those_of_the_classes(torch: ModuleType, operators: tuple[Any, Any]) -> None:
    """For each operator, all inputs that may need gradients, and all results that may be used: the same gradients."""
    before, after = operators
    x, y = (torch.linspace(start, 2, 6, dtype=torch.float64).reshape(3, 2) for start in (-1, 0.5))
    calls: dict[str, list[Sequence[Any]]] = {
        name: [(x, y)] for name in ("mix", "listed", "tied", "needed", "pair", "undefined", "pool")
    }
    calls |= {"places": [(x,)], "masked": [(x, y, y), (x, None, y)], "roi": [(x, y, 2.0, 3)]}
    calls["shrink"] = [(x, 0, 2.0, negate, mode) for negate in (True, False) for mode in ("once", "twice")]
    compared = 0
    for name, several in calls.items():
        for given in several:
            tensors = sum(isinstance(value, torch.Tensor) for value in given)
            for needed in itertools.product((False, True), repeat=tensors):
                for used in range(1, 4):
                    # A formula without gradients for an argument refuses one that needs it, where a class is silent.
                    wanted = gradients(torch, getattr(before, name), given, needed, used)
                    got = gradients(torch, getattr(after, name), given, needed, used)
                    assert len(wanted) == len(got)
                    for index, (left, right) in enumerate(zip(wanted, got, strict=True)):
                        case = (name, given, needed, used, index, left, right)
                        if isinstance(left, bool):
                            assert left is right, case
                        elif left is None or right is None:
                            assert not any(side is not None and side.any() for side in (left, right)), case
                        else:
                            assert torch.equal(left, right), case
                        compared += 1
    assert compared > 400


@pytest.mark.thorough
def test_a_shared_call_runs_once(torch: ModuleType, operators: tuple[Any, Any]) -> None:
    """The call that gives several gradients runs once for all of them."""
    _, after = operators
    a, b = (torch.ones(2, dtype=torch.float64, requires_grad=True) for _ in range(2))
    for name in ("mix", "listed", "tied"):
        start = after.calls()
        getattr(after, name)(a, b).sum().backward()
        assert after.calls() == start + 1, name


@pytest.mark.thorough
def test_second_gradients_are_refused(torch: ModuleType, operators: tuple[Any, Any]) -> None:
    """Where the backward of a class only raises, the generated operator raises too."""
    for namespace in operators:
        x, rois = torch.ones(2, 2, requires_grad=True), torch.ones(2)
        (grad,) = torch.autograd.grad(namespace.roi(x, rois, 2.0, 3).square().sum(), x, create_graph=True)
        with pytest.raises(RuntimeError, match=r"not supported|not implemented"):
            grad.sum().backward()
