"""Operators of ExecuTorch may be in several files, each kernel in one of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.cli.main import main

FIRST = """\
- op: add.out
  kernels:
    - arg_meta: null
      kernel_name: acme::add_out
"""
SECOND = """\
- op: sub.out
  kernels:
    - arg_meta: null
      kernel_name: acme::sub_out
"""
SCALE = """\
- func: acme::scale.out(Tensor self, float by, *, Tensor(a!) out) -> Tensor(a!)
  kernels:
    - arg_meta: null
      kernel_name: acme::scale_out
"""
SHIFT = """\
- func: acme::shift.out(Tensor self, int by, *, Tensor(a!) out) -> Tensor(a!)
  kernels:
    - arg_meta: null
      kernel_name: acme::shift_out
"""


def generated(folder: Path, functions: list[str], custom: list[str]) -> dict[str, bytes] | None:
    """The files of a run with these texts as files; None if it fails."""
    words = []
    for option, texts in (("--executorch", functions), ("--executorch-custom", custom)):
        for number, text in enumerate(texts):
            path = folder / f"{option.strip('-')}-{number}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            words += [option, str(path)]
    if main(["generate", *words, "--torch", "auto", "--out", str(folder / "out")]):
        return None
    return {path.name: path.read_bytes() for path in sorted((folder / "out").iterdir()) if path.is_file()}


def test_files_count_together(tmp_path: Path) -> None:
    """A run for several files makes the bytes of a run for one file with all entries."""
    several = generated(tmp_path / "several", [FIRST, SECOND], [SCALE, SHIFT])
    assert several is not None
    assert several == generated(tmp_path / "one", [FIRST + SECOND], [SCALE + SHIFT])
    # One operator may have kernels for different keys in different files.
    special = SHIFT.replace("arg_meta: null", "arg_meta: {self: [T, D], out: [T, D]}") + (
        "  type_alias: {T: [Float]}\n  dim_order_alias: {D: [0, 1]}\n"
    )
    several = generated(tmp_path / "keys", [], [SHIFT, special.replace("shift_out", "fast_shift_out", 1)])
    assert several is not None
    assert several["RegisterCodegenUnboxedKernels_0.cpp"].count(b'"acme::shift.out",') == 2


@pytest.mark.parametrize(("option", "entry"), [("--executorch", FIRST), ("--executorch-custom", SCALE)])
def test_a_second_kernel_is_an_error(
    tmp_path: Path, option: str, entry: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A kernel for the same operator and key in a second file, which would abort each program at its start."""
    files = [
        entry,
        SECOND.replace("sub", "mul") if option == "--executorch" else SHIFT,
        entry.replace("acme::", "other::", 2),
    ]
    if option == "--executorch-custom":
        files[2] = entry.replace("kernel_name: acme::", "kernel_name: other::")
    assert generated(tmp_path, *((files, []) if option == "--executorch" else ([], files))) is None
    error = capsys.readouterr().err
    assert error.count("error[E1908]") == 1
    name = option.strip("-")
    assert f"--> {tmp_path}/{name}-2.yaml:1:3" in error
    assert f"{tmp_path}/{name}-0.yaml:1:3" in error


def test_schemas_of_files_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two files with different schemas of one operator are refused."""
    assert generated(tmp_path, [], [SHIFT, SHIFT.replace("int by", "float by")]) is None
    assert "error[E0410]: second entry for `acme::shift.out`, with another schema" in capsys.readouterr().err
