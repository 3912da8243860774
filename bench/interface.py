"""Measures `parse_native_yaml` of PyTorch's generator and of Opwright's interface on the installed release.

`python -m bench.interface` starts a process for each call, in turns, and prints the medians of the processor time that
the call takes, imports left out, and the median ratio.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

_ROUNDS = 7

#: What a process runs; `-c` gives it the package and whether every field of every function is read.
_CALL = """
import dataclasses, importlib, importlib.util, pathlib, sys, time
package, reads = sys.argv[1], sys.argv[2] == "all"
gen = importlib.import_module(package + ".gen")
parse = gen.parse_native_yaml
native = pathlib.Path(importlib.util.find_spec("torchgen").origin).parent / "packaged" / "ATen" / "native"
start = time.process_time()
parsed = parse(str(native / "native_functions.yaml"), str(native / "tags.yaml"))
if reads:
    for function in parsed.native_functions:
        for field in dataclasses.fields(function):
            getattr(function, field.name)
        function.func.name, function.func.arguments.flat_all, function.func.returns
print(time.process_time() - start)
"""


def seconds(package: str, reads: str) -> float:
    """The processor time of one call."""
    command = [sys.executable, "-c", _CALL, package, reads]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    """Print a line for each way to use the result."""
    for reads in ("none", "all"):
        pairs = [(seconds("torchgen", reads), seconds("opwright.torchgen", reads)) for _ in range(_ROUNDS)]
        reference, own = (statistics.median(side) for side in zip(*pairs, strict=True))
        ratio = statistics.median(first / second for first, second in pairs)
        print(f"fields read: {reads}; reference {reference:.2f} s, opwright {own:.2f} s, {ratio:.1f} times faster")


if __name__ == "__main__":
    main()
