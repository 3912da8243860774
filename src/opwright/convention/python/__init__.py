"""The Python convention: what Python callers pass, and how it reaches the C++ API.

The argument parser reads signatures as strings and parses the arguments of a call; a lambda then takes the parsed
values as C++ values. Tensor options are separate and include `requires_grad`; several outs are one list.
"""

from __future__ import annotations
