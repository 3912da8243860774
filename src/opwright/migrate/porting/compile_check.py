"""Compiles ported sources with the stable headers of the installed PyTorch, and tells which lines have errors."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from opwright.libraries.extension.toolchain import Toolchain, find_toolchain, import_torch
from opwright.migrate.limited import PROGRAM_SECONDS, TooSlow, run_limited
from opwright.migrate.porting.stable_api import CUDA_HEADER, StableRelease
from opwright.source.diagnostic import Fault
from opwright.source.records import NamedTuple
from opwright.source.terminal import slow
from opwright.syntax.cpp_source import CPP_HEADERS, CUDA_SUFFIXES

#: A line of a compiler with a place: GCC and Clang write `a.cpp:3:1: error: ...`, nvcc `a.cu(3): error: ...`.
_PLACE: Final = re.compile(r"[ ]*(\S[^:(\n]*)(?::(\d+)(?::\d+)?:|\((\d+)\):)\s*(.*)")
#: What compilers say, after their errors, if they have not read the rest of a source.
_STOPPED: Final = re.compile(
    r"compilation terminated\b.*|too many errors emitted.*|error limit reached.*", re.IGNORECASE
)
_CUDA_HOMES: Final = ("CUDA_HOME", "CUDA_PATH")


class CompileError(NamedTuple):
    """An error: the path of a source, the line of the ported text, and the message."""

    path: str
    line: int
    message: str


class CompiledPort(NamedTuple):
    """What the compiler says: errors, sources of which it knows nothing with the reason, and the headers' release."""

    errors: Sequence[CompileError]
    unchecked: Mapping[str, str]
    headers: str


def compile_ported(
    texts: Mapping[str, bytes], base: str, header: tuple[str, bytes], target: StableRelease
) -> CompiledPort:
    """Compile ported texts, by the paths of their sources in the folder `base`.

    `header` are the path of the header of calls from that folder, and its text. A header is compiled as a part of the
    sources; alone only if there are no sources.
    """
    paths = [path for path in texts if not path.endswith(CPP_HEADERS)] or list(texts)
    try:
        toolchain = find_toolchain()
    except Fault as fault:
        return CompiledPort((), dict.fromkeys(texts, fault.diagnostic.message), "")
    errors: list[CompileError] = []
    unchecked: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        # The header may lie in a folder above.
        top = os.path.realpath(os.path.join(folder, *["up"] * header[0].split(os.sep).count(os.pardir)))
        copies = {os.path.join(top, os.path.relpath(path, base)): path for path in texts}
        written = {copy: texts[path] for copy, path in copies.items()}
        written[os.path.normpath(os.path.join(top, header[0]))] = header[1]
        for copy, data in written.items():
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            with open(copy, "wb") as file:
                file.write(data)
        for copy in copies:
            path = copies[copy]
            command = _command(toolchain, path, folder, target) if path in paths else []
            if command is None:
                unchecked[path] = "there is no CUDA compiler"
            if not command:
                continue
            folders = (top, os.path.dirname(os.path.abspath(path)), os.path.abspath(base))
            words = [*command, *[f"-I{folder}" for folder in folders], copy]
            with slow(f"opwright: compiling {path}"):
                try:
                    done = run_limited(words, PROGRAM_SECONDS)
                except TooSlow as fault:
                    unchecked[path] = f"the compiler {fault}"
                    continue
            output = done.stderr + done.stdout
            lines = list(_errors(output, copies))
            errors += [error for error in lines if error.path]
            lost = [*[error.message for error in lines if not error.path], *_STOPPED.findall(output)]
            if lost or (done.returncode and not lines):
                unchecked[path] = lost[0] if lost else f"the compiler ended with status {done.returncode}"
    return CompiledPort(tuple(dict.fromkeys(errors)), unchecked, str(import_torch().__version__))


def _command(toolchain: Toolchain, path: str, folder: str, target: StableRelease) -> list[str] | None:
    """The words that compile a source and keep nothing; None if there is no compiler for it."""
    nvcc = shutil.which("nvcc")
    homes = [os.environ[name] for name in _CUDA_HOMES if os.environ.get(name)]
    homes += [os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))] if nvcc is not None else []
    folders = [os.path.join(home, "include") for home in (*homes, "/usr/local/cuda")]
    headers = [f"-I{folder}" for folder in folders if os.path.isfile(os.path.join(folder, CUDA_HEADER))]
    version = f"-DTORCH_TARGET_VERSION=0x{target[0]:02x}{target[1]:02x}000000000000"
    given = [word for word in toolchain.compile if not word.startswith(("-O", "-g"))]
    if not path.endswith(CUDA_SUFFIXES):
        # The parts of the stable headers for CUDA are declared where its headers are.
        uses = ["-DUSE_CUDA"] if headers else []
        return [*toolchain.compiler, *given, *headers, *uses, version, "-w", "-x", "c++", "-fsyntax-only"]
    if nvcc is None:
        return None
    words = [
        word.replace("-isystem", "-I", 1) if word.startswith("-isystem") else word for word in given if word != "-fPIC"
    ]
    words += ["-Xcudafe", "--error_limit=1000000"]
    return [nvcc, *words, version, "-DUSE_CUDA", "-w", "-x", "cu", "-c", "-o", os.path.join(folder, "kept.o")]


def _errors(text: str, copies: Mapping[str, str]) -> Iterator[CompileError]:
    """The errors in the output of a compiler, at the lines of ported texts.

    An error in another header belongs to the lines that lead to it. One that no line leads to, and one that ends the
    run, has no path: nothing is known of the source.
    """
    leading: list[tuple[str, int]] = []
    lost = ""
    for line in text.splitlines():
        match = _PLACE.fullmatch(line)
        if match is None:
            # GCC names the places once for all errors of an instantiation.
            leading = [] if re.search(r": (?:In|At) ", line) else leading
            continue
        path, message = copies.get(os.path.realpath(match[1])), match[4].partition("error: ")[2]
        place = (path or "", int(match[2] or match[3]))
        if match[4].startswith(("error", "fatal error")):
            if lost:
                yield CompileError("", 0, lost)
            is_fatal = match[4].startswith("fatal")
            places = [] if is_fatal else [place] if path is not None else leading
            yield from [CompileError(*place, message) for place in places]
            lost = "" if places else message
        elif path is not None and lost and "note" in match[4]:
            # What a macro expands to is named after the error.
            yield CompileError(*place, lost)
            lost = ""
        elif path is not None and "required" in match[4]:
            leading.append((path, place[1]))
    if lost:
        yield CompileError("", 0, lost)
