"""Run the tests under each Python from the oldest supported one on: `make test-pythons`.

Opwright's wheel is built once and installed into an environment for each interpreter. The oldest and the newest run all
tests of `make test`, the newest in random order, those between a core of them. Environments are made one after the
other, and removed. If the machine has not the newest Python, a folder with Debian's serves, where one can be made. All
interpreters have to write the same files, and to go on in each other's output folders.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

from tests.publishing.distributions import build
from tests.pythons.debian import newest_of_debian
from tests.pythons.environments import ROOT, Environment, NotInstalled, TestRun
from tests.pythons.interpreters import Interpreter, supported_interpreters
from tests.pythons.same_files import found_differences

_WORK = ROOT / "build" / "pythons"
_USUAL = "not network and not slow and not thorough"

#: The command line, conformance with one release, libraries that are compiled and called, plug-ins, documentation.
_CORE = ("tests/cli", "tests/conformance", "tests/library", "tests/plugins", "docs", "README.md")
_ALL = ("tests", "docs", "README.md", "--pyargs", "opwright")


def _commit_number() -> int:
    """A number that another commit changes and a repeated run does not."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return int(commit.stdout[:7] or "0", 16)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.pythons", description=__doc__.splitlines()[0])
    parser.add_argument("--release", required=True, help="the release of PyTorch to install")
    parser.add_argument("--jobs", default="2", help="how many tests run at once")
    parser.add_argument("--pip-flags", default="", help="flags for pip")
    parser.add_argument("--only", action="append", help="run the tests under these only: 3.12, oldest or newest")
    parser.add_argument(
        "--seed", type=int, default=_commit_number(), help="of the random order (default: the commit's)"
    )
    parser.add_argument("--skip", action="append", default=[], help="do not run the tests under these")
    return parser.parse_args()


def _test(
    interpreter: Interpreter, wheel: Path, tests: list[str], arguments: argparse.Namespace
) -> tuple[str, TestRun]:
    """Run tests in a new environment; gives the PyTorch that was installed, and what the tests came to."""
    environment = Environment(interpreter, _WORK / interpreter.name)
    try:
        torch = f"torch=={arguments.release}"
        environment.install([f"opwright[test] @ {wheel.as_uri()}", torch], shlex.split(arguments.pip_flags))
        log = _WORK / f"{interpreter.name}.log"
        parallel = ["-n", arguments.jobs, "--dist", "loadgroup", "-m", _USUAL]
        run = environment.test([*parallel, *tests], log)
        if run.status:
            print(log.read_text(), flush=True)
        return environment.torch(), run
    finally:
        environment.remove()


def _asked_for(interpreters: list[Interpreter], arguments: argparse.Namespace) -> set[Interpreter]:
    """The interpreters that run tests."""
    names = {"oldest": interpreters[0].name, "newest": interpreters[-1].name}
    only = [names.get(name, name) for name in arguments.only or [interpreter.name for interpreter in interpreters]]
    return {
        interpreter
        for interpreter in interpreters
        if interpreter.name in only and interpreter.name not in arguments.skip
    }


def _rows(interpreters: list[Interpreter], wheel: Path, arguments: argparse.Namespace) -> bool:
    """Print a row of the table for each interpreter; whether all tests passed."""
    asked = _asked_for(interpreters, arguments)
    heads = ("Python", "PyTorch", "tests", "passed", "failed", "skipped", "seconds")
    print(f"| {' | '.join(heads)} |\n{'| --- ' * len(heads)}|")
    passed = True
    for interpreter in interpreters:
        scope, tests = "core", [*_CORE]
        if interpreter in (interpreters[0], interpreters[-1]):
            scope, tests = "all", [*_ALL]
        if interpreter is interpreters[-1]:
            seed = arguments.seed
            scope, tests = f"all, in random order {seed}", [*_ALL, "--random-order", f"--random-order-seed={seed}"]
        version = ".".join(map(str, interpreter.version))
        if interpreter not in asked:
            print(f"| {version} | | not asked for | | | | |", flush=True)
            continue
        try:
            torch, run = _test(interpreter, wheel, tests, arguments)
        except NotInstalled as reason:
            print(f"| {version} | {reason} | none | | | | |", flush=True)
            passed = passed and interpreter.is_free_threaded
            continue
        passed = passed and run.status == 0
        counts = f"{run.passed:,} | {run.failed:,} | {run.skipped:,}"
        print(f"| {version} | {torch} | {scope} | {counts} | {run.seconds:.0f} |", flush=True)
    return passed


def main() -> int:
    """Run all of it; gives the exit status."""
    from importlib.util import find_spec

    arguments = _arguments()
    wheel = build(ROOT, _WORK / "dist").wheel
    supported = supported_interpreters()
    interpreters = [*supported, *newest_of_debian(_WORK, supported)]
    passed = _rows(interpreters, wheel, arguments)
    environments = [Environment(interpreter, _WORK / f"small-{interpreter.name}") for interpreter in interpreters]
    for environment in environments:
        environment.install([str(wheel)], shlex.split(arguments.pip_flags))
    spec = find_spec("torchgen")
    assert spec is not None
    assert spec.origin is not None
    differences = list(found_differences(environments, Path(spec.origin).parents[1], _WORK / "files"))
    for environment in environments:
        environment.remove()
    names = ", ".join(interpreter.name for interpreter in interpreters)
    print("\n".join(differences) or f"Python {names} write the same files, and go on in each other's folders.")
    return 0 if passed and not differences else 1


if __name__ == "__main__":
    sys.exit(main())
