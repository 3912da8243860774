"""Files that users write: of which kind each is, which fields it may have, and its canonical layout."""

from __future__ import annotations
