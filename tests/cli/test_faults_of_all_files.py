"""Faults of several inputs at once, as users meet them: one run reports those of all files."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conformance.inputs import complete_package, pytorch_files
from tests.conformance.mutate import DERIVATIVES

NATIVE = "ATen/native/native_functions.yaml"
TAGS = "ATen/native/tags.yaml"
DEPRECATED = "autograd/deprecated.yaml"
SELECTION = "selection.yaml"

#: For each file a mistake that depends on no other file, as what stands there and what is written instead.
MISTAKES = {
    NATIVE: ("- func: abs(Tensor self) -> Tensor", "- func: abs(Tensr self) -> Tensor"),
    TAGS: ("- tag: core", "- tga: core"),
    DERIVATIVES: ("self: grad * -((-self * self + 1).rsqrt()).conj()", "self: grad * -((-self * self + 1).rsqrt("),
    DEPRECATED: ("aten: addcdiv(self, tensor1, tensor2, value)", "aten: addcdivx(self, tensor1, tensor2, value)"),
    SELECTION: ("aten::acos: {}", "aten::acso: {}"),
}
CODES = {NATIVE: "E0202", TAGS: "E0402", DERIVATIVES: "E0937", DEPRECATED: "E1006", SELECTION: "E0703"}


def written(folder: Path, mistakes: Mapping[str, tuple[str, str]]) -> list[str]:
    """Writes PyTorch's inputs and a selection with mistakes, and gives the flags that name them."""
    files = {**pytorch_files(), SELECTION: b"operators:\n  aten::abs: {}\n  aten::acos: {}\n"}
    for name, content in files.items():
        path = folder / "torchgen" / "packaged" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        before, after = mistakes.get(name, ("", ""))
        assert before.encode() in content
        path.write_bytes(content.replace(before.encode(), after.encode(), 1) if before else content)
    complete_package(folder)
    packaged = folder / "torchgen" / "packaged"
    flags = ["--source-path", str(packaged / "ATen"), "--op-selection-yaml-path", str(packaged / SELECTION)]
    return [*flags, "--out", str(folder / "out")]


def faults(flags: list[str]) -> set[tuple[str, str]]:
    """The code and the file of each error of a run, which writes nothing."""
    command = [sys.executable, "-m", "opwright", "generate", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert not Path(flags[-1]).exists()
    return set(re.findall(r"^error\[(E\d+)\].*\n +--> .*packaged/(.*?):\d", done.stderr, re.MULTILINE))


@pytest.mark.thorough
@pytest.mark.parametrize("without", [None, NATIVE, TAGS, DERIVATIVES, SELECTION])
def test_one_run_reports_the_faults_of_all_files(tmp_path: Path, without: str | None) -> None:
    """Whichever of the files are faulty, each mistake is told once and nothing that only follows from it."""
    mistakes = {name: mistake for name, mistake in MISTAKES.items() if name != without}
    assert faults(written(tmp_path, mistakes)) == {(CODES[name], name) for name in mistakes}


def test_what_follows_from_a_file_that_is_no_yaml_is_not_reported(tmp_path: Path) -> None:
    """Of files that cannot be read each has its one fault; no operator or tag is missed because of it."""
    broken = {
        NATIVE: ("- func: abs(Tensor self) -> Tensor", "- func: [abs"),
        TAGS: ("- tag: core", "- tag: [core"),
        SELECTION: ("operators:", "operators: ["),
    }
    reported = faults(written(tmp_path, {**MISTAKES, **broken}))
    assert {name for _, name in reported} == {NATIVE, TAGS, SELECTION, DERIVATIVES}
    assert len(reported) == 4


def test_a_derivative_of_an_operator_at_fault_is_not_missed(tmp_path: Path) -> None:
    """Only the entry of the operator is pointed at: there is nothing else to fix."""
    assert faults(written(tmp_path, {NATIVE: MISTAKES[NATIVE]})) == {("E0202", NATIVE)}


def test_a_broken_list_of_tags_makes_no_tag_unknown(tmp_path: Path) -> None:
    """The operators may have tags that cannot be read."""
    reported = faults(written(tmp_path, {TAGS: ("- tag: core", "- tag: [core")}))
    assert {name for _, name in reported} == {TAGS}
