"""The libraries of others that are built with Opwright, and what is written by hand for each.

docs/from-existing.md takes the same steps. Files and replacements are ours; nothing here is from the libraries.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["PORTS", "Edit", "Port"]

HERE: Final = Path(__file__).parent


class Edit(NamedTuple):
    """A replacement in a file of the library, wherever the pattern matches."""

    path: str
    pattern: str
    replacement: str


class Port(NamedTuple):
    """A library: its distribution, its package, and how it changes.

    `glue` are the files whose code the library file takes the place of, by patterns. Those of `removed` are deleted.
    `files` are texts that are written by hand, with their paths in the library, and so are the lines that edits put in.
    If they have the library file, it is what someone made from the imported one; if not, the imported one is built.
    `upstream` names the library of `tests.upstream` whose sources have its tests.
    """

    distribution: str
    package: str
    glue: tuple[str, ...]
    files: dict[str, str]
    edits: tuple[Edit, ...]
    removed: tuple[str, ...] = ()
    upstream: str = ""

    @property
    def library_file(self) -> str:
        """The name of the library file."""
        return f"{self.package}.yaml"


_SETUP: Final = """\
import os
from glob import glob

from opwright.setuptools import operator_library
from setuptools import setup

with_cuda = os.getenv("FORCE_CUDA", "0") == "1"
setup(
    name="{package}",
    version="{version}",
    **operator_library(
        "{package}",
        yaml="{package}.yaml",
        sources=[*glob("{sources}"), *glob("csrc/cpu/*.cpp"), *(glob("csrc/cuda/*.cu") if with_cuda else [])],
        include_dirs=["csrc"],
        define_macros=[("WITH_CUDA", None)] if with_cuda else [],
    ),
)
"""
#: The packages load a shared object for each source; now there is one.
LOADING: Final = Edit(
    "{package}/__init__.py",
    r"for library in \[.*?(?=\ncuda_version = )",
    'torch.ops.load_library(osp.join(osp.dirname(__file__), "_C.so"))\n',
)
SCATTER: Final = HERE / "torch_scatter"
_OPERATOR: Final = r"return (torch\.ops\.torch_scatter\.{names}\([^)]*\))"
_ONE: Final = r"return into(out, \1)"
_TWO: Final = "result, position = \\1\n    return into(out, result), position"
#: Operators return new tensors; the functions of the package write them to `out`.
_INTO: Final = """

def into(out: Optional[torch.Tensor], result: torch.Tensor):
    return result if out is None else out.copy_(result)
"""
_WRAPPED: Final = "dim = dim % src.dim()\n    index = broadcast(index, src, dim)\n    "


def _function_edits() -> tuple[Edit, ...]:
    """What the functions of torch-scatter do around operators."""
    scatter, segments = "torch_scatter/scatter.py", ("torch_scatter/segment_coo.py", "torch_scatter/segment_csr.py")
    edits = [
        Edit("torch_scatter/utils.py", r"^import torch\n", "from typing import Optional\n\nimport torch\n"),
        Edit("torch_scatter/utils.py", r"\Z", _INTO),
        Edit(scatter, r"import broadcast", "import broadcast, into"),
        Edit(scatter, _OPERATOR.format(names="scatter_mul"), _WRAPPED + _ONE),
        Edit(scatter, _OPERATOR.format(names="scatter_(?:min|max)"), _WRAPPED + _TWO),
        Edit(segments[0], r"(torch\.ops\.torch_scatter\.segment_mean_coo\([^)]*\))", r"into(out, \1[0])"),
    ]
    for path in segments:
        edits += [
            Edit(path, r"\nimport torch\n", "\nimport torch\n\nfrom .utils import into\n"),
            Edit(path, _OPERATOR.format(names=r"(?:segment_sum_\w+|segment_mean_csr|gather_\w+)"), _ONE),
            Edit(path, _OPERATOR.format(names=r"segment_(?:min|max)_\w+"), _TWO),
        ]
    return tuple(edits)


PORTS: Final = (
    Port(
        "torch-scatter==2.1.2",
        "torch_scatter",
        ("csrc/*.cpp", "csrc/scatter.h", "csrc/utils.h", "torch_scatter/placeholder.py"),
        {
            "torch_scatter.yaml": (SCATTER / "torch_scatter.yaml").read_text(),
            "derivatives.yaml": (SCATTER / "derivatives.yaml").read_text(),
            "csrc/kernels.cpp": (SCATTER / "kernels.cpp").read_text(),
            "csrc/gradients.h": (SCATTER / "gradients.h").read_text(),
            "setup.py": _SETUP.format(package="torch_scatter", version="2.1.2", sources="csrc/kernels.cpp"),
        },
        (
            LOADING._replace(replacement=LOADING.replacement + "from . import _fakes  # noqa\n"),
            *_function_edits(),
        ),
        ("csrc/*.cpp", "csrc/scatter.h", "csrc/utils.h", "torch_scatter/placeholder.py"),
        "scatter",
    ),
    Port(
        "torch-cluster==1.6.3",
        "torch_cluster",
        ("csrc/*.cpp", "csrc/cluster.h"),
        {"setup.py": _SETUP.format(package="torch_cluster", version="1.6.3", sources="csrc/*.cpp")},
        (
            LOADING,
            # The header declares functions that no source has.
            Edit("csrc/cluster.h", r"double ratio", "torch::Tensor ratio"),
            Edit(
                "csrc/cluster.h",
                r"torch::Tensor (ptr_[xy])(?=[^;]*, (?:int64_t k|double r))",
                r"torch::optional<torch::Tensor> \1",
            ),
            Edit("csrc/cluster.h", r"bool cosine\)", "bool cosine,\n                  int64_t num_workers)"),
            Edit(
                "csrc/cluster.h",
                r"int64_t max_num_neighbors\)",
                "int64_t max_num_neighbors,\n                     int64_t num_workers)",
            ),
        ),
    ),
)
