"""What the sources of PyTorch's build take to compile, usual and lean: `make bench-lean`.

Both are compiled with the headers of the installed PyTorch, whose own operators they register, and compared: the object
files of a source export the same symbols.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

from bench.scale.compilation import Cost, run
from opwright.cli.main import main as opwright
from tests.compile.compiler import Compiler, compiler_program
from tests.conformance.report import table

#: The sources whose compilation takes longest, without those that need the headers of a device.
SOURCES = (
    "RegisterCompositeExplicitAutograd",
    "RegisterCompositeImplicitAutograd",
    "RegisterMeta",
    "Operators",
    "RegisterCompositeExplicitAutogradNonFunctional",
    "RegisterCPU",
    "RegisterFunctionalization",
)


def main() -> None:
    """Compile the sources, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.lean", description=__doc__)
    parser.add_argument("--only", action="append", choices=SOURCES, help="compile only this source")
    chosen = parser.parse_args().only or SOURCES
    with tempfile.TemporaryDirectory() as folder:
        usual, lean = written(Path(folder))
        rows = []
        for name in chosen:
            costs = [compiled(out, name) for out in (usual, lean)]
            assert exported(usual) == exported(lean), f"the symbols of {name} differ"
            rows.append([f"`{name}`", *(text for cost in costs for text in summary(cost))])
    heads = ["files", "longest s", "sum s", "peak MB"]
    print(*table(["source", *heads, *(f"lean {head}" for head in heads)], rows), sep="\n")


def written(folder: Path) -> tuple[Path, Path]:
    """The folders of the usual and of the lean files, which a run writes below a folder."""
    usual, lean = folder / "usual", folder / "lean"
    opwright(["generate", "--torch", "auto", "--out", str(usual)])
    opwright(["generate", "--torch", "auto", "--out", str(lean), "--lean"])
    return usual, lean


def compile_command(out: Path) -> list[str]:
    """How PyTorch's build compiles a generated source, with the generated headers before those of PyTorch."""
    program = compiler_program()
    assert program is not None, "there is no C++ compiler"
    flags = Compiler(program, out, (out / "aten" / "src", out)).flags()
    flags[flags.index("-O0")] = "-O2"
    return [program, *flags]


def compiled(out: Path, name: str) -> list[Cost]:
    """What the numbered files of a source take, each compiled into the folder of the run."""
    command = compile_command(out)
    for old in out.glob("*.o"):
        old.unlink()
    return [
        run([*command, "-c", str(source), "-o", str(out / f"{source.stem}.o")])
        for source in sorted((out / "aten" / "src" / "ATen").glob(f"{name}_[0-9]*.cpp"))
    ]


def exported(out: Path) -> set[str]:
    """The symbols that the object files in a folder define for others, without those of inline functions."""
    command = ["nm", "--extern-only", "--defined-only", "--format=posix", *map(str, out.glob("*.o"))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    symbols = [line.split() for line in done.stdout.splitlines() if len(line.split()) > 1]
    return {name for name, kind, *_ in symbols if kind in "TDBR"}


def summary(costs: list[Cost]) -> list[str]:
    """The number of files, the seconds of the longest and of all, and the peak of memory."""
    seconds = [cost.seconds for cost in costs]
    peak = max(cost.peak_bytes for cost in costs) / 1e6
    return [str(len(costs)), f"{max(seconds):.0f}", f"{sum(seconds):.0f}", f"{peak:,.0f}"]


if __name__ == "__main__":
    main()
