"""Operators that the C shims treat specially."""

from __future__ import annotations

from typing import Final

from opwright.release.name_table import Names, NameTable

__all__ = ["NULLABLE_RESULTS"]

NULLABLE_RESULTS: Final = NameTable(
    "Operators whose callers may pass a null pointer for a result that they do not need.",
    Names(
        """convolution_backward grid_sampler_2d_backward grid_sampler_3d_backward linear_backward
        _scaled_dot_product_fused_attention_overrideable""",
        "Their masks turn off gradients that nobody needs.",
    ),
    Names(
        """_scaled_dot_product_cudnn_attention _scaled_dot_product_efficient_attention
        _scaled_dot_product_flash_attention""",
        "They return the state of the attention, which only the backward pass needs.",
    ),
    Names("_functional_sym_constrain_range", "It returns a token that only orders calls."),
    Names(
        "_thhn_fused_lstm_cell_backward_impl",
        "PyTorch lists this misspelling of `_thnn_fused_lstm_cell_backward_impl`.",
        absent=True,
    ),
    form="part",
)
