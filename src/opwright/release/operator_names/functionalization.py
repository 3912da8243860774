"""Operators that functionalization or the plumbing of vmap treats specially."""

from __future__ import annotations

from typing import Final

from opwright.release.name_table import NameMap, Names, NameTable

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
    listed_in=(
        "MUTABLE_OPS_NOT_USING_FUNCTIONALIZATION",
        "OUT_OPS_THAT_DONT_GET_GROUPED_PROPERLY",
        "MUTABLE_OPS_THAT_CANNOT_GET_AN_OUT_VARIANT",
        "INPLACE_OPS_THAT_DONT_GET_GROUPED_PROPERLY",
    ),
)

REGISTERED_BY_HAND: Final = NameTable(
    "Operators whose kernels for functionalization are written and registered by hand.",
    Names("lift lift_fresh", "They put a tensor into a functional wrapper."),
    Names("resize_", "It may need a larger storage, which a view of the old one cannot have."),
    Names("set_.source_Tensor", "It replaces the storage of `self`, so the link to its base ends."),
    form="overload",
)

CUMULATIVE_OUT: Final = NameTable(
    "Out overloads whose functional form would choose another dtype than that of the out tensor.",
    Names("cumsum.out cumprod.out", "The functional form widens integers unless it is given a dtype."),
    Names("cumsum.dimname_out cumprod.dimname_out", "They do the same for a named dimension.", until="2.13"),
    form="overload",
    listed_in=("CUMULATIVE_OUT_OPS_PRESERVING_OUT_DTYPE",),
)

SINGLE_OUTPUTS: Final = NameMap(
    "Views with several outputs, with the statements that make one of them; `{}` is `_copy` for the copying form.",
    Names(
        "split.Tensor",
        "Each output is a slice.",
        value="""\
    // split() chunk `i` is base[i * split_size : (i + 1) * split_size] along dim,
    // and slice clamps the end, which gives the short final chunk for free.
    auto start = split_size * out_index;
    return at::_ops::slice{}_Tensor::call(base, dim, start, start + split_size, 1);""",
    ),
    Names(
        "split_with_sizes",
        "Each output is a slice, which starts where the outputs before it end.",
        value="""\
    c10::SymInt start = 0;
    for (int64_t i = 0; i < out_index; ++i) {{
      start += split_sizes[i];
    }}
    return at::_ops::slice{}_Tensor::call(base, dim, start, start + split_sizes[out_index], 1);""",
    ),
    Names(
        "unbind.int",
        "Each output is one index of the dimension.",
        value="    return at::_ops::select{}_int::call(base, dim, out_index);",
    ),
    form="overload",
)
