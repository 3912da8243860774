"""Where the outputs go: the folders of PyTorch's own build."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

__all__ = ["BUILD_FOLDERS", "build_folders"]

#: Where PyTorch's own build has each output folder, below the folder of the build.
BUILD_FOLDERS: Final[Mapping[str, str]] = {
    "aten": "aten/src/ATen",
    "ops": "aten/src/ATen/ops",
    "core": "aten/src/ATen/core",
    "headeronly": "torch/headeronly/core",
    "aoti": "torch/csrc/inductor/aoti_torch/generated",
    "autograd": "torch/csrc/autograd/generated",
    "functionalization": "torch/csrc/functionalization/generated",
    "testing": "torch/testing/_internal/generated",
}


def build_folders(out: str) -> dict[str, str]:
    """The output folders below `out`, laid out as PyTorch's own build does.

    >>> build_folders("build")["ops"]
    'build/aten/src/ATen/ops'
    """
    return {name: f"{out}/{place}" for name, place in BUILD_FOLDERS.items()}
