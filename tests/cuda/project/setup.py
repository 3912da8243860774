"""Builds the operators of the interface that the variable ABI names."""

from __future__ import annotations

import os

from setuptools import setup

from opwright.setuptools import operator_library

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
