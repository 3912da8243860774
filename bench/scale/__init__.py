"""How costs grow with the number of operators: of libraries, of backends, and of PyTorch's own file."""

from __future__ import annotations
