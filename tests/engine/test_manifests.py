"""Runs one after the other: what is not done again, what is mended, and what is removed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import opwright
from opwright.cli.main import main
from opwright.incremental.identity import InputStamps
from opwright.run.incremental_generation import IncrementalGeneration
from tests.engine.project import Project, files_of, state_files, times_of

#: Seconds after which a change is told from the next one by its time.
SETTLED = 2.1

#: Prints which of the named modules a run has imported in the end.
ASK_MODULES = """
import sys
from opwright.cli.main import main
from opwright.run.incremental_generation import IncrementalGeneration
status = main(sys.argv[1:])
print([name for name in ("yaml", "typing", "opwright.dialects", "opwright.emit.emitter") if name in sys.modules])
raise SystemExit(status)
"""


def test_nothing_is_loaded_where_nothing_changed(project: Project) -> None:
    """The second run does not import what reads or makes anything, and writes nothing."""
    project.run()
    before = times_of(project.out)
    command = [sys.executable, "-c", ASK_MODULES, *project.words()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "0 written" in done.stdout
    assert times_of(project.out) == before


def test_an_input_that_is_only_touched_changes_nothing(project: Project) -> None:
    """A new time stamp alone makes the run read the file, but do nothing else."""
    project.run()
    os.utime(project.yaml, ns=(1, 1))
    command = [sys.executable, "-c", ASK_MODULES, *project.words()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_an_input_of_the_same_size_and_time_is_read_when_it_was_new(project: Project) -> None:
    """An edit within one tick of the clock is seen: a file that is recorded just after it changed is read again."""
    status = project.yaml.stat()
    project.run()
    text = project.yaml.read_bytes().replace(b"1e-6", b"1e-7")
    with project.yaml.open("r+b") as stream:
        stream.write(text)
    os.utime(project.yaml, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert "1e-7" in files_after(project)["aten/src/ATen/ops/mean_of.h"].decode()


@pytest.mark.parametrize("how", ["in place", "replaced"])
def test_an_edit_that_puts_size_and_times_back_is_seen(project: Project, how: str) -> None:
    """An old input that is edited with its size, inode and time of modification kept is read; `cp -p` as well."""
    for path in project.inputs.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    project.run()
    time.sleep(SETTLED)
    project.run()
    status = project.yaml.stat()
    text = project.yaml.read_bytes().replace(b"1e-6", b"1e-7")
    if how == "replaced":
        project.yaml.unlink()
    with project.yaml.open("r+b" if how == "in place" else "wb") as stream:
        stream.write(text)
    os.utime(project.yaml, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert "1e-7" in files_after(project)["aten/src/ATen/ops/mean_of.h"].decode()


def test_an_edited_output_is_mended_whatever_its_times(project: Project) -> None:
    """An output that was edited with its size, inode and time of modification kept is made again."""
    project.run()
    right = files_of(project.out)
    path = project.out / "aten/src/ATen/ops/mean_of.h"
    status = path.stat()
    with path.open("r+b") as stream:
        stream.write(bytes(20))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert files_after(project) == right


@pytest.mark.parametrize(
    "name", ["native/native_functions.yaml", "templates/Function.h", "templates/RegisterSchema.cpp"]
)
def test_an_input_that_changes_for_a_while_is_not_believed(
    project: Project, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """What a run read of an input that changed meanwhile and changed back, the next run makes again."""
    path = project.inputs / name
    right = path.read_bytes()
    project.run(out=project.out.with_name("fresh"))
    marks = ("eps=1e-6", "eps=1e-5") if path.suffix == ".yaml" else ("#include", "// for a while\n#include")
    with monkeypatch.context() as patch:
        for hook, text in (
            ("load", right.decode().replace(*marks, 1)),
            ("remember", right.decode()),
        ):
            patch.setattr(IncrementalGeneration, hook, wrapped(getattr(IncrementalGeneration, hook), path, text))
        patch.setattr("gc.disable", lambda: None)
        assert main(project.words()) == 0
    assert path.read_bytes() == right
    assert files_of(project.out) != files_of(project.out.with_name("fresh"))
    assert files_after(project) == files_of(project.out.with_name("fresh"))


def wrapped(function: Callable[..., object], path: Path, text: str) -> Callable[..., object]:
    """A function before whose call a file is given another text."""

    def changed(*arguments: object, **named: object) -> object:
        path.write_text(text)
        return function(*arguments, **named)

    return changed


def test_a_file_that_comes_and_goes_in_a_watched_folder_is_noticed(project: Project) -> None:
    """A template folder that changed while a run read it is looked at again by the next one."""
    folder = str(project.inputs / "templates")
    watched = InputStamps.take([], [folder])
    watched.distrust_changed()
    assert watched.are_current()
    (project.inputs / "templates" / "Extra.h").write_text("")
    (project.inputs / "templates" / "Extra.h").unlink()
    watched.distrust_changed()
    assert not watched.are_current()


def files_after(project: Project) -> dict[str, bytes]:
    """The outputs after one more run."""
    project.run()
    return files_of(project.out)


@pytest.mark.parametrize("harm", ["delete", "edit", "truncate"])
def test_outputs_are_mended(project: Project, harm: str) -> None:
    """A file that was deleted or changed by hand is made again; all others are left alone."""
    project.run()
    right, before = files_of(project.out), times_of(project.out)
    harmed = "aten/src/ATen/RegisterCPUEverything.cpp"
    path = project.out / harmed
    if harm == "delete":
        path.unlink()
    else:
        path.write_bytes(right[harmed].replace(b"twice", b"TWICE") if harm == "edit" else b"")
    assert files_after(project) == right
    after = times_of(project.out)
    assert {name for name, time in after.items() if time != before[name]} == {harmed}


def test_files_of_an_operator_go_with_it(project: Project) -> None:
    """Headers of an operator that is no longer there are removed, and nothing that no run made."""
    project.run()
    ops = project.out / "aten/src/ATen/ops"
    (ops / "by_hand.h").write_text("// mine\n")
    removed = "- func: mean_of(Tensor[] tensors, float eps=1e-6) -> Tensor\n"
    project.edit(removed, "")
    assert (ops / "mean_of.h").exists()
    project.run()
    assert not list(ops.glob("mean_of*"))
    assert (ops / "by_hand.h").read_text() == "// mine\n"


def test_files_stay_where_that_is_asked_for(project: Project) -> None:
    """With `--no-prune` the headers of a removed operator stay."""
    project.run("--no-prune")
    project.edit("- func: mean_of(Tensor[] tensors, float eps=1e-6) -> Tensor\n", "")
    project.run("--no-prune")
    assert (project.out / "aten/src/ATen/ops/mean_of.h").exists()


def test_runs_of_other_families_keep_their_files(project: Project) -> None:
    """A run of headers only removes no source, and the other way round."""
    words = project.words()[:7]
    for family in ("headers", "sources", "headers"):
        subprocess.run([sys.executable, "-m", "opwright", *words, "--only", family], check=True, capture_output=True)
    apart = files_of(project.out)
    for path in apart:
        (project.out / path).unlink()
    words += ["--only", "headers", "--only", "sources"]
    subprocess.run([sys.executable, "-m", "opwright", *words], check=True, capture_output=True)
    assert files_of(project.out) == apart


@pytest.mark.parametrize("harm", ["truncate", "flip", "empty", "other format"])
def test_damaged_state_is_noticed(project: Project, harm: str) -> None:
    """What a run remembers is checked before it is believed; the next run is right, and remembers anew."""
    project.run()
    [path] = state_files(project, ".state")
    whole = path.read_bytes()
    damaged = {
        "truncate": whole[: len(whole) // 2],
        "flip": whole[:200] + bytes([whole[200] ^ 1]) + whole[201:],
        "empty": b"",
        "other format": whole.replace(b"opwright-state ", b"opwright-state 9", 1),
    }[harm]
    path.write_bytes(damaged)
    project.edit("float eps=1e-6", "float eps=1e-5")
    project.run()
    project.run(out=project.out.with_name("fresh"))
    assert files_of(project.out) == files_of(project.out.with_name("fresh"))
    assert path.read_bytes() not in (damaged, b"")


def test_state_is_not_needed(project: Project) -> None:
    """Without what earlier runs remember, a run finds its files right and writes none."""
    project.run()
    before = times_of(project.out)
    for path in state_files(project, ".state"):
        path.unlink()
    project.run()
    assert times_of(project.out) == before


def test_inputs_are_only_read(project: Project) -> None:
    """Nothing is written into the folder of inputs, nor beside the outputs."""
    listed = sorted(project.inputs.rglob("*"))
    project.run()
    project.run()
    assert sorted(project.inputs.rglob("*")) == listed
    assert {path.name for path in project.out.parent.iterdir()} == {"inputs", "out"}


def test_another_tool_makes_everything_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A manifest of other modules than those that run is not believed."""
    from opwright.incremental import identity, state

    project.run()
    [path] = state_files(project, ".state")
    tool = state.read_manifest(str(path))[0]["tool"]
    assert tool == identity.tool_identity()
    monkeypatch.setattr(identity, "own_files", dict)
    assert tool != identity.tool_identity.__wrapped__()


def test_the_tool_is_all_files_of_the_package() -> None:
    """Templates, tables and support headers are as much a part of the tool as its modules are, pages are not."""
    from opwright.incremental.identity import own_files

    package = Path(opwright.__file__).parent
    listed = set(own_files())
    unused = {"__pycache__", "diagnostics"}
    files = {path for path in package.rglob("*") if path.is_file() and unused.isdisjoint(path.parts)}
    assert listed == {str(path) for path in files}
    suffixes = {path.suffix for path in files}
    assert {".py", ".h", ".in", ".txt"} <= suffixes


def test_an_edited_template_of_the_package_is_another_tool(tmp_path: Path) -> None:
    """An edit of a file that is not a module changes what identifies the tool."""
    from opwright.incremental.identity import own_files

    template = tmp_path / "templates" / "ops.h"
    template.parent.mkdir()
    template.write_text("one")
    before = own_files(str(tmp_path))[str(template)]
    template.write_text("other")
    after = own_files(str(tmp_path))[str(template)]
    assert (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns)
