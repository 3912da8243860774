"""Code around the operators of libraries outside PyTorch.

Fragments of `emit/aten` and `emit/autograd` make most of the text; the modules here decide which files it goes to.
"""

from __future__ import annotations
