"""Values that say all that they are."""

from __future__ import annotations


class Said:
    """A base for values whose representation, with the functions beside them, tells all that fragments may show.

    Files of earlier runs are compared by such representations.
    """

    __slots__ = ()
