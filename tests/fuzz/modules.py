"""Texts of the dialects that are Python modules or templates, which are damaged to fuzz their loaders."""

from __future__ import annotations

from opwright.dialects.stub_templates import SLOTS

#: A declaration of a kernel compiled ahead of time.
NATIVE_AOT_MODULE = """\
import math

ATEN_OP = "add.Tensor"
DISPATCH_KEY: str = "CUDA"
KERNEL_MODULE = "kernels.py"
UNCONDITIONAL = True
SIZES = tuple(2**n for n in range(math.ceil(3.2)))
"""

#: The tables of operators with a C shim.
SHIM_TABLES_MODULE = """\
inductor_fallback_ops: dict[str, dict[str, dict[str, list[str]]]] = {
    "aten._adaptive_avg_pool2d.default": {},
    "aten.cumsum.default": {"v2": {"new_args": ["alpha"]}},
}
aten_shimified_ops: dict[str, dict[str, str]] = {
    "aten.fill_.Scalar": {},
    "aten.narrow.default": {"since": "TORCH_VERSION_2_10_0"},
}
"""

MODULES = {"native_aot": [NATIVE_AOT_MODULE], "shim_tables": [SHIM_TABLES_MODULE]}

#: Templates of stub files, all with the same slots.
TEMPLATES = ["".join(f"${{{slot}}}\n" for slots in SLOTS.values() for slot in slots) + "def f() -> None: ...\n"]

#: Dialect -> the files of PyTorch that a damaged text stands for.
MEMBERS = {"stub_templates": tuple(SLOTS)}

#: Settings of `opwright check`.
SETTINGS = [
    """\
[project]
name = "acme"

[tool.opwright.check]
files = ["acme/*.yaml"]
torch = "2.13.0"
ignore = ["W1119", "E03"]
extend-select = ["W2212", 'W22']
select = ["ALL"]
fail-on = "error"

[tool.opwright.check.per-file-ignores]
"acme/old_*.yaml" = ["W2216"]
"""
]
