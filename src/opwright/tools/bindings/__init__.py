"""Operators as data for bindings to other languages: a versioned JSON document with C++ and Python signatures."""

from __future__ import annotations
