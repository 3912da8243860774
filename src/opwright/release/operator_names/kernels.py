"""Operators whose kernels PyTorch registers, exports or wraps in ways that their entries do not say."""

from __future__ import annotations

from typing import Final

from opwright.release.name_table import Names, NameTable

NULLABLE_RESULTS: Final = NameTable(
    "Operators whose callers may pass a null pointer for a result that they do not need.",
    Names(
        "convolution_backward _scaled_dot_product_fused_attention_overrideable",
        "Their masks turn off gradients that nobody needs.",
    ),
    Names(
        "grid_sampler_2d_backward grid_sampler_3d_backward linear_backward",
        "Their masks turn off gradients too.",
        since="2.9",
    ),
    Names(
        """_scaled_dot_product_cudnn_attention _scaled_dot_product_efficient_attention
        _scaled_dot_product_flash_attention""",
        "They return the state of the attention, which only the backward pass needs.",
    ),
    Names("_functional_sym_constrain_range", "It returns a token that only orders calls.", since="2.9"),
    Names(
        "_thhn_fused_lstm_cell_backward_impl",
        "PyTorch lists this misspelling of `_thnn_fused_lstm_cell_backward_impl`.",
        absent=True,
    ),
    form="part",
)


IN_MAIN_LIBRARY: Final = NameTable(
    "Kernels for CUDA that are defined in the main library.",
    Names(
        """NestedTensor_softmax_dropout_cuda _index_put_impl_quantized_cuda_ count_nonzero_cuda
        log_sigmoid_backward_cuda log_sigmoid_backward_cuda_out masked_fill__quantized_cuda
        triton_multi_head_attention""",
        "Their source files are compiled into the main library, which therefore exports them.",
    ),
    form="kernel",
    listed_in=("_CPU_DLL_CUDA_KERNELS",),
)
