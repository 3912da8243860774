"""Generated libraries in the hands of the C++ compiler: which of their rows it refuses, and what it says."""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Final, NamedTuple

import opwright
from opwright.cli.main import main
from tests.compile.compiler import Compiler
from tests.shapes.entries import entries_of
from tests.shapes.matrix import HEADS, write_library
from tests.shapes.pairs import Row

__all__ = ["Compilation", "Fault", "compile_rows"]

_INCLUDE: Final = Path(opwright.__file__).parent / "libraries" / "include"

#: How many rows one library has.
_ROWS: Final = 400

#: What generated files include: compiled once.
_PREFIXES: Final = {
    "native": """\
#include <ATen/DeviceGuard.h>
#include <ATen/EmptyTensor.h>
#include <ATen/InferSize.h>
#include <ATen/TensorMeta.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/op_registration/adaption.h>
#include <opwright/autocast.h>
#include <opwright/autograd.h>
#include <opwright/batching.h>
#include <opwright/copies.h>
#include <opwright/functionalization.h>
#include <opwright/outputs.h>
#include <opwright/structured.h>
#include <torch/csrc/inductor/aoti_torch/utils.h>
#include <torch/library.h>
""",
    "stable": """\
#define TORCH_TARGET_VERSION 0x020a000000000000
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/tensor.h>
""",
}

#: Headers in place of those that include headers of CUDA, which few machines have.
_STUBS: Final = {
    "c10/cuda/CUDAGuard.h": """\
#include <c10/core/DeviceGuard.h>
namespace c10::cuda {
using OptionalCUDAGuard = OptionalDeviceGuard;
}
""",
    "ATen/cuda/ATenCUDAGeneral.h": "",
    "ATen/cuda/CUDAContext.h": "",
    "ATen/cuda/CUDADevice.h": "",
}

_NUMBER: Final = re.compile(r"(?:[Oo]p|kernel)(\d+)(?!\d)")
_ERROR: Final = re.compile(r"^(.+?):(\d+):\d+: (?:fatal )?error: (.*)$", re.MULTILINE)


class Fault(NamedTuple):
    """A row whose code the compiler refuses, and the first of its errors; the number is None if no row was found."""

    number: int | None
    error: str


class Compilation(NamedTuple):
    """How many translation units were compiled, and what the compiler refused."""

    units: int
    faults: list[Fault]


def compile_rows(program: str, folder: Path, abi: str, rows: Mapping[int, Row], processes: int = 1) -> Compilation:
    """Generate the code of rows, a few hundred in a library, and let the compiler read it."""
    stubs = folder / "stubs"
    for name, text in _STUBS.items():
        (stubs / name).parent.mkdir(parents=True, exist_ok=True)
        (stubs / name).write_text(f"#pragma once\n{text}", encoding="utf-8")
    prefix = folder / "prefix.h"
    prefix.write_text(f"#pragma once\n{_PREFIXES[abi]}", encoding="utf-8")
    compiled = folder / "compiled"
    compiled.mkdir(parents=True, exist_ok=True)
    compiler = Compiler(program, compiled, [stubs, _INCLUDE], prefix=prefix)
    compiler.precompiled(prefix)
    numbers = list(rows)
    units: list[tuple[Compiler, Path]] = []
    faults: list[Fault] = []
    for first in range(0, len(numbers), _ROWS):
        library = folder / f"library_{first}"
        some = {number: rows[number] for number in numbers[first : first + _ROWS]}
        out = _generate(library, abi, some)
        faults += _python_faults(out)
        own = Compiler(program, compiled, [*compiler.includes, library, out / "include"], prefix=prefix)
        # Sources of the native interface include the header for callers.
        headers = sorted((out / "include").rglob("ops.h")) if abi == "stable" else []
        units += [(own, source) for source in (*sorted((out / "src").rglob("*.cpp")), *headers)]
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        for found in pool.imap_unordered(_unit_faults, units, chunksize=1):
            faults += found
    return Compilation(len(units), _first_of_each(faults))


def _generate(folder: Path, abi: str, rows: Mapping[int, Row]) -> Path:
    write_library(folder, HEADS[abi], {number: entries_of(number, row) for number, row in rows.items()})
    out, said = folder / "out", StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        status = main(["generate", "--library", str(folder / "shapes.yaml"), "--torch", "auto", "--out", str(out)])
    assert status == 0, said.getvalue()
    return out


def _python_faults(out: Path) -> Iterator[Fault]:
    for path in (path for path in out.rglob("*.py") if path.is_file()):
        text = path.read_text(encoding="utf-8")
        try:
            compile(text, str(path), "exec")
        except SyntaxError as error:
            yield Fault(_number_above(text.splitlines(), error.lineno or 1), f"{path.name}: {error}")


def _unit_faults(unit: tuple[Compiler, Path]) -> list[Fault]:
    compiler, source = unit
    said = compiler.syntax_errors(source)
    return list(_faults_in(said, source)) if said else []


def _faults_in(said: str, source: Path) -> Iterator[Fault]:
    """A fault for each error, at the row of the generated line that led to it."""
    is_generated = re.compile(rf"({re.escape(str(source.parents[2]))}/\S+?):(\d+):")
    errors = list(_ERROR.finditer(said))
    if not errors:
        yield Fault(None, said)
    start = 0
    for position, error in enumerate(errors):
        end = errors[position + 1].start() if position + 1 < len(errors) else len(said)
        # What led to a template comes before its error.
        places = [(error[1], error[2])] if is_generated.match(error[0]) else is_generated.findall(said[start:end])
        numbers = [
            _number_above(Path(path).read_text(encoding="utf-8").splitlines(), int(line)) for path, line in places
        ]
        number = next(filter(None, reversed(numbers)), None)
        place = f"{Path(places[-1][0]).name}:{places[-1][1]}" if places else f"{error[1]}:{error[2]}"
        yield Fault(number, f"{place}: {error[3]}")
        start = error.end()


def _number_at(path: Path, line: int) -> int | None:
    return _number_above(path.read_text(encoding="utf-8").splitlines(), line)


def _number_above(lines: list[str], line: int) -> int | None:
    """The number of the row that a line is for, or the nearest line above that names one."""
    named = (_NUMBER.search(lines[index]) for index in range(line - 1, -1, -1))
    return next((int(match[1]) for match in named if match is not None), None)


def _first_of_each(faults: list[Fault]) -> list[Fault]:
    first: dict[int | None, Fault] = {}
    for fault in faults:
        first.setdefault(fault.number, fault)
    return list(first.values())
