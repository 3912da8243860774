"""Dependency lists are the reference's, byte for byte."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.cli.depfile import cmake_list, write_dependency_lists
from opwright.files.plan import Plan
from opwright.source.diagnostic import Fault

INSTALL = "out/./a//ATen"
ROOTS = {"aten": INSTALL, "core": f"{INSTALL}/core", "ops": f"{INSTALL}/ops", "aoti": "aoti", "headeronly": "ho"}


REFERENCE = """
import json, sys
from pathlib import Path
from torchgen.utils import FileManager
manager = FileManager(install_dir=".", template_dir=".", dry_run=True)
manager.files.update(map(Path, json.load(sys.stdin)))
manager.write_outputs("made", sys.argv[1])
"""


@pytest.fixture(scope="module")
def reference_lists(tmp_path_factory: pytest.TempPathFactory, reference_inputs: Path) -> Path:
    """A folder where the reference wrote its lists, with every kind of device on."""
    folder = tmp_path_factory.mktemp("reference")
    command = [
        *[sys.executable, "-m", "torchgen.gen", "--dry-run", "--per-operator-headers", "--mps", "--xpu"],
        *["--source-path", str(reference_inputs), "--install-dir", INSTALL, "--aoti-install-dir", "aoti"],
        *["--headeronly-install-dir", "ho", "--output-dependencies", str(folder / "lists" / "made.by.cmake")],
    ]
    (folder / "lists").mkdir()
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "lists"


def plan_of(lists: Path) -> Plan:
    """A plan of all the files in the reference's lists, and of some that no list may hold."""
    plan = Plan(ROOTS)
    listed = [line.strip().strip('"') for path in lists.iterdir() for line in path.read_text().split("\n")[2:-1]]
    for path in sorted(listed, reverse=True):
        below = path.removeprefix("out/a/ATen/")
        folder = next((name for name in ("core", "ops") if below.startswith(f"{name}/")), "aten")
        plan.add("any", folder, below.removeprefix(f"{folder}/"))
    for folder, path in [
        ("aten", "RegisterCUDAEverything.cpp"),
        ("aten", "OperatorsEverything.cpp"),
        ("aoti", "c_shim_cuda.cpp"),
        ("headeronly", "enum_tag.h"),
    ]:
        plan.add("any", folder, path)
    return plan


@pytest.mark.thorough
def test_lists_are_the_reference_s(reference_lists: Path, tmp_path: Path) -> None:
    """Each list has the reference's name, variable, files, order and form."""
    write_dependency_lists(tmp_path / "made.by.cmake", plan_of(reference_lists), devices=("CUDA", "XPU"))
    expected = {path.name: path.read_text() for path in reference_lists.iterdir()}
    assert len(expected) == 6
    assert sum(text.count("\n") for text in expected.values()) > 7000
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == expected


def test_paths_are_ordered_part_by_part(tmp_path: Path) -> None:
    """A folder comes before one whose name goes on with a character below the slash, as in the reference."""
    paths = ["a/b.h", "a-b/c.h", "a.h", "a/B/c.h", "../a.h", "a/b/c.h", "ab/c.h"]
    command = [sys.executable, "-c", REFERENCE, str(tmp_path / "made")]
    subprocess.run(command, input=json.dumps(paths), text=True, check=True)
    assert cmake_list("made", paths) == (tmp_path / "made").read_text()


def test_a_device_without_a_list_is_in_the_main_one(tmp_path: Path) -> None:
    """Files of a device that was not asked for are listed with the others, and empty lists are written."""
    plan = Plan({"aten": "."})
    plan.add("any", "aten", "XPUFunctions.h")
    write_dependency_lists(tmp_path / "made.cmake", plan, devices=("CUDA",))
    assert (tmp_path / "made.cmake").read_text() == 'set(\nmade\n    "XPUFunctions.h"\n)'
    assert (tmp_path / "cuda_made.cmake").read_text() == "set(\ncuda_made\n)"
    assert not (tmp_path / "xpu_made.cmake").exists()


def test_a_list_that_cannot_be_written_is_a_fault(tmp_path: Path) -> None:
    """A file where the lists' folder should be is reported, and no list is written."""
    (tmp_path / "file").write_text("")
    with pytest.raises(Fault) as caught:
        write_dependency_lists(tmp_path / "file" / "made.cmake", Plan({}))
    assert caught.value.diagnostic.code == "E0607"
