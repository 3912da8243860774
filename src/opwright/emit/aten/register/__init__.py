"""`Register{Key}.cpp`: for each backend the wrappers of its kernels, and their registration with the dispatcher."""

from __future__ import annotations
