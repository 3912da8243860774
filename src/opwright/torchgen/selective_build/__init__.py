"""`torchgen.selective_build`: the operators that a selective build keeps."""

from __future__ import annotations
