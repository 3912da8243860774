"""Runs a library's own tests with the original and with its port: `python -m tests.upstream scatter`.

The sources are those of `--tree`, or of Debian. The original is built by its own `setup.py`, once. The port is what
`opwright import --edit` makes of a copy, and a patch of this folder, which is all that is written by hand. Both run the
tests of the library; the outcome of each test is compared, and both are measured.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple
from xml.etree import ElementTree

import yaml

from tests.conformance.report import table
from tests.upstream.libraries import LIBRARIES, Library
from tests.upstream.sources import source_tree

#: Runs a `setup.py` for those of its shared objects that match a pattern.
_SETUP: Final = """\
import fnmatch, runpy, sys
import setuptools
setup, pattern = setuptools.setup, sys.argv.pop(1)
def chosen(**options):
    objects = [each for each in options["ext_modules"] if fnmatch.fnmatch(each.name, pattern)]
    return setup(**{**options, "ext_modules": objects})
setuptools.setup = chosen
sys.path.insert(0, ".")
runpy.run_path("setup.py", run_name="__main__")
"""
#: What an import says of a source of which nothing is left.
_EMPTY: Final = re.compile(r"^empty: (.*?):", re.MULTILINE)
_CALLS: Final = Path(__file__).with_name("calls.py").resolve()
#: Runs a program whose folder stays out of the path, because it has modules with names of PyTorch's.
_START: Final = "import runpy, sys; runpy.run_path(sys.argv.pop(1), run_name='__main__')"
#: Calls that entries do not allow, and what the original does where it has no error.
REFUSED: Final = Path(__file__).with_name("refused.yaml").resolve()
OUTCOMES: Final = {"returns": ("returns",), "taken": ("returns",), "outside": ("returns", "crash"), "crash": ("crash",)}
#: How often both builds run a call in turn, and for how many seconds each time.
_TURNS: Final = 15
_TURN_SECONDS: Final = 0.05


class Built(NamedTuple):
    """A package that was built: its folder, and the seconds of one processor that its build took."""

    folder: Path
    seconds: float

    def size(self, library: Library) -> int:
        """The bytes of the shared objects, without symbols that nobody needs to load them."""
        sizes = []
        with tempfile.TemporaryDirectory() as folder:
            for path in (self.folder / library.module).glob("*.so"):
                stripped = Path(folder) / path.name
                subprocess.run(["strip", "-o", stripped, path], check=True)
                sizes.append(stripped.stat().st_size)
        return sum(sizes)

    def environment(self) -> dict[str, str]:
        """The environment of programs that import the package."""
        return {**os.environ, "PYTHONPATH": os.pathsep.join([str(self.folder), os.environ.get("PYTHONPATH", "")])}


class Edited(NamedTuple):
    """What was edited by hand, and the lines of files that register and build, before and after."""

    by_hand: int
    removed_by_hand: int
    before: int
    after: int
    library_file: int


def build(library: Library, folder: Path) -> Built:
    """Build the shared objects of a package beside its sources. What the build says is in `build.log`."""
    environment = {**os.environ, "FORCE_ONLY_CPU": "1", "CFLAGS": library.flags}
    start = _processor_seconds()
    command = [sys.executable, "-c", _SETUP, library.shared_objects, "build_ext", "--inplace"]
    with (folder / "build.log").open("w") as log:
        done = subprocess.run(command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise SystemExit("\n".join((folder / "build.log").read_text(errors="replace").splitlines()[-40:]))
    return Built(folder, _processor_seconds() - start)


def _processor_seconds() -> float:
    """What the programs that ended took of processors."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def built_original(library: Library, tree: Path, cache: Path) -> Built:
    """The original, built once for each tree."""
    folder = cache / f"{library.folder}-original"
    record = folder / "built.json"
    if record.is_file() and json.loads(record.read_text())["tree"] == str(tree):
        return Built(folder, json.loads(record.read_text())["seconds"])
    _copy(tree, folder)
    built = build(library, folder)
    record.write_text(json.dumps({"tree": str(tree), "seconds": built.seconds}))
    return built


def import_library(library: Library, tree: Path, folder: Path) -> int:
    """Import a copy of a tree, and change it as the import and files of ours say. Gives the lines of these files."""
    _copy(tree, folder)
    file = f"{library.module}.yaml"
    words = [*library.sources, "--out", file, "--derivatives", "derivatives.yaml"]
    command = [sys.executable, "-m", "opwright", "import", *words, "--edit"]
    told = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    (folder / "import.log").write_text(told.stdout)
    for name in [*library.replaced, *_EMPTY.findall(told.stdout)]:
        (folder / name).unlink()
    if library.files is None:
        return 0
    shutil.copytree(library.files, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    return _lines(library.files, ["**/*.yaml", "**/*.py"])


def built_port(library: Library, tree: Path, folder: Path) -> tuple[Built, Edited]:
    """The port: imported, edited and built."""
    before = _lines(tree, library.glue)
    written = import_library(library, tree, folder)
    # A repository around the folder would have its say.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    command = ["git", "apply", "--unidiff-zero", str(library.patch.resolve())]
    subprocess.run(command, cwd=folder, env=environment, check=True)
    if library.ported:
        command = [sys.executable, "-m", "opwright", "port", *library.ported]
        with (folder / "port.log").open("w") as log:
            subprocess.run(command, cwd=folder, stdout=log, check=True)
    lines = [line for line in library.patch.read_text().splitlines() if not line.startswith(("+++", "---"))]
    made = _lines(folder, [f"{library.module}.yaml", "derivatives.yaml"])
    edited = Edited(
        written + sum(line.startswith("+") for line in lines),
        sum(line.startswith("-") for line in lines),
        before,
        _lines(folder, library.glue),
        made,
    )
    return build(library, folder), edited


def _copy(tree: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(tree, folder, ignore=shutil.ignore_patterns(".git", "build", "*.so", "*.egg-info"))


def _lines(folder: Path, patterns: Iterable[str]) -> int:
    paths = {path for pattern in patterns for path in folder.glob(pattern)}
    return sum(len(path.read_text().splitlines()) for path in paths)


def outcomes(library: Library, built: Built, jobs: int) -> Mapping[str, str]:
    """The outcome of each test of the library with a build, by its name."""
    report = built.folder / "tests.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=", f"-n{jobs}"]
    command += [f"--junitxml={report}", f"--rootdir={built.folder}", *library.tests]
    with (built.folder / "tests.log").open("w") as log:
        environment = built.environment()
        subprocess.run(command, cwd=built.folder, env=environment, stdout=log, stderr=subprocess.STDOUT, check=False)
    if not report.is_file():
        raise SystemExit((built.folder / "tests.log").read_text())
    found: dict[str, str] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        found[f"{case.get('classname')}::{case.get('name')}"] = kinds[0] if kinds else "passed"
    return found


def wrong_refusals(module: str, original: Built, port: Built) -> tuple[int, list[str]]:
    """The number of calls that entries do not allow, and what is wrong with some.

    The port refuses each call and its trace with the same text. The original has an error, reads outside, or ends. A
    call that is `taken` returns with both, and in traces.
    """
    calls = yaml.safe_load(REFUSED.read_text())[module]
    told = []
    for built in (original, port):
        command = [sys.executable, "-c", _START, str(REFUSED.with_suffix(".py")), module, str(REFUSED)]
        told.append(json.loads(subprocess.check_output(command, env=built.environment(), text=True)))
    wrong = []
    for (call, expected), (before, _), (eager, traced) in zip(calls, *told, strict=True):
        told_by_entry = "returns" if expected == "taken" else f"{module}::"
        if eager != traced or not eager.startswith(told_by_entry):
            wrong.append(f"{call}: {eager} / {traced}")
        if before not in OUTCOMES.get(expected, (before,)) or (expected not in OUTCOMES and expected not in before):
            wrong.append(f"{call}: {before}, with the original, and not {expected}")
    return len(calls), wrong


def compared_calls(library: Library, builds: Iterable[Built]) -> list[tuple[str, float, float]]:
    """What calls take of processors with the original, in microseconds, and the share of it that the port takes.

    Both processes run a call in turn, so that what else the machine does slows both.
    """
    command = [sys.executable, "-c", _START, str(_CALLS), library.module]
    processes = [
        subprocess.Popen(command, env=built.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for built in builds
    ]
    names = [[*iter(partial(_line, process), "")] for process in processes]
    assert names[0] == names[1], names
    rows = []
    for number, name in enumerate(names[0]):
        once = max(_asked(process, number, 20) for process in processes) / 20
        count = max(1, round(_TURN_SECONDS / once))
        pairs = [[_asked(process, number, count) / count for process in processes] for _ in range(_TURNS)]
        share = statistics.median(port / original for original, port in pairs)
        rows.append((name, 1e6 * statistics.median(original for original, _ in pairs), share))
    for process in processes:
        process.communicate()
    return rows


def _asked(process: subprocess.Popen[str], number: int, count: int) -> float:
    """The seconds of processors that so many calls took."""
    assert process.stdin is not None
    process.stdin.write(f"{number} {count}\n")
    process.stdin.flush()
    return float(_line(process))


def _line(process: subprocess.Popen[str]) -> str:
    """The next line that a process prints."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def main() -> int:
    """Print what was compared. The exit status is not 0 if a test has another outcome."""
    parser = argparse.ArgumentParser(prog="python -m tests.upstream", description=__doc__)
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("--tree", type=Path, help="a source tree of the library, with its tests")
    parser.add_argument("--cache", type=Path, default=Path(".cache/upstream"), help="downloads and the originals")
    parser.add_argument("--out", type=Path, default=Path("build/upstream"), help="the folder for the port")
    parser.add_argument("--jobs", type=int, default=2, help="how many tests run at once (default: 2)")
    parser.add_argument("--no-tests", action="store_true", help="only build and measure")
    chosen = parser.parse_args()
    library, cache = LIBRARIES[chosen.library], chosen.cache.resolve()
    tree = source_tree(library, cache, chosen.tree and chosen.tree.resolve())
    for needed in map(LIBRARIES.__getitem__, library.needs):
        folder = built_original(needed, source_tree(needed, cache, None), cache).folder
        os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    original = built_original(library, tree, cache)
    port, edited = built_port(
        library, tree, chosen.out.resolve() / f"{library.folder}{library.form and '-'}{library.form}"
    )
    sizes = [built.size(library) for built in (original, port)]
    shown = [
        ("lines by hand", "", f"{edited.by_hand}, and {edited.removed_by_hand} removed"),
        ("lines that register and build", str(edited.before), f"{edited.after}, and {edited.library_file} made"),
        ("bytes of shared objects", f"{sizes[0]:,}", f"{sizes[1]:,} ({sizes[1] / sizes[0]:.2f})"),
        ("seconds to build", f"{original.seconds:.0f}", f"{port.seconds:.0f} ({port.seconds / original.seconds:.2f})"),
    ]
    for name, microseconds, share in compared_calls(library, (original, port)):
        shown.append((f"us, {name}", f"{microseconds:.1f}", f"{microseconds * share:.1f} ({share:.2f})"))
    print("\n".join(table(("", "original", "port"), shown)), flush=True)
    if library.files is not None:
        count, wrong = wrong_refusals(library.module, original, port)
        print("\n".join([*wrong, f"{count} calls end as they have to, but for {len(wrong)}"]), flush=True)
        if wrong:
            return 1
    if chosen.no_tests:
        return 0
    before, after = outcomes(library, original, chosen.jobs), outcomes(library, port, chosen.jobs)
    print("\n".join(table(("tests", "original", "port"), _counted(before, after))))
    limits = {
        name: reason
        for pattern, reason in library.limits.items()
        for name in fnmatch.filter(before, pattern)
        if before[name] == "passed" and after.get(name) == "failure"
    }
    for reason, count in Counter(limits.values()).items():
        print(f"{count} tests fail with the port alone: {reason}")
    different = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)} - limits.keys()
    for name in sorted(different):
        print(f"{name}: {before.get(name, 'not run')} with the original, {after.get(name, 'not run')} with the port")
    print(f"{len(before) - len(different) - len(limits)} of {len(before)} tests have the same outcome")
    return 1 if different or not before else 0


def _counted(before: Mapping[str, str], after: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """How many tests have each outcome."""
    counts = Counter(before.values()), Counter(after.values())
    return [(outcome, str(counts[0][outcome]), str(counts[1][outcome])) for outcome in sorted({*counts[0], *counts[1]})]


if __name__ == "__main__":
    sys.exit(main())
