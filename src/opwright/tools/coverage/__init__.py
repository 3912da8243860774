"""Coverage of a backend: what runs for each operator on its device, whether gradients flow, and what breaks."""

from __future__ import annotations
