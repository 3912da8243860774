"""The steps of a build and their execution, by Ninja or by this process, and objects that the user's cache keeps."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Final, NamedTuple

from opwright.extension.generated import GeneratedCode
from opwright.extension.toolchain import Toolchain
from opwright.files.lock import FolderLock
from opwright.release.user_cache import cache_folder
from opwright.syntax.build_files import ninja_path, ninja_value

__all__ = ["BuildStep", "StepFailed", "compile_objects", "run_steps", "short_hash"]


class BuildStep(NamedTuple):
    """A command that makes one file from others. It runs after the steps that make the others."""

    output: str
    inputs: tuple[str, ...]
    command: tuple[str, ...]


class StepFailed(Exception):
    """Raised with the output of the programs of which one failed."""


def run_steps(steps: Sequence[BuildStep], folder: str, *, verbose: bool) -> None:
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


#: PyTorch's headers that every source of a library reads. They take most of the compiler's time, so they are compiled
#: once for each toolchain.
_PREFIX: Final = "#include <torch/library.h>\n#include <ATen/TensorOperators.h>\n"


def short_hash(*texts: str) -> str:
    """A name for some texts that other texts do not have.

    >>> len(short_hash("a", "b")), short_hash("a", "b") == short_hash("ab")
    (24, False)
    """
    return sha256("\0".join(texts).encode()).hexdigest()[:24]


def compile_objects(
    sources: Sequence[str], code: GeneratedCode, toolchain: Toolchain, work: str, *, verbose: bool
) -> tuple[str, ...]:
    """The objects of sources that include generated headers, by path: from the cache, else compiled now.

    An object is named by the texts that it depends on besides PyTorch's headers, so an edit of the kernels compiles
    nothing else. `work` is a folder for temporary files. Raises StepFailed with the compiler's output.
    """
    prefix = _compiled_prefix(toolchain, verbose=verbose)
    headers = [_read(header) for header in code.headers]
    folder = os.path.join(cache_folder(), "inline", "objects")
    os.makedirs(folder, exist_ok=True)
    objects: list[str] = []
    steps: list[BuildStep] = []
    for source in sources:
        name = short_hash(toolchain.identity, *toolchain.compile, _PREFIX, *headers, _read(source))
        target = os.path.join(folder, f"{name}.o")
        objects.append(target)
        if not os.path.exists(target):
            fresh = os.path.join(work, f"{name}.o")
            options = (*toolchain.compile, f"-I{code.include}", "-include", prefix)
            steps.append(BuildStep(fresh, (), (*toolchain.compiler, *options, "-c", source, "-o", fresh)))
    run_steps(steps, work, verbose=verbose)
    for step in steps:
        os.replace(step.output, os.path.join(folder, os.path.basename(step.output)))
    return tuple(objects)


def _compiled_prefix(toolchain: Toolchain, *, verbose: bool) -> str:
    """The header that includes PyTorch's; its precompiled form is beside it."""
    name = short_hash(toolchain.identity, *toolchain.compile, _PREFIX)
    folder = os.path.join(cache_folder(), "inline", "headers", name)
    header = os.path.join(folder, "prefix.h")
    precompiled = f"{header}.gch"
    with FolderLock(folder):
        if os.path.exists(precompiled):
            return header
        with open(header, "w", encoding="utf-8") as stream:
            stream.write(_PREFIX)
        with tempfile.TemporaryDirectory(prefix=".build-", dir=folder) as work, contextlib.suppress(FileExistsError):
            fresh = os.path.join(work, "prefix.gch")
            command = (*toolchain.compiler, *toolchain.compile, "-x", "c++-header", header, "-o", fresh)
            run_steps([BuildStep(fresh, (), command)], work, verbose=verbose)
            os.rename(fresh, precompiled)
    return header


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as stream:
        return stream.read()
