"""Builds the operators; pyproject.toml has everything else."""

from __future__ import annotations

from opwright.setuptools import operator_library
from setuptools import setup

setup(
    **operator_library(
        "acme",
        yaml="acme.yaml",
        sources=["csrc/images.cpp", "csrc/patches.cpp", "csrc/attention.cpp"],
        include_dirs=["csrc"],
        tests="tests",
        depends=["derivatives.yaml", "csrc/derivatives.h", "csrc/elementwise.h"],
    )
)
