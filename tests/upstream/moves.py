"""Libraries that are moved by the steps of docs/from-existing.md: their sources, and what a maintainer edits."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["BUILD", "MOVES", "SETUPS", "Move"]

#: The `setup.py` of ports, and of originals whose own does more than build their operators, by the library's name.
SETUPS: Final = Path(__file__).with_name("setups")


#: What builds a shared object beside its sources.
BUILD: Final = "python setup.py --quiet build_ext --inplace"


class Expected(NamedTuple):
    """Differences that two processes have to tell, as what the move is about: a pattern of their lines, and how many.

    The `reason` says why no line of the library file explains them.
    """

    pattern: str
    times: int
    reason: str


class Move(NamedTuple):
    """A library: what is imported and built, its own tests, and what a maintainer edits.

    The sources are a `distribution` of the package index, an archive of Debian, which `debian` names with the version,
    or a tree that the user gives. The commands `build` build the original, and `loaded` is what processes load: a
    shared object, by a pattern, or the folder of a package; `ported` are those of the port if they have other names.
    `paths` are the folders with packages and tests, and `needs` what tests need besides PyTorch. `opwright import
    --edit` changes the port, unless `edit`, which comes after it, does all of that. Two processes have to tell the
    `differences`, and no others.
    """

    sources: tuple[str, ...]
    tests: tuple[str, ...]
    loaded: str
    edit: Callable[[Path], None]
    ported: tuple[str, ...] = ()
    distribution: str = ""
    debian: tuple[str, str] | None = None
    build: tuple[str, ...] = (BUILD,)
    paths: tuple[str, ...] = (".",)
    needs: tuple[str, ...] = ()
    is_edited: bool = True
    differences: tuple[Expected, ...] = ()


def _replace(path: Path, pattern: str, text: str, count: int = 0) -> None:
    """Replace what a pattern has in a file. Raises SystemExit if it is not there."""
    after, times = re.subn(pattern, text, path.read_text(), count=count, flags=re.DOTALL | re.MULTILINE)
    if not times:
        raise SystemExit(f"{path}: nothing is {pattern}")
    path.write_text(after)


def _edit_torchlpc(folder: Path) -> None:
    """Delete the registrations, whose kernels record gradients that only its classes of autograd in Python correct."""
    source = folder / "torchlpc/csrc/scan_cpu.cpp"
    _replace(source, r'extern "C" \{.*?\n\}\n\}\n', "")
    _replace(source, r"^TORCH_LIBRARY\w*\(.*?^\}\n", "")
    loading = "    from ._load import load_library\n\n    load_library()\n"
    _replace(folder / "torchlpc/__init__.py", r"    from \. import _C\n", loading)


def _edit_torchaudio(folder: Path) -> None:
    """Keep two kernels by hand, which record gradients themselves, and delete the definitions of their operators."""
    for name, source in (("forced_align", "forced_align/compute.cpp"), ("ray_tracing", "rir/ray_tracing.cpp")):
        by_hand = r"\1  manual_kernel_registration: True\n"
        _replace(folder / "torchaudio.yaml", rf"(^- func: {name}\([^\n]*\n)  dispatch: [^\n]*\n", by_hand)
        _replace(folder / "src/libtorchaudio" / source, r"^TORCH_LIBRARY_FRAGMENT\(.*?^\}\n", "")


def _edit_bitsandbytes(folder: Path) -> None:
    """Load the generated operators where their schemas stood."""
    loading = "import torch\n\nfrom bitsandbytes.operators._load import load_library\n\nload_library()\n"
    _replace(folder / "bitsandbytes/_ops.py", r"^import torch\n", loading, count=1)


def _edit_pytorch3d(folder: Path) -> None:
    """Leave the class of the module and its constants in one of their own, and let Python's have the old name."""
    csrc = folder / "pytorch3d/csrc"
    noted = re.findall(r": `([^`]+)` defines (`.*`), and several generated", (folder / "pytorch3d.yaml").read_text())
    for header, names in noted:
        for name in re.findall(r"\w+", names):
            _replace(csrc / header, rf"^(?=\w[\w:<>, ]*\s{name}\()", "inline ", count=1)
    for path in [path for path in csrc.rglob("*") if path.suffix in (".cpp", ".h")]:
        without_python = "#include <ATen/Parallel.h>\n#include <torch/types.h>"
        path.write_text(path.read_text().replace("#include <torch/extension.h>", without_python))
    source = csrc / "ext.cpp"
    _replace(source, r"^ *m\.def\(\s*\"[^;]*\);\n", "")
    _replace(source, r'^#include "(?!\./pulsar)[^\n]*\n', "")
    _replace(source, r"^PYBIND11_MODULE", "#include <torch/extension.h>\n\nPYBIND11_MODULE")
    (folder / "pytorch3d.py").rename(folder / "pytorch3d/_C.py")
    # Tests give it expanded tensors that it then leaves as they are, which calls show.
    shared = r"\g<0>  overlap: allowed\n"
    _replace(folder / "pytorch3d.yaml", r"^ *- func: points_to_volumes_backward\([^\n]*\n", shared)
    loading = "import torch\nfrom pathlib import Path\n\nfrom pytorch3d._pulsar import *\n\n"
    loading += 'torch.ops.load_library(Path(__file__).with_name("_operators.so"))\n'
    _replace(folder / "pytorch3d/_C.py", r"^import torch\n", loading, count=1)


_AUDIO: Final = "src/libtorchaudio"
_3D_TESTS: Final = (
    "ball_query",
    "blending",
    "compositing",
    "face_areas_normals",
    "graph_conv",
    "interpolate_face_attributes",
    "iou_box3d",
    "knn",
    "marching_cubes",
    "mesh_normal_consistency",
    "packed_to_padded",
    "point_mesh_distance",
    "points_to_volumes",
    "rasterize_meshes",
    "rasterize_points",
    "sample_farthest_points",
    "sample_pdf",
)
MOVES: Final = {
    "torchlpc": Move(
        sources=("torchlpc/csrc",),
        tests=("tests/test_extension.py",),
        loaded="torchlpc/_C*.so",
        edit=_edit_torchlpc,
        distribution="torchlpc==0.7.2",
        is_edited=False,
        differences=(
            Expected(
                r"lost: `torchlpc::lpc`: .*(the backward pass raises|with tangents)",
                2,
                "PyTorch's fallback records what the kernel does before and after it writes through pointers",
            ),
        ),
    ),
    "torchaudio": Move(
        sources=(*[f"{_AUDIO}/{name}" for name in ("lfilter.cpp", "overdrive.cpp", "rir", "rnnt", "forced_align")],),
        tests=(
            "test/torchaudio_unittest/functional/functional_cpu_test.py",
            "-k",
            "lfilter or overdrive or rnnt or forced_align",
        ),
        loaded="src/torchaudio/lib/_torchaudio*.so",
        ported=("src/torchaudio/lib/libtorchaudio.so", "src/torchaudio/lib/_torchaudio*.so"),
        edit=_edit_torchaudio,
        debian=("pytorch-audio", "2.6.0"),
        paths=("src", "test"),
        needs=("parameterized", "scipy"),
    ),
    # The sources of these are those of the repository, which has the tests: TREE names a copy.
    "pytorch3d": Move(
        sources=("pytorch3d/csrc",),
        tests=tuple([f"tests/test_{name}.py" for name in _3D_TESTS]),
        loaded="pytorch3d/_C*.so",
        ported=("pytorch3d/_operators.so", "pytorch3d/_pulsar*.so"),
        edit=_edit_pytorch3d,
        differences=(
            Expected(
                r"added: .*(under `vmap`|with fake tensors|compiled), it gives a result, and the original raises",
                29,
                "a function of a module takes no tensors of traces",
            ),
            Expected(
                r"lost: .*the backward pass raises .* is not implemented`, and the original gives gradients",
                2,
                "the original hands on gradients of arguments that it overwrites",
            ),
            Expected(
                r"lost: .*with arguments that require gradients, it raises .*a leaf Variable",
                1,
                "a schema says that calls write an argument, and some do not",
            ),
        ),
        needs=("iopath", "pillow"),
    ),
    "bitsandbytes": Move(
        sources=("bitsandbytes",),
        tests=("tests/test_ops.py",),
        loaded="bitsandbytes",
        edit=_edit_bitsandbytes,
        build=("cmake -DCOMPUTE_BACKEND=cpu -DCMAKE_BUILD_TYPE=Release -S . -B build", "cmake --build build"),
    ),
}
