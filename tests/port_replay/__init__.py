"""Kernels of others, moved to PyTorch's stable headers, compiled and compared: `make port-replay`."""
