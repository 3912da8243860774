"""The formats of coverage reports. Each module has a function `render(report, records)` that returns the text."""

from __future__ import annotations
