"""The language server: what an editor asks about operator files, and the server that answers."""

from __future__ import annotations
