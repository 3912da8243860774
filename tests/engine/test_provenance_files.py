"""`where` reads provenance files that are damaged, forged, or elsewhere, and never fails on them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.files.staging import replace_checked_state
from opwright.incremental import state
from tests.engine.project import Project, put, state_files


def where(*words: object) -> subprocess.CompletedProcess[str]:
    """The program `where`, which must end by itself and without a traceback."""
    command = [sys.executable, "-m", "opwright", "where", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    return done


def source(project: Project) -> str:
    """A line of an output, as compilers name it."""
    return f"{project.out}/aten/src/ATen/Functions.h:3"


def test_provenance_outside_the_folder_is_named_by_the_user(project: Project, tmp_path: Path) -> None:
    """A provenance file that is not below the output folder is not opened unless the user names it; help tells how."""
    path = tmp_path / "where.json"
    project.run("--provenance", path)
    refused = where(source(project))
    assert refused.returncode == 1
    assert f"`--provenance {path}`" in refused.stderr
    assert where(source(project), "--provenance", path).returncode == 0


DAMAGED: dict[str, Callable[[str], object]] = {
    "no table": lambda _: [],
    "no files": lambda _: {"files": 3},
    "short": lambda target: {"files": {target: ["Functions.h"]}},
    "a number for lines": lambda target: {"files": {target: ["Functions.h", 3]}},
    "short lines": lambda target: {"entries": [["a.yaml"]], "files": {target: ["Functions.h", [[1, 2, 0]]]}},
    "texts for lines": lambda target: {
        "entries": [["a.yaml", 3, "add"]],
        "files": {target: ["Functions.h", [["1", "9", 0]]]},
    },
    "a list for an entry": lambda target: {
        "entries": [[["a.yaml"], 3, "add"]],
        "files": {target: ["Functions.h", [[1, 9, 0]]]},
    },
    "an entry that is not there": lambda target: {"entries": [], "files": {target: ["Functions.h", [[1, 9, -1]]]}},
    "a list for an emitter": lambda target: {"entries": [], "files": {target: [["Functions.h"], []]}},
}


@pytest.mark.thorough
@pytest.mark.parametrize("damage", [*DAMAGED, "nested", "not text"])
def test_damaged_provenance_is_a_fault(project: Project, damage: str) -> None:
    """Whatever a provenance file holds, the answer is a diagnostic."""
    path = project.out / "where.json"
    project.run("--provenance", path)
    target = source(project).rpartition(":")[0]
    if damage in DAMAGED:
        path.write_text(json.dumps(DAMAGED[damage](target)))
    else:
        path.write_bytes(b"[" * 100_000 if damage == "nested" else b"\xff\xfe")
    for words in ((), ("--provenance", path)):
        done = where(source(project), *words)
        assert done.returncode == 1
        assert "error[E0611]" in done.stderr


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
@pytest.mark.parametrize("kind", ["pipe", "folder", "loop", "device"])
def test_what_is_not_a_file_is_not_waited_for(project: Project, kind: str) -> None:
    """A pipe, a folder, a device or links in a circle in place of provenance or record end at once."""
    path = project.out / "where.json"
    project.run("--provenance", path)
    for place in (path, *state_files(project, ".state")):
        place.unlink()
        put(place, kind)
        assert where(source(project)).returncode == 1
    assert where(source(project), "--provenance", path).returncode == 1


@pytest.mark.parametrize("name", ["{outside}", "../secret.json", "link/secret.json", "link.json"])
def test_a_forged_record_names_no_file_elsewhere(project: Project, tmp_path: Path, name: str) -> None:
    """A record that points out of its folder, by path or through a link, makes `where` read nothing there."""
    project.run("--provenance", project.out / "where.json")
    outside = tmp_path / "secret.json"
    (project.out / "where.json").rename(outside)
    (project.out / "link").symlink_to(tmp_path)
    (project.out / "link.json").symlink_to(outside)
    [path] = state_files(project, ".state")
    _, line, kept = path.read_bytes().split(b"\n", 2)
    data = json.loads(line)
    assert data["facts"]["provenance"] == "where.json"
    data["facts"]["provenance"] = name.format(outside=outside)
    body = json.dumps(data).encode() + b"\n" + kept
    replace_checked_state(str(path), state._FORMAT, body)
    assert where(source(project)).returncode == 1


@pytest.mark.parametrize("line", ["\u00b2", "9" * 5_000, "-1", ""])
def test_line_that_is_no_number(project: Project, line: str) -> None:
    """A place without a line that can be read is a diagnostic."""
    done = where(f"{project.out}/Functions.h:{line}")
    assert done.returncode == 1
    assert "error[E06" in done.stderr
