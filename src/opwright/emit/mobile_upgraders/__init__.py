"""The C++ source with the upgraders of old mobile models."""

from __future__ import annotations
