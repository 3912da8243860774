"""Emitters: from the catalog to the text of files, one module per family of files."""

from __future__ import annotations
