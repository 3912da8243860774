"""Small inputs of static runtime: the reference's bytes, or its refusal, and diagnostics at their places."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.plugins.code_pages import code_names
from opwright.torchgen import gen_static_runtime_ops
from tests.conformance.inputs import ROOT
from tests.dialects.cases import Case, load_cases
from tests.static_runtime.sides import OPERATORS, TESTS, flags

FOLDER = Path(__file__).parent / "cases"
CASES = [case for path in sorted(FOLDER.glob("*.yaml")) for case in load_cases(path.name, FOLDER)]
NATIVE = "ATen/native/native_functions.yaml"

#: Codes that no operator has: they are about clang-format and `--why`.
ELSEWHERE = {"W1704", "E1705", "E1706"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory, reference_inputs: Path) -> dict[str, Path]:
    """A folder for each case, with its operators and PyTorch's tags."""
    folders = {}
    for case in CASES:
        folder = tmp_path_factory.mktemp(case.name)
        (folder / NATIVE).parent.mkdir(parents=True)
        (folder / NATIVE).write_text(case.text)
        shutil.copyfile(reference_inputs / "native" / "tags.yaml", (folder / NATIVE).with_name("tags.yaml"))
        folders[case.name] = folder
    return folders


@pytest.fixture(scope="module")
def references(folders: dict[str, Path]) -> dict[str, tuple[str | None, dict[str, bytes]]]:
    """Why the reference refuses each case, if it does, and the files that it writes."""
    command = [sys.executable, "-m", "tests.static_runtime.sides", *map(str, folders.values())]
    lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    outcomes = {}
    for (name, folder), line in zip(folders.items(), lines, strict=True):
        outcomes[name] = (json.loads(line), outputs(folder))
        for path in outputs(folder):
            (folder / path).unlink()
    return outcomes


def outputs(folder: Path) -> dict[str, bytes]:
    """The files of static runtime in a folder."""
    return {name: (folder / name).read_bytes() for name in (OPERATORS, TESTS) if (folder / name).exists()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_files_have_the_same_bytes(
    case: Case, folders: dict[str, Path], references: dict[str, tuple[str | None, dict[str, bytes]]]
) -> None:
    """What the reference accepts has its bytes, and what it refuses is refused."""
    refusal, expected = references[case.name]
    folder = folders[case.name]
    status = gen_static_runtime_ops.main([*flags(folder), "--no-format"])
    assert (refusal is not None) == ("[refused]" in case.title), refusal
    assert status == (0 if refusal is None else 1)
    assert outputs(folder) == ({} if refusal is not None else expected)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_mistakes_are_at_their_places(case: Case, folders: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Diagnostics are where the comments of a case mark them, and at no other place."""
    gen_static_runtime_ops.main([*flags(folders[case.name]), "--no-format"])
    expected = sorted((line, column, code) for line, column, _, code in case.faults)
    assert sorted(said_faults(capsys.readouterr().err)) == expected


def said_faults(text: str) -> list[tuple[int, int, str]]:
    """The line, the column and the code of each diagnostic in a report."""
    faults, code = [], ""
    for line in text.splitlines():
        if line.startswith(("error[", "warning[")):
            code = line.partition("[")[2].partition("]")[0]
        elif line.lstrip().startswith("-->"):
            _, row, column = line.rsplit(":", 2)
            faults.append((int(row), int(column), code))
    return faults


def test_every_code_has_a_case() -> None:
    """Each code of operators in static runtime is marked in a case."""
    registered = {code for code in code_names() if "1700" < code[1:] < "1720"}
    marked = {code for case in CASES for *_, code in case.faults}
    assert registered - marked == ELSEWHERE
