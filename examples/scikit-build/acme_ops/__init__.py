"""An operator library that CMake builds."""

from __future__ import annotations

from pathlib import Path

import torch

torch.ops.load_library(Path(__file__).with_name("_C.so"))

from acme_ops._ops import *  # noqa: E402, F403
from acme_ops._ops import __all__ as __all__  # noqa: E402
