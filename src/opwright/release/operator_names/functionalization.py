"""Operators that functionalization treats specially."""

from __future__ import annotations

from typing import Final

from opwright.release.name_table import Names, NameTable

__all__ = ["NOT_FUNCTIONALIZED"]

NOT_FUNCTIONALIZED: Final = NameTable(
    "Operators that write to arguments and are not functionalized, since no functional form follows from their schema.",
    Names(
        "_cummax_helper _cummin_helper _slow_conv2d_backward.grad_input adaptive_avg_pool3d_backward.grad_input",
        "Their callers pass all outputs, and a composite operator around them is functionalized.",
    ),
    Names("_fill_mem_eff_dropout_mask_", "It fills a buffer with a mask that depends on a seed."),
    Names("_flash_attention_forward_no_dropout_inplace", "It writes to optional outputs of the caller.", since="2.12"),
    Names("_cudnn_attention_forward_no_dropout_inplace", "It writes to optional outputs of the caller.", since="2.15"),
    Names("polygamma_", "Its functional form has its arguments in another order."),
    Names("record_stream", "It marks the storage of its argument and changes no value."),
    Names("resize_ resize_as_", "Hand-written kernels functionalize them."),
    form="overload",
)
