"""`tags.yaml`: the tags that entries of `native_functions.yaml` may have."""

from __future__ import annotations
