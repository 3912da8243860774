"""Compile the library of C functions that generate.py wrote: libatc.so, in the folder with the sources.

    python build.py generated

It uses the PyTorch of the Python that runs it, and the C++ compiler that CXX names, g++ by default.
"""

import argparse
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
TORCH = Path(find_spec("torch").origin).parent
#: From so many sources on, one header with all functions, compiled once, is quicker than headers for each operator.
MANY = 4


def precompiled(command, folder):
    """The header with all functions, compiled."""
    header = folder / "functions.h"
    header.write_text('#include "convert.h"\n#include "aten.h"\n#include <ATen/Functions.h>\n', encoding="utf-8")
    subprocess.run([*command, "-x", "c++-header", header, "-o", f"{header}.gch"], check=True)
    return header


def main():
    """Compile and link."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where generate.py wrote")
    parser.add_argument(
        "--optimize", default="0", help="the level of optimization (default: 0, which compiles fastest)"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilers at once (default: one a processor)")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    compiler = os.environ.get("CXX", "g++")
    includes = [f"-I{path}" for path in (folder, HERE / "csrc", TORCH / "include")]
    command = [compiler, "-std=c++20", f"-O{arguments.optimize}", "-w", "-fPIC", *includes]
    sources = sorted(folder.glob("aten_*.cpp"))

    def compiled(source, *flags):
        target = folder / f"{source.stem}.o"
        subprocess.run([*command, *flags, "-c", source, "-o", target], check=True)
        return target

    with ThreadPoolExecutor(arguments.jobs) as pool:
        own = pool.submit(compiled, HERE / "csrc" / "atc.cpp")
        prefix = ["-include", precompiled(command, folder)] if len(sources) >= MANY else []
        objects = [*pool.map(lambda source: compiled(source, *prefix), sources), own.result()]
    libraries = TORCH / "lib"
    linked = [f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-ltorch", "-ltorch_cpu", "-lc10", "-Wl,--no-undefined"]
    subprocess.run([compiler, "-shared", *objects, "-o", folder / "libatc.so", *linked], check=True)


if __name__ == "__main__":
    main()
