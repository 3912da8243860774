"""`python -m opwright.torchgen.executorch` generates the files of ExecuTorch's kernels."""

from __future__ import annotations

from opwright.cli.streams import leave
from opwright.torchgen.executorch.gen import main

if __name__ == "__main__":
    leave(main)
