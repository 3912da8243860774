"""What runs remove: outputs of their own that are made no longer, and never files that are kept in the sources."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from opwright.cli.runs import current_manifest
from opwright.torchgen import gen
from opwright.torchgen.programs import run_with_lists
from tests.conformance.inputs import reference_version
from tests.engine.project import Project, files_of

MEAN_OF = "- func: mean_of(Tensor[] tensors, float eps=1e-6) -> Tensor\n"
OPS = "aten/src/ATen/ops"
SHIMS = "torch/csrc/inductor/aoti_torch/generated"


@pytest.fixture
def program(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The project, for runs of the drop-in program in this process."""
    monkeypatch.setenv("OPWRIGHT_CACHE_DIR", str(project.out.with_name("cache")))
    monkeypatch.setattr("gc.disable", lambda: None)
    return project


def words(project: Project, *more: str, generate: str = "headers") -> list[str]:
    """The arguments of a run of the program that takes the flags of PyTorch's."""
    where = ["--install-dir", f"{project.out}/aten", "--aoti-install-dir", f"{project.out}/shims"]
    where += ["--headeronly-install-dir", f"{project.out}/h", "--source-path", str(project.inputs)]
    where += ["--release", reference_version()]
    return [*where, "--generate", generate, *more]


def drop_in(project: Project, *more: str, generate: str = "headers") -> None:
    """Such a run."""
    assert gen.main(words(project, *more, generate=generate)) == 0


def shims(folder: Path) -> dict[str, bytes]:
    """The headers of C shims in a folder."""
    return {path.name: path.read_bytes() for path in folder.glob("c_shim_*.h")}


def test_the_drop_in_keeps_shim_headers(program: Project) -> None:
    """Headers that one run updates are sources: no later run removes them, with `--prune` or without."""
    drop_in(program, "--update-aoti-c-shim", generate="sources")
    kept = shims(program.out / "shims")
    assert kept
    for more in ((), ("--prune",), ("--update-aoti-c-shim", "--prune"), ("--prune",)):
        drop_in(program, *more, generate="sources")
        assert shims(program.out / "shims") == kept


def test_generate_keeps_shim_headers(project: Project) -> None:
    """The same for `opwright generate`, also after an edit."""
    project.run("--update-aoti-c-shim")
    kept = shims(project.out / SHIMS)
    assert kept
    project.run()
    project.edit(MEAN_OF, "")
    project.run()
    assert shims(project.out / SHIMS) == kept


def test_the_drop_in_leaves_what_the_reference_leaves(program: Project) -> None:
    """Files that are made no longer stay, until a run is told to prune; that finds those of all earlier runs."""
    drop_in(program, "--per-operator-headers")
    first = set(files_of(program.out))
    drop_in(program)
    assert set(files_of(program.out)) >= first
    program.edit(MEAN_OF, "")
    drop_in(program)
    assert set(files_of(program.out)) >= first
    drop_in(program, "--prune")
    left = set(files_of(program.out))
    assert not list((program.out / "aten" / "ops").glob("*.h"))
    assert left < first | left
    drop_in(program)
    assert set(files_of(program.out)) == left


def test_pruning_on_demand_needs_no_change(program: Project) -> None:
    """A run that has nothing else to do removes what earlier ones left."""
    drop_in(program, "--per-operator-headers")
    program.edit(MEAN_OF, "")
    drop_in(program, "--per-operator-headers")
    header = program.out / "aten" / "ops" / "mean_of.h"
    assert header.exists()
    drop_in(program, "--per-operator-headers")
    drop_in(program, "--per-operator-headers", "--prune")
    assert not header.exists()


def test_generate_prunes_later_what_it_was_told_to_keep(project: Project) -> None:
    """What `--no-prune` kept is removed by the next run without it, and is a fault for `--check`."""
    project.run()
    project.edit(MEAN_OF, "")
    project.run("--no-prune")
    assert (project.out / OPS / "mean_of.h").exists()
    check = project.start("--check")
    assert "mean_of.h` is no longer generated" in check.communicate()[1]
    project.run()
    assert not list((project.out / OPS).glob("mean_of*"))
    project.run("--check")


def test_a_run_prunes_its_own_families_only(project: Project) -> None:
    """A run of sources leaves the headers of an operator that is gone to the runs that made them."""
    project.run()
    families = project.words()[:7]
    for family in ("headers", "sources"):
        subprocess.run([sys.executable, "-m", "opwright", *families, "--only", family], check=True, capture_output=True)
    project.edit(MEAN_OF, "")
    headers = sorted((project.out / OPS).glob("mean_of*"))
    assert headers
    subprocess.run([sys.executable, "-m", "opwright", *families, "--only", "sources"], check=True, capture_output=True)
    assert sorted((project.out / OPS).glob("mean_of*")) == headers


def test_lists_of_a_dry_run_are_made_once(program: Project) -> None:
    """A dry run that only makes lists has nothing to do the second time, until a list is changed."""
    made = program.out.with_name("lists") / "made.cmake"
    more = ("--dry-run", "--output-dependencies", str(made))
    arguments = gen._parser().parse(words(program, *more))
    run = run_with_lists("gen", arguments, gen._folders(arguments), gen._families(arguments))
    assert current_manifest(run) is None
    drop_in(program, *more)
    assert current_manifest(run) is not None
    made.write_text("")
    assert current_manifest(run) is None


def test_lists_overwrite_no_input(program: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """A list that would take the place of an input or an output is refused."""
    yaml = program.yaml.read_bytes()
    for path in (program.yaml, program.out / "aten" / "Functions.h"):
        assert gen.main(words(program, "--output-dependencies", str(path))) == 1
        assert "error[E0613]" in capsys.readouterr().err
    assert program.yaml.read_bytes() == yaml
    assert not (program.out / "aten" / "Functions.h").exists()
