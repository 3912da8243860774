"""Reports of differences as text, as Markdown and as JSON."""

from __future__ import annotations
