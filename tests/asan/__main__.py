"""Calls operators with changed arguments, and counts what AddressSanitizer reports: `python -m tests.asan`.

Each library is built as its entries say, and without the checks and the layouts that generated code has from them. Its
kernels are compiled with AddressSanitizer. With the checks, no call is reported, and traces judge calls as eager mode
does; without them, there are reports, which shows that the calls reach what the checks are for. Operators with a
reference are judged as `opwright accept` does, with the sanitizer.

torch-scatter and torchvision have the kernels of their authors. No entry says what values an index has, so those of
arguments that point into other tensors are zero in these calls.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from opwright.cli.main import main as run_opwright
from opwright.libraries.judge.accept import Judge
from opwright.libraries.judge.entry import entry_of
from opwright.source.text import SourceFile
from tests.compile.compiler import Compiler, compiler_program, sanitizer_variables
from tests.conformance.report import table
from tests.field_replay.__main__ import sources_of
from tests.field_replay.ports import PORTS
from tests.library.conftest import INCLUDE, source_of_abi
from tests.upstream.__main__ import REFUSED, import_library
from tests.upstream.libraries import LIBRARIES
from tests.upstream.sources import source_tree

ROOT: Final = Path(__file__).parents[2]
_EXAMPLE: Final = ROOT / "examples" / "library"

#: Sanitized code goes on for some reports, if it is asked to; these calls end at the first one.
_FLAGS: Final = ("-fsanitize=address", "-fno-omit-frame-pointer", "-g1")

#: The calls of checks in generated code, and copies in a layout.
_CHECK: Final = re.compile(
    r"^ *::(?:\w+::opwright_checks::\w+<.*>|opwright::(?:resize_out|check_inplace<c10::SymInt>))\(.*\);$", re.MULTILINE
)
_LAYOUT: Final = re.compile(r"::opwright::(?:contiguous|channels_last|last_contiguous)\((\w+)\)")


class Library(NamedTuple):
    """A library: its file, the sources of its kernels, the folder of their headers, and arguments that hold positions.

    Of calls that a `module` of others has to refuse, some read outside without checks.
    """

    file: Path
    kernels: tuple[Path, ...]
    headers: Path
    positions: str = ""
    module: str = ""


class Built(NamedTuple):
    """A shared object, the folder of the Python modules, and the generated tests."""

    shared: Path
    modules: Path
    tests: Path


def libraries(folder: Path) -> dict[str, Callable[[], Library]]:
    """The libraries by name, each with what writes its sources below a folder."""
    return {
        "example": _example,
        "example, stable": _stable_example,
        "RMSNorm and others": lambda: _required(folder / "native", "native"),
        "RMSNorm and others, stable": lambda: _required(folder / "stable", "stable"),
        "torch-scatter": lambda: _scatter(folder / "torch-scatter"),
        "torchvision": lambda: _vision(folder / "torchvision"),
    }


def _example() -> Library:
    kernels = tuple(sorted((_EXAMPLE / "csrc").glob("*.cpp")))
    return Library(_EXAMPLE / "acme.yaml", kernels, _EXAMPLE / "csrc")


def _stable_example() -> Library:
    stable = _EXAMPLE / "stable"
    return Library(stable / "acme.yaml", (stable / "kernels.cpp",), stable)


def _required(folder: Path, abi: str) -> Library:
    source = source_of_abi(abi, ROOT / "tests" / "library" / "required", folder)
    return Library(source / "operators.yaml", (source / "kernels.cpp",), source)


def _scatter(folder: Path) -> Library:
    """The port of torch-scatter by hand, with its kernels for CPUs."""
    port = PORTS[0]
    shutil.copytree(sources_of(port.distribution, ROOT / ".cache" / "field") / "csrc" / "cpu", folder / "csrc" / "cpu")
    # The kernels need no more than this of the header around them.
    (folder / "csrc" / "extensions.h").write_text("#include <torch/torch.h>\n")
    for name, text in port.files.items():
        (folder / name).write_text(text)
    kernels = (folder / "csrc" / "kernels.cpp", *sorted((folder / "csrc" / "cpu").glob("*.cpp")))
    return Library(folder / port.library_file, kernels, folder / "csrc", "index indptr", "torch_scatter")


def _vision(folder: Path) -> Library:
    """torchvision as it is imported, with entries that say what its kernels for CPUs need."""
    library = LIBRARIES["vision-required"]
    import_library(library, source_tree(library, ROOT / ".cache" / "upstream", None), folder)
    shutil.copy(folder / "torchvision_kernels.h", folder / "torchvision" / "csrc")
    kernels = [
        *(folder / "torchvision" / "csrc" / "ops").rglob("*.cpp"),
        folder / "torchvision" / "csrc" / "vision.cpp",
    ]
    chosen = tuple([path for path in sorted(kernels) if not {"cuda", "mps"} & {*path.parts}])
    positions = "rois argmax channel_mapping"
    return Library(folder / "torchvision.yaml", chosen, folder / "torchvision" / "csrc", positions, "torchvision")


def build(library: Library, folder: Path) -> tuple[Built, Built]:
    """Build a library, with the checks and layouts that its entries ask for and without them."""
    out = folder / "generated"
    assert run_opwright(["generate", "--library", str(library.file), "--torch", "auto", "--out", str(out)]) == 0
    (header,) = out.glob("include/*/kernels.h")
    (tests,) = out.glob("tests/*.py")
    program = compiler_program()
    assert program is not None
    prefix = None
    if "abi: stable" not in library.file.read_text():
        # Most of the time of each source would be that of PyTorch's headers.
        prefix = folder / "torch_all.h"
        prefix.write_text("#include <torch/all.h>\n#include <torch/library.h>\n")
    (folder / "built").mkdir()
    includes = [out / "include", INCLUDE, library.headers]
    compiler = Compiler(program, folder / "built", includes, prefix=prefix, more_flags=_FLAGS)
    if prefix is not None:
        compiler.precompiled(prefix)
    kernels = [
        _source(folder / f"kernel{number}.cpp", f'#include "{path}"\n') for number, path in enumerate(library.kernels)
    ]
    glue: dict[str, list[Path]] = {"checked": [], "unchecked": []}
    for path in sorted((out / "src" / header.parent.name).glob("*.cpp")):
        text = path.read_text()
        glue["checked"].append(_source(folder / f"checked_{path.name}", text))
        glue["unchecked"].append(_source(folder / f"unchecked_{path.name}", _LAYOUT.sub(r"\1", _CHECK.sub("", text))))
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        sources = [*kernels, *glue["checked"], *glue["unchecked"]]
        objects = dict(zip(sources, pool.map(compiler.object, sources), strict=True))
    built = []
    for name, texts in glue.items():
        linked = compiler.link(f"{header.parent.name}_{name}", [objects[source] for source in (*texts, *kernels)])
        built.append(Built(linked, out / "python", tests))
    return built[0], built[1]


def _source(path: Path, text: str) -> Path:
    """A source, whose name is that of no other one: kernels in several folders have files of the same name."""
    path.write_text(text)
    return path


def sanitized(built: Built, *words: str) -> Any:  # noqa: ANN401
    """What a program that runs with the sanitizer prints as JSON."""
    # Warnings of the same thing would hide what calls differ in.
    ignored = {"PYTHONWARNINGS": "ignore"}
    environment = {**os.environ, **sanitizer_variables(), **ignored, "OMP_NUM_THREADS": "1"}
    with built.shared.with_suffix(".log").open("a") as log:
        command = [sys.executable, *words]
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=log, check=True)
    return json.loads(done.stdout)


def called(built: Built, count: int, traced: int, positions: str) -> dict[str, dict[str, int]]:
    """What became of so many calls of each operator, of which the first ones are traced too."""
    words = [str(built.shared), str(built.modules), str(built.tests), str(count), str(traced), positions]
    result: dict[str, dict[str, int]] = sanitized(built, "-m", "tests.asan.calls", *words)
    return result


def refused_kernels(library: Library, built: Built) -> list[str]:
    """What `opwright accept` finds wrong with the operators that have a reference, and a kernel for the CPU."""
    file = SourceFile.read(str(library.file))
    entries = yaml.safe_load(file.text)
    listed = entries["operators"] if isinstance(entries, dict) else entries
    findings = []
    for entry in [entry for entry in listed if entry.get("reference") and "CPU" in str(entry.get("dispatch", "CPU"))]:
        name = entry["func"].partition("(")[0].rpartition("::")[2]
        with Judge(entry_of(file, name), folders=(str(ROOT),)) as judge:
            verdict = judge.accept(str(built.shared), seconds=120)
        findings += [] if verdict else [str(verdict)]
    return findings


def unreported(library: Library, built: Built) -> list[str]:
    """Calls that should read outside without checks, and that the sanitizer did not report."""
    if not library.module:
        return []
    calls = yaml.safe_load(REFUSED.read_text())[library.module]
    outcomes = sanitized(built, "-m", "tests.upstream.refused", library.module, str(REFUSED), str(built.shared))
    pairs = zip(calls, outcomes, strict=True)
    return [call for (call, expected), (eager, _) in pairs if expected == "outside" and eager != "crash"]


def main() -> int:
    """Print what was counted. The exit status is 1 for a report with checks, or a call that traces judge otherwise."""
    parser = argparse.ArgumentParser(prog="python -m tests.asan", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="calls of each operator (default: 200)")
    parser.add_argument("--traced", type=int, default=100, help="how many of these are traced too (default: 100)")
    parser.add_argument("--unchecked", type=int, default=20, help="calls without the checks (default: 20)")
    parser.add_argument("--only", default="", help="the library")
    chosen = parser.parse_args()
    if shutil.which("nice"):
        os.nice(5)
    rows, failed = [], False
    with tempfile.TemporaryDirectory() as name:
        for library_name, make in libraries(Path(name) / "sources").items():
            if chosen.only and chosen.only != library_name:
                continue
            library = make()
            counts = []
            folder = Path(name) / library_name
            folder.mkdir()
            for checked, built in zip((True, False), build(library, folder), strict=True):
                traced = chosen.traced if checked else 0
                counted = called(built, chosen.count if checked else chosen.unchecked, traced, library.positions)
                counts.append(
                    {word: sum(row[word] for row in counted.values()) for word in next(iter(counted.values()))}
                )
                counts[-1]["operators"] = len(counted)
                if checked and (counts[-1]["reports"] or counts[-1]["different"]):
                    failed = True
                    print({name: row for name, row in counted.items() if row["reports"] or row["different"]})
                    print(built.shared.with_suffix(".log").read_text(errors="replace")[:10_000])
                if checked and (findings := refused_kernels(library, built)):
                    failed = True
                    print("refused by the judge:", *findings, sep="\n")
            missing = unreported(library, built)
            if missing:
                failed = True
                print("not reported without checks:", *missing, sep="\n")
            after, before = counts
            shown = [after["operators"], after["calls"], after["refused"], after["reports"], after["traced"]]
            shown += [after["different"], before["calls"], before["reports"]]
            rows.append((library_name, *map(str, shown)))
            print(library_name, counts, flush=True)
    head = (
        "library",
        "overloads",
        "calls",
        "refused",
        "reports",
        "traced",
        "judged otherwise",
        "calls without checks",
        "reports",
    )
    print("\n".join(table(head, rows)))
    return int(failed or not rows)


if __name__ == "__main__":
    sys.exit(main())
