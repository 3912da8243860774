"""Files of static runtime are formatted with the clang-format on the path, and runs with nothing to do start none."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from opwright.torchgen import gen_static_runtime_ops
from tests.static_runtime.sides import OPERATORS, TESTS, flags

NATIVE = "ATen/native/native_functions.yaml"
TURN = """\
- func: turn(Tensor self) -> Tensor

- func: turn.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
"""
#: A formatter that writes the style, the path and the text; it counts its runs, and fails for the style `bad`.
FORMATTER = """\
#!{python}
import pathlib, sys
here = pathlib.Path({folder!r})
with open(here / "runs", "a") as runs:
    runs.write(".")
style = pathlib.Path({folder!r}, ".clang-format")
named = style.read_text() if style.exists() else "none"
if named == "bad":
    sys.exit("no such style")
path = sys.argv[1].removeprefix("--assume-filename=")
sys.stdout.write(f"// {{named}} {{pathlib.Path(path).name}}\\n" + sys.stdin.read())
"""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the formatter is a script")


@pytest.fixture
def folder(tmp_path: Path, reference_inputs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with inputs, and one below it that is the whole search path."""
    (tmp_path / NATIVE).parent.mkdir(parents=True)
    (tmp_path / NATIVE).write_text(TURN)
    shutil.copyfile(reference_inputs / "native" / "tags.yaml", (tmp_path / NATIVE).with_name("tags.yaml"))
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("OPWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def formatter(folder: Path) -> Path:
    """The formatter on the path."""
    path = folder / "bin" / "clang-format"
    path.write_text(FORMATTER.format(python=sys.executable, folder=str(folder)))
    path.chmod(0o755)
    return path


def run(folder: Path, *more: str) -> int:
    """Run the program in a folder and give its status."""
    return gen_static_runtime_ops.main([*flags(folder), *more])


def runs(folder: Path) -> int:
    """How often the formatter ran."""
    path = folder / "runs"
    return len(path.read_text()) if path.exists() else 0


def first_lines(folder: Path) -> list[str]:
    """The first lines of both files."""
    return [(folder / name).read_text().splitlines()[0] for name in (OPERATORS, TESTS)]


def test_files_are_formatted_before_they_are_written(folder: Path, formatter: Path) -> None:
    """The formatter gets each text with the path of its file, whose style holds, and an unchanged run starts none."""
    assert run(folder) == 0
    assert first_lines(folder) == [f"// none {OPERATORS}", f"// none {TESTS}"]
    stamps = [(folder / name).stat().st_mtime_ns for name in (OPERATORS, TESTS)]
    assert run(folder) == 0
    assert runs(folder) == 2
    assert stamps == [(folder / name).stat().st_mtime_ns for name in (OPERATORS, TESTS)]


def test_a_run_after_an_edit_formats_whole_files(folder: Path, formatter: Path) -> None:
    """A file whose earlier text was formatted is made as in a fresh run, formatted or not."""
    texts = {}
    for attempt in ("first", "edited"):
        if attempt == "edited":
            (folder / NATIVE).write_text(TURN.replace("turn", "twist") + "\n" + TURN)
        for format_flag in ((), ("--no-format",), ()):
            assert run(folder, *format_flag) == 0
            texts[attempt, format_flag] = (folder / OPERATORS).read_text()
    for attempt in ("first", "edited"):
        assert texts[attempt, ()] == f"// none {OPERATORS}\n{texts[attempt, ('--no-format',)]}"
    assert "aten::twist," in texts["edited", ()]


def test_a_new_style_formats_again(folder: Path, formatter: Path) -> None:
    """A style file that appears above the outputs makes them again, and one that fails replaces none of them."""
    assert run(folder) == 0
    (folder / ".clang-format").write_text("wide")
    assert run(folder) == 0
    assert first_lines(folder) == [f"// wide {OPERATORS}", f"// wide {TESTS}"]
    (folder / ".clang-format").write_text("bad")
    assert run(folder) == 1
    assert first_lines(folder) == [f"// wide {OPERATORS}", f"// wide {TESTS}"]


def test_a_failure_says_what_the_formatter_said(
    folder: Path, formatter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A failing formatter is an error with what it printed, for each file."""
    (folder / ".clang-format").write_text("bad")
    assert run(folder) == 1
    text = capsys.readouterr().err
    assert text.count("error[E1705]") == 2
    assert "no such style" in text
    assert not (folder / OPERATORS).exists()


@pytest.mark.parametrize("broken", ["pass", "sys.stdout.write(sys.stdin.read().replace('turn', ''))"])
def test_an_answer_without_all_tokens_is_an_error(
    folder: Path, formatter: Path, capsys: pytest.CaptureFixture[str], broken: str
) -> None:
    """A formatter that prints nothing, or loses a name, leaves the files as they were."""
    assert run(folder) == 0
    (folder / NATIVE).write_text(TURN.replace("turn", "twist") + "\n" + TURN)
    formatter.write_text(f"#!{sys.executable}\nimport sys\n{broken}\n")
    texts = [(folder / name).read_text() for name in (OPERATORS, TESTS)]
    assert run(folder) == 1
    assert "its answer lacks" in capsys.readouterr().err
    assert texts == [(folder / name).read_text() for name in (OPERATORS, TESTS)]


def test_without_formatter_files_stay_as_they_are(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each run warns that there is no formatter; with `--no-format` none does."""
    for _ in range(2):
        assert run(folder) == 0
        assert "warning[W1704]" in capsys.readouterr().err
    assert first_lines(folder)[0].startswith("// @lint")
    assert run(folder, "--no-format") == 0
    assert "W1704" not in capsys.readouterr().err


def test_a_formatter_that_cannot_start_is_an_error(
    folder: Path, formatter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that is no program is reported, as one that fails."""
    formatter.write_text("#!/nowhere\n")
    assert run(folder) == 1
    assert "error[E1705]" in capsys.readouterr().err


def test_paths_without_file_name_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A path that ends in a slash names no file."""
    with pytest.raises(SystemExit) as ended:
        gen_static_runtime_ops.main(["-p", "out/"])
    assert ended.value.code == 2
    assert "is not the path of a file" in capsys.readouterr().err
