"""The sources of a build of PyTorch for CPUs, and how long each compiles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

#: Where PyTorch's build takes all sources from; of `torch/csrc` it lists them in `build_variables.bzl`.
_ATEN: Final = (
    *("*.cpp", "core/**/*.cpp", "cpu/*.cpp", "detail/*.cpp", "functorch/*.cpp", "native/*.cpp", "native/cpu/*.cpp"),
    *(f"native/{name}/*.cpp" for name in ("mkl", "mkldnn", "nested", "sparse", "transformers", "utils")),
    *("native/ao_sparse/**/*.cpp", "native/quantized/**/*.cpp"),
)
_C10: Final = ("core/*.cpp", "core/impl/*.cpp", "util/*.cpp", "mobile/*.cpp")
_NAMES: Final = re.compile(r'"(torch/[\w/]+\.cpp)"')
_OTHER_BUILDS: Final = re.compile(
    r"cuda|cudnn|/hip|mps|xpu|vulkan|test|mobile|metal|nccl|mtia|edge|onednn|static_runtime|deploy|HPU|ufunc_gpu",
    re.IGNORECASE,
)

#: Seconds of the processor with GCC 12 and `-O2`, means of two to four sources of each folder, of `torch` of none.
_FOLDERS: Final = {
    "c10": 1.3,
    "aten/src/ATen/native/cpu": 14.0,
    "aten/src/ATen/native/quantized": 7.6,
    "aten/src/ATen/native": 8.5,
    "aten/src/ATen/functorch": 5.8,
    "aten/src/ATen": 3.3,
    "torch/csrc/api": 13.1,
    "torch/csrc/autograd": 15.7,
    "torch/csrc": 7.8,
    "torch": 7.8,
}


def sources(tree: Path) -> list[Path]:
    """The sources of a source tree that are compiled for CPUs and are not generated."""
    listed = [tree / name for name in _NAMES.findall((tree / "build_variables.bzl").read_text(encoding="utf-8"))]
    found = {
        *(path for path in listed if path.is_file()),
        *(path for pattern in _ATEN for path in (tree / "aten/src/ATen").glob(pattern)),
        *(path for pattern in _C10 for path in (tree / "c10").glob(pattern)),
    }
    return sorted(path for path in found if not _OTHER_BUILDS.search(path.relative_to(tree).as_posix()))


def generated(out: Path) -> Iterator[Path]:
    """The generated sources that are compiled for CPUs."""
    for path in sorted(out.rglob("*.cpp")):
        name = path.relative_to(out).as_posix()
        if "templates" not in name and not name.endswith("Everything.cpp") and not _OTHER_BUILDS.search(name):
            yield path


def seconds_of_folder(path: Path, tree: Path) -> float:
    """What a source that is not generated takes: the mean of its folder."""
    name = path.relative_to(tree).as_posix()
    return next(seconds for folder, seconds in _FOLDERS.items() if name.startswith(f"{folder}/"))
