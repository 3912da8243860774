"""The program behind `make generator-digests`: writes the digests of the generators of all known releases.

They come from the wheels at the package index. `--check` fails if the file would change.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from itertools import groupby
from pathlib import Path

from opwright.release.generator_digests import parts_of, text_digest
from opwright.release.generator_files import GENERATOR_FOLDERS
from opwright.release.version import parse_version
from tests.conformance.release_inputs import RELEASES, release_folder

DATA = Path(__file__).parents[2] / "src/opwright/release/data/generator_digests.txt"
HEAD = """\
# Digests of the generators of known releases, by file: `text` of the whole file, `part` of its functions and constants,
# `list` of constants that a tree teaches (see `generator_digests.py`), then the first release that has them and the
# first that has them no more.
# `make generator-digests` writes this file.
"""
#: Modules that no program which Opwright replaces in a tree's build runs.
LEFT_OUT = {"gen_executorch.py", "gen_schema_utils.py"}


def release_files(release: str) -> dict[str, str]:
    """The texts of the generator's files, by the names that inputs have for them."""
    folder = release_folder(release)
    packaged = {"autograd": "torchgen/packaged/autograd"}
    paths = {
        f"{name}/{path.name}": path
        for name in GENERATOR_FOLDERS
        for path in sorted((folder / packaged.get(name, name)).glob("*.py"))
    }
    return {name: path.read_text("utf-8") for name, path in paths.items() if path.name not in LEFT_OUT}


def table() -> str:
    """The text of the file."""
    releases = [release for release in RELEASES if parse_version(release) >= parse_version("2.7")]
    having: dict[str, dict[tuple[str, str], list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, release in enumerate(releases):
        for name, text in release_files(release).items():
            parts = [("list" if part.is_taught else "part", part.digest) for part in parts_of(text)]
            digests = [("text", text_digest(text)), *parts]
            for digest in dict.fromkeys(digests):
                having[name][digest].append(number)
    series = [parse_version(release).series for release in releases] + ["-"]
    lines = [HEAD]
    for name, numbers_of in sorted(having.items()):
        rows: dict[tuple[str, int, int], list[str]] = defaultdict(list)
        for (kind, part), numbers in numbers_of.items():
            # A digest that is gone and comes back has two ranges.
            for _, group in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
                span = [number for _, number in group]
                rows[kind, span[0], span[-1] + 1].append(part)
        lines.append(f"[{name}]\n")
        for (kind, first, end), found in sorted(rows.items()):
            for start in range(0, len(found), 11):
                lines.append(f"{kind} {series[first]} {series[end]} {' '.join(sorted(found)[start : start + 11])}\n")
    return "".join(lines)


if __name__ == "__main__":
    text = table()
    if "--check" in sys.argv:
        sys.exit(text != DATA.read_text("utf-8"))
    DATA.write_text(text, "utf-8")
