"""Conventions of ExecuTorch under the names of `torchgen.executorch.api`."""

from __future__ import annotations
