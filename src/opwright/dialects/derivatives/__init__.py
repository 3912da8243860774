"""`derivatives.yaml`: formulas of derivatives, and which function takes which."""

from __future__ import annotations
