"""Runs a script with its arguments as with a PyTorch for CUDA, also if PyTorch is built without CUDA."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys

import torch
from torch.utils import cpp_extension

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

runpy.run_path(sys.argv.pop(1), run_name="__main__")
