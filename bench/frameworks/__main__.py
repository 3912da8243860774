"""Measures one project for PyTorch, JAX and TVM FFI beside the glue that an author writes by hand for each of them.

`python -m bench.frameworks` prints the lines that an author writes, the processor seconds in which the parts compile,
and what a call costs through each framework, in turns. `by_hand` has the glue: the same kernels, schemas, checks and
gradients, without batches, distributed tensors and generated tests.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from statistics import median
from typing import Final

from bench.library.__main__ import user_seconds
from tests.compile.compiler import compiler_program
from tests.frameworks.environments import BUILD, FRAMEWORKS, PROJECT, build_wheel, packages, run

HERE: Final = Path(__file__).parent
FOLDER: Final = BUILD / "by_hand"
_ROUNDS: Final = 3
_INCLUDES: Final = {"torch": "torch/include", "jax": "jaxlib/include", "tvm_ffi": "tvm_ffi/include"}
_LIBRARIES: Final = {"torch": ("torch", "torch_cpu", "c10"), "jax": (), "tvm_ffi": ("tvm_ffi",)}


def written_lines(paths: list[Path]) -> int:
    """Lines that are neither blank nor comments."""
    lines = [line.strip() for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    return len([line for line in lines if line and not line.startswith(("//", "#  ", "# "))])


def compile_seconds(source: Path, framework: str | None, generated: Path, *, standard: str = "c++17") -> float:
    """The processor seconds in which a source becomes an object, with the flags of the project's own build."""
    includes = [generated / "include", PROJECT.parents[2] / "src/opwright/libraries/include", HERE / "by_hand"]
    includes += [packages(framework) / _INCLUDES[framework]] if framework is not None else []
    flags = [f"-std={standard}", "-O2", "-g0", "-fPIC", "-DNDEBUG"]
    flags += [f"-I{folder}" for folder in includes]
    target = FOLDER / f"{source.stem}.o"
    return user_seconds([str(compiler_program()), *flags, "-c", str(source), "-o", str(target)])[0]


def link(framework: str) -> None:
    """The shared object of the glue that is written by hand."""
    folder = packages(framework) / framework / "lib"
    libraries = [f"-l{name}" for name in _LIBRARIES[framework]]
    objects = [str(FOLDER / f"{framework}_glue.o"), str(FOLDER / "kernels.o")]
    flags = [f"-L{folder}", f"-Wl,-rpath,{folder}"] if libraries else []
    out = str(FOLDER / f"_by_hand_{framework}.so")
    user_seconds([str(compiler_program()), "-shared", *objects, *flags, *libraries, "-o", out])


def main() -> None:
    """Build both, and print all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--built", action="store_true", help="take the wheel of the last run of `make frameworks`")
    wheel = BUILD / "wheel" if parser.parse_args().built else build_wheel()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    [header] = (BUILD / "wheel-project").rglob("include/acme_views/kernels.h")
    generated = header.parents[2]
    own = [PROJECT / "operators.yaml", PROJECT / "derivatives.yaml"]
    glue = {name: sorted((HERE / "by_hand").glob(f"{name}_glue.*")) for name in FRAMEWORKS}
    by_hand = {name: written_lines(paths) for name, paths in glue.items()}
    print(f"lines: {written_lines(own)} in library files; by hand {sum(by_hand.values())}: {by_hand}")
    kernels = PROJECT / "csrc" / "kernels.cpp"
    shared = [generated / "src" / "acme_views" / "calls.cpp", kernels]
    seconds: dict[str, list[float]] = {}
    for _ in range(_ROUNDS):
        for source in shared:
            seconds.setdefault(source.stem, []).append(compile_seconds(source, None, generated))
        for name in FRAMEWORKS:
            thin = generated / "src" / "acme_views" / f"{name}.cpp"
            seconds.setdefault(name, []).append(compile_seconds(thin, name, generated))
            hand, standard = HERE / "by_hand" / f"{name}_glue.cpp", "c++20" if name == "torch" else "c++17"
            seconds.setdefault(f"{name} by hand", []).append(compile_seconds(hand, name, generated, standard=standard))
    print("processor seconds to compile: " + ", ".join([f"{name} {median(all):.2f}" for name, all in seconds.items()]))
    compile_seconds(kernels, None, generated)
    for name in FRAMEWORKS:
        link(name)
        for path in glue[name]:
            shutil.copy(path, FOLDER)
        result = run(name, [str(HERE / "calls.py"), name, str(FOLDER)], wheel)
        if result.returncode:
            sys.exit(f"{name}: {result.stderr}")
        for operator, ours, other, ratio in json.loads(result.stdout):
            print(f"{name} {operator}: {ours:.2f} us, by hand {other:.2f} us, ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
