"""The program behind `make release-check`: whether what would be uploaded is complete, the same twice, and works.

It builds the wheel and the source archive, checks their metadata, installs each into an empty environment of every
Python that is found, and there generates PyTorch's files and a library. Files for the release are in build/release.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.publishing.dependencies import Package, differences_of_table, installed_packages
from tests.publishing.distributions import Distributions, build, differences_of_builds, write_recipes
from tests.pythons.environments import ROOT, Environment
from tests.pythons.interpreters import Interpreter, supported_interpreters

_OUT = ROOT / "build" / "release"
_WORK = ROOT / "build" / "release-check"


def _run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a program, and give what it prints. It ends this one with its output if it fails."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{shlex.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def _differences_of_versions(distributions: Distributions) -> Iterator[str]:
    """Where the version differs from that of the wheel: in the archive's name and in the changelog."""
    version = distributions.version
    if distributions.archive.name != f"opwright-{version}.tar.gz":
        yield f"the source archive is {distributions.archive.name}, the wheel's version is {version}"
    heading = re.search(r"(?m)^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    if heading is None or heading[1] != version:
        yield f"the newest heading of CHANGELOG.md is not {version}"
    if "No significant changes" in _run(sys.executable, "-m", "towncrier", "build", "--draft", "--version", version):
        yield "changelog.d has nothing for this release"


def _use(environment: Environment, release: str, folder: Path) -> None:
    """What a new user does first: the job of `make demo`, and a library with its generated code."""
    opwright = environment.python.with_name("opwright")
    _run(opwright, "generate", "--torch", release, "--out", folder / "pytorch")
    _run(opwright, "new", "library", "my_ops", folder / "my_ops")
    library = ("--library", "operators.yaml", "--torch", release)
    _run(opwright, "check", *library, cwd=folder / "my_ops")
    _run(opwright, "generate", *library, "--out", "gen", cwd=folder / "my_ops")


def _try(interpreter: Interpreter, distributions: Distributions, arguments: argparse.Namespace) -> list[Package]:
    """Install the archive, then the wheel, into an empty environment and use it; what else was installed."""
    packages: list[Package] = []
    for distribution in reversed(distributions):
        environment = Environment(interpreter, _WORK / interpreter.name)
        try:
            environment.install([str(distribution)], shlex.split(arguments.pip_flags))
            version = _run(environment.python.with_name("opwright"), "--version")
            assert version.split()[-1] == distributions.version, version
            packages = installed_packages(environment)
            if distribution == distributions.wheel:
                _use(environment, arguments.release, environment.folder / "used")
                _write_bill(environment, arguments.tools)
        finally:
            environment.remove()
        print(f"Python {interpreter.name}: {distribution.name} installed and used", flush=True)
    return packages


def _write_bill(environment: Environment, tools: Path) -> None:
    """Write the software bill of materials of an environment, in the form of CycloneDX."""
    _run(tools / "cyclonedx-py", "environment", environment.python, "--output-file", _OUT / "opwright.cdx.json")


def main() -> int:
    """Run all of it; gives the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.publishing", description=__doc__)
    parser.add_argument("--release", required=True, help="the release of PyTorch that is generated")
    parser.add_argument("--tools", type=Path, required=True, help="the folder of the programs twine and cyclonedx-py")
    parser.add_argument("--pip-flags", default="", help="flags for pip")
    arguments = parser.parse_args()
    distributions = build(ROOT, _OUT)
    _WORK.mkdir(parents=True, exist_ok=True)
    found = [*_differences_of_versions(distributions), *differences_of_builds(distributions, _WORK)]
    print(_run(arguments.tools / "twine", "check", "--strict", *distributions), end="")
    packages: list[Package] = []
    for interpreter in supported_interpreters():
        packages += _try(interpreter, distributions, arguments)
    found += differences_of_table(packages)
    write_recipes(distributions, _OUT)
    for path in sorted(_OUT.iterdir()):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")
    print("\n".join(found) or "A release could go out.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
