"""The vendors whose wheels hold their inputs and what was generated from them."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NamedTuple

from tests.vendor_replay.compare import Difference, DifferenceKind

ROOT: Final = Path(__file__).parents[2]
PLUGINS: Final = ROOT / "examples" / "plugins" / "vendors"


class Group(NamedTuple):
    """Files that a report counts together: those of a folder of the wheel whose paths below it match a pattern."""

    title: str
    folder: str
    pattern: str

    def path(self, member: str) -> str:
        """The path of a member below the folder; empty if it is no file of the group."""
        path = member.removeprefix(self.folder) if member.startswith(self.folder) else ""
        return path if path and path.count("/") == self.pattern.count("/") and fnmatchcase(path, self.pattern) else ""


class Reason(NamedTuple):
    """Why something is other in the vendor's files: what kind of difference, in which files, of which names."""

    kinds: tuple[DifferenceKind, ...]
    path: str
    name: str
    text: str

    def explains(self, path: str, difference: Difference) -> bool:
        """Whether this is why a file has a difference."""
        named = fnmatchcase(difference.name, self.name)
        return difference.kind in self.kinds and fnmatchcase(path, self.path) and named


class Vendor(NamedTuple):
    """A vendor: its project at the package index, the plug-ins that read its inputs, and the files that are compared.

    `backend` is the member with the backend file; `inputs` are patterns of members that plug-ins read besides.
    `left_out` are members that are generated too, each with the reason why they are not compared.
    """

    name: str
    project: str
    versions: tuple[str, ...]
    plugins: tuple[str, ...]
    families: tuple[str, ...]
    backend: str
    include_folder: str
    groups: tuple[Group, ...]
    inputs: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()


_ATEN: Final = "torch_npu/include/torch_npu/csrc/aten/"
_SHIMS: Final = "torch_npu/include/torch_npu/csrc/inductor/aoti_torch/generated/"
_OUTSIDE: Final = "made from derivatives of op-plugin, which the wheel does not have"
_ONE_SIDE: Final = (DifferenceKind.ours, DifferenceKind.theirs, DifferenceKind.elsewhere)
_KERNELS: Final = "NPUNativeFunctions.h"
_EXPORTED: Final = "the macro that exports functions exports the class too"
_FREE_KERNEL: Final = "a function of op-plugin, declared because no header of op-plugin is named"
_OF_OP_PLUGIN: Final = ("_thnn_fused_gru_cell", "_empty_affine_quantized", "dequantize", "int_repr")

TORCH_NPU: Final = Vendor(
    "torch_npu",
    "torch-npu",
    ("2.13.0", "2.14.0", "2.12.0", "2.11.0", "2.10.0", "2.9.0"),
    ("torch_npu.py", "torch_npu_api.py"),
    ("backend", "torch_npu_api"),
    backend="torch_npu/csrc/aten/npu_native_functions_by_codegen.yaml",
    include_folder="torch_npu/csrc/aten/",
    inputs=("torchnpugen/aoti/fallback_ops.py",),
    groups=(
        Group("declarations of kernels", _ATEN, "NPUNativeFunctions.h"),
        Group("kernels of another library", _ATEN, "NPUOpApiNativeFunctions.h"),
        Group("structured kernels", _ATEN, "NPUStructuredNativeFunctions.h"),
        Group("custom functions", _ATEN, "CustomFunctions.h"),
        Group("custom functions, redispatch", _ATEN, "CustomRedispatch.h"),
        Group("headers per operator", _ATEN, "ops/*_npu_dispatch.h"),
        Group("headers of all operators", _ATEN, "NPUFunctions*.h"),
        Group("C shims", _SHIMS, "c_shim_npu.h"),
        Group("Python names", "torch_npu/utils/", "custom_ops.py"),
    ),
    reasons=(
        Reason(
            (DifferenceKind.parameter,),
            "*",
            "matmul_backward",
            "the vendor's program replaces PyTorch's schema in its code: `grad` is `grad_out` there",
        ),
        Reason(
            _ONE_SIDE, _KERNELS, "*structured_*", "structured kernels are in this header too, in a class of their own"
        ),
        Reason(_ONE_SIDE, _KERNELS, "impl", "structured kernels are in this header too, in a class of their own"),
        Reason(_ONE_SIDE, _KERNELS, "*_meta.h>", "what the structured kernels in this header derive from"),
        Reason(
            _ONE_SIDE,
            _KERNELS,
            "#*",
            "macros for kernel files, and headers that the vendor's program names in its code",
        ),
        Reason(_ONE_SIDE, _KERNELS, "struct * NPUNativeFunctions", _EXPORTED),
        Reason(_ONE_SIDE, _KERNELS, "struct NPUNativeFunctions", _EXPORTED),
        *[Reason((DifferenceKind.ours,), _KERNELS, name, _FREE_KERNEL) for name in _OF_OP_PLUGIN],
        Reason(
            (DifferenceKind.signature,),
            "*",
            "npu_view_copy",
            "kernels of other libraries return written arguments by value, where the name does not end in `_`",
        ),
        Reason(
            (DifferenceKind.default,),
            "*",
            "npu_add_rms_norm_dynamic_quant",
            "the schema's default of `output_mask` is an empty list, of which C++ would make an array of two items",
        ),
    ),
    left_out=(
        (f"{_ATEN}VariableType.h", _OUTSIDE),
        (f"{_ATEN}Functions.h", _OUTSIDE),
        (f"{_ATEN}python_functions.h", _OUTSIDE),
        (f"{_ATEN}variable_factories.h", "a copy of PyTorch's, which no input describes"),
    ),
)

VENDORS: Final = {vendor.name: vendor for vendor in (TORCH_NPU,)}
