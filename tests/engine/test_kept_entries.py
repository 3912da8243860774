"""Runs after an edit read only the entries that changed, and damaged or forged state makes them read all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import opwright
from opwright.build import kept_entries
from opwright.build.runs import state_header
from opwright.dialects.derivatives.loader import _Loader
from opwright.dialects.native_functions import loader
from opwright.dialects.native_functions.entry import load_entry
from opwright.run.session import Session
from opwright.source.diagnostic import FaultsFound
from opwright.source.nodes import Mapping
from tests.engine.project import Project, WholeProject, files_of, put, replace_once, state_files
from tests.engine.test_library_runs import generate, request_of

MEAN_OF = "- func: mean_of(Tensor[] tensors, float eps=1e-6) -> Tensor\n"


@pytest.fixture(autouse=True)
def _load_all_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs load all operators, as after edits that do more than change entries in place."""
    monkeypatch.setattr(Session, "write_edit", lambda *_: None)


class Entries:
    """Counts the entries that runs in this process read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._count = 0

        def counted(*arguments: object) -> object:
            self._count += 1
            return load_entry(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(loader, "load_entry", counted)

    def read(self) -> int:
        """How many entries were read since the last call."""
        count, self._count = self._count, 0
        return count


@pytest.fixture
def entries(monkeypatch: pytest.MonkeyPatch) -> Entries:
    """The counted entries."""
    return Entries(monkeypatch)


@pytest.fixture
def edited(project: Project) -> Project:
    """A project with the entries of a run after an edit."""
    generate(project)
    project.edit("eps=1e-6", "eps=1e-5")
    generate(project)
    return project


def check_outputs(project: Project) -> None:
    """Check that the outputs are those of a fresh run."""
    fresh = project.out.with_name("fresh")
    opwright.Generation(request_of(project, folders=opwright.build_folders(str(fresh)))).write()
    assert files_of(fresh) == files_of(project.out)


def test_the_run_after_an_edit_keeps_entries(project: Project, entries: Entries) -> None:
    """A first run keeps nothing, the one after the first edit keeps the entries, and later ones use them."""
    generate(project)
    everything = entries.read()
    assert not state_files(project, ".entries")
    for step, (old, new) in enumerate([("1e-6", "1e-5"), ("1e-5", "1e-4"), ("shifted_cpu", "shifted_it")]):
        project.edit(old, new)
        generate(project)
        assert entries.read() == (everything if step == 0 else 1)
        assert len(state_files(project, ".entries")) == 1
    check_outputs(project)


def more_entries(first: int, last: int) -> str:
    """Entries of more operators."""
    return "".join(f"\n- func: more{number}(Tensor self) -> Tensor\n" for number in range(first, last))


def test_new_entries_are_kept_when_there_are_many(project: Project, entries: Entries) -> None:
    """A run that finds few new entries leaves what is kept as it is; one that finds many keeps all entries anew."""
    project.yaml.write_text(project.yaml.read_text() + more_entries(0, 40))
    generate(project)
    project.edit("eps=1e-6", "eps=1e-5")
    generate(project)
    [path] = state_files(project, ".entries")
    kept = path.read_bytes()
    entries.read()
    project.edit("eps=1e-5", "eps=1e-4")
    generate(project)
    assert entries.read() == 1
    assert path.read_bytes() == kept
    project.yaml.write_text(project.yaml.read_text() + more_entries(40, 44))
    generate(project)
    assert entries.read() == 5
    assert path.read_bytes() != kept
    project.edit("eps=1e-4", "eps=1e-3")
    generate(project)
    assert entries.read() == 1
    check_outputs(project)


class Derivatives:
    """Counts the entries of derivatives that runs in this process read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.read = 0
        add = _Loader.add

        def counted(loader: _Loader, node: Mapping) -> None:
            self.read += 1
            add(loader, node)

        monkeypatch.setattr(_Loader, "add", counted)

    def run(self, project: Project, *families: str) -> int:
        """How many entries a run of these families reads."""
        self.read = 0
        folders = opwright.build_folders(str(project.out), families)
        opwright.generate(request_of(project, folders=folders, families=families), str(project.out), jobs=1)
        return self.read


@pytest.mark.parametrize("families", [("autograd",), ("python",)])
def test_entries_of_derivatives_are_kept(
    tmp_path: Path, reference_inputs: Path, monkeypatch: pytest.MonkeyPatch, families: tuple[str, ...]
) -> None:
    """Runs that need derivatives keep their entries, and read them again only if they or the operators changed."""
    project = WholeProject(tmp_path, reference_inputs)
    kernels = "  dispatch:\n    CPU, CUDA: more\n"
    more = [f"\n- func: more{number}(Tensor self) -> Tensor\n{kernels}" for number in range(8)]
    project.yaml.write_text(project.yaml.read_text() + "".join(more))
    formulas = [f"\n- name: more{number}(Tensor self) -> Tensor\n  self: grad\n" for number in range(8)]
    project.derivatives.write_text(project.derivatives.read_text() + "".join(formulas))
    derivatives = Derivatives(monkeypatch)
    everything = derivatives.run(project, *families)
    assert everything == 11
    assert len(state_files(project, ".derivatives.entries")) == 1
    for step, (path, old, new, count) in enumerate(
        [
            (project.yaml, "eps=1e-6", "eps=1e-5", 0),
            (project.derivatives, "grad * by", "by * grad", 1),
            (project.yaml, "- func: mean_of(", "- func: median_of(", everything),
        ]
    ):
        replace_once(path, old, new)
        assert derivatives.run(project, *families) == count, step
        assert len(state_files(project, ".derivatives.entries")) == 1
    fresh = project.out.with_name("fresh")
    request = request_of(project, folders=opwright.build_folders(str(fresh), families), families=families)
    opwright.Generation(request).write()
    assert files_of(fresh) == files_of(project.out)


def test_faults_between_entries_are_reported(edited: Project, entries: Entries) -> None:
    """An edit that is at fault only with an entry that did not change is reported as in a fresh run."""
    edited.edit("- func: twice.out(", "- func: twine.out(")
    with pytest.raises(FaultsFound) as found:
        generate(edited)
    assert entries.read() == 1
    with pytest.raises(FaultsFound) as fresh:
        opwright.Generation(request_of(edited))
    assert entries.read() > 1
    assert [str(fault) for fault in found.value.diagnostics] == [str(fault) for fault in fresh.value.diagnostics]


def with_header(body: bytes) -> bytes:
    """A file of entries with the right checksum."""
    return state_header(kept_entries._FORMAT, body).encode() + b"\n" + body


def change_of(change: Callable[[list[str]], list[str]]) -> Callable[[bytes], bytes]:
    """A change of the texts of a file (tool, context, entries with rows), which then has the right checksum."""

    def changed(whole: bytes) -> bytes:
        texts = whole.partition(b"\n")[2].decode().split("\0")
        body = "\0".join(change(texts)).encode()
        return with_header(body)

    return changed


HARMS: dict[str, Callable[[bytes], bytes]] = {
    "cut short": lambda whole: whole[: len(whole) // 2],
    "a bit": lambda whole: whole[:200] + bytes([whole[200] ^ 1]) + whole[201:],
    "empty": lambda _: b"",
    "another form": lambda whole: whole.replace(b" 2 ", b" 9 ", 1),
    "no UTF-8": lambda whole: with_header(b"\xff"),
    "nothing": change_of(lambda texts: []),
    "another tool": change_of(lambda texts: ["opwright", *texts[1:]]),
    "another context": change_of(lambda texts: [texts[0], "[]", *texts[2:]]),
    "no context": change_of(lambda texts: texts[:1]),
    "a text without a row": change_of(lambda texts: texts[:-1]),
    "rows of no form": change_of(lambda texts: texts[:2] + [text for entry in texts[2::2] for text in (entry, "|")]),
    "no rows": change_of(lambda texts: texts[:2]),
}


@pytest.mark.parametrize("harm", HARMS)
def test_damaged_entries_are_not_used(edited: Project, entries: Entries, harm: str) -> None:
    """A run that finds kept entries damaged, forged or of another tool reads all entries, and keeps them anew."""
    [path] = state_files(edited, ".entries")
    sound = path.read_bytes()
    path.write_bytes(HARMS[harm](sound))
    assert path.read_bytes() != sound
    edited.edit("eps=1e-5", "eps=1e-4")
    generate(edited)
    assert entries.read() > 2
    check_outputs(edited)


@pytest.mark.parametrize("kind", ["pipe", "folder", "loop", "device"])
def test_entries_that_are_no_file_are_not_waited_for(edited: Project, entries: Entries, kind: str) -> None:
    """If a pipe, a folder, a device or a circle of links is where the entries are kept, the run is right."""
    [path] = state_files(edited, ".entries")
    path.unlink()
    put(path, kind)
    edited.edit("eps=1e-5", "eps=1e-4")
    generate(edited)
    assert entries.read() > 2
    check_outputs(edited)


def test_a_shared_run_uses_kept_entries(project: Project, tmp_path: Path) -> None:
    """A run whose second process reads what changed gives what a fresh run gives, also after a syntax error."""
    project.run()
    for step in range(3):
        project.edit("- func: rows(", f"- func: more{step}(Tensor self) -> Tensor\n\n- func: rows(")
        project.run("--jobs", 2)
    assert state_files(project, ".entries")
    project.edit("- func: rows(", "- func: rows_(\n- func: rows(")
    failed = project.start("--jobs", 2)
    _, faults = failed.communicate()
    fresh = project.start("--jobs", 2, out=tmp_path / "fresh")
    assert (failed.returncode, faults) == (fresh.wait(), fresh.communicate()[1])
    assert failed.returncode == 1
    assert "rows_(" in faults
    project.edit("- func: rows_(\n- func: rows(", "- func: rows(")
    project.run("--jobs", 2)
    project.run(out=tmp_path / "right")
    assert files_of(project.out) == files_of(tmp_path / "right")
