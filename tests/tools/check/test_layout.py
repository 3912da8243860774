"""The canonical layout of files, which `opwright format` writes: what it looks like, and that it changes nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from opwright.backends.rows import BACKEND
from opwright.cli.main import main
from opwright.dialects.dialect import Dialect
from opwright.dialects.table import DERIVATIVES
from opwright.libraries.rows import LIBRARY
from opwright.release.inputs import open_inputs
from opwright.source.diagnostic import Fault
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from opwright.tools.files.file_kinds import kind_of
from opwright.tools.files.layout import canonical_text, check_layout

ROOT = Path(__file__).parents[3]

LIBRARY_BEFORE = """\
# Acme's operators, under some licence.

# Loops over elements.
operators:
    -   dispatch:   # of two devices
            CPU: scale_cpu   # quick
            # CUDA: later
        # The first one.
        func: "scale(Tensor self, float factor=2.0) -> Tensor"

    # A long one.
    - func: blend(Tensor self, Tensor other, *, Scalar weight=0.5, Scalar offset=0, bool is_clamped=False,
        ScalarType? dtype=None) -> Tensor
      doc: >
            Blends
              two.


      dispatch: {CPU: blend}
    - func: short(Tensor self,
                  int n) -> Tensor # joined
      dispatch: {CPU: short}

# What follows is for all.
namespace: acme
"""
LIBRARY_AFTER = """\
# Acme's operators, under some licence.

# What follows is for all.
namespace: acme
# Loops over elements.
operators:
# The first one.
- func: scale(Tensor self, float factor=2.0) -> Tensor
  dispatch:  # of two devices
    CPU: scale_cpu  # quick
    # CUDA: later

# A long one.
- func: blend(Tensor self, Tensor other, *, Scalar weight=0.5, Scalar offset=0, bool is_clamped=False,
    ScalarType? dtype=None) -> Tensor

  dispatch: {CPU: blend}
  doc: >
    Blends
      two.

- func: short(Tensor self, int n) -> Tensor  # joined
  dispatch: {CPU: short}
"""
BACKEND_BEFORE = """\
supported:
- relu   # the first
-   abs
- add.out:
    kernel: acme::add
cpp_namespace: acme
backend: PrivateUse1
"""
BACKEND_AFTER = """\
backend: PrivateUse1
cpp_namespace: acme
supported:
- relu  # the first
- abs
- add.out:
    kernel: acme::add
"""
DERIVATIVES_BEFORE = """\
- self: grad * factor
  result: auto_linear
  name: scale(Tensor self, float factor) -> Tensor
  output_differentiability: [True]
"""
DERIVATIVES_AFTER = """\
- name: scale(Tensor self, float factor) -> Tensor
  output_differentiability: [True]
  self: grad * factor
  result: auto_linear
"""


@pytest.mark.parametrize(
    ("dialect", "before", "after"),
    [
        (LIBRARY, LIBRARY_BEFORE, LIBRARY_AFTER),
        (BACKEND, BACKEND_BEFORE, BACKEND_AFTER),
        (DERIVATIVES, DERIVATIVES_BEFORE, DERIVATIVES_AFTER),
    ],
    ids=["library", "backend", "derivatives"],
)
def test_layout(dialect: Dialect[Any], before: str, after: str) -> None:
    """Keys are in order, indentation is one, schemas fit, and comments are where they belong."""
    assert canonical_text(SourceFile("a.yaml", before), dialect) == after
    assert canonical_text(SourceFile("a.yaml", after), dialect) == after


@pytest.mark.parametrize(
    "text",
    [
        "operators:\n- &one {func: f() -> ()}\n- *one\nnamespace: acme\n",
        "operators: []\n---\nnamespace: acme\n",
        "operators: [\nnamespace: acme\n",
        "operators:\n- # lost between\n  # dashes-and words\n  func: f() -> ()\n? namespace\n: acme\n--- # again\n",
        "",
    ],
    ids=["anchors", "documents", "mistake", "second document", "empty"],
)
def test_what_cannot_be_laid_out_stays(text: str) -> None:
    """A file with anchors, several documents or a mistake stays as it is."""
    assert canonical_text(SourceFile("a.yaml", text), LIBRARY) == text


def test_line_breaks_stay() -> None:
    """A file of Windows keeps its line breaks, and each line has one."""
    before = LIBRARY_BEFORE.replace("\n", "\r\n")
    assert canonical_text(SourceFile("a.yaml", before), LIBRARY) == LIBRARY_AFTER.replace("\n", "\r\n")


def files_of(*folders: str) -> list[SourceFile]:
    """The files of some folders that have a canonical layout."""
    files = []
    for path in sorted(path for folder in folders for path in (ROOT / folder).rglob("*.yaml")):
        try:
            file = SourceFile.read(str(path))
            load_yaml(file)
        except Fault:
            continue
        files.append(file)
    return [file for file in files if kind_of(file) in (LIBRARY, BACKEND, DERIVATIVES)]


@pytest.mark.thorough
def test_values_and_comments_stay() -> None:
    """The layout of every file in the tests and of PyTorch's derivatives is a fixed point with the same values.

    All comments are there after it, and lines have no blanks at their ends.
    """
    pytorch = open_inputs("auto").read_text(DERIVATIVES.inputs[0])
    files = [*files_of("examples", "tests"), pytorch]
    changed = 0
    for file in files:
        dialect = kind_of(file) or DERIVATIVES
        after = SourceFile(file.path, canonical_text(file, dialect))
        assert load_yaml(after).python_value() == load_yaml(file).python_value(), file.path
        assert canonical_text(after, dialect) == after.text, file.path
        assert after.text.count("#") == file.text.count("#"), file.path
        changed += after.text != file.text
    assert changed > 100


def test_examples_are_laid_out() -> None:
    """The examples are in the layout that `opwright format` writes."""
    assert [file.path for file in files_of("examples") if check_layout(file)] == []


def test_files_of_pytorch_have_no_canonical_layout() -> None:
    """PyTorch's list of operators, and what is no file of operators, are not reported."""
    for text in ("- func: f(Tensor x) -> Tensor\n  dispatch: {CPU: f}\n  variants: function\n", "jobs: {}\n"):
        assert check_layout(SourceFile("a.yaml", text)) is None
    text = "operators:\n- func: f(Tensor x) -> Tensor\nnamespace: acme\n"
    assert check_layout(SourceFile("a.yaml", text)) is not None


def test_generated_files_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a library and its derivatives generate stays the same, to the byte."""
    source = ROOT / "tests/library/saving"
    outputs = []
    for name in ("before", "after"):
        folder = tmp_path / name
        folder.mkdir()
        for path in source.glob("*.yaml"):
            file = SourceFile.read(str(path))
            dialect = kind_of(file) or DERIVATIVES
            text = file.text if name == "before" else canonical_text(file, dialect)
            (folder / path.name).write_text(text, encoding="utf-8")
        monkeypatch.chdir(folder)
        assert main(["generate", "--library", "operators.yaml", "--out", "out"]) == 0
        outputs.append({str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.[hcp]*")})
    before, after = outputs
    assert before == after
    assert before


@pytest.mark.thorough
@pytest.mark.parametrize("abi", ["native", "stable"])
def test_values_are_formatted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, abi: str) -> None:
    """Patterns and expressions with other blanks are written as those of the file, and generate the same."""
    source = ROOT / "tests/library/required"
    text = (source / "operators.yaml").read_text().replace("required\n", f"required\nabi: {abi}\n", 1)
    # Some of the blanks, and brackets that say nothing.
    spaced = text.replace('"*b d"', '" *b  d"')
    spaced = spaced.replace("w % 2 == 0:", "(w %2)==0:").replace("requires: eps > 0", "requires: eps>0")
    spaced = re.sub(r"\{(\w+)\}", r"{ \1 }", spaced)
    assert spaced != text
    derivatives = (source / "derivatives.yaml").read_bytes()
    outputs = []
    for name, written in (("before", text), ("after", spaced)):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        (folder / "operators.yaml").write_text(written)
        (folder / "derivatives.yaml").write_bytes(derivatives)
        assert main(["generate", "--library", "operators.yaml", "--out", "out"]) == 0
        outputs.append({str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.[hcp]*")})
        assert main(["format", "operators.yaml"]) == 0
    assert outputs[0] == outputs[1]
    assert (tmp_path / "after/operators.yaml").read_text() == (tmp_path / "before/operators.yaml").read_text()
    assert main(["format", "--check", "operators.yaml"]) == 0


@pytest.mark.thorough
def test_generated_gradients_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's derivatives in the layout generate the same files for autograd, to the byte."""
    inputs = open_inputs("auto")
    monkeypatch.chdir(tmp_path)
    outputs = []
    for name in ("before", "after"):
        for path in inputs.names():
            file = inputs.read_text(path)
            text = canonical_text(file, DERIVATIVES) if path in DERIVATIVES.inputs and name == "after" else file.text
            target = tmp_path / ("tools" if path.startswith("autograd/") else "aten/src/ATen") / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        source = ["--source-path", "aten/src/ATen", "--release", "2.13.0"]
        assert main(["generate", "--only", "autograd", "--out", name, *source]) == 0
        folder = tmp_path / name
        outputs.append(
            {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        )
    before, after = outputs
    assert before.keys() == after.keys()
    assert [path for path in before if before[path] != after[path] and "opwright" not in path] == []


@pytest.mark.thorough
def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`--check` reports and writes nothing, without it the file is written, and then there is nothing to do."""
    path = tmp_path / "acme.yaml"
    path.write_text(BACKEND_BEFORE)
    monkeypatch.chdir(tmp_path)
    assert main(["format", "--check", "acme.yaml"]) == 1
    assert "W2221" in capsys.readouterr().out
    assert path.read_text() == BACKEND_BEFORE
    assert main(["format", "acme.yaml"]) == 0
    assert path.read_text() == BACKEND_AFTER
    assert main(["format", "--check", "acme.yaml"]) == 0
    path.write_text(BACKEND_BEFORE)
    main(["check", "acme.yaml"])
    assert "W2221" not in capsys.readouterr().out
