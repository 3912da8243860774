"""What the dispatcher runs for each operator on a device, and what breaks."""

from __future__ import annotations
