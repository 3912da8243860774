"""Upgraders of old models: their file of bytecode, and the C++ tables that PyTorch mobile compiles."""

from __future__ import annotations
