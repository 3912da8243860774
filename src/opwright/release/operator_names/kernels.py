"""Operators whose kernels PyTorch registers, exports or wraps in ways that their entries do not say."""

from __future__ import annotations

from typing import Final

from opwright.release.name_table import NameMap, Names, NameTable

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


NOT_UPGRADED: Final = NameTable(
    "Operators whose upgraders are left out.",
    Names("full full.out", "PyTorch waits for a change of their schemas."),
    Names("full.names", "PyTorch waits for a change of its schema.", until="2.13"),
    form="overload",
)


_SEVERAL_PROCESSES: Final = "It is a part of batch normalization over several processes, and only CUDA has a kernel."

STAND_INS: Final = NameMap(
    "Operators that PyTorch calls on other devices only, each with the function that a fallback runs for it, if any.",
    Names(
        "convolution_overrideable convolution_backward_overrideable",
        "The CPU computes them under another name, which the function for all operators finds.",
        value="run_on_cpu",
    ),
    Names("conj_physical_", "Its composite kernel works on the CPU alone.", value="run_on_cpu"),
    Names("_thnn_fused_lstm_cell", "The CPU makes the cell of other operators.", value="fused_lstm_cell"),
    Names("_thnn_fused_lstm_cell_backward_impl", "It belongs to the cell.", value="fused_lstm_cell_backward"),
    Names("_thnn_fused_gru_cell", "The CPU makes the cell of other operators.", value="fused_gru_cell"),
    Names("_thnn_fused_gru_cell_backward", "It belongs to the cell.", value="fused_gru_cell_backward"),
    Names(
        "native_dropout",
        "The CPU's kernel takes no generator, and would draw from that of the CPU.",
        value="native_dropout",
    ),
    Names("_fused_dropout", "Only CUDA has a kernel for it.", value="fused_dropout"),
    Names("_masked_scale", "It belongs to the dropout.", value="masked_scale"),
    Names("batch_norm_stats", _SEVERAL_PROCESSES, value="batch_norm_stats"),
    Names("batch_norm_gather_stats", _SEVERAL_PROCESSES, value="batch_norm_gather_stats"),
    Names("batch_norm_gather_stats_with_counts", _SEVERAL_PROCESSES, value="batch_norm_gather_stats_with_counts"),
    Names("batch_norm_elemt", _SEVERAL_PROCESSES, value="batch_norm_elemt"),
    Names("batch_norm_elemt.out", _SEVERAL_PROCESSES, value="batch_norm_elemt_out"),
    Names("batch_norm_backward_reduce", _SEVERAL_PROCESSES, value="batch_norm_backward_reduce"),
    Names("batch_norm_backward_elemt", _SEVERAL_PROCESSES, value="batch_norm_backward_elemt"),
    form="overload",
)

UNDECLARED_WRITES: Final = NameMap(
    "Operators that write to arguments, though their schemas do not say so, each with the names of these.",
    Names(
        "native_batch_norm native_batch_norm.out batch_norm_update_stats",
        "They update the running statistics.",
        value="running_mean running_var",
    ),
    form="overload",
)
