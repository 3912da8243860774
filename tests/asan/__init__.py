"""Calls of operators with changed arguments, whose kernels are built with AddressSanitizer."""
