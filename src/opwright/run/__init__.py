"""A run, from the request to files on disk; shared by the programs and the library."""

from __future__ import annotations
