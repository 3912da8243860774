"""The tests that are generated from samples: right operators pass them, and each kind of mistake fails one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from opwright.cli.main import main
from tests.backend.conftest import backend_compiler, device_object
from tests.library.conftest import GenerateLibrary, program
from tests.stubs.installed import mypy_errors, pyright_errors, site

__all__ = ["device_object", "program"]

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the generated tests, and the operators written in Python."""
    folder = tmp_path_factory.mktemp("tested")
    assert main(["generate", "--library", str(HERE / "tested.yaml"), "--out", str(folder)]) == 0
    shutil.copy(HERE / "tested.py", folder / "tests")
    return folder / "tests"


def outcomes(folder: Path, broken: str = "", device: Path | None = None) -> dict[str, str]:
    """Test -> what became of it, with some things broken, and in a process with a device if one is given."""
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "-p", "no:cacheprovider", "-v", "--tb=no"]
    ran = subprocess.run(
        [*command, "-W", "ignore", "--rootdir", str(folder), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "BROKEN": broken, "DEVICE": str(device or ""), "PYTHONPATH": str(ROOT)},
        cwd=folder,
    )
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    return dict(re.findall(r"(?m)^test_acme\.py::(\S+) (\w+)", ran.stdout))


@pytest.mark.thorough
def test_right_operators_pass(folder: Path, program: str, device_object: Path, tmp_path: Path) -> None:
    """Each operator has the tests of what its schema and its derivatives promise, on each device with a kernel."""
    results = outcomes(folder, device=backend_compiler(program, tmp_path).link("device", [device_object]))
    assert set(results.values()) == {"PASSED", "SKIPPED"}
    assert {test for test, result in results.items() if result == "SKIPPED"} == {
        "test_compile[noise-1-cpu]",
        "test_strides[noise-0-cpu]",
        "test_strides[noise-1-cpu]",
        "test_vmap[positive-0-cpu]",
        # It takes half precision alone.
        "test_gradients[halve-0-cpu]",
        "test_gradients[halve-0-acme]",
    }
    operators: dict[str, list[str]] = {}
    for test in results:
        name, _, case = test.partition("[")
        operators.setdefault(name, []).append(case.rstrip("]"))
    scale, blend, halve, steps = (
        [f"{name}-{number}-{device}" for device in ("cpu", "acme") for number in range(count)]
        for name, count in (("scale", 2), ("blend", 2), ("halve", 1), ("steps", 1))
    )
    square, on_cpu = "square-0-acme", ["count-0-cpu", "noise-0-cpu", "noise-1-cpu", "positive-0-cpu"]
    assert operators == {
        "test_opcheck": [*scale, *blend, "total-0-cpu", square, *halve, *steps, *on_cpu],
        "test_inplace": scale,
        "test_out": [*scale, *blend],
        "test_gradients": [*scale, "total-0-cpu", square, *halve],
        "test_compile": [*scale, *blend, "total-0-cpu", square, *halve, *steps, *on_cpu],
        "test_vmap": [*scale, *blend, square, *halve, "positive-0-cpu"],
        "test_requirements": ["halve"],
        "test_strides": [*scale, *blend, "total-0-cpu", square, *halve, *steps, *on_cpu],
    }


@pytest.mark.thorough
def test_mistakes_fail(folder: Path, program: str, device_object: Path, tmp_path: Path) -> None:
    """A wrong derivative, overload or shape, or strides that are not read, fail their test, and nothing else fails."""
    library = backend_compiler(program, tmp_path).link("device", [device_object])
    results = outcomes(folder, "gradient out inplace fake strides", library)
    failed = {test for test, result in results.items() if result == "FAILED"}
    wrong = ("test_gradients[scale", "test_out[scale", "test_inplace[scale")
    assert failed == {
        *[f"{name}-{number}-{device}]" for name in wrong for number in (0, 1) for device in ("cpu", "acme")],
        "test_opcheck[total-0-cpu]",
        "test_strides[total-0-cpu]",
        "test_gradients[square-0-acme]",
    }


def test_devices_that_are_not_there_are_skipped(torch: ModuleType, generate_library: GenerateLibrary) -> None:
    """An operator with a kernel for CUDA has tests there, which say that there is no such device."""
    out = generate_library(
        "namespace: absent\noperators:\n"
        "- {func: f(Tensor self) -> Tensor, outputs: like(self), dispatch: {CPU: f, CUDA: f}, samples: torch.ones(2)}\n"
        "- {func: g(Tensor self) -> Tensor, outputs: like(self), dispatch: {XPU: g}, samples: torch.ones(2)}\n"
    )
    library = torch.library.Library("absent", "DEF")
    for schema in ("f(Tensor self) -> Tensor", "g(Tensor self) -> Tensor"):
        library.define(schema)
    for key in ("CPU", "CUDA"):
        library.impl("f", lambda tensor: tensor.clone(), key)
    scope: dict[str, object] = {"__name__": "test_absent"}
    tests = (out / "tests/test_absent.py").read_text().replace("import absent\n", "")
    exec(compile(tests, "test_absent.py", "exec"), scope)
    listed = scope["samples"]
    assert callable(listed)
    skips = {
        parameter.id: [mark.kwargs["reason"] for mark in parameter.marks if mark.args[0]] for parameter in listed()
    }
    cuda = [] if torch.cuda.is_available() else ["there is no device cuda"]
    assert skips == {"f-0-cpu": [], "f-0-cuda": cuda, "g-0-cpu": ["this build has no kernel"]}


LARGE = """\
namespace: largely
operators:
- {func: "half(Tensor x, Tensor weight) -> Tensor", dims: {x: "*b d", weight: d, return: "*b d"}, dispatch: {CPU: half}}
- {func: "swap(Tensor x) -> Tensor", dims: {x: "d *b", return: "*b d"}, dispatch: {CPU: swap}}
- {func: "add(Tensor x, Tensor y) -> Tensor", dims: {x: "*#b", y: "*b", return: "*b"}, dispatch: {CPU: add}}
"""


def test_large_tensors_find_lost_bits(
    torch: ModuleType, generate_library: GenerateLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel that writes or reads places without their upper bits fails, and a right one passes in two dtypes."""
    monkeypatch.setenv("OPWRIGHT_LARGE", "1")
    text = (generate_library(LARGE) / "tests/test_largely.py").read_text().replace("import largely\n", "")
    library = torch.library.Library("largely", "DEF")
    for schema in (
        "half(Tensor x, Tensor weight) -> Tensor",
        "swap(Tensor x) -> Tensor",
        "add(Tensor x, Tensor y) -> Tensor",
    ):
        library.define(schema)
    kind = "right"
    dtypes = set()

    def half(x: ModuleType, weight: ModuleType) -> object:
        dtypes.add(x.dtype)
        if kind == "single" and x.dtype != torch.float32:
            raise RuntimeError("float32 alone")
        places = torch.arange(x.numel())
        result = x.flatten()[places % 2**12 if kind == "reads" else places].view_as(x) * weight / 2
        return result.where(places.view_as(x) < 2**12, 0) if kind == "writes" else result

    library.impl("half", half, "CPU")
    scope: dict[str, Any] = {"__name__": "test_largely"}
    exec(compile(text, "test_largely.py", "exec"), scope)
    scope["LARGE"] = 2**12
    [marked] = [mark for mark in scope["test_large"].pytestmark if mark.name == "parametrize"]
    samples = {parameter.id: parameter.values for parameter in marked.args[1]}
    assert {name.partition("-")[0] for name in samples} == {"half"}
    for each in ("right", "single"):
        kind = each
        dtypes.clear()
        scope["test_large"](*samples["half-0"])
        assert (torch.float32 in dtypes) == (kind == "single")
    for each in ("reads", "writes"):
        kind = each
        with pytest.raises(AssertionError, match="not close"):
            scope["test_large"](*samples["half-0"])
    scope["free_memory"] = lambda _: 0
    with pytest.raises(pytest.skip.Exception, match="MiB of memory"):
        scope["test_large"](*samples["half-0"])


@pytest.mark.thorough
def test_type_checkers_find_nothing_in_the_tests(folder: Path, tmp_path: Path) -> None:
    """The generated file passes `mypy --strict` and pyright."""
    shutil.copy(folder / "test_acme.py", tmp_path)
    (tmp_path / "tested.py").touch()
    environment = site(tmp_path / "environment", None)
    assert mypy_errors(environment, tmp_path / "test_acme.py") == {"test_acme.py": {}}
    assert pyright_errors(environment, tmp_path / "test_acme.py", mode="standard") == {"test_acme.py": {}}
