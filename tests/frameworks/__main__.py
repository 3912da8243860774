"""Builds one project for PyTorch, JAX and TVM FFI, and tests it in an environment with each of them alone.

`python -m tests.frameworks [PART ...]`: `objects` looks at the symbols of what is built, `programs` runs the tests in
the three environments, `gradients` compares those of JAX and PyTorch, `calls` compares what the frameworks say of
calls that are changed at random, `values` does so where values of tensors are checked, `asan` makes some of these
calls under AddressSanitizer, and `cmake` looks at symbols and runs the tests of what CMake builds.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Final

import numpy as np

from tests.compile.compiler import sanitizer_variables
from tests.frameworks.environments import BUILD, FRAMEWORKS, PROGRAMS, build_wheel, build_with_cmake, run
from tests.frameworks.mutations import OPERATORS, calls_of

#: What the names of symbols of each framework have in them.
SYMBOLS: Final = {
    "torch": r"\b(?:aoti_)?torch|\bat::|\bc10::|_ZN2at|_ZN3c10|_ZN5torch",
    "jax": r"XLA_FFI|xla::|_ZN3xla",
    "tvm_ffi": r"TVMFFI|tvm::",
}
#: How errors begin that the project's kernels and checks of values find, which come when a program runs.
RUN_ERROR: Final = re.compile(r"acme_views: |acme_views::\w+: `\w+` has the value ")
_OBJECTS: Final = {"libacme_views_kernels": (), "_jax": ("jax",), "_tvm_ffi": ("tvm_ffi",), "_C": ("torch",)}


def objects(wheel: Path) -> list[str]:
    """Symbols of frameworks in objects that are for others."""
    faults = []
    for name, own in _OBJECTS.items():
        path = wheel / "acme_views" / f"{name}.so"
        nm = subprocess.run(["nm", "-D", "-C", str(path)], capture_output=True, text=True, check=True).stdout
        needed = subprocess.run(["readelf", "-d", str(path)], capture_output=True, text=True, check=True).stdout
        for framework, pattern in SYMBOLS.items():
            # The names of the library's own functions say for whom they are.
            found = [line for line in nm.splitlines() if re.search(pattern, line) and "acme_views" not in line]
            libraries = re.findall(r"NEEDED.*\[(lib(?:torch|c10|tvm_ffi|xla|jax)[^\]]*)\]", needed)
            if framework not in own and (found or (not own and libraries)):
                faults.append(f"{name}.so has {len(found)} symbols of {framework}: {found[:3]} {libraries}")
        print(f"  {name}.so: {path.stat().st_size} bytes, {len(nm.splitlines())} dynamic symbols")
    return faults


def programs(wheel: Path, *options: str) -> list[str]:
    """What fails in the environments with one framework each. Options are those of pytest."""
    faults = []
    for framework, program in zip(FRAMEWORKS, ("in_torch", "in_jax", "in_numpy"), strict=True):
        result = run(
            framework,
            [
                "-m",
                "pytest",
                "-q",
                "-p",
                "no:cacheprovider",
                "--noconftest",
                "-c",
                os.devnull,
                str(PROGRAMS / f"{program}.py"),
                *options,
            ],
            wheel,
        )
        print(f"  {framework}: {(result.stdout.strip().splitlines() or ['nothing'])[-1]}")
        if result.returncode:
            faults.append(result.stdout[-6000:] + result.stderr[-3000:])
    return faults


def generated(wheel: Path) -> list[str]:
    """What fails of the generated tests, which are for PyTorch."""
    [tests] = (BUILD / "wheel-project").rglob("test_acme_views.py")
    result = run(
        "torch", ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--noconftest", "-c", os.devnull, str(tests)], wheel
    )
    print(f"  generated tests: {(result.stdout.strip().splitlines() or ['nothing'])[-1]}")
    return [result.stdout[-6000:]] if result.returncode else []


def gradients(wheel: Path) -> list[str]:
    """Gradients that JAX and PyTorch do not agree on."""
    found = []
    for framework in ("torch", "jax"):
        out = BUILD / f"gradients-{framework}.npz"
        result = run(framework, [str(PROGRAMS / "gradients.py"), framework, str(out)], wheel)
        if result.returncode:
            return [f"{framework}: {result.stderr[-3000:]}"]
        found.append(dict(np.load(out)))
    torch, jax = found
    faults = [f"only one framework has {name}" for name in torch.keys() ^ jax.keys()]
    most = 0.0
    for name in torch.keys() & jax.keys():
        one, other = torch[name], jax[name]
        if one.shape != other.shape or one.dtype != other.dtype:
            faults.append(f"{name}: {one.shape} {one.dtype}, {other.shape} {other.dtype}")
            continue
        difference = float(np.max(np.abs(one - other) / np.maximum(np.abs(one), 1), initial=0))
        most = max(most, difference)
        # The kernels are the same; sums of formulas are made in orders of their own.
        if not difference <= 1e-12:
            faults.append(f"{name}: differs by {difference}")
    print(f"  {len(torch)} results and gradients, which differ by at most {most:.1e}")
    return faults


def sanitized(count: int, seed: int) -> list[str]:
    """What AddressSanitizer reports of changed calls, of a build of its own."""
    wheel = build_wheel("-fsanitize=address -fno-omit-frame-pointer -g", "wheel-asan")
    try:
        return differences(wheel, count, seed, "asan", **sanitizer_variables())
    except RuntimeError as error:
        return [str(error)]


def outcomes(wheel: Path, calls: Path, **variables: str) -> dict[str, list[list[str]]]:
    """What each framework says of calls. Raises RuntimeError if one crashes."""
    said = {}
    for framework in FRAMEWORKS:
        out, start = calls.with_name(f"{calls.stem}-{framework}.json"), time.monotonic()
        result = run(framework, [str(PROGRAMS / "calls.py"), framework, str(calls), str(out)], wheel, **variables)
        if result.returncode or "AddressSanitizer" in result.stderr:
            raise RuntimeError(f"{framework}: {result.stdout[-2000:]}{result.stderr[:4000]}")
        said[framework] = json.loads(out.read_text(encoding="utf-8"))
        print(f"    {framework}: {time.monotonic() - start:.0f} s")
    return said


def _agreement(answers: list[list[str]]) -> str:
    """What frameworks agree on about a call.

    Values of another type than the schema has are refused by each in words of its own, of which the texts are not
    compared. XLA leaves out calls whose results have no elements, and so never hears what their kernels would say.
    """
    kinds = {kind for kind, _ in answers}
    torch, jax, tvm_ffi = answers
    if kinds == {"ok"}:
        return "taken alike" if len({text for _, text in answers}) == 1 else "different"
    if "ok" in kinds:
        is_run = torch == tvm_ffi and RUN_ERROR.match(torch[1]) is not None
        return "left out by XLA" if is_run and jax[0] == "ok" else "different"
    texts = {text for kind, text in answers if kind == "refused"}
    if len(texts) > 1:
        return "different"
    return "refused with one text" if kinds == {"refused"} else "refused in own words"


def differences(wheel: Path, count: int, seed: int, label: str = "calls", **variables: str) -> list[str]:
    """Calls of which frameworks say different things."""
    faults, path = [], BUILD / f"{label}.json"
    calls = [call for name in OPERATORS for call in calls_of(name, count, Random(f"{seed} {name}"))]
    path.write_text(json.dumps(calls), encoding="utf-8")
    said = outcomes(wheel, path, **variables)
    kinds = {name: Counter[str]() for name in OPERATORS}
    for (name, arguments), *answers in zip(calls, *said.values(), strict=True):
        kind = _agreement(answers)
        kinds[name][kind] += 1
        if kind == "different" and kinds[name][kind] <= 5:
            texts = [
                f"  {framework}: {answer[0]} {answer[1][:200]}" for framework, answer in zip(said, answers, strict=True)
            ]
            faults.append("\n".join([f"{name} {arguments}", *texts]))
    for name, counts in kinds.items():
        print(f"  {name}: {count} calls, {dict(counts.most_common())}")
    return faults


def valued(wheel: Path, count: int, seed: int) -> list[str]:
    """Calls that frameworks judge differently where values of tensors are checked, or that none is refused for one."""
    faults = differences(wheel, count, seed, "values", OPWRIGHT_CHECK_VALUES="1")
    said = json.loads((BUILD / "values-torch.json").read_text(encoding="utf-8"))
    refused = [text for kind, text in said if kind == "refused" and " has the value " in text]
    print(f"  {len(refused)} calls are refused for a value")
    return faults if refused else [*faults, "no call is refused for a value"]


def main() -> int:
    """Run the parts, and print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ("objects", "programs", "gradients", "calls", "values", "asan", "cmake")
    parser.add_argument("parts", nargs="*", choices=[*names, []], help="the parts (default: all)")
    parser.add_argument("--calls", type=int, default=5000, help="changed calls of each operator")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--built", action="store_true", help="take the wheel of the last run")
    arguments = parser.parse_args()
    parts = arguments.parts or names
    BUILD.mkdir(parents=True, exist_ok=True)
    wheel = BUILD / "wheel"
    if not arguments.built or not wheel.exists():
        wheel = build_wheel()
    faults: list[str] = []
    for part in parts:
        print(f"{part}:")
        if part == "objects":
            faults += objects(wheel)
        elif part == "programs":
            faults += programs(wheel) + generated(wheel)
        elif part == "gradients":
            faults += gradients(wheel)
        elif part == "calls":
            faults += differences(wheel, arguments.calls, arguments.seed)
        elif part == "values":
            faults += valued(wheel, max(arguments.calls // 10, 1), arguments.seed)
        elif part == "asan":
            faults += sanitized(max(arguments.calls // 10, 1), arguments.seed)
        elif part == "cmake":
            folder = build_with_cmake()
            # Setuptools alone builds what makes calls fast.
            faults += objects(folder) + programs(folder, "-k", "not past_python")
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
