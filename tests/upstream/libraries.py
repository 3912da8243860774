"""The libraries whose tests run: where their sources are, and what `opwright import` is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

__all__ = ["LIBRARIES", "Library"]

#: What is edited by hand, a file for each library.
PATCHES: Final = Path(__file__).with_name("patches")


class Library(NamedTuple):
    """A library: its package in Debian, its version and module, what is imported into which file, and its tests.

    `replaced` are files that the patch has whole. `glue` are the files that register operators and build, by patterns.
    `shared_objects` are those to build, by patterns, and `flags` for the compiler come after those of the library.
    `submodules` are folders that distributions have, and `needs` are the libraries whose originals it imports.
    A form with `abi: stable` has `ported` sources, which `opwright port` changes after the patch, and `limits`: the
    tests that PyTorch's stable interface does not allow, by patterns of their names, each with the reason. A form whose
    entries say what operators need has `files`, which take the place of others after the import.
    """

    debian: str
    version: str
    module: str
    sources: tuple[str, ...]
    tests: tuple[str, ...]
    glue: tuple[str, ...]
    replaced: tuple[str, ...] = ()
    shared_objects: str = "*"
    flags: str = ""
    submodules: Mapping[str, str] = MappingProxyType({})
    needs: tuple[str, ...] = ()
    form: str = ""
    ported: tuple[str, ...] = ()
    limits: Mapping[str, str] = MappingProxyType({})
    files: Path | None = None

    @property
    def folder(self) -> str:
        """The name of folders for the library."""
        return f"{self.debian}-{self.version}"

    @property
    def patch(self) -> Path:
        """The edits by hand; a form without its own has those of the library."""
        own = PATCHES / f"{self.module}_{self.form}.patch"
        return own if own.is_file() else PATCHES / f"{self.module}.patch"


_OPERATORS: Final = ("deform_conv2d", "nms", "ps_roi_align", "ps_roi_pool", "roi_align", "roi_pool")
_QUANTIZED: Final = "the stable interface has no quantized tensors"
_VISION: Final = Library(
    "pytorch-vision",
    "0.21.0",
    "torchvision",
    # The kernels for other devices stay registered where they are: they are in other builds.
    (
        "torchvision/csrc/vision.cpp",
        *[f"torchvision/csrc/ops/{name}.cpp" for name in _OPERATORS],
        *[f"torchvision/csrc/ops/{folder}" for folder in ("autocast", "autograd", "cpu", "quantized")],
        "torchvision/_meta_registrations.py",
    ),
    ("test/test_ops.py",),
    ("torchvision/csrc/*.cpp", "torchvision/csrc/ops/*.cpp", "torchvision/csrc/ops/auto*/*.cpp", "setup.py"),
    shared_objects="torchvision._C",
    flags="-O1",
)
LIBRARIES: Final = {
    "scatter": Library(
        "pytorch-scatter",
        "2.1.2",
        "torch_scatter",
        ("csrc",),
        ("test",),
        ("csrc/*.cpp", "csrc/scatter.h", "csrc/utils.h", "setup.py", "torch_scatter/__init__.py"),
        replaced=("setup.py",),
    ),
    "sparse": Library(
        "pytorch-sparse",
        "0.6.18",
        "torch_sparse",
        ("csrc",),
        ("test",),
        ("csrc/*.cpp", "csrc/sparse.h", "setup.py", "torch_sparse/__init__.py"),
        replaced=("setup.py",),
        submodules=MappingProxyType({"third_party/parallel-hashmap": "torch-sparse==0.6.18"}),
        needs=("scatter",),
    ),
    "vision": _VISION,
    "vision-required": _VISION._replace(
        form="required",
        files=PATCHES.with_name("files"),
        limits=MappingProxyType({"*test_wrong_sizes": "they ask for the words of the original's errors"}),
    ),
    "vision-stable": _VISION._replace(
        form="stable",
        ported=("torchvision/csrc/ops/cpu", "torchvision/csrc/vision.cpp", "torchvision_kernels.h"),
        limits=MappingProxyType({"*qnms*": _QUANTIZED, "*qroi*": _QUANTIZED}),
    ),
}
