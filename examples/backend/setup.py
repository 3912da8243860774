"""Builds the device; pyproject.toml has everything else."""

from __future__ import annotations

from glob import glob
from importlib.util import find_spec

from opwright.setuptools import backend
from setuptools import setup

# The headers of PyTorch's profiler.
(PYTORCH,) = find_spec("torch").submodule_search_locations
KINETO = f"{PYTORCH}/include/kineto"

setup(
    **backend(
        "torch_acme",
        yaml="acme.yaml",
        sources=sorted(glob("csrc/**/*.cpp", recursive=True)),
        include_dirs=["csrc", KINETO],
        depends=glob("csrc/*/*.h"),
        # The example compiles in about a minute. Kernels that people use deserve -O3, which is the default.
        extra_compile_args=["-O1", "-Wno-interference-size", "-Wno-maybe-uninitialized"],
    )
)
