"""Files of ExecuTorch: registrations of kernels that take boxed values, and the headers around them."""

from __future__ import annotations
