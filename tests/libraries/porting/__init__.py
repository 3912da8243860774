"""Kernels moved to PyTorch's stable headers."""
