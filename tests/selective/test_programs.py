"""The programs for selective builds do what their cases say, and PyTorch's library reads what they write."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from opwright.torchgen.executorch import gen_all_oplist
from tests.selective.program_cases import ProgramCase, load_cases, run_case

CASES = load_cases()


def named(cases: list[ProgramCase]) -> list[object]:
    """Parameters with the names of cases."""
    return [pytest.param(case, id=case.name) for case in cases]


@pytest.mark.parametrize("case", named(CASES))
def test_case(case: ProgramCase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program writes, prints and reports what the case says, and a second run writes nothing."""
    monkeypatch.chdir(tmp_path)
    run = run_case(case, tmp_path)
    assert run.report == case.report
    assert run.status == (1 if case.fails else 0)
    assert run.outputs == case.outputs
    if case.printed:
        assert run.printed == case.printed
    stamps = {name: (tmp_path / name).stat().st_mtime_ns for name in run.outputs}
    assert run_case(case, tmp_path) == run
    assert {name: (tmp_path / name).stat().st_mtime_ns for name in run.outputs} == stamps


def test_models_have_the_names_of_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file of a model replaces the sources that it names itself, in the union and where two models overlap."""
    monkeypatch.chdir(tmp_path)
    model = "operators:\n  aten::add.out:\n    debug_info: [{}]\n    include_all_overloads: false\n"
    for name in ("a", "b"):
        Path(f"{name}.yaml").write_text(model.format(f"model_{name}"), encoding="utf-8")
    Path("list").write_text("a.yaml b.yaml", encoding="utf-8")
    first, second = (str(tmp_path.resolve() / f"{name}.yaml") for name in ("a", "b"))
    words = ["--output-dir", "out", "--model-file-list-path", "@list"]
    assert gen_all_oplist.main(words) == 0
    union = yaml.safe_load(Path("out/selected_operators.yaml").read_text(encoding="utf-8"))
    assert union["operators"]["aten::add.out"]["debug_info"] == [first, second]
    assert gen_all_oplist.main([*words, "--check-ops-not-overlapping"]) == 1
    assert f"two models select `aten::add.out`: {first} and {second}" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("case", named([case for case in CASES if "selected_operators.yaml" in str(case.outputs)]))
def test_the_library_reads_what_is_written(case: ProgramCase) -> None:
    """PyTorch's selector library loads a written selection, and writes the same text again."""
    selector = pytest.importorskip("torchgen.selective_build.selector")
    for name, text in case.outputs.items():
        if name.endswith("selected_operators.yaml"):
            builder = selector.SelectiveBuilder.from_yaml_str(text)
            assert yaml.safe_dump(builder.to_dict(), default_flow_style=False) == text


@pytest.mark.parametrize("case", named([case for case in CASES if case.name.startswith("selection_")]))
def test_the_library_refuses_what_the_case_says(case: ProgramCase) -> None:
    """PyTorch's library does not load the selections that a case marks, and loads the others."""
    selector = pytest.importorskip("torchgen.selective_build.selector")
    refused = []
    for name, text in case.files.items():
        if name.endswith(".yaml"):
            try:
                selector.SelectiveBuilder.from_yaml_str(text)
            except Exception as error:
                refused.append(f"{name}: {type(error).__name__}")
    assert bool(refused) == case.library_refuses, refused
