"""Code around the kernels of backends outside PyTorch.

The modules here decide which files the wrappers of `emit/aten/register` go to, and declare the kernels.
"""

from __future__ import annotations
