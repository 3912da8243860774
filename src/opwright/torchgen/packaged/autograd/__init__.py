"""Derivatives and the files of autograd."""

from __future__ import annotations
