"""Operators that are exempt from rules for entries of `native_functions.yaml`."""

from __future__ import annotations

from typing import Final

from opwright.release.name_table import NameMap, Names, NameTable

LONE_OUT_OVERLOADS: Final = NameTable(
    "Out overloads without a functional overload of the same signature.",
    Names(
        "adaptive_avg_pool3d_backward.grad_input _slow_conv2d_backward.grad_input",
        "Their names were given before the rule, and callers rely on them.",
    ),
    form="overload",
)

LONE_INPLACE_OVERLOADS: Final = NameTable(
    "In-place overloads without a functional overload of the same signature.",
    Names("polygamma_", "`polygamma(n, self)` takes the order first, `polygamma_(self, n)` takes it last."),
    form="overload",
)

SET_OPERATORS: Final = NameTable(
    "In-place views without an out-of-place form.",
    Names("set_", "It gives `self` another storage, so its result is no view of what `self` was."),
)

WITHOUT_TENSOR_RESULT: Final = NameTable(
    "Operators that return no tensor, so they cannot have an out overload.",
    Names(
        """_assert_async _assert_async.msg _assert_scalar _assert_tensor_metadata _linalg_check_errors _print
        _validate_compressed_sparse_indices record_stream sym_constrain_range sym_constrain_range_for_size""",
        "They are called for their effect and return nothing.",
    ),
    Names("_cummax_helper _cummin_helper", "They write to arguments and return nothing."),
    Names("_cslt_sparse_mm_search _fused_sdp_choice", "They return the number of an algorithm."),
    Names(
        """_dimI _dimV _nested_get_ragged_idx _nnz dense_dim q_per_channel_axis q_scale q_zero_point qscheme
        sparse_dim""",
        "They return a property of the tensor.",
    ),
    Names(
        """_has_same_storage_numel _nested_tensor_from_mask_left_aligned _use_cudnn_ctc_loss _use_cudnn_ctc_loss.Tensor
        allclose equal is_coalesced is_pinned is_same_size is_set_to""",
        "They return a truth value.",
    ),
    Names("_use_miopen_ctc_loss _use_miopen_ctc_loss.Tensor", "They return a truth value.", since="2.11"),
    Names("_local_scalar_dense", "It returns the tensor's only value as a number."),
    Names("_nested_tensor_storage_offsets", "PyTorch lists it, although it returns a tensor."),
    Names(
        "_chunk_grad_outputs_efficient_attention _sink_tokens",
        "PyTorch lists them; no release known has such operators.",
        absent=True,
    ),
    form="overload",
    listed_in=("FUNCTIONAL_OPS_THAT_CANNOT_GET_AN_OUT_VARIANT", "MUTABLE_OPS_THAT_CANNOT_GET_AN_OUT_VARIANT"),
)

UNSEEDED_DROPOUTS: Final = NameTable(
    "Operators named after dropout that draw no random numbers.",
    Names("_cudnn_init_dropout_state", "It makes the state that other operators draw from."),
)

UNSEEDED_PARTS: Final = NameTable(
    "Parts of the names of operators named after randomness that are not seeded by the global generator.",
    Names("_philox_", "Their numbers depend only on the key that they are given.", since="2.12"),
    form="part",
)

KEYWORD_ARGUMENTS: Final = NameMap(
    "Overloads with an argument that is named like a keyword of Python, and the name of the argument.",
    Names(
        "_has_compatible_shallow_copy_type random_.from uniform_",
        "The argument was named before the rule, and callers may pass it by name.",
        value="from",
    ),
    form="overload",
)
