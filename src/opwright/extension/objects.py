"""Objects of C++ sources in the user's cache folder, each compiled once."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from opwright.extension.generated import GeneratedCode
from opwright.extension.steps import BuildStep, run_steps
from opwright.extension.toolchain import Toolchain
from opwright.files.lock import FolderLock
from opwright.release.user_cache import cache_folder

__all__ = ["compile_objects", "short_hash"]

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
    sources: Sequence[str], code: GeneratedCode, toolchain: Toolchain, work: str, *, verbose: bool = False
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
