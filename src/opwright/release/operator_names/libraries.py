"""Where kernels are that do not follow from their dispatch key, and what came to operators that were there before."""

from __future__ import annotations

from typing import Final

from opwright.release.name_table import NameMap, Names, NameTable

__all__ = ["HIDDEN_KERNELS", "IN_MAIN_LIBRARY", "LATER_OVERLOADS", "WHOLE_OVERLOAD"]

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
