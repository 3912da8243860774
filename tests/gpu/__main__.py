"""Builds an operator library for CUDA, natively and for the stable ABI, checks it on a GPU, and measures calls.

`python -m tests.gpu` needs a GPU, `nvcc`, and a PyTorch for CUDA; it takes some minutes, and nothing from a network.
With `--device cpu` it does what a machine without these can. The stable library is what `opwright port` makes of the
sources of the native one.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

from tests.gpu import checks

HERE = Path(__file__).parent
#: The libraries by the names of their packages, each with what their heads say.
HEADS = {"norms": "namespace: norms\n", "stable_norms": 'namespace: stable_norms\nabi: stable\ntorch: ">=2.11"\n'}
#: What headers of PyTorch include, and some folders of CUDA lack: wheels of NVIDIA have them.
HEADERS = ("cusparse.h", "cublas_v2.h", "cusolverDn.h")


def main() -> int:
    """Build, check and measure; the status tells whether a check failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.gpu")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--seconds", type=int, default=420, help="no check begins after this time")
    arguments = parser.parse_args()
    begun = time.time()
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | cuda_settings() | {"DEVICE": arguments.device}
        paths = [str(write_project(Path(folder) / name, name)) for name in HEADS]
        environment["PYTHONPATH"] = os.pathsep.join([*paths, str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")])
        device = torch.cuda.get_device_name() if arguments.device == "cuda" else "CPU"
        print(f"{device}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}", flush=True)
        with ThreadPoolExecutor(2 if arguments.device == "cuda" else 1) as pool:
            built = [*pool.map(lambda path: build(path, environment), paths)]
        failed = [*built, *run_checks(environment, begun + arguments.seconds)].count(False)
        for path in paths:
            tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
            failed += subprocess.run(tests, cwd=path, env=environment, check=False).returncode != 0
        subprocess.run([sys.executable, "-m", "tests.gpu.calls"], cwd=HERE.parents[1], env=environment, check=True)
    print(f"{failed} failed, after {time.time() - begun:.0f} s")
    return int(failed > 0)


def cuda_settings() -> dict[str, str]:
    """Variables that find what a small folder of CUDA lacks in wheels of NVIDIA, and the compiler of C++.

    The C++ library must be a shared one: two of them in a process break the messages of errors.
    """
    nvcc = shutil.which("nvcc")
    home = os.environ.get("CUDA_HOME") or (str(Path(nvcc).resolve().parents[1]) if nvcc else "")
    wheels = Path(sysconfig.get_path("purelib")) / "nvidia"
    more = (
        [] if home and all((Path(home) / "include" / name).exists() for name in HEADERS) else wheels.glob("*/include")
    )
    runtimes = [str(path.parent) for path in wheels.glob("*/lib/libcudart.so*")]
    settings = {
        "CPATH": os.pathsep.join([*map(str, more), os.environ.get("CPATH", "")]).strip(os.pathsep),
        "LD_LIBRARY_PATH": os.pathsep.join([*runtimes, os.environ.get("LD_LIBRARY_PATH", "")]).strip(os.pathsep),
        "CUDA_HOME": home,
        "CXX": "c++",
        "CC": "cc",
    }
    return {name: value for name, value in settings.items() if value}


def write_project(folder: Path, name: str) -> Path:
    """The project of a library; the sources of the stable one are ported."""
    shutil.copytree(HERE / "library", folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "norms").rename(folder / name)
    if name != "norms":
        (folder / "csrc" / "by_hand.cpp").unlink()
        port = [sys.executable, "-m", "opwright", "port", "csrc", "--target", "2.11"]
        subprocess.run(port, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    for path in folder.rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8").replace("namespace: norms\n", HEADS[name])
            if name != "norms":
                # AOTInductor calls stable libraries without shims.
                text = text.replace("c_shims: [cpu, cuda]\n", "")
            path.write_text(re.sub(r"\bnorms\b", name, text), encoding="utf-8")
    return folder


def build(path: str, environment: dict[str, str]) -> bool:
    """Build a project in place, and print the end of what is said where that fails."""
    begun, command = time.monotonic(), [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    done = subprocess.run(command, cwd=path, env=environment, capture_output=True, text=True, check=False)
    print(f"{Path(path).name}: built in {time.monotonic() - begun:.0f} s", flush=True)
    if done.returncode:
        print(done.stdout[-2000:], done.stderr[-4000:])
    return done.returncode == 0


def run_checks(environment: dict[str, str], deadline: float) -> list[bool]:
    """Whether each check passed. Each runs in a process of its own: a crash costs one."""

    def one(label: str) -> tuple[str, str]:
        if time.time() > deadline:
            return "left out", f"left out: {label}"
        command = [sys.executable, "-m", "tests.gpu.checks", label]
        try:
            run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200, check=False)
        except subprocess.TimeoutExpired:
            return "failed", f"failed: {label}, after 200 s"
        told = run.stdout + (run.stderr[-900:] if run.returncode else "")
        return ("failed" if run.returncode else "passed"), f"{'failed' if run.returncode else 'passed'}: {label} {told}"

    labels = [f"{name}:{library}" for name in checks.names(environment["DEVICE"]) for library in HEADS]
    with ThreadPoolExecutor(4 if environment["DEVICE"] == "cuda" else 1) as pool:
        results = [*pool.map(one, labels)]
    for _, text in results:
        print(text.rstrip(), flush=True)
    print(dict(Counter(outcome for outcome, _ in results)))
    return [outcome != "failed" for outcome, _ in results]


if __name__ == "__main__":
    sys.exit(main())
