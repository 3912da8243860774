"""What `setup.py` of a library with CUDA is, for a PyTorch that may be built without CUDA."""

from __future__ import annotations

import os
import re
import subprocess

import torch
from setuptools import setup
from torch.utils import cpp_extension

from opwright.setuptools import operator_library

CUDA_HOME = os.environ["CUDA_HOME"]

if torch.version.cuda is None:
    version = subprocess.run([f"{CUDA_HOME}/bin/nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    cpp_extension.CUDA_HOME = CUDA_HOME
    torch.version.cuda = re.findall(r"release ([\d.]+)", version)[0]

    compile_extensions = cpp_extension.BuildExtension.build_extensions

    def build_extensions(command: cpp_extension.BuildExtension) -> None:
        """Build without what the linker would find in PyTorch's libraries for CUDA."""
        for extension in command.extensions:
            extension.extra_link_args.remove("-Wl,--no-undefined")
        compile_extensions(command)

    cpp_extension.BuildExtension.build_extensions = build_extensions

ABI = os.environ["ABI"]
setup(
    name="acme-cuda",
    packages=["acme_cuda"],
    **operator_library(
        "acme_cuda",
        yaml=f"{ABI}.yaml",
        sources=[f"csrc/{ABI}.cpp", f"csrc/{ABI}_cuda.cu"],
    ),
)
