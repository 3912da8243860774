"""Builds the operators for the frameworks that are installed."""

from __future__ import annotations

from setuptools import setup

from opwright.setuptools import operator_library

setup(
    **operator_library(
        "acme_views",
        yaml="operators.yaml",
        sources=["csrc/kernels.cpp"],
        depends=["derivatives.yaml"],
        tests="tests",
        fast_calls=True,
    )
)
