"""Calling conventions under the names of `torchgen.api`."""

from __future__ import annotations
