"""Builds the device; pyproject.toml has everything else."""

from __future__ import annotations

from glob import glob

from opwright.setuptools import backend
from setuptools import setup

setup(
    **backend(
        "torch_acme",
        yaml="acme.yaml",
        sources=sorted(glob("csrc/**/*.cpp", recursive=True)),
        include_dirs=["csrc"],
        depends=glob("csrc/*/*.h"),
        # The example compiles in about a minute. Kernels that people use deserve -O3, which is the default.
        extra_compile_args=["-O1", "-Wno-interference-size", "-Wno-maybe-uninitialized"],
    )
)
