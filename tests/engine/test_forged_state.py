"""State on disk that is forged, copied, moved or not a file: runs stay in their folder, end, and are right."""

from __future__ import annotations

import argparse
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opwright.cli.runs import run_of as run_of_program
from opwright.emit.registry import build_folders
from opwright.files.staging import replace_checked_state
from opwright.incremental import output_folders, state
from opwright.incremental.identity import RunIdentity
from opwright.incremental.previous_build import decode_emitters
from tests.engine.project import Project, files_of, put, state_files

MEAN_OF = "- func: mean_of(Tensor[] tensors, float eps=1e-6) -> Tensor\n"
OPS = "aten/src/ATen/ops"

Data = dict[str, Any]


MANIFEST, EMITTERS = 1, 2
"""The lines of a file of state."""


def read_line(path: Path, number: int) -> Data:
    """The data of a line of a file of state."""
    data: Data = json.loads(path.read_bytes().split(b"\n", 3)[number])
    return data


def write_line(path: Path, number: int, data: object) -> None:
    """Replace the data of a line, and give the file the right checksum."""
    lines = path.read_bytes().split(b"\n", 3)
    lines[number] = json.dumps(data).encode()
    replace_checked_state(str(path), state._FORMAT, b"\n".join(lines[1:]))


def forge(path: Path, change: Callable[[Data], object], line: int = MANIFEST) -> None:
    """Change a line of a file of state, and give it the right checksum."""
    data = read_line(path, line)
    change(data)
    write_line(path, line, data)


def columns(*names: str) -> list[list[object]]:
    """What a record says of files in one folder."""
    numbers: list[object] = [1] * len(names)
    return [list(names), numbers, numbers, numbers]


FORGERIES: dict[str, Callable[[Data, Path], object]] = {
    "an absolute folder": lambda data, home: data["outputs"]["ops"].update({str(home): columns("precious.h")}),
    "a folder above": lambda data, _: data["outputs"]["ops"].update({"../../../../../home": columns("precious.h")}),
    "a name with a path": lambda data, _: data["outputs"]["ops"].update(
        {"x": columns("../../../../../../home/precious.h")}
    ),
    "an absolute name": lambda data, home: data["outputs"]["ops"].update({"x": columns(f"{home}/precious.h")}),
    "a linked folder": lambda data, _: data["outputs"]["ops"].update({"linked": columns("precious.h")}),
    "a link": lambda data, _: data["outputs"]["ops"].update({"": columns("link.h")}),
    "what was left": lambda data, home: data["left"].update({"ops": {str(home): columns("precious.h")}}),
    "a left file behind a link": lambda data, _: data["left"].update({"ops": {"linked": columns("precious.h")}}),
    "what stands elsewhere": lambda data, home: data["others"].update({str(home): columns("precious.h")}),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_nothing_outside_the_folder_is_removed(project: Project, tmp_path: Path, forgery: str) -> None:
    """Whatever a record names, by path or through a link, a run removes nothing outside of its output folder."""
    project.run()
    home = tmp_path / "home"
    home.mkdir()
    (home / "precious.h").write_text("mine\n")
    (project.out / OPS / "linked").symlink_to(home)
    (project.out / OPS / "link.h").symlink_to(home / "precious.h")
    [path] = state_files(project, ".state")
    forge(path, lambda data: FORGERIES[forgery](data, home))
    project.edit("eps=1e-6", "eps=1e-5")
    project.run()
    assert (home / "precious.h").read_text() == "mine\n"
    assert (project.out / OPS / "link.h").is_symlink()
    assert "1e-5" in (project.out / OPS / "mean_of.h").read_text()


def test_nothing_is_removed_behind_an_output_folder_that_is_a_link(project: Project, tmp_path: Path) -> None:
    """Where an output folder itself is a link that leads out, what the record names there stays."""
    project.run()
    home = tmp_path / "home"
    (project.out / OPS).rename(home)
    (project.out / OPS).symlink_to(home)
    (home / "precious.h").write_text("mine\n")
    [path] = state_files(project, ".state")
    forge(path, lambda data: data["outputs"]["ops"][""][0].append("precious.h"))
    forge(path, lambda data: [column.append(1) for column in data["outputs"]["ops"][""][1:]])
    project.edit(MEAN_OF, "")
    project.run()
    assert (home / "precious.h").read_text() == "mine\n"


def test_staging_folders_that_are_links_are_left_alone(project: Project, tmp_path: Path) -> None:
    """A link that is named as what a killed run leaves is not followed."""
    project.run()
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "precious.h").write_text("mine\n")
    (project.out / OPS / f".opwright-{2**22 + 1}-abc").symlink_to(tmp_path / "home")
    project.edit("eps=1e-6", "eps=1e-5")
    project.run()
    assert (tmp_path / "home" / "precious.h").read_text() == "mine\n"


def run_of(project: Project) -> RunIdentity:
    """The identity of the project's run."""
    arguments = argparse.Namespace(prune=True, source_path=str(project.inputs))
    families = ("headers", "sources", "declarations_yaml")
    out = str(project.out)
    return run_of_program("generate", arguments, out, build_folders(out, families), families, shard=None)


NESTED: list[object] = []
for _ in range(500):
    NESTED = [NESTED]

BROKEN: list[object] = [
    None,
    3,
    -1,
    "x",
    [],
    {},
    [3],
    [[]],
    {"x": 3},
    {"x": [[[3]]]},
    {"ops": {"": [[], [], [], []]}},
    NESTED,
]


def broken(data: Data) -> list[Data]:
    """Data with one value, at any depth, of another type or of no meaning; of long tables the first two rows count."""
    cases = []
    for key, value in data.items():
        cases += [{**data, key: other} for other in BROKEN]
        rows = dict(enumerate(value)) if isinstance(value, list) else value
        if isinstance(rows, dict):
            for row in broken({inner: rows[inner] for inner in list(rows)[:2]}):
                changed = {**rows, **row}
                cases.append({**data, key: list(changed.values()) if isinstance(value, list) else changed})
    return cases


def test_a_broken_record_is_not_believed(project: Project) -> None:
    """A record with a right checksum and any value of a wrong type is ignored, or used without harm."""
    project.run()
    run = run_of(project)
    path = Path(run.state_path(".state"))
    sound = state.load_manifest(run)
    assert sound is not None
    data = read_line(path, MANIFEST)
    kinds = [{**data, "kind": json.dumps(kind)} for kind in [*BROKEN, *broken(json.loads(data["kind"]))]]
    cases = [*broken(data), *kinds]
    assert len(cases) > 300
    for case in cases:
        write_line(path, MANIFEST, case)
        known = state.load_manifest(run)
        if known is not None:
            known.is_current(run)
            output_folders.stale_outputs(run, known, [sound], ())
        # As the record of another run into the same folder.
        others = [known for known in [state._load(str(path), run)] if known is not None]
        output_folders.stale_outputs(run, sound, others, ())


@pytest.mark.thorough
def test_broken_pieces_are_not_believed(project: Project) -> None:
    """Pieces with a right checksum and any value of a wrong type are ignored."""
    project.run()
    run = run_of(project)
    data = read_line(Path(run.state_path(".state")), EMITTERS)
    believed = 0
    cases = broken(data)
    assert len(cases) > 100
    for case in cases:
        believed += decode_emitters(json.dumps(case).encode()) is not None
    assert believed < len(cases)


@pytest.mark.parametrize("line", [MANIFEST, EMITTERS])
def test_a_run_after_broken_state_is_right(project: Project, line: int) -> None:
    """A run that finds state with nested lists and a broken kind makes what a run without state makes."""
    project.run()
    [path] = state_files(project, ".state")
    for change in (
        lambda data: data.update(kind=[[[]]]),
        lambda data: data.update(dict.fromkeys(data, NESTED)),
        lambda data: data.update(outputs={"ops": {"": [[["a.h"]], [1], [1], [1]]}}, a=[[], [], [], [], []]),
    ):
        forge(path, change, line)
        project.run()
    project.edit("eps=1e-6", "eps=1e-5")
    project.run()
    project.run(out=project.out.with_name("fresh"))
    assert files_of(project.out) == files_of(project.out.with_name("fresh"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
@pytest.mark.parametrize("kind", ["pipe", "folder", "loop", "device"])
def test_state_that_is_no_file_is_not_waited_for(project: Project, kind: str) -> None:
    """If state and lock are a pipe, a folder, a device or links in a circle, the run ends and is right."""
    project.run()
    for path in [*state_files(project, ".state"), *state_files(project, "lock")]:
        path.unlink()
        put(path, kind)
    project.edit("eps=1e-6", "eps=1e-5")
    process = project.start()
    _, faults = process.communicate(timeout=60)
    assert process.returncode == 0, faults
    assert "1e-5" in (project.out / OPS / "mean_of.h").read_text()


def test_no_link_in_the_state_folder_is_written_through(project: Project, tmp_path: Path) -> None:
    """A lock or a record that is a link to a file elsewhere leaves that file as it is."""
    project.run()
    for path in [*state_files(project, ".state"), *state_files(project, "lock")]:
        path.unlink()
        path.symlink_to(tmp_path / f"made{path.suffix}")
    project.edit("eps=1e-6", "eps=1e-5")
    project.run()
    assert {path.name for path in tmp_path.iterdir()} == {"inputs", "out"}


@pytest.mark.parametrize("how", ["moved", "copied"])
def test_files_of_a_removed_operator_go_from_a_folder_elsewhere(project: Project, how: str) -> None:
    """In an output folder that was moved or copied, files that are made no longer are removed, and only there."""
    project.run()
    first, second = project.out, project.out.with_name("second")
    if how == "moved":
        first.rename(second)
        first.mkdir()
    else:
        shutil.copytree(first, second)
    kept = files_of(first)
    project.edit(MEAN_OF, "")
    project.run(out=second)
    assert not list((second / OPS).glob("mean_of*"))
    assert (second / OPS / "twice.h").exists()
    assert files_of(first) == kept
