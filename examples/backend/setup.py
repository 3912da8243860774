"""Builds the device; pyproject.toml has everything else."""

from __future__ import annotations

import subprocess
import sys
from glob import glob

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

GENERATED = "build/generated"

subprocess.run(
    [sys.executable, "-m", "opwright", "generate", "--backend", "acme.yaml", "--torch", "auto", "--out", GENERATED],
    check=True,
)
setup(
    ext_modules=[
        CppExtension(
            "torch_acme._C",
            [*sorted(glob("csrc/*/*.cpp")), f"{GENERATED}/RegisterAcme.cpp"],
            include_dirs=[f"{sys.path[0]}/{GENERATED}", f"{sys.path[0]}"],
            extra_compile_args=["-g0", "-O1", "-Wno-interference-size"],
        )
    ],
    cmdclass={"build_ext": BuildExtension.with_options(no_python_abi_suffix=True)},
)
