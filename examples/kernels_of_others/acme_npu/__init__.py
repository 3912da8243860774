"""Kernels for operators of acme on the device npu."""

from acme_npu._load import load_library

load_library()
