"""Builds the operators, for CUDA where PyTorch is."""

from __future__ import annotations

from pathlib import Path

import torch
from setuptools import setup

from opwright.setuptools import operator_library

WITH_CUDA = torch.version.cuda is not None
SOURCES = [path for path in sorted(Path("csrc").iterdir()) if path.suffix in (".cpp", *((".cu",) if WITH_CUDA else ()))]

setup(
    name="norms",
    packages=["norms"],
    **operator_library(
        "norms",
        yaml="operators.yaml",
        sources=list(map(str, SOURCES)),
        include_dirs=["csrc"],
        depends=["derivatives.yaml", "csrc/norm.cuh"],
        define_macros=[("WITH_CUDA", None)] if WITH_CUDA else [],
        extra_compile_args={"cxx": ["-O2"], "nvcc": ["-O3", "-lineinfo"]} if WITH_CUDA else ["-O2"],
        tests="tests",
        fast_calls="abi: stable" in Path("operators.yaml").read_text(encoding="utf-8"),
    ),
)
