"""Files that people write and keep: changed as a whole or not at all, and read as an editor has them."""

from __future__ import annotations
