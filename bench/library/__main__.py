"""The program behind `make bench-library`: what generating and compiling the code of operator libraries costs."""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from bench.library.inputs import write_library
from opwright.libraries.extension.generated import write_code
from opwright.libraries.extension.toolchain import Toolchain, find_toolchain
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile

HERE = Path(__file__).resolve().parent
EXAMPLE = HERE.parents[1] / "examples" / "library"


def user_seconds(command: Sequence[str], folder: Path | None = None) -> tuple[float, float]:
    """The processor and the wall seconds of a program in a folder, which must succeed."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"exit status {done.returncode} of: {' '.join(command)}\n{done.stderr[-3000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, time.perf_counter() - started


def compile_seconds(toolchain: Toolchain, sources: Sequence[str], includes: Sequence[str], folder: Path) -> float:
    """The processor seconds in which the compiler makes the objects of sources."""
    options = [*toolchain.compile, *[f"-I{include}" for include in includes]]
    target = str(folder / "object.o")
    return sum(user_seconds([*toolchain.compiler, *options, "-c", source, "-o", target])[0] for source in sources)


def compare_glue(rounds: int, folder: Path) -> None:
    """Compile the generated code of the example and the same written by hand, in turns, and print both."""
    toolchain = find_toolchain()
    code, _ = write_code(SourceFile.read(EXAMPLE / "acme.yaml"), None, str(folder / "example"), Diagnostics())
    own = str(EXAMPLE / "csrc")
    generated: list[float] = []
    handwritten: list[float] = []
    for number in range(1, rounds + 1):
        generated.append(compile_seconds(toolchain, code.sources, [code.include, own], folder))
        handwritten.append(compile_seconds(toolchain, [str(HERE / "handwritten.cpp")], [own], folder))
        print(f"round {number}: generated {generated[-1]:.1f} s, by hand {handwritten[-1]:.1f} s", file=sys.stderr)
    ratio = median(left / right for left, right in zip(generated, handwritten, strict=True))
    print(
        f"compiling the glue of examples/library: generated {median(generated):.1f} s, "
        f"by hand {median(handwritten):.1f} s of processor time, ratio {ratio:.2f}"
    )


def measure_generation(operators: int, rounds: int, folder: Path) -> None:
    """Print how long `opwright generate` takes for a library of some operators, and how long nothing to do takes."""
    yaml, out = write_library(folder, operators), folder / "out"
    command = [
        sys.executable,
        "-m",
        "opwright",
        "generate",
        "--library",
        str(yaml),
        "--torch",
        "auto",
        "--out",
        str(out),
    ]

    def figures(before: Callable[[], None]) -> str:
        samples = []
        for _ in range(rounds + 1):
            before()
            samples.append(user_seconds(command))
        processor, wall = (median(values) for values in zip(*samples[1:], strict=True))
        return f"{wall:.2f} s ({processor:.2f} s of processor time)"

    cold = figures(lambda: shutil.rmtree(out, ignore_errors=True))
    print(f"generating for {operators} operators: {cold}; again, with nothing to do: {figures(lambda: None)}")


def compile_many(operators: int, folder: Path) -> None:
    """Print how long compiling the generated code of a library of some operators takes."""
    code, _ = write_code(SourceFile.read(write_library(folder, operators)), None, str(folder / "many"), Diagnostics())
    taken = compile_seconds(find_toolchain(), code.sources, [code.include], folder)
    print(f"compiling the glue of {operators} operators: {taken:.0f} s of processor time, {len(code.sources)} files")


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(prog="python -m bench.library", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each thing is measured (default: 3)")
    parser.add_argument("--only", choices=("generate", "compile", "many"), help="measure only this")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="opwright-bench-") as name:
        folder = Path(name)
        if arguments.only in (None, "generate"):
            for operators in (10, 300):
                measure_generation(operators, arguments.rounds, folder)
        if arguments.only in (None, "compile"):
            compare_glue(arguments.rounds, folder)
        if arguments.only in (None, "many"):
            compile_many(300, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
