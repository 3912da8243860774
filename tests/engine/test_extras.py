"""What runs write and tell besides their outputs."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import opwright
from opwright.files.plain_files import file_status
from opwright.files.staging import replace_checked_state
from opwright.incremental import state
from tests.engine.project import Project, files_of, state_files


def test_listed_outputs_are_those_that_are_made(project: Project) -> None:
    """The list has each output once, as an absolute path, and listing writes nothing."""
    listed = project.run("--list-outputs").stdout.splitlines()
    assert not project.out.exists()
    project.run()
    assert sorted(listed) == sorted(str(project.out / path) for path in files_of(project.out))
    assert project.run("--dry-run").stdout.splitlines() == listed
    assert project.run("--list-outputs=cmake").stdout.splitlines()[:2] == ["set(", "opwright_outputs"]


def test_check_tells_what_differs(project: Project) -> None:
    """A check passes after a run; then each changed, missing and stale file is a fault, and nothing is mended."""
    project.run("--depfile", project.out / "aten/inputs.d")
    project.run("--check")
    ops = project.out / "aten/src/ATen/ops"
    (ops / "twice.h").write_text("// changed\n")
    (ops / "rows.h").unlink()
    project.edit("- func: mean_of(Tensor[] tensors, float eps=1e-6) -> Tensor\n", "")
    before = files_of(project.out)
    run = project.start("--check")
    _, faults = run.communicate()
    assert run.returncode == 1
    for words in ("twice.h` differs", "rows.h` is missing", "mean_of.h` is no longer generated"):
        assert words in faults
    assert files_of(project.out) == before


@pytest.mark.parametrize("harm", ["edited", "zeroed", "linked"])
def test_check_reads_the_bytes(project: Project, harm: str) -> None:
    """A file that was edited or zeroed fails a check even where the record knows no better, and so does a link."""
    project.run()
    header = project.out / "aten/src/ATen/ops/twice.h"
    right = header.read_bytes()
    if harm == "linked":
        header.rename(project.out / "twice.h")
        header.symlink_to(project.out / "twice.h")
    else:
        header.write_bytes(right.replace(b"twice", b"TWICE") if harm == "edited" else bytes(len(right)))
        believe(project, header)
        assert "0 written" in project.run().stdout
    check = project.start("--check")
    assert "twice.h` differs" in check.communicate()[1]
    assert check.returncode == 1


def believe(project: Project, header: Path) -> None:
    """Let the record of the last run say of a header what is there now."""
    [path] = state_files(project, ".state")
    _, line, kept = path.read_bytes().split(b"\n", 2)
    data = json.loads(line)
    names, *columns = data["outputs"]["ops"][""]
    for column, value in zip(columns, file_status(header.lstat()), strict=True):
        column[names.index(header.name)] = value
    body = json.dumps(data).encode() + b"\n" + kept
    replace_checked_state(str(path), state._FORMAT, body)


@pytest.mark.parametrize("flag", ["--depfile", "--stamp", "--provenance"])
@pytest.mark.parametrize(
    "place", [f"{Project.place}/native/tags.yaml", "linked.yaml", "out/aten/src/ATen/Functions.h", "state"]
)
def test_no_extra_file_overwrites_another(project: Project, tmp_path: Path, flag: str, place: str) -> None:
    """A file that an argument names and that is an input, an output or state is refused before anything is written."""
    (tmp_path / "linked.yaml").symlink_to(tmp_path / Project.place / "native")
    path = {
        "linked.yaml": tmp_path / "linked.yaml" / "tags.yaml",
        "state": project.out / ".opwright" / "lock",
    }.get(place, tmp_path / place)
    before = files_of(project.inputs)
    run = project.start(flag, path)
    _, faults = run.communicate()
    assert run.returncode == 1
    assert "error[E0613]" in faults
    assert flag in faults
    assert files_of(project.inputs) == before
    assert not project.out.exists()


def test_no_two_arguments_name_one_file(project: Project, tmp_path: Path) -> None:
    """A stamp that is the dependency file too is refused."""
    run = project.start("--depfile", tmp_path / "a", "--stamp", tmp_path / "b" / ".." / "a")
    assert "error[E0613]: `--stamp`" in run.communicate()[1]
    assert run.returncode == 1


@pytest.mark.parametrize("place", ["stamp", "out", "inputs"])
def test_a_path_that_no_dependency_file_can_have_is_refused(project: Project, tmp_path: Path, place: str) -> None:
    """Where Make cannot read the path of stamp, outputs or an input, that is a fault before anything is written."""
    words: list[object] = ["--depfile", tmp_path / "d"]
    odd = tmp_path / "a;b"
    if place == "inputs":
        project.inputs = project.inputs.rename(odd)
    run = project.start(*words, *(["--stamp", odd] if place == "stamp" else []), out=odd if place == "out" else None)
    assert "error[E0612]" in run.communicate()[1]
    assert run.returncode == 1
    assert not project.out.exists()
    assert not (tmp_path / "d").exists()
    if place != "inputs":
        assert not odd.exists()


def test_dependency_file_has_inputs_and_outputs(project: Project, tmp_path: Path) -> None:
    """Every output depends on the entries, the tags and the templates; with a stamp only that does."""
    depfile, stamp = tmp_path / "d" / "all.d", tmp_path / "stamps" / "done"
    depfile.parent.mkdir()
    project.run("--depfile", depfile)
    targets, _, inputs = depfile.read_text().partition(":")
    assert targets.split() == [str(project.out / path) for path in files_of(project.out)] or set(targets.split()) == {
        str(project.out / path) for path in files_of(project.out)
    }
    names = {Path(name).name for name in inputs.replace("\\\n", " ").split()}
    assert {"native_functions.yaml", "tags.yaml", "Function.h"} <= names
    # Another Opwright may write other files.
    package = Path(opwright.__file__).parent
    assert {str(package / "__init__.py"), str(package / "emit/aten/declarations.py")} <= set(inputs.split())
    listed = project.run("--list-outputs=cmake").stdout.partition("opwright_inputs\n")[2]
    assert set(re.findall('"(.*)"', listed)) == set(inputs.replace("\\\n", " ").split())
    project.run("--depfile", depfile, "--stamp", stamp)
    assert depfile.read_text().startswith(f"{stamp}:")
    os.utime(stamp, (1, 1))
    project.run("--depfile", depfile, "--stamp", stamp)
    assert stamp.stat().st_mtime > 1


def test_lines_lead_back_to_their_entries(project: Project) -> None:
    """The line of a kernel in a source names the entry that asked for it; a template's line names none."""
    project.run("--provenance", project.out / "where.json")
    source = project.out / "aten/src/ATen/RegisterCPUEverything.cpp"
    lines = source.read_text().splitlines()
    asked = next(number for number, line in enumerate(lines, 1) if "shifted_cpu(" in line)
    entry = next(
        number for number, line in enumerate(project.yaml.read_text().splitlines(), 1) if "func: shifted(" in line
    )
    told = where(f"{source}:{asked}")
    assert "`shifted`" in told
    assert f"{project.yaml}:{entry}" in told
    assert "template" in where(f"{source}:1")


def test_lines_are_told_from_kept_files_too(project: Project, tmp_path: Path) -> None:
    """After an edit, lines that moved without being made again still lead to their entries."""
    project.run("--provenance", tmp_path / "where.json")
    project.edit("- func: twice(", "- func: early(Tensor self) -> Tensor\n\n- func: twice(")
    project.run("--provenance", tmp_path / "where.json")
    for path in sorted((project.out / "aten/src/ATen").rglob("*.*")):
        lines = path.read_text().splitlines()
        for number, line in enumerate(lines, 1):
            if "mean_of::" in line or "shifted_cpu(" in line:
                told = where(f"{path}:{number}", tmp_path / "where.json")
                assert "mean_of" in told.split("\n", 1)[1] or "shifted" in told.split("\n", 1)[1], (
                    f"{path}:{number}\n{told}"
                )
                break


def where(place: str, provenance: Path | None = None) -> str:
    """What the program says of a generated line."""
    words = [sys.executable, "-m", "opwright", "where", place]
    words += [] if provenance is None else ["--provenance", str(provenance)]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def test_a_line_that_the_file_does_not_have_is_a_fault(project: Project) -> None:
    """A line after the last one, and one before the first, come from nowhere."""
    project.run("--provenance", project.out / "where.json")
    source = project.out / "aten/src/ATen/RegisterCPUEverything.cpp"
    count = len(source.read_text().splitlines())
    assert "comes from the emitter" in where(f"{source}:{count}")
    for line in (0, count + 1):
        words = [sys.executable, "-m", "opwright", "where", f"{source}:{line}"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert f"has {count} lines, and no line {line}" in done.stderr


def test_a_line_without_provenance_is_a_fault(project: Project) -> None:
    """Without the record of lines, the program says what to do."""
    project.run()
    words = [sys.executable, "-m", "opwright", "where", f"{project.out}/aten/src/ATen/Functions.h:3"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "error[E0611]" in done.stderr
    assert "--provenance" in done.stderr


def test_watching_runs_again_on_a_change(project: Project) -> None:
    """A saved edit is generated, its operator is named, a fault is shown and waited out, and Ctrl-C ends it.

    Edits in place load few operators, also after other edits.
    """
    pytest.importorskip("watchfiles")
    run = project.start("--watch", "--stats")
    header = project.out / "aten/src/ATen/ops/mean_of.h"
    lines: list[str] = []
    faults = ""

    def says(text: str) -> bool:
        """Whether the next line that the run prints has a text. A run names operators after it has written files."""
        lines.append(read_line(run))
        return text in lines[-1]

    try:
        wait_for(lambda: says("watching"))
        assert header.exists()
        project.edit("eps=1e-6", "eps=1e-5")
        wait_for(lambda: says("changed mean_of"))
        assert "eps=1e-5" in header.read_text()
        project.edit("Tensor[] tensors", "Tensoor[] tensors")
        while "Tensoor" not in faults:
            assert run.stderr is not None
            faults += run.stderr.readline()
        project.edit("Tensoor[] tensors, float eps=1e-5", "Tensor[] tensors, float eps=1e-4")
        wait_for(lambda: says("changed mean_of"))
        assert "eps=1e-4" in header.read_text()
        project.edit("- func: rows(", "- func: another(Tensor self) -> Tensor\n\n- func: rows(")
        wait_for(lambda: says("added another"))
        assert header.with_name("another.h").exists()
        project.edit("eps=1e-4", "eps=1e-3")
        wait_for(lambda: says("changed mean_of"))
        assert "eps=1e-3" in header.read_text()
    finally:
        run.send_signal(signal.SIGINT)
        rest, more_faults = run.communicate(timeout=20)
    faults += more_faults
    said = "".join(lines) + rest
    named = [line.strip() for line in said.splitlines() if line.startswith(("  changed", "  added", "  removed"))]
    assert named == ["changed mean_of", "changed mean_of", "added another", "changed mean_of"]
    assert said.count("load the edit") >= 3
    assert said.count("load and check inputs") >= 2
    assert "unknown" in faults or "error[" in faults
    assert "Traceback" not in faults


def test_watching_waits_out_a_fault_from_the_start(project: Project) -> None:
    """What is faulty when the watch begins is reported, and generated once it is saved without the fault."""
    pytest.importorskip("watchfiles")
    project.edit("Tensor[] tensors", "Tensoor[] tensors")
    run = project.start("--watch")
    header = project.out / "aten/src/ATen/ops/mean_of.h"
    try:
        wait_for(lambda: "watching" in read_line(run))
        assert not header.exists()
        project.edit("Tensoor[] tensors", "Tensor[] tensors")
        wait_for(header.exists)
    finally:
        run.send_signal(signal.SIGTERM)
        _, faults = run.communicate(timeout=20)
    assert "Tensoor" in faults
    assert run.returncode == 143


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc to see the memory of a process")
def test_watching_needs_no_more_memory_over_time(reference_inputs: Path, tmp_path: Path) -> None:
    """After ten saves of all of PyTorch's operators a watch holds hardly more memory than after the first."""
    pytest.importorskip("watchfiles")
    shutil.copytree(reference_inputs, tmp_path / "inputs")
    yaml = tmp_path / "inputs/native/native_functions.yaml"
    entries = yaml.read_text()
    words = ["--source-path", str(tmp_path / "inputs"), "--out", str(tmp_path / "out"), "--release", "2.13"]
    command = [sys.executable, "-m", "opwright", "generate", *words, "--only", "declarations_yaml", "--watch"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: "watching" in read_line(run))
        before = memory_of(run)
        for number in range(10):
            yaml.write_text(f"{entries}\n- func: edited_{number}(Tensor self) -> Tensor\n")
            wait_for(lambda: "written" in read_line(run))
        after = memory_of(run)
    finally:
        run.terminate()
        run.communicate(timeout=20)
    assert after < 1.3 * before


def memory_of(run: subprocess.Popen[str]) -> int:
    """The memory that a process holds, in kilobytes, once it has settled."""
    time.sleep(0.5)
    lines = Path(f"/proc/{run.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def read_line(run: subprocess.Popen[str]) -> str:
    """The next line that a run prints."""
    assert run.stdout is not None
    return run.stdout.readline()


def wait_for(condition: object) -> None:
    """Wait until a condition holds, for at most a while."""
    assert callable(condition)
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
