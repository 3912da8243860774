"""The sections of a backend file about lazy tensors: `full_codegen`, `ir_gen` and `non_native`."""

from __future__ import annotations
