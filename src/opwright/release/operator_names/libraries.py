"""Kernels whose library, or whether it exports them, does not follow from their dispatch key."""

from __future__ import annotations

from typing import Final

from opwright.release.name_table import Names, NameTable

__all__ = ["HIDDEN_KERNELS", "IN_MAIN_LIBRARY"]

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
