"""Builds libraries of others with Opwright, beside the originals: `python -m tests.field_replay.port`.

The steps are those of docs/from-existing.md: download the source distribution, `opwright import`, compare, delete
what the library file takes the place of, apply what is written by hand, and build. The package is then compared with
the original one, which is built from the same distribution: the results of the same calls, gradients against numerical
ones, and `torch.library.opcheck`. A package whose entries say what operators need runs the tests of its sources, which
are legal calls, and refuses calls that are not.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from tests.conformance.report import table
from tests.field_replay.__main__ import sources_of
from tests.field_replay.ports import PORTS, Port
from tests.upstream.__main__ import Built, outcomes, wrong_refusals
from tests.upstream.libraries import LIBRARIES
from tests.upstream.sources import source_tree

COLUMNS: Final = (
    "library",
    "minutes",
    "by hand",
    "before",
    "after",
    "schemas",
    "calls equal",
    "gradients",
    "opcheck",
    "tests",
    "refused",
)
CHECKS: Final = Path(__file__).with_name("checks.py")
_DELETABLE: Final = re.compile(r"can be deleted: (.*?): ([\d, -]+)")


class Ported(NamedTuple):
    """A built package, the minutes of one processor that it took, and lines: by hand, of glue before, and after."""

    folder: Path
    minutes: float
    by_hand: int
    before: int
    after: int


def built_original(port: Port, cache: Path) -> Path:
    """The folder with the original package, built in place by its own `setup.py`, once."""
    folder = cache / f"{port.distribution}-original"
    if not folder.is_dir():
        work = folder.with_suffix(".work")
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(sources_of(port.distribution, cache), work)
        _build(work)
        work.rename(folder)
    return folder


def built_port(port: Port, cache: Path, work: Path) -> Ported:
    """The package, imported, changed and built below a folder."""
    start = _processor_seconds()
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(sources_of(port.distribution, cache), work)
    before = _lines(_matching(work, port.glue))
    _opwright(work, "import", "csrc", "--out", port.library_file)
    told = _opwright(work, "import", "csrc", "--out", port.library_file, "--check")
    _delete_lines(work, told)
    for path in [*_matching(work, port.removed)]:
        path.unlink()
    for name, text in port.files.items():
        (work / name).write_text(text)
    edited = sum(_apply(port, work))
    written = _lines(work / name for name in port.files)
    _build(work)
    after = _lines(_matching(work, port.glue)) * (not port.removed) + edited
    after += written if port.library_file in port.files else written + _lines([work / port.library_file])
    return Ported(work, (_processor_seconds() - start) / 60, written + edited, before, after)


def _processor_seconds() -> float:
    """What the programs that ended took of processors."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _opwright(folder: Path, *words: str) -> str:
    """What a command says that succeeds."""
    command = [sys.executable, "-m", "opwright", *words]
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout


def _delete_lines(folder: Path, told: str) -> None:
    """Delete the lines that `opwright import` names."""
    for name, ranges in _DELETABLE.findall(told):
        path = folder / name
        lines = path.read_text().splitlines(keepends=True)
        for text in ranges.split(", "):
            first, _, last = text.partition("-")
            for number in range(int(first), int(last or first) + 1):
                lines[number - 1] = ""
        path.write_text("".join(lines))


def _apply(port: Port, work: Path) -> Iterable[int]:
    """Apply the edits. Gives the lines that each puts in."""
    for edit in port.edits:
        path = work / edit.path.format(package=port.package)
        text, count = re.subn(edit.pattern, edit.replacement, path.read_text(), flags=re.DOTALL)
        assert count, edit
        path.write_text(text)
        yield count * len(edit.replacement.strip().splitlines())


def _build(folder: Path) -> None:
    """Run the `setup.py` of a folder. What it says is in `build.log`."""
    environment = {**os.environ, "FORCE_ONLY_CPU": "1"}
    with (folder / "build.log").open("w") as log:
        command = [sys.executable, "setup.py", "build_ext", "--inplace"]
        done = subprocess.run(command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise SystemExit("\n".join((folder / "build.log").read_text().splitlines()[-30:]))


def _matching(folder: Path, patterns: Iterable[str]) -> list[Path]:
    return [path for pattern in patterns for path in sorted(folder.glob(pattern))]


def _lines(paths: Iterable[Path]) -> int:
    return sum(len(path.read_text().splitlines()) for path in paths)


def run_checks(port: Port, original: Path, ported: Path) -> list[str]:
    """The last columns of the table: what the checks of a package say beside the original one."""
    out = ported / "checks.pt"
    for folder, more in ((original, ["--save", str(out)]), (ported, ["--compare", str(out)])):
        command = [sys.executable, str(CHECKS.resolve()), port.package, *more]
        path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": path}, cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)
    return done.stdout.strip().split(" | ")


def run_upstream(port: Port, original: Path, ported: Path) -> list[str]:
    """The outcomes of the tests that the sources of a package have, and the number of calls that are refused."""
    if not port.upstream:
        return ["", ""]
    library = LIBRARIES[port.upstream]
    tree = source_tree(library, Path(".cache/upstream").resolve(), None)
    for name in library.tests:
        shutil.copytree(tree / name, ported / name, dirs_exist_ok=True)
    counts = Counter(outcomes(library, Built(ported, 0), 1).values())
    count, wrong = wrong_refusals(port.package, Built(original, 0), Built(ported, 0))
    if wrong or counts["failure"] or counts["error"]:
        raise SystemExit("\n".join([*wrong, str(counts)]))
    return [", ".join([f"{number} {outcome}" for outcome, number in counts.items()]), str(count)]


def main() -> int:
    """Print the table. The exit status is not 0 if a step fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.field_replay.port", description=__doc__)
    parser.add_argument("--only", default="", help="libraries whose name has this text, such as `cluster`")
    parser.add_argument(
        "--cache", type=Path, default=Path(".cache/field"), help="the folder of downloads and originals"
    )
    parser.add_argument("--out", type=Path, default=Path(".cache/field-port"), help="the folder for the packages")
    chosen = parser.parse_args()
    ports = [port for port in PORTS if chosen.only in port.distribution]
    rows = []
    for port in ports:
        original = built_original(port, chosen.cache.resolve())
        ported = built_port(port, chosen.cache.resolve(), (chosen.out / port.package).resolve())
        numbers = (f"{ported.minutes:.1f}", ported.by_hand, ported.before, ported.after)
        told = [*run_checks(port, original, ported.folder), *run_upstream(port, original, ported.folder)]
        rows.append([port.distribution, *map(str, numbers), *told])
    print("\n".join(table(COLUMNS, rows)))
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
