"""Calls operators with changed arguments, and counts what AddressSanitizer reports: `python -m tests.asan`.

Each library is built as its entries say, and without the checks and the layouts that generated code has from them. Its
kernels are compiled with AddressSanitizer. With the checks, no call is reported, and traces judge calls as eager mode
does; without them, there are reports, which shows that the calls reach what the checks are for.
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
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from opwright.cli.main import main as run_opwright
from tests.compile.compiler import Compiler, compiler_program
from tests.conformance.report import table
from tests.library.conftest import INCLUDE, source_of_abi

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
    """A library: its file, the sources of its kernels, and the folder of their headers."""

    file: Path
    kernels: tuple[Path, ...]
    headers: Path


class Built(NamedTuple):
    """A shared object, the folder of the Python modules, and the generated tests."""

    shared: Path
    modules: Path
    tests: Path


def libraries(folder: Path) -> Iterator[tuple[str, Library]]:
    """The libraries by name."""
    yield (
        "example",
        Library(_EXAMPLE / "acme.yaml", tuple(sorted((_EXAMPLE / "csrc").glob("*.cpp"))), _EXAMPLE / "csrc"),
    )
    stable = _EXAMPLE / "stable"
    yield "example, stable", Library(stable / "acme.yaml", (stable / "kernels.cpp",), stable)
    for abi in ("native", "stable"):
        source = source_of_abi(abi, ROOT / "tests" / "library" / "required", folder / abi)
        name = "RMSNorm and others" if abi == "native" else "RMSNorm and others, stable"
        yield name, Library(source / "operators.yaml", (source / "kernels.cpp",), source)


def build(library: Library, folder: Path, *, checked: bool) -> Built:
    """Build a library, with the checks and layouts that its entries ask for or without them."""
    out = folder / "generated"
    assert run_opwright(["generate", "--library", str(library.file), "--torch", "auto", "--out", str(out)]) == 0
    (header,) = out.glob("include/*/kernels.h")
    (tests,) = out.glob("tests/*.py")
    sources = sorted((out / "src" / header.parent.name).glob("*.cpp"))
    for source in sources if not checked else ():
        text = source.read_text()
        source.write_text(_LAYOUT.sub(r"\1", _CHECK.sub("", text)))
    program = compiler_program()
    assert program is not None
    includes = [out / "include", INCLUDE, library.headers]
    plain, sanitized = (Compiler(program, folder, includes, more_flags=flags) for flags in ((), _FLAGS))
    objects = [plain.object(source) for source in sources]
    objects += [sanitized.object(kernels) for kernels in library.kernels]
    return Built(sanitized.link(header.parent.name, objects), out / "python", tests)


def called(built: Built, count: int, traced: int) -> dict[str, dict[str, int]]:
    """What became of so many calls of each operator, of which the first ones are traced too."""
    # The sanitizer wants the library with exceptions to be there before it starts.
    names = ("libasan.so", "libstdc++.so")
    ask = [[str(compiler_program()), f"-print-file-name={name}"] for name in names]
    runtimes = " ".join([subprocess.check_output(command, text=True).strip() for command in ask])
    options = "detect_leaks=0:symbolize=0:allocator_may_return_null=1"
    environment = {**os.environ, "LD_PRELOAD": runtimes, "ASAN_OPTIONS": options, "OMP_NUM_THREADS": "1"}
    words = [str(built.shared), str(built.modules), str(built.tests), str(count), str(traced)]
    with (built.shared.parent / "reports.log").open("w") as log:
        command = [sys.executable, "-m", "tests.asan.calls", *words]
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=log, check=True)
    result: dict[str, dict[str, int]] = json.loads(done.stdout)
    return result


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
        for library_name, library in libraries(Path(name) / "sources"):
            if chosen.only and chosen.only != library_name:
                continue
            counts = []
            for checked in (True, False):
                folder = Path(name) / f"{library_name}-{checked}"
                folder.mkdir()
                built = build(library, folder, checked=checked)
                # Kernels of the stable example check `out` themselves, and its composite operator requires nothing.
                traced = chosen.traced if checked and library_name != "example, stable" else 0
                counted = called(built, chosen.count if checked else chosen.unchecked, traced)
                counts.append(
                    {word: sum(row[word] for row in counted.values()) for word in next(iter(counted.values()))}
                )
                counts[-1]["operators"] = len(counted)
                if checked and (counts[-1]["reports"] or counts[-1]["different"]):
                    failed = True
                    print({name: row for name, row in counted.items() if row["reports"] or row["different"]})
                    print((folder / "reports.log").read_text(errors="replace")[:10_000])
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
