"""Steps of a build and their execution, by Ninja or by this process, and objects that the user's cache keeps."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, NamedTuple

from opwright.builds.build_files import ninja_path, ninja_value
from opwright.cpp.text import include_line
from opwright.files.lock import folder_lock
from opwright.incremental.identity import UNKNOWN_STAMP, InputStamps
from opwright.libraries.extension.generated import GeneratedCode
from opwright.libraries.extension.kept import (
    KeptResult,
    code_cache,
    find_kept,
    keep,
    read_dependencies,
    short_hash,
    with_others,
)
from opwright.libraries.extension.toolchain import Toolchain
from opwright.source.terminal import say, tell


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
            tell(shlex.join(step.command))
    ninja = shutil.which("ninja")
    if ninja is not None:
        _run_by_ninja(ninja, missing, folder)
    else:
        _run_in_rounds(missing, folder)


def _jobs() -> int:
    """How many compilers run at once: `MAX_JOBS`, as in PyTorch's own builds of extensions, else one per processor."""
    jobs = os.environ.get("MAX_JOBS", "")
    return int(jobs) if jobs.isdecimal() and int(jobs) else os.cpu_count() or 1


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
    call = [ninja, "--quiet", "-k", "0", "-j", str(_jobs()), "-f", path]
    done = _call(call, folder)
    if done.returncode:
        # Ninja repeats the commands that failed; what they wrote is what counts.
        commands = {shlex.join(step.command) for step in steps}
        lines = [line for line in done.stdout.splitlines(keepends=True) if line.rstrip() not in commands]
        raise StepFailed("".join([line for line in lines if not line.startswith(("FAILED: ", "ninja: "))]))


def _call(command: Sequence[str], folder: str) -> subprocess.CompletedProcess[str]:
    """Run a program and keep what it writes, in English and without the quotation marks of a language."""
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace", check=False
    )


def _run_in_rounds(steps: Sequence[BuildStep], folder: str) -> None:
    """Run the steps, those that do not wait for others at the same time."""
    left = list(steps)
    with ThreadPoolExecutor(max_workers=_jobs()) as pool:
        while left:
            coming = {step.output for step in left}
            ready = [step for step in left if coming.isdisjoint(step.inputs)]
            outputs = [text for text in pool.map(partial(_run, folder), ready) if text is not None]
            if outputs:
                raise StepFailed("".join(outputs))
            left = [step for step in left if step not in ready]


def _run(folder: str, step: BuildStep) -> str | None:
    """Run one step. Gives the output of its command if that fails, and removes what it left of its result."""
    done = _call(step.command, folder)
    if not done.returncode:
        return None
    if os.path.exists(step.output):
        os.remove(step.output)
    return done.stdout + done.stderr


_PREFIX_NAME: Final = "prefix.h"
#: What follows the name of an object in that of the file with what it depends on.
_NOTES: Final = ".d"
#: PyTorch's headers that every source of a library reads, natively and with the stable interface, and what makes its
#: registrations reloadable. They take most of the compiler's time, so they are compiled once for each toolchain.
_STABLE_HEADER: Final = "torch/csrc/stable/library.h"
_NATIVE_HEADERS: Final = ("torch/library.h", "ATen/TensorOperators.h")
#: The macro that says which release's stable interface a library uses, as its headers define it.
_TARGET: Final = re.compile(r"^# *define TORCH_TARGET_VERSION .*\n", re.MULTILINE)
_RELOADABLE: Final = "opwright/reloadable.h"


def compile_objects(
    sources: Sequence[str], code: GeneratedCode, toolchain: Toolchain, work: str, *, verbose: bool
) -> tuple[KeptResult, ...]:
    """Objects of sources that include generated headers, by path: from the cache, else compiled now.

    An object depends on the texts of its source and of the generated headers, and on the files that the compiler says
    it read, so an edit of the kernels compiles nothing else. `work` is a folder for temporary files. Raises StepFailed
    with the compiler's output.
    """
    texts = {source: _read(source) for source in sources}
    headers = [_read(header) for header in code.headers]
    target = next(filter(None, map(_TARGET.search, headers)), None)
    included = _NATIVE_HEADERS if target is None else (_STABLE_HEADER,)
    prefix = _compiled_prefix(toolchain, "" if target is None else target[0], included, verbose=verbose)
    folder = code_cache("objects")
    objects: dict[str, KeptResult | None] = {}
    steps: list[BuildStep] = []
    words = (*toolchain.compiler, *toolchain.compile, "-include", os.path.join(prefix.path, _PREFIX_NAME))
    for source in sources:
        # What one compiler precompiled is nothing for another.
        command = toolchain.nvcc if source.endswith(".cu") else words
        key = f"{short_hash(toolchain.identity, *command, *headers, texts[source])}.o"
        objects[key] = find_kept(folder, key)
        if objects[key] is None:
            steps.append(_compilation((*command, f"-I{code.include}"), source, os.path.join(work, key)))
    started = time.time_ns()
    if steps:
        say(f"opwright: compiling {len(steps)} of {len(sources)} sources, {min(_jobs(), len(steps))} at once\n")
    run_steps(steps, work, verbose=verbose)
    for step in steps:
        key = os.path.basename(step.output)
        objects[key] = keep(folder, key, _stamps_of(step, work, started), step.output)
    # The path of the prefix, which is part of the keys, has what that depends on.
    results = [result for result in objects.values() if result is not None]
    return tuple([result._replace(stamps=with_others(prefix.stamps, [result.stamps])) for result in results])


def _compilation(command: Sequence[str], source: str, output: str) -> BuildStep:
    """Step that compiles a source, and notes what it depends on."""
    noting = ("-MD", "-MF", f"{output}{_NOTES}")
    return BuildStep(output, (), (*command, *noting, "-c", source, "-o", output))


def _stamps_of(step: BuildStep, work: str, started: int) -> InputStamps:
    """Stamps of the files that a compilation read, apart from those in the folder for temporary files.

    They are taken after it read them: what changed since it was started may have been read with other contents.
    """
    stamps = InputStamps.take(read_dependencies(f"{step.output}{_NOTES}", work), ())
    for path, status in stamps.statuses.items():
        if status is None or status[1] >= started:
            stamps.files[path] = list(UNKNOWN_STAMP)
    return stamps


def _compiled_prefix(toolchain: Toolchain, head: str, headers: Sequence[str], *, verbose: bool) -> KeptResult:
    """Folder with a header that includes PyTorch's, after some lines; its precompiled form is beside it."""
    text = head + "".join([f"{include_line(header)}\n" for header in (*headers, _RELOADABLE)])
    key = short_hash(toolchain.identity, *toolchain.compile, text)
    folder = code_cache("headers")
    with folder_lock(os.path.join(folder, "locks", key)):
        prefix = find_kept(folder, key)
        if prefix is not None:
            return prefix
        with tempfile.TemporaryDirectory(prefix=".build-", dir=folder) as work:
            result = os.path.join(work, "result")
            os.mkdir(result)
            header = os.path.join(result, _PREFIX_NAME)
            with open(header, "w", encoding="utf-8") as stream:
                stream.write(text)
            command = (*toolchain.compiler, *toolchain.compile, "-x", "c++-header")
            step = _compilation(command, header, f"{header}.gch")
            started = time.time_ns()
            say("opwright: compiling the headers of PyTorch, once for all libraries\n")
            run_steps([step], work, verbose=verbose)
            return keep(folder, key, _stamps_of(step, work, started), result)


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as stream:
        return stream.read()
