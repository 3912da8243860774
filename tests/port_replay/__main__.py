"""Ports the CPU kernels of libraries from their source distributions: `python -m tests.port_replay`.

It downloads the distributions from the package index, ports the kernels with `opwright port`, and lets the compiler
check them against the stable headers. From the kernels of torch-scatter and torch-cluster it builds a library with the
original code and one with the ported code, and compares the results of both on the same tensors.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from opwright.cli.main import main as run_opwright
from tests.compile.compiler import Compiler, compiler_program
from tests.conformance.report import table
from tests.field_replay.__main__ import sources_of
from tests.port_replay.compared import CASES, different_results

COLUMNS: Final = ("library", "files", "lines to change", "changed", "share", "compile", "equal results")
SHARE: Final = re.compile(r"(\d+) files?: (\d+) of (\d+) lines")


class Library(NamedTuple):
    """Kernels of a distribution: what is ported, below a folder of it, and the flags that they need."""

    name: str
    distribution: str
    top: str
    sources: tuple[str, ...]
    flags: tuple[str, ...] = ()


#: The macro with which the headers have what PyTorch 2.10 has.
TARGET: Final = "-DTORCH_TARGET_VERSION=0x020a000000000000"
AVX: Final = ("-mavx2", "-mfma", "-mf16c", "-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mavx512bf16")
LIBRARIES: Final = (
    Library("torch-scatter", "torch-scatter==2.1.2", "csrc", ("cpu", "extensions.h", "macros.h")),
    Library("torch-cluster", "torch-cluster==1.6.3", "csrc", ("cpu", "extensions.h", "macros.h")),
    Library(
        "vllm",
        "vllm==0.29.0",
        "csrc/cpu",
        ("activation.cpp", "layernorm.cpp", "cpu_types.hpp", "cpu_types_x86.hpp"),
        (*AVX, "-fopenmp"),
    ),
)


def port(library: Library, cache: Path, out: Path) -> tuple[str, str]:
    """Port a library into a folder. Gives what the program printed, and what it prints of the ported files."""
    top = sources_of(library.distribution, cache) / library.top
    named = [str(top / source) for source in library.sources]
    printed = []
    for words in ([*named, "--out", str(out)], [str(out), "--diff"]):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            run_opwright(["port", "--stable", *words])
        printed.append(said.getvalue())
    return printed[0], printed[1]


def messages_of_compiler(library: Library, out: Path) -> Iterator[str]:
    """The errors of the compiler for ported sources; it makes nothing."""
    program = compiler_program()
    assert program is not None, "there is no C++ compiler"
    command = [program, *Compiler(program, out, [out], False).flags(), *library.flags, TARGET, "-fsyntax-only"]
    for source in sorted(out.rglob("*.cpp")):
        done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
        if done.returncode:
            yield f"{source.name} does not compile:\n{done.stderr[:2000]}"


def replay(library: Library, cache: Path, out: Path, *, compare: bool) -> tuple[list[str], list[str]]:
    """The row of a library, and the messages about it."""
    printed, again = port(library, cache, out)
    match = SHARE.search(printed)
    assert match is not None, printed
    files, changed, needed = (int(number) for number in match.groups())
    messages = [] if f"{needed - changed} lines" in again or " 0 of " in again else [f"not idempotent: {again}"]
    messages += messages_of_compiler(library, out)
    equal = "not run"
    if library.name in CASES and compare and not messages:
        wrong = different_results(library.name, sources_of(library.distribution, cache) / library.top, out)
        count = len(CASES[library.name].calls)
        equal = f"{count - len(wrong)} of {count}"
        messages += wrong
    row = [library.name, str(files), str(needed), str(changed), f"{100 * changed // needed}%"]
    compiles = "no" if any("does not compile" in message for message in messages) else "yes"
    return [*row, compiles, equal], [printed, *messages] if messages else []


def main() -> int:
    """Print the table; the exit status is 1 if a ported file does not compile, or a result is another one."""
    parser = argparse.ArgumentParser(prog="python -m tests.port_replay", description=__doc__)
    parser.add_argument("--only", default="", help="libraries whose name has this text, such as `scatter`")
    parser.add_argument("--cache", type=Path, default=Path(".cache/field"), help="the folder of the downloads")
    parser.add_argument("--no-run", action="store_true", help="build and call nothing")
    chosen = parser.parse_args()
    rows, messages = [], []
    with tempfile.TemporaryDirectory() as out:
        for library in LIBRARIES:
            if chosen.only in library.name:
                folder = Path(out) / library.name
                row, said = replay(library, chosen.cache, folder, compare=not chosen.no_run)
                rows.append(row)
                messages += [f"== {library.name}", *said] if said else []
    print("\n".join([*messages, *table(COLUMNS, rows)]))
    return 1 if messages or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
