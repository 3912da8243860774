"""Backends outside PyTorch: what PyTorch's `gen_backend_stubs` makes of their files, and what Opwright does."""
