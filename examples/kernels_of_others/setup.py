"""Builds the kernels; pyproject.toml has everything else."""

from opwright.setuptools import operator_library
from setuptools import setup

setup(**operator_library("acme_npu", yaml="acme_npu.yaml", sources=["csrc/kernels.cpp"]))
