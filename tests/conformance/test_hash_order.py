"""The one order that the reference takes from a set: it depends on the seed of Python's hashes, and ours does not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conformance.inputs import source_tree
from tests.conformance.small.inputs import ANCHOR

UFUNC = """\
- func: twice(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  structured_delegate: twice.out
- func: twice.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  ufunc_inner_loop:
    Generic: twice (AllAndComplex, BFloat16, Half)
"""
NATIVE = "aten/src/ATen/native/native_functions.yaml"
SHIMS = "torchgen/aoti/fallback_ops.py"
FILE = "NativeFunctions.h"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A source tree whose first entry has inner loops."""
    folder = tmp_path / "tree"
    shutil.copytree(source_tree(), folder)
    (folder / NATIVE).write_text(UFUNC + ANCHOR, "utf-8")
    (folder / SHIMS).write_text("inductor_fallback_ops = {}\naten_shimified_ops = {}\n", "utf-8")
    return folder


def files(tree: Path, out: Path, seed: str, *program: str) -> Mapping[str, bytes]:
    """The files that a program writes with a seed, by path."""
    variables = {**os.environ, "PYTHONHASHSEED": seed, "OPWRIGHT_CACHE_DIR": f"{out}-cache"}
    if program[0] != "-m":
        variables["PYTHONPATH"] = str(tree)
    words = ["--source-path", "aten/src/ATen", "--install-dir", str(out), "--aoti-install-dir", f"{out}/aoti"]
    words += ["--headeronly-install-dir", f"{out}/headeronly"]
    subprocess.run([sys.executable, *program, *words], cwd=tree, env=variables, check=True, capture_output=True)
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}


@pytest.mark.thorough
def test_kernels_of_inner_loops_have_the_order_of_the_source(tree: Path, tmp_path: Path) -> None:
    """The reference declares them in two orders, by the seed; ours is one of them with every seed, CUDA's first."""
    ours = [files(tree, tmp_path / f"ours{seed}", seed, "-m", "opwright.torchgen.gen") for seed in ("0", "1")]
    assert ours[0] == ours[1]
    theirs = [files(tree, tmp_path / f"theirs{seed}", seed, "torchgen/gen.py") for seed in map(str, range(6))]
    differing = {name for written in theirs for name, data in written.items() if data != ours[0].get(name)}
    assert differing <= {FILE}
    assert [written.keys() ^ ours[0].keys() for written in theirs] == [set()] * len(theirs)
    assert ours[0] in theirs
    assert {bytes(sorted(written[FILE])) for written in theirs} == {bytes(sorted(ours[0][FILE]))}
    text = ours[0][FILE].decode()
    assert 0 < text.index("structured_ufunc_twice_CUDA") < text.index("structured_ufunc_twice_CPU")
