"""Whether a release could go out: `make release-check`."""

from __future__ import annotations
