"""Runs of library users: they have the state, the lock, the pruning and the incrementality of the programs."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

import opwright
from opwright.cli.main import main
from opwright.files.lock import folder_lock
from opwright.files.staging import STATE_FOLDER
from opwright.run.generation import Generation
from tests.engine.project import Project, files_of, times_of

FAMILIES = ("headers", "declarations_yaml")


def request_of(project: Project, **more: object) -> opwright.Request:
    """What a library user asks for: a few families from the project's inputs."""
    inputs = opwright.open_inputs(source_path=str(project.inputs))
    folders = opwright.build_folders(str(project.out))
    return opwright.Request(inputs, folders, FAMILIES, release="2.13")._replace(**more)  # type: ignore[arg-type]


def generate(project: Project, **more: object) -> opwright.Outcome:
    """A run of the library that is not shared by processes."""
    return opwright.generate(request_of(project), str(project.out), jobs=1, **more)  # type: ignore[arg-type]


def test_the_second_run_does_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that asks for the same again loads nothing and writes nothing, and knows how many files there are."""
    first = generate(project)
    assert first.summary.written == first.summary.files == len(files_of(project.out))
    before = times_of(project.out)
    with monkeypatch.context() as patch:
        patch.setattr(Generation, "__init__", None)
        second = generate(project)
    assert second.summary[:3] == (first.summary.files, 0, first.summary.files)
    assert second.statuses.keys() == first.statuses.keys()
    assert times_of(project.out) == before


def test_other_flags_are_another_run(project: Project) -> None:
    """A run with another option, other devices or another release does not take the first one's files for its own."""
    generate(project)
    for more in (
        {"options": opwright.Options(per_operator_headers=False)},
        {"devices": frozenset(("mps",))},
        {"release": "2.12"},
    ):
        outcome = opwright.generate(request_of(project, **more), str(project.out), jobs=1)
        assert outcome.emitters, more


def test_an_edit_makes_what_it_changes(project: Project) -> None:
    """After an edit of one entry, only the files that show it are written, as a fresh run would write them."""
    generate(project)
    before = times_of(project.out)
    project.edit("eps=1e-6", "eps=1e-5")
    outcome = generate(project)
    after = times_of(project.out)
    assert outcome.summary.written == len([path for path in after if after[path] != before[path]]) > 0
    assert not any(name.endswith("rows.h") for name in after if after[name] != before[name])
    fresh = project.out.with_name("fresh")
    request = request_of(project, folders=opwright.build_folders(str(fresh)))
    assert opwright.Generation(request).write().written == outcome.summary.files
    assert files_of(fresh) == files_of(project.out)


@pytest.mark.parametrize("prune", [True, False])
def test_files_that_are_made_no_longer_are_removed(project: Project, prune: bool) -> None:
    """The headers of an operator go with it, unless the user wants them kept; files by hand stay."""
    generate(project)
    ops = project.out / "aten/src/ATen/ops"
    (ops / "by_hand.h").write_text("// mine\n")
    project.edit("- func: mean_of(Tensor[] tensors, float eps=1e-6) -> Tensor\n", "")
    generate(project, prune=prune)
    assert bool(list(ops.glob("mean_of*"))) is not prune
    assert (ops / "by_hand.h").exists()


def test_a_run_waits_for_its_turn(project: Project) -> None:
    """While another run holds the lock of the folder, nothing is written."""
    outcomes: list[opwright.Outcome] = []
    run = threading.Thread(target=lambda: outcomes.append(generate(project)))
    with folder_lock(str(project.out / STATE_FOLDER)) as is_held:
        assert is_held
        run.start()
        time.sleep(1)
        assert run.is_alive()
        assert files_of(project.out) == {}
    run.join(60)
    assert outcomes[0].summary.written == len(files_of(project.out))


def test_warnings_are_reported_again(project: Project, tmp_path: Path) -> None:
    """A run with nothing to do gives the warnings of the run that did the work."""
    sink = opwright.Diagnostics()
    folder = str(tmp_path / "nowhere")
    inputs = opwright.open_inputs(source_path=str(project.inputs))
    request = request_of(project, inputs=inputs.with_native_aot(folder, sink))
    assert len(sink) == 1
    opwright.generate(request, str(project.out), jobs=1, sink=sink)
    again = opwright.generate(request, str(project.out), jobs=1)
    assert again.summary.written == 0
    assert "there is no folder" in again.report


def test_a_source_is_not_replaced(tmp_path: Path) -> None:
    """A file below `--out` that does not say that it is generated stays, and the run names it (E1212)."""
    library = tmp_path / "acme.yaml"
    library.write_text("namespace: acme\noperators:\n- func: f(Tensor self) -> Tensor\n  dispatch: {CPU: f}\n")
    module = tmp_path / "out/python/acme/_ops.py"
    module.parent.mkdir(parents=True)
    words = ["generate", "--library", str(library), "--out", str(tmp_path / "out")]
    for text, status in (("# Mine.\n", 1), ("", 0), ("# Generated by opwright.\n", 0)):
        module.write_text(text)
        assert main(words) == status
        assert (module.read_text() == text) is bool(status)
    # What the last run is known to have written is mended.
    module.write_text("# Damaged.\n")
    assert main(words) == 0
    assert "Generated by opwright" in module.read_text()
