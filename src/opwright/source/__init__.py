"""Text with spans, diagnostics and their renderers, and YAML as nodes that keep their spans."""

from __future__ import annotations
