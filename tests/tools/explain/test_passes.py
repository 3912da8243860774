"""What `opwright explain --passes` prints: an overload after each stage from its entry to files."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.release.inputs import open_inputs
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from opwright.tools.explain.loading import ExplainRequest, load_jobs
from opwright.tools.explain.passes import STAGES, passes_text
from tests.text_files import write_texts

FOLDER = Path(__file__).with_name("passes")
NAMES = sorted(path.stem for path in FOLDER.glob("*.txt"))
LIBRARY = SourceFile(
    "acme.yaml", "namespace: acme\noperators:\n- func: scale(Tensor self, float by=2) -> Tensor\n  autocast: fp32\n"
)


def text_of(name: str, *libraries: SourceFile) -> str:
    """The stages of an overload of the installed release, or of libraries."""
    explained = next(load_jobs(ExplainRequest((name,), open_inputs("auto"), libraries=libraries), Diagnostics()))
    function = next(
        catalog[name.partition("::")[2] or name] for catalog in reversed(explained.catalogs) if catalog.functions
    )
    return passes_text(function, explained)


def stage(text: str, name: str) -> list[str]:
    """The lines of a stage."""
    return text.partition(f"\n--- {name}: ")[2].partition("\n\n")[0].splitlines()[1:]


def update() -> None:
    """Write the texts of all overloads that have a file."""
    write_texts(FOLDER, {f"{name}.txt": text_of(name) for name in NAMES})


@pytest.mark.parametrize("name", NAMES)
def test_stages_are_those_of_the_file(name: str) -> None:
    """Each stage leaves what its file shows; `make cases` writes the files."""
    assert text_of(name) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def test_there_are_files() -> None:
    """The files show every stage of a dozen overloads."""
    assert len(NAMES) == 12
    for name in NAMES:
        text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
        assert [line.split(":")[0].split()[1] for line in text.splitlines() if line.startswith("--- ")] == list(STAGES)


def test_operators_of_libraries_have_stages() -> None:
    """An overload of a library has its own fields, and its own files."""
    text = text_of("acme::scale", LIBRARY)
    assert text.startswith("acme::scale\n")
    assert stage(text, "nodes")[-1] == "4:3     autocast: str fp32"
    assert stage(text, "schema")[2] == "argument by: float = 2, input"
    assert "include/acme/ops.h" in stage(text, "files")


def test_the_command_prints_stages(capsys: pytest.CaptureFixture[str]) -> None:
    """`--passes` prints what the function gives, for each name, and excludes the other forms."""
    assert main(["explain", "relu", "mm", "--passes"]) == 0
    assert capsys.readouterr().out == f"{text_of('relu')}\n{text_of('mm')}"
    with pytest.raises(SystemExit):
        main(["explain", "relu", "--passes", "--format", "json"])
    assert "--passes" in capsys.readouterr().err
