"""Compares what the core writes for a few operators with the files in `small/expected`.

python test_outputs.py            fails where a file differs, and shows how
python test_outputs.py --update   writes the files: a review of a change shows what they become
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
SMALL = HERE / "small"
EXPECTED = SMALL / "expected"
#: Where the tree has its inputs.
PLACES = {
    "native_functions.yaml": "aten/src/ATen/native",
    "tags.yaml": "aten/src/ATen/native",
    "derivatives.yaml": "tools/autograd",
    "deprecated.yaml": "tools/autograd",
}
PROGRAMS = (
    "gen --source-path aten/src/ATen --install-dir out/aten --aoti-install-dir out/aoti "
    "--headeronly-install-dir out/core",
    "generate_code --native-functions-path aten/src/ATen/native/native_functions.yaml "
    "--tags-path aten/src/ATen/native/tags.yaml --install-dir out/torch",
)
#: Tables of operators with a C shim, of which the tree has none.
TABLES = "inductor_fallback_ops = {}\naten_shimified_ops = {}\n"


def release(core: Path) -> str:
    """The newest release whose rules the core has."""
    program = "from opwright.release.version import NEWEST; print(NEWEST)"
    environment = {**os.environ, "PYTHONPATH": str(core)}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def make_tree(tree: Path, version: str) -> None:
    """Write a tree of a release with the entries, and with templates that have slots alone."""
    for name, folder in PLACES.items():
        (tree / folder).mkdir(parents=True, exist_ok=True)
        shutil.copy(SMALL / name, tree / folder)
    for line in (SMALL / "templates.txt").read_text("utf-8").splitlines():
        path, _, slots = line.partition(":")
        if not line.startswith("#"):
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text("".join([f"${{{slot}}}\n" for slot in slots.split()]), "utf-8")
    (tree / "version.txt").write_text(version, "utf-8")
    (tree / "torchgen" / "aoti").mkdir(parents=True)
    (tree / "torchgen" / "aoti" / "fallback_ops.py").write_text(TABLES, "utf-8")
    (tree / "torch" / "_native" / "ops").mkdir(parents=True)


def outputs(core: Path) -> dict[str, str]:
    """What the programs write into the tree, by path. Raises CalledProcessError if one fails."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder).resolve()
        make_tree(tree, release(core))
        for words in PROGRAMS:
            subprocess.run([sys.executable, str(core), *words.split()], cwd=tree, check=True, capture_output=True)
        paths = [path for path in sorted((tree / "out").rglob("*.*")) if path.stat().st_size]
        texts = {path.relative_to(tree / "out").as_posix(): path.read_text("utf-8") for path in paths}
    # Shards have parts of the file with everything. Linters leave files of text alone.
    shards = [path for path in texts if re.sub(r"_\d+\.", "Everything.", path) in texts.keys() - {path}]
    return {f"{path}.txt": text for path, text in texts.items() if path not in shards}


def expected() -> dict[str, str]:
    """The files that the programs have to write, by path."""
    paths = sorted(path for path in EXPECTED.rglob("*") if path.is_file())
    return {path.relative_to(EXPECTED).as_posix(): path.read_text("utf-8") for path in paths}


def differences(old: dict[str, str], new: dict[str, str]) -> Iterator[str]:
    """The lines of a difference of the files."""
    for path in sorted({*old, *new}):
        before, after = (files.get(path, "").splitlines(keepends=True) for files in (old, new))
        yield from difflib.unified_diff(before, after, f"expected/{path}", f"written/{path}")


def main() -> int:
    """Compare or update; the exit status is 1 if files differ."""
    written = outputs(HERE)
    if "--update" in sys.argv[1:]:
        shutil.rmtree(EXPECTED, ignore_errors=True)
        for path, text in written.items():
            (EXPECTED / path).parent.mkdir(parents=True, exist_ok=True)
            (EXPECTED / path).write_text(text, "utf-8")
        return 0
    lines = list(differences(expected(), written))
    sys.stdout.writelines(lines)
    print(f"{len(written)} files, {'some differ: --update writes them' if lines else 'all as expected'}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
