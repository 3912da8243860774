"""Kernels of real kinds, right and wrong, which the generated tests accept and refuse."""
