"""The example that Ninja builds over a compiler cache."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import opwright
from tests.engine.project import replace_once

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "ninja"

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(None in map(shutil.which, ("ninja", "ccache", "c++")), reason="there is no Ninja or no ccache"),
]


class Build:
    """A copy of the example, and builds of it that share a cache with other copies."""

    def __init__(self, folder: Path, cache: Path) -> None:
        shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("gen", "links", "obj", ".ninja_*", "*.so"))
        self.folder = folder
        source = str(Path(opwright.__file__).parents[1])
        self.environment = {**os.environ, "PYTHONPATH": source, "CCACHE_DIR": str(cache)}
        replace_once(folder / "build.ninja", "-O2", "-O0")
        self.run(sys.executable, "configure.py", "ccache")

    def move_headers(self, folder: Path) -> None:
        """Use copies of the headers, as an environment in another folder has them."""
        for link in (self.folder / "links").iterdir():
            shutil.copytree(link, folder / link.name)
            link.unlink()
            link.symlink_to(folder / link.name)

    def run(self, *words: str) -> str:
        """What a program prints, which must succeed."""
        done = subprocess.run(words, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def counts(self) -> tuple[int, int]:
        """How many compilations of a build the cache spares, and how many it does not."""
        self.run("ccache", "--zero-stats")
        self.run("ninja")
        text = self.run("ccache", "--print-stats")
        numbers = {name: int(number) for name, number in re.findall(r"^(\w+)\t(\d+)$", text, re.MULTILINE)}
        return numbers["direct_cache_hit"] + numbers["preprocessed_cache_hit"], numbers["cache_miss"]


def test_builds_share_compilations(tmp_path: Path) -> None:
    """Another checkout compiles nothing again; after an edit, only the sources that it changes are compiled.

    Its environment may be in another folder.
    """
    first, second = (Build(tmp_path / name, tmp_path / "cache") for name in ("one", "two"))
    second.move_headers(tmp_path / "another/environment")
    assert first.counts() == (0, 3)
    assert second.counts() == (3, 0)
    library = (first.folder / "_C.so").read_bytes()
    assert (second.folder / "_C.so").read_bytes() == library
    assert "no work to do" in second.run("ninja")
    yaml = second.folder / "operators.yaml"
    replace_once(yaml, "Limits values", "Limits all values")
    assert second.counts() == (0, 0)
    entry = "- func: halve(Tensor self) -> Tensor\n"
    replace_once(yaml, entry, f"{entry}  tags: pointwise\n")
    assert second.counts() == (0, 1)
    replace_once(yaml, f"{entry}  tags: pointwise\n", entry)
    assert second.counts() == (1, 0)
    assert (second.folder / "_C.so").read_bytes() == library
