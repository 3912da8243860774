"""Runs after an edit of few entries load their operations alone, and make what a run with all operators makes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from opwright.emit.registry import FAMILIES, emitters
from opwright.incremental.changes import MOST_CHANGED
from opwright.release.inputs import open_inputs
from opwright.run.generation import Generation
from opwright.run.incremental_generation import IncrementalGeneration
from opwright.run.request import Request
from opwright.schema.signature import base_of_operation
from opwright.torchgen import gen
from tests.engine.project import WholeProject, files_of, replace_once, state_files, times_of
from tests.engine.test_edits import EDITS
from tests.engine.test_fragments_made import shown

LOCAL: Final = tuple(name for name, family in FAMILIES.items() if family.has_local_units)
AUTOGRAD_AND_PYTHON: Final = ("autograd", "python", "annotated", "view_meta")

#: The edits of `test_edits` that change entries in place.
IN_PLACE: Final = {
    "default",
    "comment",
    "new kernel",
    "new key",
    "no kernel left",
    "group",
    "tag",
    "results",
    "formula",
    "forward formula",
    "one formula less",
    "deprecated",
}

#: Those that change what files of ATen have for all operators together: which operators have a kernel for a dispatch
#: key, and the sets of tags.
CHANGES_ATEN: Final = {"new kernel", "new key", "no kernel left", "tag"}


class LocalProject(WholeProject):
    """A project of families whose units hold functions of one operation each."""

    def __init__(self, folder: Path, reference_inputs: Path, families: tuple[str, ...] = LOCAL) -> None:
        super().__init__(folder, reference_inputs)
        self.families = families
        self.run()

    def loads_few(self) -> bool:
        """Run, and tell whether the run loaded the edited operations alone."""
        return "load the edit" in self.run("--stats").stdout


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(LOCAL, id="all"),
        pytest.param(AUTOGRAD_AND_PYTHON, id="autograd and python", marks=pytest.mark.thorough),
    ],
)
def made(
    tmp_path_factory: pytest.TempPathFactory, reference_inputs: Path, request: pytest.FixtureRequest
) -> LocalProject:
    """A project with outputs, which tests leave as it is."""
    return LocalProject(tmp_path_factory.mktemp("local"), reference_inputs, request.param)


@pytest.fixture
def project(tmp_path: Path, reference_inputs: Path) -> LocalProject:
    """A project of its own for a test, with outputs."""
    return LocalProject(tmp_path, reference_inputs)


@pytest.mark.parametrize(
    "edit", [pytest.param(name, marks=() if name in IN_PLACE else pytest.mark.thorough) for name in EDITS]
)
def test_edits_in_place_load_few_operators(made: LocalProject, edit: str, tmp_path: Path) -> None:
    """After any edit the outputs are those of a fresh run; after one in place the run loads few operators."""
    local = IN_PLACE - CHANGES_ATEN if "headers" in made.families else IN_PLACE
    with EDITS[edit].made(made):
        loads_few = made.loads_few()
        made.run(out=tmp_path)
        outputs = files_of(made.out)
    made.run()
    assert outputs == files_of(tmp_path)
    assert loads_few is (edit in local)


def test_a_run_after_an_edit_touches_no_other_file(project: LocalProject) -> None:
    """Only files with the edited operator are written. The next run has nothing to do, and the next edit is quick."""
    before = times_of(project.out)
    with EDITS["formula"].made(project):
        assert project.loads_few()
        after = times_of(project.out)
        assert {Path(path).name for path, time in after.items() if time != before[path]} == {"Functions.cpp"}
        assert "0 written" in project.run().stdout
        assert times_of(project.out) == after
        with EDITS["group"].made(project):
            assert project.loads_few()


def test_a_mistake_is_reported_by_a_run_with_all_operators(project: LocalProject) -> None:
    """The messages are those of any run, the outputs stay, and the run after the correction is quick again."""
    before = files_of(project.out)
    project.edit("eps=1e-6", "eps=1e-6, Tensr other")
    faulty = project.start()
    _, messages = faulty.communicate()
    assert faulty.returncode == 1
    assert "Tensr" in messages
    assert files_of(project.out) == before
    project.edit("eps=1e-6, Tensr other", "eps=1e-5")
    assert project.loads_few()


def test_damaged_state_only_costs_time(project: LocalProject, tmp_path: Path) -> None:
    """Where what is kept cannot be trusted, all operators are loaded."""
    for path in state_files(project, ".state"):
        path.write_bytes(path.read_bytes().replace(b"soft", b"sofa").replace(b"1", b"2"))
    with EDITS["formula"].made(project):
        assert not project.loads_few()
        project.run(out=tmp_path / "fresh")
        assert files_of(project.out) == files_of(tmp_path / "fresh")


def test_an_edit_of_a_c_shim_loads_all_operators(project: LocalProject) -> None:
    """The headers of C shims are compared with those on disk as a whole."""
    tables = project.inputs.parent.parent / "aoti" / "fallback_ops.py"
    replace_once(tables, '"aten.rows.default"', '"aten.mean_of.default"')
    project.run()
    project.edit("eps=1e-6", "eps=1e-5")
    assert project.loads_few()
    project.edit("float eps=1e-5", "int eps=1")
    assert not project.loads_few()


def test_kernels_compiled_ahead_of_time_are_kept(project: LocalProject, tmp_path: Path) -> None:
    """All registrations under a key depend on which operators have such kernels."""
    for name, slot in {"NativeAotStubs.h": "declarations", "NativeAotStubs.cpp": "definitions"}.items():
        (project.inputs / "templates" / name).write_text(f"${{native_aot_stub_{slot}}}\n")
    kernel = project.inputs.parents[2] / "torch" / "_native" / "ops" / "scaled" / "aot.py"
    kernel.parent.mkdir(parents=True)
    kernel.write_text('ATEN_OP = "scaled"\nDISPATCH_KEY = "CUDA"\nKERNEL_MODULE = "kernels.py"\n')
    release = ("--release", "2.15")
    project.run(*release)
    for old, new in [("eps=1e-6", "eps=1e-5"), ("twice_out", "twice_by_adding"), ("AllAndComplex", "All")]:
        project.edit(old, new)
        assert "load the edit" in project.run(*release, "--stats").stdout
        project.run(*release, out=tmp_path / new)
        assert files_of(project.out) == files_of(tmp_path / new)
    (register,) = project.out.rglob("RegisterCUDA_0.cpp")
    assert "scaled_aot_stub" in register.read_text()


def test_a_missing_output_is_made_again(project: LocalProject, tmp_path: Path) -> None:
    """An output that is not as the last run left it may need any operator."""
    next(project.out.rglob("VariableType_0.cpp")).unlink()
    with EDITS["formula"].made(project):
        assert not project.loads_few()
        project.run(out=tmp_path / "fresh")
        assert files_of(project.out) == files_of(tmp_path / "fresh")


def test_a_run_with_messages_is_followed_by_one_with_all_operators(project: LocalProject) -> None:
    """What a run says, the next one has to say as well."""
    project.edit("eps=1e-6) -> Tensor\n", "eps=1e-6) -> Tensor\n  python_module: nowhere\n")
    assert "nowhere" in project.run().stderr
    with EDITS["results"].made(project):
        assert "nowhere" in project.run().stderr


def test_the_program_of_pytorchs_build_loads_few(
    project: LocalProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It writes what a fresh run does, its lists of outputs stay, and notes that are not about entries come again."""
    monkeypatch.setenv("OPWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("gc.disable", lambda: None)

    def generate(out: Path) -> None:
        """Run the program into folders below a folder."""
        names = ("install-dir", "aoti-install-dir", "headeronly-install-dir")
        folders = [word for name in names for word in (f"--{name}", str(out / name))]
        lists = ["--output-dependencies", str(out / "lists.cmake")]
        out.mkdir(exist_ok=True)
        words = ["--source-path", str(project.inputs), *folders, *lists, "--per-operator-headers"]
        assert gen.main(words) == 0

    generate(tmp_path / "edited")
    notes = capsys.readouterr().err
    assert "no header to compare with" in notes
    lists = {path: data for path, data in files_of(tmp_path / "edited").items() if path.endswith(".cmake")}
    project.edit("eps=1e-6", "eps=1e-5")
    generate(tmp_path / "fresh")
    with monkeypatch.context() as patch:
        patch.setattr(IncrementalGeneration, "load", lambda *_: pytest.fail("all operators are loaded"))
        generate(tmp_path / "edited")
    assert capsys.readouterr().err.endswith(notes)
    edited, fresh = files_of(tmp_path / "edited"), files_of(tmp_path / "fresh")
    assert edited.keys() == fresh.keys()
    assert {path for path in edited if edited[path] != fresh[path]} <= lists.keys()
    assert {path: edited[path] for path in lists} == lists


# PyTorch's operators.


@pytest.mark.thorough
def test_each_unit_is_of_one_operation(tmp_path: Path) -> None:
    """That is what families promise whose runs after an edit load few operators; some units hold no functions."""
    folders = {folder: str(tmp_path) for name in LOCAL for folder in FAMILIES[name].folders}
    job = Generation(Request(open_inputs(), folders, LOCAL)).job
    for emitter in emitters(job, LOCAL):
        several = [unit for unit in emitter.units(job) if len(operations_of(unit)) > 1]
        assert not several, emitter.name


def operations_of(unit: object) -> set[str]:
    """The operations of the functions in a unit; those over lists are of the one that they repeat."""
    return {base_of_operation(name).removeprefix("_foreach_") for name in shown(unit).functions}


class WholePyTorch(LocalProject):
    """PyTorch's operators, with outputs."""

    def __init__(self, folder: Path, reference_inputs: Path) -> None:
        self.inputs = folder / self.place
        shutil.copytree(reference_inputs.parent, self.inputs.parent)
        self.out = folder / "out"
        self.yaml = self.inputs / "native" / "native_functions.yaml"
        self.derivatives = self.inputs.with_name("autograd") / "derivatives.yaml"
        self.families = LOCAL
        self.run()


def edit_in_steps(file: Path, pattern: str, replacement: str) -> Iterator[None]:
    """Replace the first match in each entry of a file, in as many entries at a time as an edit may have."""
    entries = file.read_text().split("\n- ")
    for first in range(0, len(entries), MOST_CHANGED):
        for number, entry in enumerate(entries[first : first + MOST_CHANGED], first):
            entries[number] = re.sub(pattern, replacement, entry, count=1)
        file.write_text("\n- ".join(entries))
        yield


@pytest.mark.thorough
def test_every_entry_of_pytorch_may_be_edited(tmp_path: Path, reference_inputs: Path) -> None:
    """After edits of all entries of PyTorch, some at a time, each quick, the outputs are those of a fresh run."""
    project = WholePyTorch(tmp_path, reference_inputs)
    for _ in edit_in_steps(project.yaml, r"\A(func: .*)\n", r"\1\n  # edited\n"):
        assert project.loads_few()
    for _ in edit_in_steps(project.derivatives, r"\n  (self|input): (\w+\(.*\))\n", r"\n  \1: (\2)\n"):
        assert project.loads_few()
    project.run(out=tmp_path / "fresh")
    assert files_of(project.out) == files_of(tmp_path / "fresh")
