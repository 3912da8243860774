"""What an operator is: the records that `opwright explain` prints, as text and as JSON."""

from __future__ import annotations
