"""Runs of `opwright stubs`: they are runs as those of `generate`, with a manifest, provenance and checks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import opwright
from opwright.cli.main import main
from opwright.run.generation import Generation
from opwright.source.text import SourceFile
from tests.engine.project import Project, files_of, times_of

LIBRARY = "- func: small::twice(Tensor self) -> Tensor\n\n- func: small::half(Tensor self) -> Tensor\n"
SMALL = "torch-stubs/_opwright/small.pyi"


@pytest.fixture
def project(tmp_path: Path, reference_inputs: Path) -> Project:
    """Inputs with few operators, beside which stands a library of two."""
    project = Project(tmp_path, reference_inputs)
    (tmp_path / "small.yaml").write_text(LIBRARY)
    # What a PyTorch brings itself stands beside its inputs.
    (project.inputs.parents[2] / "torch" / "_C.pyi").write_text("x: int\n")
    return project


@pytest.fixture
def stubs(project: Project, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Runs of the program in this process."""
    monkeypatch.setattr("gc.disable", lambda: None)
    words = ["stubs", "--source-path", str(project.inputs), "--release", "2.13", "--out", str(project.out)]
    return lambda *more: main([*words, *map(str, more)])


def test_the_second_run_does_nothing(
    stubs: Callable[..., int],
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A run with nothing to do loads nothing, and prints the summary of the one before it."""
    library = project.out.with_name("small.yaml")
    assert stubs("--yaml", library, "--project", "mine") == 0
    first = capsys.readouterr().out
    assert "torch.ops.aten, torch.ops.small: 7 files" in first
    assert "7 written" in first
    before = times_of(project.out)
    with monkeypatch.context() as patch:
        patch.setattr(Generation, "__init__", None)
        assert stubs("--yaml", library, "--project", "mine") == 0
    second = capsys.readouterr().out
    assert "torch.ops.aten, torch.ops.small: 7 files" in second
    assert "0 written, 7 unchanged" in second
    assert times_of(project.out) == before


def test_an_edit_changes_what_shows_it(stubs: Callable[..., int], project: Project) -> None:
    """After an edit of a library, or of a stub that PyTorch brings, that stub alone is written."""
    library = project.out.with_name("small.yaml")
    assert stubs("--yaml", library) == 0
    before = times_of(project.out)
    library.write_text(LIBRARY.replace("half", "third"))
    assert stubs("--yaml", library) == 0
    after = times_of(project.out)
    assert [path for path in after if after[path] != before[path]] == [SMALL]
    (project.inputs.parents[2] / "torch" / "_C.pyi").write_text("x: str\n")
    assert stubs("--yaml", library) == 0
    assert [path for path, time in times_of(project.out).items() if time != after[path]] == ["torch-stubs/_C.pyi"]
    (project.inputs.parents[2] / "torch" / "_D.pyi").write_text("y: str\n")
    assert stubs("--yaml", library) == 0
    assert files_of(project.out)["torch-stubs/_D.pyi"] == b"y: str\n"


@pytest.mark.parametrize("flags", [(), ("--no-prune",)])
def test_what_is_made_no_longer_is_removed(stubs: Callable[..., int], project: Project, flags: tuple[str, ...]) -> None:
    """A run without the library removes the stubs of its operators, unless the user wants them kept."""
    assert stubs("--yaml", project.out.with_name("small.yaml"), *flags) == 0
    assert stubs(*flags) == 0
    assert (SMALL in files_of(project.out)) is bool(flags)


def test_check(stubs: Callable[..., int], project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """`--check` writes nothing, and fails where a stub differs or is no longer generated."""
    library = project.out.with_name("small.yaml")
    assert stubs("--check") == 1
    assert not project.out.exists()
    assert stubs("--yaml", library) == 0
    assert stubs("--yaml", library, "--check") == 0
    assert stubs("--check") == 1
    errors = capsys.readouterr().err
    assert f"`{project.out}/{SMALL}` is no longer generated" in errors


def test_where(stubs: Callable[..., int], project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """`opwright where` names the entry of a line of a stub."""
    library = project.out.with_name("small.yaml")
    assert stubs("--yaml", library, "--provenance", project.out / "origins.json") == 0
    lines = (project.out / SMALL).read_text().splitlines()
    number = next(number for number, line in enumerate(lines, 1) if "small::half" in line)
    capsys.readouterr()
    assert main(["where", f"{project.out / SMALL}:{number}"]) == 0
    shown = capsys.readouterr().out
    assert "emitter `namespace_stubs`" in shown
    assert "from `half`" in shown
    assert f"{library}:3" in shown


def test_stubs_are_a_family_for_the_library(project: Project) -> None:
    """A library user gets the same files from a request for the family `stubs`."""
    library = project.out.with_name("small.yaml")
    request = opwright.Request(
        opwright.open_inputs(source_path=str(project.inputs)),
        opwright.build_folders(str(project.out), ["stubs"]),
        ("stubs",),
        release="2.13",
        operator_files=(SourceFile.read(library),),
        namespaces=("small",),
    )
    assert opwright.generate(request, str(project.out)).summary.written == 5
    assert "torch-stubs/_opwright/aten.pyi" not in files_of(project.out)
    assert opwright.generate(request, str(project.out)).summary.written == 0


def test_library_files_with_heads(
    stubs: Callable[..., int], project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--library` reads what `--yaml` does not, the head of a library file, and gives the same stubs."""
    assert stubs("--yaml", project.out.with_name("small.yaml")) == 0
    plain = files_of(project.out)
    library = project.out.with_name("library.yaml")
    entries = LIBRARY.replace("small::", "").replace("- func", "  - func")
    library.write_text(f"namespace: small\noperators:\n{entries}")
    assert stubs("--library", library) == 0
    assert files_of(project.out) == plain
    library.write_text(library.read_text().replace("twice", "thrice"))
    assert stubs("--library", library) == 0
    assert files_of(project.out)[SMALL] != plain[SMALL]
    assert stubs("--yaml", project.out.with_name("small.yaml"), "--library", library) == 1
    assert "error[E0410]: second entry for `small::half`" in capsys.readouterr().err
    library.write_text("namespaces: small\noperators: []\n")
    assert stubs("--library", library) == 1
    assert "error[E1102]: unknown key `namespaces`" in capsys.readouterr().err
