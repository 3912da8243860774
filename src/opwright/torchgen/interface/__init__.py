"""What the Python interface of PyTorch's generator consists of, as values over Opwright's model.

The modules that importers name (`opwright.torchgen.model`, `opwright.torchgen.api`) give these values out.
"""

from __future__ import annotations
