"""The C++ model: types as interned values, bindings, signatures, translation."""

from __future__ import annotations
