"""`native_functions.yaml`: operators, the overloads that follow from them, and their groups."""

from __future__ import annotations
