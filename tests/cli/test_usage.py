"""Wrong usage: what is wrong in one line, what may be meant, and where help is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.emit.registry import FAMILIES, file_options
from opwright.torchgen import gen


def told(capsys: pytest.CaptureFixture[str], words: list[str]) -> list[str]:
    """The lines on standard error of a run with wrong arguments."""
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    shown = capsys.readouterr()
    assert not shown.out
    return shown.err.splitlines()


@pytest.mark.parametrize(
    ("words", "suggestions"),
    [
        (["genrate"], ["did you mean `generate`?"]),
        (["explian", "E0312"], ["did you mean `explain`?"]),
        (["generate", "--only", "headrs", "--out", "x"], ["did you mean `headers`?"]),
        (["generate", "--only=autogard", "--out", "x"], ["did you mean `autograd`?"]),
        (["generate", "--list-outputs", "cmkae", "--out", "x"], ["did you mean `cmake`?"]),
        (["generate", "--color", "nevr", "--out", "x"], ["did you mean `never`?"]),
        (["generate", "--onyl", "headers", "--out", "x"], ["`--onyl`: did you mean `--only`?"]),
        (["generate", "--ouut=x"], ["`--ouut`: did you mean `--out`?"]),
        (["stubs", "--out", "x", "--projct", "y"], ["`--projct`: did you mean `--project`?"]),
        (["generate", "--op_registraton_whitelist", "a", "--out", "x"],
         ["`--op_registraton_whitelist`: did you mean `--op_registration_whitelist`?"]),
        (["generate"], []),
        (["frobnicate"], []),
        (["generate", "--out", "x", "--", "--onyl"], []),
    ],
)  # fmt: skip
def test_a_typo_gets_a_suggestion(capsys: pytest.CaptureFixture[str], words: list[str], suggestions: list[str]) -> None:
    """The error comes first, then what may be meant, then the way to the help; nothing else is printed."""
    first, *middle, last = told(capsys, words)
    assert ": error: " in first
    assert [line.strip() for line in middle] == suggestions
    assert last.endswith("--help` lists the arguments")


def test_without_a_command_the_program_prints_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    """The status is that of wrong usage, as of the programs beside which it runs."""
    assert told(capsys, [])[0].startswith("usage: opwright ")


def test_help_of_generate_is_short(capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` shows the options that most runs need; `--help-all` shows them and all others."""
    options: dict[str, set[str]] = {}
    for flag in ("--help", "--help-all"):
        with pytest.raises(SystemExit) as ended:
            main(["generate", flag])
        assert ended.value.code == 0
        text = capsys.readouterr().out
        options[flag] = set(re.findall(r"(?m)^  (--[a-z][\w-]*)", text))
        assert ("selective builds:" in text) is (flag == "--help-all")
    assert {"--library", "--backend", "--torch", "--out", "--only", "--check", "--help-all"} <= options["--help"]
    assert len(options["--help"]) < 15 < 40 < len(options["--help-all"])
    assert options["--help"] < options["--help-all"]


def test_the_beginning_of_an_option_is_no_typo(capsys: pytest.CaptureFixture[str]) -> None:
    """Only what is wrong is spoken of."""
    assert told(capsys, ["generate", "--onl", "headers", "--no-prun"])[1:-1] == []


def test_the_drop_in_programs_suggest_too(capsys: pytest.CaptureFixture[str]) -> None:
    """Their options and choices are those of PyTorch's generator."""
    with pytest.raises(SystemExit):
        gen.main(["--generate", "headrs", "--mpss"])
    assert capsys.readouterr().err.splitlines()[1:-1] == [
        "  `--mpss`: did you mean `--mps`?",
        "  did you mean `headers`?",
    ]


@pytest.mark.parametrize(("option", "file"), [("--cmake-dir", "OpwrightConfig.cmake"), ("--include-dir", "opwright")])
def test_folders_of_data(capsys: pytest.CaptureFixture[str], option: str, file: str) -> None:
    """Build scripts ask for the folders of the CMake package and of the headers."""
    with pytest.raises(SystemExit) as ended:
        main([option])
    assert ended.value.code == 0
    folder = Path(capsys.readouterr().out.strip())
    assert folder.is_absolute()
    assert (folder / file).exists()


@pytest.mark.parametrize("family", [name for name in FAMILIES if file_options(name)])
def test_a_family_without_its_file_is_refused(family: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A family that is made from a file of the user needs an option that names it, and nothing is written."""
    assert main(["generate", "--torch", "auto", "--out", str(tmp_path / "out"), "--only", family]) == 1
    errors = capsys.readouterr().err
    assert f"error[E0709]: the family `{family}` is made from a file, and none is named" in errors
    assert f"--{file_options(family)[0]} FILE" in errors
    assert not (tmp_path / "out").exists()


def test_schema_of_an_operator_leads_to_explain(capsys: pytest.CaptureFixture[str]) -> None:
    """Somebody who asks `schema` for an operator is told which command knows it."""
    with pytest.raises(SystemExit):
        main(["schema", "add.Tensor"])
    assert "`opwright explain add.Tensor` prints its schema" in capsys.readouterr().err
