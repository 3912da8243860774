"""Wheels of three packages: an owner of operators, a device, and kernels of a third package for both.

    python -m tests.library.implementing.wheels

It builds the example of a library, the device of a new backend and `examples/kernels_of_others`, installs them into a
folder, and calls operators in processes that import them in each order, with an owner that changed, and without one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[3]
EXAMPLES: Final = ROOT / "examples"

#: What the processes do: they import packages, and print what calls say, a line each.
_CALLS: Final = """\
import importlib, sys, warnings
import torch
warnings.simplefilter("ignore")
def said(call):
    try:
        result = call()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    if result is None:
        return "None"
    return f"{result.device.type} {[round(number, 4) for number in result.detach().cpu().flatten().tolist()]}"
try:
    for name in sys.argv[1:]:
        importlib.import_module(name)
except ImportError as error:
    raise SystemExit(f"{type(error).__name__}: {error}")
x = torch.tensor([[1.0, 2.0, 3.0]], device="npu")
mean = torch.zeros(1, 3, device="npu")
def gradient():
    leaf = x.clone().requires_grad_()
    torch.ops.acme.gamma(leaf, 2.0).sum().backward()
    return leaf.grad
def tracked():
    torch.ops.acme.track(mean, x, momentum=0.5)
    return mean
print(said(lambda: torch.ops.acme.gamma(x, 2.0)))
print(said(lambda: torch.ops.acme.gamma(x, -2.0)))
print(said(lambda: torch.ops.acme.gamma(x.cpu(), 2.0)))
print(said(lambda: torch.ops.acme.moments(x)[0]))
print(said(tracked))
print(said(gradient))
print(said(lambda: torch.compile(torch.ops.acme.gamma, backend="aot_eager")(x, 2.0)))
"""
SQUARES: Final = "[1.0, 4.0, 9.0]"
SERVED: Final = [
    f"npu {SQUARES}",
    "RuntimeError: acme::gamma: `exponent > 0` has to hold, and `exponent` is -2",
    f"cpu {SQUARES}",
    "npu [2.0]",
    "npu [0.5, 1.0, 1.5]",
    "npu [2.0, 4.0, 6.0]",
    f"npu {SQUARES}",
]
ABSENT: Final = "AttributeError: '_OpNamespace' 'acme' object has no attribute"
#: An owner of the same name with another schema of one operator.
_CHANGED: Final = """\
import torch
library = torch.library.Library("acme", "DEF")
library.define("gamma(Tensor self, float exponent=2.2) -> Tensor")
library.define("track(Tensor(a!) mean, Tensor value, *, float momentum=0.1) -> ()")
library.define("moments(Tensor self, bool keepdim=False, int dim=-1) -> (Tensor mean, Tensor deviation)")
"""
DRIFT: Final = "`acme_npu` was built for `acme::moments(Tensor self, int dim=-1, bool keepdim=False)"


class Scenario(NamedTuple):
    """What a process imports, in this order, and how the lines begin that it prints."""

    name: str
    imports: tuple[str, ...]
    said: list[str]
    is_changed: bool = False


SCENARIOS: Final = (
    Scenario("owner first", ("acme", "acme_npu"), SERVED),
    Scenario("owner last", ("acme_npu", "acme"), SERVED),
    Scenario("device first", ("torch_npu", "acme_npu", "acme"), SERVED),
    Scenario("no owner", ("acme_npu",), [ABSENT] * len(SERVED)),
    Scenario("changed owner first", ("acme", "acme_npu"), [f"ImportError: {DRIFT}"], is_changed=True),
    Scenario(
        "changed owner last",
        ("acme_npu", "acme"),
        [*SERVED[:2], "NotImplementedError", f"RuntimeError: {DRIFT}", SERVED[4], "None", SERVED[6]],
        is_changed=True,
    ),
)


def built(folder: Path) -> Path:
    """A folder with the three packages, as wheels install them."""
    site = folder / "site"
    opwright = [sys.executable, "-m", "opwright"]
    shutil.copytree(EXAMPLES / "library", folder / "acme")
    shutil.copytree(EXAMPLES / "kernels_of_others", folder / "acme_npu")
    subprocess.run([*opwright, "new", "backend", "npu", str(folder / "npu")], check=True, stdout=subprocess.DEVNULL)
    for package in ("acme", "npu", "acme_npu"):
        if package == "acme_npu":
            command = [*opwright, "import", "acme", "--out", str(folder / package / "acme.lock.yaml")]
            subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(site)})
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
        wheels = folder / "wheels" / package
        subprocess.run(
            [*pip, "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", str(wheels), str(folder / package)],
            check=True,
        )
        files = [str(wheel) for wheel in wheels.glob("*.whl")]
        subprocess.run([*pip, "install", "--no-deps", "--target", str(site), *files], check=True)
    return site


def main() -> int:
    """Run the program; the status is 1 if a process says something else."""
    status = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        site = built(folder)
        (folder / "changed").mkdir()
        (folder / "changed" / "acme.py").write_text(_CHANGED, encoding="utf-8")
        (folder / "calls.py").write_text(_CALLS, encoding="utf-8")
        for scenario in SCENARIOS:
            folders = [str(folder / "changed"), str(site)] if scenario.is_changed else [str(site)]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
            command = [sys.executable, str(folder / "calls.py"), *scenario.imports]
            done = subprocess.run(command, capture_output=True, text=True, env=environment)
            lines = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("[W")]
            is_right = len(lines) == len(scenario.said) and all(map(str.startswith, lines, scenario.said))
            print(f"{scenario.name}: {'as it should be' if is_right else 'WRONG'}")
            if not is_right:
                status = 1
                print("\n".join(lines))
    return status


if __name__ == "__main__":
    sys.exit(main())
