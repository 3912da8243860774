"""How much one file may ask for. Inputs may come from strangers: a service that checks pull requests reads them.

Each limit is far above what PyTorch has, so that only damaged or hostile files meet one.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "COMPARISONS",
    "DEPTH",
    "ERRORS",
    "FILE_BYTES",
    "REMARKS",
    "SCALAR_CHARACTERS",
    "SHOWN",
    "SUGGESTIONS",
    "YAML_EVENTS",
]

#: The bytes of an input file. PyTorch's largest has 0.7 million.
FILE_BYTES: Final = 16_000_000

#: The events of a YAML file: one for each scalar and alias, two for each list and mapping. PyTorch has 50,000.
YAML_EVENTS: Final = 500_000

#: How deep lists and mappings of a YAML file may nest. PyTorch's nest 3 deep.
DEPTH: Final = 100

#: The characters of one YAML scalar. PyTorch's longest has 3,000.
SCALAR_CHARACTERS: Final = 20_000

#: A run stops after so many errors.
ERRORS: Final = 1_000

#: A run keeps so many warnings and notes.
REMARKS: Final = 1_000

#: A report shows so many diagnostics.
SHOWN: Final = 100

#: After a sink is made, so many words are searched for the nearest name, each in thousands of others ...
SUGGESTIONS: Final = 100

#: ... but with so many comparisons in all, of which each may take 50 microseconds.
COMPARISONS: Final = 200_000
