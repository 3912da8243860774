"""Drop-in programs for ExecuTorch: replace `executorch.codegen` with `opwright.torchgen.executorch`."""

from __future__ import annotations
