"""Limits on the resources that one input may use.

Inputs may come from strangers, for instance when a service checks pull requests. Each limit is far above what PyTorch
needs, so only damaged or hostile files exceed it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

#: Bytes of an input file. PyTorch's largest has 0.7 million.
FILE_BYTES: Final = 16_000_000


#: Events of a YAML file: one for each scalar and alias, two for each list and mapping. PyTorch has 50,000, and 60,000
#: operators that say all that entries can say have 1,300,000.
YAML_EVENTS: Final = 1_500_000

#: Events that the aliases of a YAML file repeat.
YAML_REPEATED: Final = 500_000

#: Nesting depth of lists and mappings in a YAML file. PyTorch's is 3.
DEPTH: Final = 100


#: Characters of one YAML scalar. PyTorch's longest has 3,000.
SCALAR_CHARACTERS: Final = 20_000

#: Errors after which a run stops.
ERRORS: Final = 1_000

#: Warnings and notes that a run keeps.
REMARKS: Final = 1_000

#: Diagnostics that a report shows.
SHOWN: Final = 100

#: Names that a suggestion compares with a word. PyTorch has 3,100 overloads.
NAMES: Final = 5_000

#: Digits of a number that is read.
_DIGITS: Final = 18


def read_number(text: str) -> int | None:
    """Number that 1 to 18 ASCII digits spell; None for other texts, which excludes huge numbers.

    >>> read_number("042"), read_number("-1"), read_number("\\u00b2"), read_number("9" * 5000)
    (42, None, None, None)
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None
