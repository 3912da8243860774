"""`derivatives.yaml`: derivative formulas, and the functions that use them."""

from __future__ import annotations
