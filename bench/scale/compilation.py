"""What compilers and processes pay for the registrations of a library: `python -m bench.scale.compilation`.

The operators take a tensor and a number, and give a tensor whose size is declared. Beside the generated code, a source
written by hand registers the same operators with the same kernels, on the CPU and for meta tensors.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from opwright.libraries.emit import parts
from opwright.libraries.extension.generated import write_code
from opwright.libraries.extension.toolchain import Toolchain, find_toolchain
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from tests.conformance.process import RSS_UNIT
from tests.conformance.report import table

_ENTRY = """\
- func: scale{n}(Tensor self, float factor=1.0) -> Tensor
  outputs: like(self)
  dispatch:
    CPU: scale{n}
"""
_KERNEL = "at::Tensor scale{n}(const at::Tensor & self, double factor) {{ return self; }}\n"
_KERNELS = "#include <{name}/kernels.h>\nnamespace {name} {{\nnamespace native {{\n{kernels}}}\n}}\n"
_META = """\
at::Tensor scale{n}_meta(const at::Tensor & self, double factor) {{ return at::empty_like(self); }}
"""
_BY_HAND = """\
#include <torch/library.h>
#include <{name}/kernels.h>
#include <ATen/ops/empty_like.h>

namespace {{
{metas}}}

TORCH_LIBRARY({name}, m) {{
{schemas}}}

TORCH_LIBRARY_IMPL({name}, CPU, m) {{
{kernels}}}

TORCH_LIBRARY_IMPL({name}, Meta, m) {{
{meta_kernels}}}
"""
#: Loads libraries, and prints the seconds of the processor and the resident bytes that this took.
_LOAD = """
import sys, time, torch
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
bytes, seconds = resident(), time.process_time()
torch.ops.load_library(sys.argv[1])
print(time.process_time() - seconds, resident() - bytes)
"""


class Cost(NamedTuple):
    """What a program took: seconds of the processor, and its peak of resident bytes."""

    seconds: float
    peak_bytes: int


def run(command: Sequence[str], *, quiet: bool = False) -> Cost:
    """Run a program, which must succeed; a quiet one shows nothing of what it prints."""
    stream = subprocess.DEVNULL if quiet else None
    process = subprocess.Popen(command, stdout=stream, stderr=stream)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"exit status {process.returncode} of: {' '.join(command)}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * RSS_UNIT)


class Library:
    """A library of some operators below a folder, with everything that compiles it."""

    def __init__(self, folder: Path, name: str, operators: int) -> None:
        self.folder, self.name, self.operators = folder / name, name, operators
        self.folder.mkdir()
        self._toolchain: Toolchain = find_toolchain()

    def generate(self, size: int) -> tuple[str, ...]:
        """Generate code with about `size` operators in each source; the sources, and one with the kernels."""
        file = SourceFile(str(self.folder / "many.yaml"), f"namespace: {self.name}\noperators:\n" + self._lines(_ENTRY))
        default = parts._OPERATIONS_PER_FILE
        parts._OPERATIONS_PER_FILE = size  # type: ignore[misc]
        try:
            code, _ = write_code(file, None, str(self.folder), Diagnostics())
        finally:
            parts._OPERATIONS_PER_FILE = default  # type: ignore[misc]
        return (*code.sources, self._write("kernels.cpp", _KERNELS, kernels=self._lines(_KERNEL)))

    def write_by_hand(self) -> tuple[str, ...]:
        """Write the same operators as an author would; the sources, and one with the kernels."""
        kernels = self.generate(self.operators)[-1]
        return (
            self._write(
                "by_hand.cpp",
                _BY_HAND,
                metas=self._lines(_META),
                schemas=self._lines('  m.def("scale{n}(Tensor self, float factor=1.0) -> Tensor");\n'),
                kernels=self._lines(f'  m.impl("scale{{n}}", TORCH_FN({self.name}::native::scale{{n}}));\n'),
                meta_kernels=self._lines('  m.impl("scale{n}", TORCH_FN(scale{n}_meta));\n'),
            ),
            kernels,
        )

    def _lines(self, text: str) -> str:
        return "".join([text.format(n=number) for number in range(self.operators)])

    def _write(self, file: str, template: str, **texts: str) -> str:
        path = self.folder / file
        path.write_text(template.format(name=self.name, **texts), encoding="utf-8")
        return str(path)

    def compile(self, source: str) -> Cost:
        """What making the object of a source takes."""
        options = (*self._toolchain.compile, f"-I{self.folder / 'include'}", "-c", source, "-o", f"{source}.o")
        return run((*self._toolchain.compiler, *options))

    def load(self, sources: Sequence[str], rounds: int) -> Cost:
        """What loading the library takes in a process that has PyTorch."""
        target = str(self.folder / "library.so")
        objects = [f"{source}.o" for source in sources]
        run((*self._toolchain.compiler, *objects, *self._toolchain.link, "-o", target))
        command = [sys.executable, "-c", _LOAD, target]
        outputs = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(rounds)]
        seconds, size = zip(*[output.split() for output in outputs], strict=True)
        return Cost(median(map(float, seconds)), round(median(map(float, size))))


def _row(label: str, library: Library, sources: Sequence[str], rounds: int) -> tuple[str, ...]:
    """Compile the sources of a library, the one with the kernels last, load it, and tell what that takes."""
    costs = [library.compile(source) for source in sources][:-1]
    loaded = library.load(sources, rounds)
    count = library.operators
    row = (
        label,
        str(len(costs)),
        f"{sum(cost.seconds for cost in costs):.1f}",
        f"{max(cost.seconds for cost in costs):.1f}",
        f"{max(cost.peak_bytes for cost in costs) / 1e6:.0f}",
        f"{loaded.seconds / count * 1e6:.0f}",
        f"{loaded.peak_bytes / count / 1e3:.1f}",
    )
    print(" ".join(row), file=sys.stderr)
    return row


def main() -> None:
    """Compile and load, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale.compilation", description=__doc__)
    parser.add_argument("--operators", type=int, default=300, help="how many operators the library has")
    parser.add_argument("--sizes", default="30,60,100,150,300", help="operators in each source (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="how often the library is loaded (default: 5)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="opwright-bench-") as name:
        folder, operators = Path(name), arguments.operators
        rows = []
        for size in map(int, arguments.sizes.split(",")):
            library = Library(folder, f"many{size}", operators)
            rows.append(_row(f"{size} operators in a source", library, library.generate(size), arguments.rounds))
        library = Library(folder, "written", operators)
        rows.append(_row("`TORCH_LIBRARY` by hand", library, library.write_by_hand(), arguments.rounds))
    columns = ("registrations", "sources", "s", "s, longest", "MB", "load, µs each", "load, KB each")
    print("\n".join(table(columns, rows)))


if __name__ == "__main__":
    main()
