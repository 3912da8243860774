"""A run, from what is asked for to files on disk: what the programs and the library share."""

from __future__ import annotations
