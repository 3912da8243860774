"""The example of an operator library; `make example-library` compiles it and runs its tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opwright.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "library"


#: Forms that return what they write. With the stable interface, no tag tells `torch.compile` about them.
UNTAGGED = ["gamma_", "gamma.out", "mix_", "mix.out", "patches.out"]


@pytest.mark.parametrize(("file", "operators", "untagged"), [("acme.yaml", 21, []), ("stable/acme.yaml", 22, UNTAGGED)])
def test_example_has_no_mistakes(
    file: str, operators: int, untagged: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The library files and the derivatives of the example have no errors, and no warning that they can do without."""
    words = ["generate", "--library", str(EXAMPLE / file), "--torch", "auto", "--out", str(tmp_path)]
    assert main([*words, *([] if untagged else ["--strict"])]) == 0
    output = "".join(capsys.readouterr())
    assert re.findall(r"warning\[W0470\]: `torch.compile` fails at `([\w.]+)`", output) == untagged
    assert output.count("warning[") == len(untagged)
    assert f"{operators} operators" in output


def counted(text: str, row: str) -> int:
    """The last number in a row of a table."""
    match = re.search(rf"^\| {row} \|.*?(\d+) \|$", text, re.MULTILINE)
    assert match is not None, row
    return int(match[1])


def test_documentation_counts_what_the_example_has(tmp_path: Path) -> None:
    """The table about requirements has the numbers of lines, of conditions and of samples that the example has."""
    text = (ROOT / "docs" / "benchmarks.md").read_text()
    stable = EXAMPLE / "stable"
    kernels = [*(EXAMPLE / "csrc").glob("*.cpp")]
    written = [EXAMPLE / "acme.yaml", EXAMPLE / "derivatives.yaml", *(EXAMPLE / "csrc").iterdir()]
    written_stable = [stable / name for name in ("acme.yaml", "derivatives.yaml", "kernels.cpp")]
    for abi, paths in (("native", written), ("stable", written_stable)):
        lines = sum(len(path.read_text().splitlines()) for path in paths)
        assert counted(text, f"lines by hand, {abi}") == lines
    conditions = sum(path.read_text().count("TORCH_CHECK(") for path in kernels)
    assert counted(text, "conditions in kernels by hand, native") == conditions
    assert main(["generate", "--library", str(EXAMPLE / "acme.yaml"), "--torch", "auto", "--out", str(tmp_path)]) == 0
    generated = [path.read_text() for path in (tmp_path / "src" / "acme").glob("*.cpp")]
    checks = sum(source.count("OPWRIGHT_REQUIRE(") for source in generated)
    assert counted(text, "conditions that generated C\\+\\+ checks, native") == checks
    samples = (tmp_path / "tests" / "test_acme.py").read_text().count("            lambda: call(")
    assert counted(text, "samples of generated tests, native") == samples
