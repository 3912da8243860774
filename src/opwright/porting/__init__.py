"""Moves C++ kernels to PyTorch's stable headers: `opwright port`."""
