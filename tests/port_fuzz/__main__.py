"""Ports random functions, and compares their results with those of the originals: `python -m tests.port_fuzz`.

Functions are built in batches, as a library with the original code and as one with the ported code. A function that
the port lists is not compared; one that it translates has to compile, and to give equal tensors and to raise alike.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import opwright
from opwright.cli.main import main as run_opwright
from tests.compile.compiler import Compiler, compiler_program
from tests.port_fuzz.programs import number_functions, random_function

if TYPE_CHECKING:
    from types import ModuleType

    from torch import Tensor

__all__ = ["Outcome", "compare"]

Arguments: TypeAlias = "tuple[Tensor, Tensor, int, float]"

INCLUDE: Final = Path(opwright.__file__).parent / "libraries" / "include"
#: The macro with which the headers have what PyTorch 2.10 has; later ones print a trace for each exception.
TARGET: Final = "#define TORCH_TARGET_VERSION 0x020a000000000000\n"
HEAD: Final = (
    "#include <torch/types.h>\n#include <ATen/TensorUtils.h>\nusing namespace torch::indexing;\n\nnamespace fuzz {\n"
)
TYPES: Final = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "int8", "bool")
SHAPES: Final = ((3, 4), (4,), (3, 1), (), (3, 3), (0, 4))
#: What PyTorch's in-place sums refuse and ported ones compute, as `docs/from-existing.md` says.
OVERLAP: Final = "the written-to tensor refer to a single memory location"
PLACE: Final = re.compile(r"(?:stays|does not compile): \S*?kernels\.cpp:(\d+): (.*)")


class Outcome(NamedTuple):
    """How many functions were compared and how many calls, how many the port listed, and what differs."""

    compared: int
    calls: int
    listed: int
    differences: Sequence[str]


def _source(functions: Mapping[str, str]) -> tuple[str, list[tuple[int, str]]]:
    """A source with functions and the operator that calls them, and the first line of each."""
    text, starts = HEAD, []
    for name, function in functions.items():
        starts.append((text.count("\n") + 1, name))
        text += function
    starts.append((text.count("\n") + 1, ""))
    cases = "".join(f"    case {name[1:]}: return {name}(x, y, n, r);\n" for name in functions)
    head = "at::Tensor run(int64_t number, const at::Tensor& x, const at::Tensor& y, int64_t n, double r) {\n"
    return f"{text}{head}  switch (number) {{\n{cases}  }}\n  return x;\n}}\n}}\n", starts


def _listed(functions: Mapping[str, str], folder: Path, *words: str) -> dict[str, str]:
    """The functions of which `opwright port` lists something, or of which a line does not compile."""
    text, starts = _source(functions)
    (folder / "kernels.cpp").write_text(text, encoding="utf-8")
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        run_opwright(["port", str(folder / "kernels.cpp"), *words])
    listed: dict[str, str] = {}
    for line, message in PLACE.findall(said.getvalue()):
        name = max((start for start in starts if start[0] <= int(line)), default=(0, ""))[1]
        if name:
            listed.setdefault(name, message)
    return listed


def _built(namespace: str, kernels: Path, head: str, folder: Path) -> None:
    import torch

    out = folder / namespace
    out.mkdir()
    entry = "- func: run(int number, Tensor x, Tensor y, int n, float r) -> Tensor\n  dispatch: {CPU: run}\n"
    header = "at::Tensor run(int64_t number, const at::Tensor& x, const at::Tensor& y, int64_t n, double r);\n"
    header = f"#pragma once\n#include <ATen/ATen.h>\nnamespace fuzz {{\n{header}}}\n"
    if head:
        header = header.replace("ATen/ATen.h", "torch/csrc/stable/tensor.h").replace(
            "at::Tensor", "torch::stable::Tensor"
        )
    (out / "kernels.h").write_text(header)
    file = out / "library.yaml"
    file.write_text(
        f"namespace: {namespace}\n{head}kernel_namespace: fuzz\nkernel_signatures: declared\n"
        f"includes: [kernels.h]\noperators:\n{entry}"
    )
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        assert run_opwright(["generate", "--library", str(file), "--out", str(out)]) == 0
    program = compiler_program()
    assert program is not None, "there is no C++ compiler"
    compiler = Compiler(program, out, [out, kernels, out / "include", INCLUDE], False)
    files = [*sorted((out / "src" / namespace).glob("*.cpp")), kernels / "kernels.cpp"]
    torch.ops.load_library(compiler.library("library", files))


def _without_invalid(functions: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The functions that are valid C++ with PyTorch's headers."""
    text, starts = _source(functions)
    source = folder / "invalid.cpp"
    source.write_text(text, encoding="utf-8")
    program = compiler_program()
    assert program is not None, "there is no C++ compiler"
    errors = Compiler(program, folder, [], False).syntax_errors(source)
    lines = [int(line) for line in re.findall(r"invalid\.cpp:(\d+):\d+:\s+(?:error|required from here)", errors)]
    wrong = {max(start for start in starts if start[0] <= line)[1] for line in lines}
    return {name: function for name, function in functions.items() if name not in wrong}


def _called(operators: ModuleType, number: int, arguments: Arguments) -> Tensor | str:
    """The result of a call; a text if it raised."""
    try:
        # A function may change its arguments.
        result: Tensor = operators.run(number, arguments[0].clone(), arguments[1].clone(), *arguments[2:])
    except (RuntimeError, IndexError, NotImplementedError, ValueError, TypeError) as error:
        return f"raises {str(error).splitlines()[0][:160]}"
    return result


def _difference(before: Tensor | str, after: Tensor | str) -> str:
    import torch

    if isinstance(before, str) and OVERLAP in before:
        return ""
    if isinstance(before, str) or isinstance(after, str):
        return "" if isinstance(before, str) and isinstance(after, str) else f"{before} became {after}"
    if before.dtype != after.dtype or before.shape != after.shape:
        return f"{before.dtype} {tuple(before.shape)} became {after.dtype} {tuple(after.shape)}"
    return (
        ""
        if torch.equal(before.nan_to_num(99), after.nan_to_num(99)) and torch.equal(before.isnan(), after.isnan())
        else f"{before} became {after}"
    )


def _arguments(choose: random.Random) -> Arguments:
    import torch

    def tensor() -> Tensor:
        values = torch.rand(choose.choice(SHAPES), dtype=torch.float64) * 8
        dtype = choose.choice(TYPES)
        signed = values if dtype in ("uint8", "bool") else values - 2
        return signed.to(getattr(torch, dtype))

    return tensor(), tensor(), choose.randrange(6), choose.choice((0.25, -1.5, 3.0, 2.5))


def _arguments_of_numbers() -> Iterator[Arguments]:
    """Tensors of each dtype and of some shapes, with numbers that some dtypes cannot hold."""
    import torch

    integers = (0, 1, 3, -1, 7, 257, 300, -300, 100_000, 2**40)
    reals = (0.5, -1.5, 0.1, 2.0, -1.0, 70_000.0, 3e9, 1e40, float("inf"), float("nan"))
    for dtype in TYPES:
        for shape in ((), (1,), (3, 4), (0, 4)):
            values = torch.rand(shape, dtype=torch.float64) * 99 - (0 if dtype in ("uint8", "bool") else 9)
            for pair in zip(integers, reals, strict=True):
                yield (values.to(getattr(torch, dtype)), values / 9, *pair)


def compare(
    count: int, seed: int, tell: Callable[[str], None] = lambda _: None, number: int = 0, *, numbers: bool = False
) -> Outcome:
    """Compare a batch of functions in one build of each kind; `number` tells batches of a process apart.

    With `numbers`, all functions with numbers are among them, and nothing of them may be listed.
    """
    import torch

    choose = random.Random(f"{seed}/{number}")
    functions: dict[str, str] = {}
    listed = 0
    differences: list[str] = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        while len(functions) < count:
            more = {f"f{len(functions) + index}": "" for index in range(count - len(functions))}
            more = {name: random_function(choose, name) for name in more}
            refused = _listed(more, folder, "--diff")
            listed += len(refused)
            kept = [function for name, function in more.items() if name not in refused]
            for function in kept:
                name = f"f{len(functions)}"
                functions[name] = re.sub(r"(?<=at::Tensor )f\d+(?=\()", name, function, count=1)
        head = "at::Tensor {}(const at::Tensor& x, const at::Tensor& y, int64_t n, double r) {{\n  return {};\n}}\n"
        own = {f"f{count + at}": text for at, text in enumerate(number_functions())} if numbers else {}
        own = {name: head.format(name, text) for name, text in own.items()}
        differences += [
            f"is listed: {message}\n{own[name]}" for name, message in _listed(own, folder, "--diff").items()
        ]
        functions = _without_invalid({**functions, **own}, folder)
        wrong = _listed(functions, folder, "--check")
        differences += [f"does not compile: {message}\n{functions[name]}" for name, message in wrong.items()]
        functions = {name: function for name, function in functions.items() if name not in wrong}
        tell(f"{len(functions)} functions are built")
        (folder / "before").mkdir()
        (folder / "before" / "kernels.cpp").write_text(_source(functions)[0], encoding="utf-8")
        with contextlib.redirect_stdout(io.StringIO()):
            assert run_opwright(["port", str(folder / "before"), "--out", str(folder / "after")]) == 0
        ported = folder / "after" / "kernels.cpp"
        ported.write_text(TARGET + ported.read_text(encoding="utf-8"), encoding="utf-8")
        _built(f"fuzz_before_{number}", folder / "before", "", folder)
        _built(f"fuzz_after_{number}", folder / "after", "abi: stable\n", folder)
        operators = [getattr(torch.ops, f"fuzz_{which}_{number}") for which in ("before", "after")]
        calls = 0
        torch.manual_seed(seed)
        for name, function in functions.items():
            for arguments in _arguments_of_numbers() if name in own else [_arguments(choose) for _ in range(8)]:
                calls += 1
                results = [_called(own, int(name[1:]), arguments) for own in operators]
                text = _difference(*results)
                if text:
                    shown = [f"{own.dtype}{tuple(own.shape)}" for own in arguments[:2]]
                    differences.append(f"{shown} {arguments[2:]}: {text}\n{function}")
                    break
    return Outcome(len(functions), calls, listed, differences)


def _batches(count: int) -> Iterator[int]:
    for start in range(0, count, 400):
        yield min(400, count - start)


def main() -> int:
    """Print how many functions are equal; the exit status is 1 if one differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.port_fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    outcomes = []
    for number, size in enumerate(_batches(chosen.count)):
        outcomes.append(compare(size, chosen.seed, print, number, numbers=not number))
        print("\n".join(outcomes[-1].differences), flush=True)
    compared, calls = sum(own.compared for own in outcomes), sum(own.calls for own in outcomes)
    differences = sum(len(own.differences) for own in outcomes)
    listed = sum(own.listed for own in outcomes)
    print(f"{compared} functions, {calls} calls: {differences} differ; {listed} others are listed by the port")
    return 1 if differences or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
