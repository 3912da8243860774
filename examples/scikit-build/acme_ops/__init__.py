"""An operator library that CMake builds."""

from __future__ import annotations

from acme_ops._load import load_library

load_library()

from acme_ops._ops import *  # noqa: E402, F403
from acme_ops._ops import __all__ as __all__  # noqa: E402
