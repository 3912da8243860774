"""Operators that the plumbing of vmap treats specially."""

from __future__ import annotations

from typing import Final

from opwright.release.name_table import Names, NameTable

__all__ = ["MIXED_RETURNS"]

MIXED_RETURNS: Final = NameTable(
    "Operators that get plumbing although they return more than tensors: the other values are passed on unchanged.",
    Names(
        "_scaled_dot_product_cudnn_attention _scaled_dot_product_flash_attention",
        "The sizes and the random state that they return have no batch dimension.",
    ),
    Names(
        "_scaled_dot_product_flash_attention_quantized",
        "The random state that it returns has no batch dimension.",
    ),
    form="unambiguous",
)
