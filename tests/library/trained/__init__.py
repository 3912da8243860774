"""A library whose operators train: built with the native and with the stable C++ interface."""

from __future__ import annotations
