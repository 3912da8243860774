"""The command lines of PyTorch's own generator: in a build script, `torchgen` becomes `opwright.torchgen`."""

from __future__ import annotations
