"""Bytecode files: the upgraders of old mobile models, and the operators that they are for."""

from __future__ import annotations
