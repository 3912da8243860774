"""The tests under every Python that is found: `make test-pythons`."""

from __future__ import annotations
