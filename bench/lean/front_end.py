"""What the front end of the compiler takes for three sources, usual and lean: `python -m bench.lean.front_end`.

Both are compiled in turns, without code generation; the median of the rounds counts.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import median
from typing import Final

from bench.lean.__main__ import compile_command, written
from bench.scale.compilation import run
from tests.conformance.report import table

#: Sources that are usual and lean; the last has the same text, and other headers.
SOURCES: Final = (
    "aten/src/ATen/RegisterCPU_0",
    "aten/src/ATen/Operators_0",
    "torch/csrc/autograd/generated/VariableType_0",
)


def main() -> None:
    """Compile the sources, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.lean.front_end", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each is compiled")
    rounds = parser.parse_args().rounds
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        folders = written(Path(folder))
        for name in SOURCES:
            commands = [[*compile_command(out), "-fsyntax-only", f"{out / name}.cpp"] for out in folders]
            costs = [[run(command) for command in commands] for _ in range(rounds)]
            ratio = median([lean.seconds / usual.seconds for usual, lean in costs])
            usual, lean = (
                [f"{median(cost.seconds for cost in of):.1f}", f"{max(cost.peak_bytes for cost in of) / 1e6:,.0f}"]
                for of in zip(*costs, strict=True)
            )
            rows.append([f"`{Path(name).name}`", *usual, *lean, f"{ratio:.2f}"])
    print(*table(["source", "s", "peak MB", "lean s", "lean peak MB", "lean/usual"], rows), sep="\n")


if __name__ == "__main__":
    main()
