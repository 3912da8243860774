"""What results are is in the entries of the library file; a size that depends on values is registered from Python."""

from __future__ import annotations

import importlib

for name in ("extension", "_fakes"):
    importlib.import_module(f"torchvision.{name}")
