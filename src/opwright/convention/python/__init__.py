"""The Python convention: what a Python caller passes, and how it reaches the C++ API.

A call goes through the argument parser, which knows signatures as strings, and then through a lambda that takes the
parsed values as C++ values. Tensor options are apart, `requires_grad` is one of them, several outs are one list.
"""

from __future__ import annotations
