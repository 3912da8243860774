"""Builds the operators; pyproject.toml has everything else. `ACME_ABI=stable` chooses PyTorch's stable C++ API."""

from __future__ import annotations

import os
from typing import Any

from opwright.setuptools import operator_library
from setuptools import setup

NATIVE: dict[str, Any] = {
    "yaml": "acme.yaml",
    "sources": ["csrc/images.cpp", "csrc/patches.cpp", "csrc/attention.cpp"],
    "include_dirs": ["csrc"],
    "depends": ["derivatives.yaml", "csrc/derivatives.h", "csrc/elementwise.h"],
}
STABLE: dict[str, Any] = {
    "yaml": "stable/acme.yaml",
    "sources": ["stable/kernels.cpp"],
    "depends": ["stable/derivatives.yaml"],
    # Calls that record no gradient go past Python under the release of PyTorch that builds the package.
    "fast_calls": True,
}

setup(**operator_library("acme", tests="tests", **(STABLE if os.environ.get("ACME_ABI") == "stable" else NATIVE)))
