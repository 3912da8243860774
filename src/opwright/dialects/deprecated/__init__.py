"""`deprecated.yaml`: signatures that Python still accepts."""

from __future__ import annotations
