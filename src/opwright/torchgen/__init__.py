"""Drop-in programs: they accept the command lines of PyTorch's generator.

In a build script, replace `torchgen` with `opwright.torchgen`.
"""

from __future__ import annotations
