"""The steps of docs/core.md in a tree of PyTorch, each beside what the tree's own generator does for the same end.

    .venv/bin/python -m bench.tree_steps --release 2.15.0 --rounds 5

The tree is made of the files in the release's wheel, with a commit, and an operator that the next commit adds. Each
round runs both sides in turns; seconds are processor time of whole processes with their children, so that other work of
the machine counts little. The program then shows what the steps print about three edits.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from bench.__main__ import quiet_folder
from tests.conformance.compare import files_below
from tests.conformance.inputs import MY_ENTRY, ROOT, write_folder
from tests.conformance.report import table
from tests.conformance.tree_inputs import release_tree
from tests.core.__main__ import contents
from tests.core.__main__ import write_folder as write_core
from tests.core.closure import Closure
from tests.core.one_release import known_version
from tests.generator_edits.judge import OURS, REFERENCE

COLUMNS: Final = ("step", "the tree's generator, s", "Opwright, s", "times less")
NATIVE: Final = "aten/src/ATen/native/native_functions.yaml"
FORMULAS: Final = "tools/autograd/derivatives.yaml"
ADAPTER: Final = "tools/linter/adapters/opwright_linter.py"
CORE: Final = "third_party/opwright-core"
#: An edit of the tree's generator: its path, and a text with another one in its place.
GENERATOR_EDIT: Final = ("torchgen/api/cpp.py", 'name += "_symint"', 'name += "_symbolic"')
REPORT: Final = ("-m", "opwright", "diff", "--output", "--format", "markdown", "--fail-on", "none")


class Step(NamedTuple):
    """A row: its name, what is done before each run of a round, and the commands of both sides, with their folders."""

    name: str
    prepare: Callable[[int], None]
    theirs: tuple[tuple[Path, tuple[str, ...]], ...]
    ours: tuple[tuple[Path, tuple[str, ...]], ...]


class Steps:
    """The steps in a tree of a release: `tree` has the second commit, `base` the first one."""

    def __init__(self, folder: Path, release: str) -> None:
        self.folder: Final = folder
        self.tree: Final = folder / "tree"
        self.base: Final = folder / "base"
        self.core: Final = folder / "core"
        write_folder(self.tree, {**release_tree(release), "version.txt": f"{release}\n".encode()})
        target = self.tree / ADAPTER
        target.parent.mkdir(parents=True)
        shutil.copy(ROOT / "packaging/lintrunner/opwright_linter.py", target)
        write_core(contents(Closure(["gen", "generate_code"]), known_version(release)), self.tree / CORE)
        self._git("init", "--quiet")
        self._commit("base")
        self.append(NATIVE, MY_ENTRY)
        self._commit("Add my_softclip")
        self._git("worktree", "add", "--quiet", str(self.base), "HEAD~")

    def _git(self, *words: str) -> None:
        command = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.org", *words]
        subprocess.run(command, cwd=self.tree, check=True)

    def _commit(self, message: str) -> None:
        self._git("add", "--all")
        self._git("commit", "--quiet", "--message", message)

    def append(self, name: str, text: str) -> None:
        """Put a text at the end of a file of the tree."""
        with open(self.tree / name, "a", encoding="utf-8") as stream:
            stream.write(text)

    def replace(self, name: str, old: str, new: str) -> None:
        """Replace a text that a file of the tree has once."""
        text = (self.tree / name).read_text("utf-8")
        assert text.count(old) == 1, (name, old)
        (self.tree / name).write_text(text.replace(old, new), "utf-8")

    def environment(self) -> Mapping[str, str]:
        """The environment of all programs: an own cache, and compiled modules as a user has them."""
        own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        return {**own, "PYTHONPATH": "", "OPWRIGHT_CACHE_DIR": str(self.folder / "cache")}

    def run(self, folder: Path, words: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        """Run a program of Python in a folder; the generator of a tree imports its own modules."""
        environment = {**self.environment(), "PYTHONPATH": "." if words[0] in _GENERATORS else ""}
        return subprocess.run(
            [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )

    def seconds(self, commands: tuple[tuple[Path, tuple[str, ...]], ...]) -> float:
        """The processor time of programs that must succeed."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        for folder, words in commands:
            done = self.run(folder, words)
            assert done.returncode == 0, done.stderr
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def lint(self) -> tuple[str, ...]:
        """The call of the adapter for all files that `.lintrunner.toml` names in docs/core.md."""
        folders = ("aten/src/ATen/native/*.yaml", "aten/src/ATen/templates/*", "tools/autograd/*.yaml")
        patterns = (*folders, "tools/autograd/templates/*")
        names = [path.relative_to(self.tree).as_posix() for pattern in patterns for path in self.tree.glob(pattern)]
        (self.folder / "names").write_text("\n".join(names))
        return ADAPTER, f"@{self.folder}/names"

    def generate(self, top: Path, out: str) -> tuple[tuple[Path, tuple[str, ...]], ...]:
        """The programs of the tree's own generator."""
        return tuple((top, tuple([word.format(out=out) for word in command])) for command in REFERENCE)

    def build(self, out: str) -> tuple[tuple[Path, tuple[str, ...]], ...]:
        """The same with the core, as USE_OPWRIGHT calls it."""
        programs = [(module.rpartition(".")[2], words) for _, module, *words in OURS]
        return tuple(
            (self.tree, (CORE, program, "--strict", *[word.format(out=out) for word in words]))
            for program, words in programs
        )

    def rows(self) -> list[Step]:
        """The steps."""
        out = {side: str(self.folder / side) for side in ("theirs", "ours", "before")}
        checks = ((self.tree, (REFERENCE[0][0], "--dry-run", "--source-path", "aten/src/ATen", "--install-dir", "o")),)
        lint = ((self.tree, self.lint()),)
        both = (*self.generate(self.base, out["before"]), *self.generate(self.tree, out["theirs"]))
        report = ((self.tree, (*REPORT, f"{self.base}/aten/src/ATen", "aten/src/ATen", "--out", out["ours"] + ".md")),)

        def afresh(_: int) -> None:
            for name in ("cache", *out):
                shutil.rmtree(self.folder / name, ignore_errors=True)
            for name in out:
                (self.folder / name / "autograd/generated").mkdir(parents=True)

        def edit(number: int) -> None:
            self.replace(NATIVE, f"limit=1.{number}", f"limit=1.{number + 1}")

        return [
            Step("linter, first run", afresh, checks, lint),
            Step("linter, nothing changed", lambda _: None, checks, lint),
            Step("linter, after an edit", edit, checks, lint),
            Step("report of a pull request", afresh, both, report),
            Step("code of a build", afresh, self.generate(self.tree, out["theirs"]), self.build(out["ours"])),
            Step("the same after an edit", edit, self.generate(self.tree, out["theirs"]), self.build(out["ours"])),
        ]

    def measure(self, rounds: int) -> list[tuple[str, ...]]:
        """A row of the table for each step."""
        rows: list[tuple[str, ...]] = []
        for step in self.rows():
            samples: list[tuple[float, float]] = []
            for number in range(rounds + 1):
                step.prepare(number)
                pair = self.seconds(step.theirs), self.seconds(step.ours)
                samples += [pair] * bool(number)
            self._git("checkout", "--quiet", "--", NATIVE)
            theirs, ours = (median(side) for side in zip(*samples, strict=True))
            ratio = median(first / second for first, second in samples)
            rows.append((step.name, f"{theirs:.2f}", f"{ours:.2f}", f"{ratio:.1f}"))
            print(rows[-1], file=sys.stderr)
        return rows

    def same_files(self) -> int:
        """How many files both sides of the last step wrote; all have the same bytes."""
        sides = [self.folder / side for side in ("theirs", "ours")]
        names = [set(files_below(side)) for side in sides]
        # The view metas come from no program of the tree of a wheel.
        names[1] = {name for name in names[1] if "functionalization/generated" not in name}
        assert names[0] == names[1]
        assert [name for name in names[0] if len({(side / name).read_bytes() for side in sides}) > 1] == []
        return len(names[0])

    def shown(self) -> list[str]:
        """What the steps print about a mistake, an operator, and an edit of the generator that is not followed."""
        self.replace(NATIVE, "CPU: my_softclip_cpu", "CPUU: my_softclip_cpu")
        messages = [json.loads(line) for line in self.run(self.tree, (ADAPTER, NATIVE)).stdout.splitlines()]
        lines = [f"{row['path']}:{row['line']}:{row['char']} {row['name']} {row['description']}" for row in messages]
        self._git("checkout", "--quiet", "--", NATIVE)
        report = self.run(self.tree, (*REPORT, f"{self.base}/aten/src/ATen", "aten/src/ATen")).stdout
        self.replace(*GENERATOR_EDIT)
        folder, words = self.build(str(self.folder / "ours"))[0]
        refusal = self.run(folder, words)
        self._git("checkout", "--quiet", "--", "torchgen")
        return [*lines, *report.splitlines()[:12], f"exit status {refusal.returncode}", *refusal.stderr.splitlines()]


#: What runs with the modules of a tree.
_GENERATORS: Final = frozenset(command[0] for command in REFERENCE)


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(prog="python -m bench.tree_steps", description=__doc__)
    parser.add_argument("--release", default="2.15.0", help="the release of the tree (default: 2.15.0)")
    parser.add_argument("--rounds", type=int, default=5, help="how often each side runs (default: 5)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="opwright-bench-", dir=quiet_folder()) as folder:
        steps = Steps(Path(folder), options.release)
        print("\n".join(table(COLUMNS, steps.measure(options.rounds))))
        print(f"\n{steps.same_files()} files of the build are the same.\n")
        print("\n".join(steps.shown()))


if __name__ == "__main__":
    main()
