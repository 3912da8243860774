"""What operator libraries cost: seconds to generate their code, and to compile it."""

from __future__ import annotations
