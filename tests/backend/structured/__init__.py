"""Structured kernels of backends, compiled and called."""
