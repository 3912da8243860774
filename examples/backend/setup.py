"""Builds the device; pyproject.toml has everything else."""

from __future__ import annotations

from glob import glob
from importlib.util import find_spec

from opwright.setuptools import backend
from setuptools import setup

# The headers of PyTorch's profiler.
(PYTORCH,) = find_spec("torch").submodule_search_locations
KINETO = f"{PYTORCH}/include/kineto"
# What PyTorch's headers are warned of.
WARNINGS = ["-Wno-interference-size", "-Wno-maybe-uninitialized"]

setup(
    **backend(
        "torch_acme",
        yaml="acme.yaml",
        sources=sorted(glob("csrc/**/*.cpp", recursive=True)),
        include_dirs=["csrc", KINETO],
        depends=glob("csrc/*/*.h"),
        # Loops over elements become vectors.
        extra_compile_args=["-O1", "-ftree-vectorize", *WARNINGS],
    )
)
