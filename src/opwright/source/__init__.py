"""Text with spans, diagnostics and their renderers, and YAML nodes with spans."""

from __future__ import annotations
