"""Emitters of autograd's files."""

from __future__ import annotations
