"""Each case gives the text in its file, and a ported source stays as it is."""

from __future__ import annotations

import contextlib
import io
import random
from pathlib import Path

import pytest

from opwright.cli.main import main
from tests.libraries.porting.cases import Case, load_cases, outcome

CASES = load_cases()


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_source_becomes_what_its_case_shows(case: Case, tmp_path: Path) -> None:
    """The ported source, what stays with its reason, and the functions of the header are those of the file."""
    assert outcome(case, tmp_path).text() == case.text()


@pytest.mark.thorough
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_second_run_changes_nothing(case: Case, tmp_path: Path) -> None:
    """What a run wrote stays: the source, and the header, of which a later run keeps every function."""
    outcome(case, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    outcome(case._replace(source=(tmp_path / f"{case.name}.cpp").read_text(encoding="utf-8")), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.thorough
def test_damaged_sources_have_no_traceback(tmp_path: Path) -> None:
    """Sources with pieces cut out or doubled are ported as far as they can be read; nothing is lost without a cut."""
    choose = random.Random(1)
    file = tmp_path / "damaged.cpp"
    for case in CASES:
        for _ in range(12):
            first, last = sorted(choose.choices(range(len(case.source)), k=2))
            piece = case.source[first : first + choose.randrange(40)] if choose.random() < 0.5 else ""
            file.write_text(case.source[:first] + piece + case.source[last:], encoding="utf-8")
            with contextlib.redirect_stdout(io.StringIO()):
                assert main(["port", str(file), "--diff"]) == 0


def test_deep_code_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Code that nests more deeply than a reader follows is listed, and the run ends as others do."""
    file = tmp_path / "deep.cpp"
    file.write_text(f"int f() {{ return {'(' * 5000}at::kLong{')' * 5000}; }}\n")
    assert main(["port", str(file), "--diff"]) == 0
    assert "nests too deeply" in capsys.readouterr().out


def test_line_ends_and_other_letters_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file with the line ends of Windows keeps them, and letters beyond ASCII are text, also in messages."""
    file = tmp_path / "ends.cpp"
    file.write_bytes(
        '#include <ATen/ATen.h>\r\n// ä€\r\nvoid f(at::Tensor x) { TORCH_WARN("ä"); at::ä(x); }\r\n'.encode()
    )
    assert main(["port", str(file)]) == 0
    lines = file.read_bytes().decode().split("\n")
    assert all(line.endswith("\r") for line in lines[:-1])
    assert lines[1:2] == ["// ä€\r"]
    assert "`at::ä`" in capsys.readouterr().out
