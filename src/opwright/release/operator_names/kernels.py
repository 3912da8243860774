"""Operators whose kernels PyTorch registers, exports or wraps in ways that their entries do not say."""

from __future__ import annotations

from typing import Final

from opwright.release.name_table import NameMap, Names, NameTable

__all__ = [
    "BY_HAND",
    "HIDDEN_KERNELS",
    "IN_MAIN_LIBRARY",
    "LATER_OVERLOADS",
    "NOT_UPGRADED",
    "NULLABLE_RESULTS",
    "WHOLE_OVERLOAD",
]


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


HIDDEN_KERNELS: Final = NameTable(
    "Kernels that the main library does not export.",
    Names(
        "_grouped_mm is_vulkan_available rms_norm_composite rms_norm_symint",
        "Their source files do not include the header that declares them with the export macro.",
    ),
    form="kernel",
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

#: The text of an overload that is newer as a whole.
WHOLE_OVERLOAD: Final = "*"

LATER_OVERLOADS: Final = NameMap(
    "Functional overloads that are newer than their operator, and those with newer arguments, which the texts name.",
    Names(
        "_flash_attention_forward.quantized _scaled_dot_product_flash_attention.quantized",
        "Attention takes scales for inputs of 8 bits.",
        value=WHOLE_OVERLOAD,
        since="2.11",
    ),
    Names("_flash_attention_forward", "Keys and values may be in pages.", value="block_table num_splits", since="2.12"),
    Names("_scaled_dot_product_attention_math_for_mps", "Heads may be shared.", value="enable_gqa", since="2.12"),
    Names("_philox_key_fold_in.Tensor", "The data may be a tensor.", value=WHOLE_OVERLOAD, since="2.14"),
    Names("_cudnn_attention_forward", "Keys and values may be in pages.", value="seqused_k block_table", since="2.14"),
    form="overload",
)


#: Dispatch key -> the operators with a kernel that is registered by hand, in place of a generated one.
BY_HAND: Final = {
    "Autograd": NameTable(
        "Operators with an autograd kernel in `VariableTypeManual.cpp`.",
        Names(
            "_fw_primal _make_dual copy_ detach detach_ resize_ resize_as_",
            "They change autograd's data in ways that no formula describes.",
        ),
        form="overload",
    ),
    "ADInplaceOrView": NameTable(
        "Operators that count versions and make views in `VariableTypeManual.cpp`.",
        Names(
            "_fw_primal _make_dual copy_ detach resize_ resize_as_",
            "They change autograd's data in ways that no formula describes.",
        ),
        form="overload",
    ),
    "Tracer": NameTable(
        "Operators with a kernel, or none, for tracing in `TraceTypeManual.cpp`.",
        Names(
            """_backward _fw_primal _make_dual _version copy_ data detach detach_ is_leaf output_nr requires_grad_
            resize_ resize_as_ retain_grad set_data""",
            "They read or change autograd's own data.",
        ),
        form="overload",
    ),
    "Functionalize": NameTable(
        "Operators with a kernel in `FunctionalizeFallbackKernel.cpp`.",
        Names("lift lift_fresh lift_fresh_copy", "They put a tensor into a functional wrapper."),
        Names("resize_", "It may need a larger storage, which a view of the old one cannot have."),
        Names("set_.source_Tensor", "It replaces the storage of `self`, so the link to its base ends."),
        Names("_to_copy", "A copy to a device that is functionalized anyway is no functional tensor."),
        Names("_unsafe_view", "Its result is a view for functionalization."),
        form="overload",
    ),
}


NOT_UPGRADED: Final = NameTable(
    "Operators whose upgraders are left out.",
    Names("full full.out", "PyTorch waits for a change of their schemas."),
    Names("full.names", "PyTorch waits for a change of its schema.", until="2.13"),
    form="overload",
)
