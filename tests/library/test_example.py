"""The example of an operator library; `make example-library` compiles it and runs its tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opwright.cli.main import main

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "library"


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
