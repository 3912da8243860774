"""The steps of a build and their execution: by Ninja where it is installed, otherwise by this process."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from opwright.syntax.build_files import ninja_path, ninja_value

__all__ = ["BuildStep", "StepFailed", "run_steps"]


class BuildStep(NamedTuple):
    """A command that makes one file from others. It runs after the steps that make the others."""

    output: str
    inputs: tuple[str, ...]
    command: tuple[str, ...]


class StepFailed(Exception):
    """Raised with the output of the programs of which one failed."""


def run_steps(steps: Sequence[BuildStep], folder: str, *, verbose: bool = False) -> None:
    """Run the steps whose output does not exist, in a folder for temporary files. A step comes after its inputs' steps.

    With `verbose`, print each command. Raises StepFailed with the output of the failed commands.
    """
    missing = [step for step in steps if not os.path.exists(step.output)]
    if verbose:
        for step in missing:
            print(shlex.join(step.command))
    ninja = shutil.which("ninja")
    if ninja is not None:
        _run_by_ninja(ninja, missing, folder)
    else:
        _run_in_rounds(missing)


def _run_by_ninja(ninja: str, steps: Sequence[BuildStep], folder: str) -> None:
    rules = []
    for number, step in enumerate(steps):
        # A dollar is special for Ninja, and everything else for the shell.
        command = ninja_value(shlex.join(step.command))
        inputs = " ".join(map(ninja_path, step.inputs))
        rules.append(f"rule step{number}\n  command = {command}\n")
        rules.append(f"build {ninja_path(step.output)}: step{number} {inputs}\n")
    path = os.path.join(folder, "build.ninja")
    with open(path, "w", encoding="utf-8") as stream:
        stream.writelines(rules)
    call = [ninja, "--quiet", "-k", "0", "-f", path]
    done = _call(call, folder)
    if done.returncode:
        # Ninja repeats the commands that failed; what they wrote is what counts.
        commands = {shlex.join(step.command) for step in steps}
        lines = [line for line in done.stdout.splitlines(keepends=True) if line.rstrip() not in commands]
        raise StepFailed("".join([line for line in lines if not line.startswith(("FAILED: ", "ninja: "))]))


def _call(command: Sequence[str], folder: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program and keep what it writes, in English and without the quotation marks of a language."""
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace", check=False
    )


def _run_in_rounds(steps: Sequence[BuildStep]) -> None:
    """Run the steps, those that do not wait for others at the same time."""
    left = list(steps)
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        while left:
            coming = {step.output for step in left}
            ready = [step for step in left if coming.isdisjoint(step.inputs)]
            outputs = [text for text in pool.map(_run, ready) if text is not None]
            if outputs:
                raise StepFailed("".join(outputs))
            left = [step for step in left if step not in ready]


def _run(step: BuildStep) -> str | None:
    """Run one step. Gives the output of its command if that fails, and removes what it left of its result."""
    done = _call(step.command)
    if not done.returncode:
        return None
    if os.path.exists(step.output):
        os.remove(step.output)
    return done.stdout + done.stderr
