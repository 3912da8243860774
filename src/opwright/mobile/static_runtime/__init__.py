"""Code of static runtime, an interpreter of TorchScript for servers: its generated operators and their tests."""

from __future__ import annotations
