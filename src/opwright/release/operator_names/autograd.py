"""Operators that derivatives, autograd's emitters and tracing treat specially."""

from __future__ import annotations

from typing import Final

from opwright.release.name_table import NameMap, Names, NameTable

TRACED_BY_CALLEES: Final = NameTable(
    "Operators that get no tracing kernel, so that a trace shows the operators that they call.",
    Names(
        "convolution conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d",
        "A trace records `_convolution`, the operator that every convolution calls.",
    ),
    Names("lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell", "A trace records the matrix products of a cell."),
    Names("_coalesced", "It has no meaning in a graph: it only marks its result as coalesced."),
    form="root",
)

RECORDED_AS: Final = NameMap(
    "In-place operators without functional form, each with the operator that a trace records in its place.",
    Names("zero", "`zero_` does not read its argument's values, so it makes a new tensor.", value="zeros_like"),
    Names("fill", "`fill_` does not read its argument's values, so it makes a new tensor.", value="full_like"),
    form="root",
)

DERIVATIVE_OF_INPLACE: Final = NameTable(
    "Operators over lists that take the derivative of an in-place operator.",
    Names("_foreach_zero_", "`zero_` has no functional form with a derivative."),
    form="overload",
)

WITH_SYMBOLIC_FORM: Final = NameTable(
    "Operators with a form for symbolic integers, for formulas of libraries, whose catalogs lack PyTorch's schemas.",
    Names(
        """as_strided broadcast_to expand full narrow new_empty new_full new_ones new_zeros ones pad repeat reshape
        select slice split sum_to_size unflatten view zeros""",
        "They take sizes, strides or offsets, which are symbolic where shapes are dynamic.",
    ),
)

WITH_ONE_TENSOR: Final = NameTable(
    "Operators over lists with one tensor argument that applies to all items.",
    Names(
        "_foreach_add.Tensor _foreach_mul.Tensor _foreach_div.Tensor",
        "The tensor holds one number, so its name replaces the argument's in the formula.",
    ),
    form="overload",
)

WITHOUT_ALPHA: Final = NameTable(
    "Operators over lists without the last argument, `alpha`, of the operator that they apply to each item.",
    Names(
        """_foreach_add.Scalar _foreach_add.ScalarList _foreach_add_.Scalar _foreach_add_.ScalarList
        _foreach_sub.Scalar _foreach_sub.ScalarList _foreach_sub_.Scalar _foreach_sub_.ScalarList""",
        "The caller can multiply the numbers by `alpha`, which therefore is 1.",
    ),
    form="overload",
)

VIEWS: Final = NameMap(
    "Operators whose outputs are views that autograd tracks, each with the argument that is the base.",
    Names(
        """numpy_T alias as_strided diagonal expand permute select slice slice_inverse split split_with_sizes squeeze t
        transpose unfold unsqueeze flatten view unbind _indices _values indices values crow_indices col_indices
        ccol_indices row_indices _reshape_alias _test_autograd_multiple_dispatch_view""",
        "The kernel calls `as_view`; a schema's annotations alone do not say that the output always is a view.",
        value="self",
    ),
    Names(
        "sparse_coo_tensor_with_dims_and_tensors",
        "PyTorch lists it without the `_` that the operator's name begins with, so the operator is no such view.",
        value="values",
        absent=True,
    ),
    Names(
        """view_as_complex view_as_real _conj _neg_view _nested_get_values _nested_view_from_buffer
        _nested_view_from_jagged""",
        "They are in `DTYPE_CHANGING_VIEWS` too.",
        value="self",
    ),
    form="root",
    listed_in=("VIEW_FUNCTIONS", "VIEW_FUNCTIONS_WITH_METADATA_CHANGE"),
    value="self",
)

DTYPE_CHANGING_VIEWS: Final = NameTable(
    "Views that `as_strided` cannot replay, so autograd always keeps their view function.",
    Names("view_as_complex view_as_real", "They change the dtype."),
    Names("_conj _neg_view", "They set a bit of the tensor, not a size or a stride."),
    Names("_nested_get_values _nested_view_from_buffer _nested_view_from_jagged", "They change the layout."),
    form="C++ name",
    listed_in=("VIEW_FUNCTIONS_WITH_METADATA_CHANGE",),
)

COMPOSED_VIEWS: Final = NameTable(
    "Operators made of views, whose outputs are views of `self` or, for some inputs, copies.",
    Names(
        """chunk detach contiguous reshape reshape_as expand_as view_as real imag narrow movedim tensor_split swapdims
        swapaxes mT mH adjoint matrix_H""",
        "The operators that they call make the views, so their own kernels only have to know the base.",
    ),
    form="root",
)

STORAGE_OF_BASE: Final = NameMap(
    "Further operators whose results share the storage of an argument, which debug builds check.",
    Names("_unsafe_view", "Its schema hides that the result is a view.", value="self"),
    form="root",
)

REPLACES_TENSORS: Final = NameTable(
    "Operators whose arguments may have another tensor or storage after the call, so debug builds do not compare them.",
    Names("set_", "It sets the storage of `self`."),
    Names("_cudnn_rnn_flatten_weight", "It moves the weights into one buffer."),
    Names(
        "_unsafe_masked_index _unsafe_masked_index_put_accumulate",
        "Their kernels may replace the storage of an argument.",
    ),
    form="C++ name",
    listed_in=("DONT_ENFORCE_SAME_TENSOR_IMPL_OR_STORAGE",),
)

_OTHER_OWNERS: Final = (
    Names("_embedding_bag _embedding_bag_forward_only", "They may return an input as a result."),
    Names("q_per_channel_scales q_per_channel_zero_points", "They return tensors that the quantizer keeps."),
    Names("lu_unpack", "It returns an input if one of the results is not asked for."),
    Names("_cudnn_rnn_backward _cudnn_rnn", "They may return an input as a result."),
    Names("dequantize_self", "It returns `self` if `self` is of type float."),
    Names("lift lift_fresh lift_fresh_copy", "They return `self`, wrapped or not."),
    Names(
        "_nested_tensor_size _nested_tensor_strides _nested_tensor_storage_offsets",
        "They return tensors that the nested tensor keeps.",
    ),
)

SHARED_RESULTS: Final = NameTable(
    "Kernels whose results others may hold already, so debug builds do not check their use count.",
    *_OTHER_OWNERS,
    form="unambiguous",
    listed_in=("DONT_ENFORCE_TENSOR_IMPL_USE_COUNT",),
)

SHARED_STORAGES: Final = NameTable(
    "Kernels whose results may share a storage with others, so debug builds do not check its use count.",
    *_OTHER_OWNERS,
    Names("_slow_conv2d_forward slow_conv3d_forward", "They may return a buffer that shares its storage."),
    Names("channel_shuffle", "It may return a view of its input."),
    form="unambiguous",
    listed_in=("DONT_ENFORCE_TENSOR_IMPL_USE_COUNT", "DONT_ENFORCE_STORAGE_IMPL_USE_COUNT"),
)

NEVER_DIFFERENTIATED: Final = NameTable(
    "Operators without a derivative whose outputs never require a gradient, so no error is recorded for them.",
    Names(
        """empty_like ones_like full_like zeros_like rand_like randn_like new_empty new_empty_strided new_full new_zeros
        new_ones""",
        "They read only the shape and the dtype of their input.",
    ),
    Names(
        "__and__ __iand__ __ilshift__ __ior__ __irshift__ __ixor__ __lshift__ __or__ __rshift__ __xor__",
        "They take integers and truth values.",
    ),
    Names(
        "_sobol_engine_draw _sobol_engine_ff _sobol_engine_scramble_ _sobol_engine_initialize_state_",
        "They draw quasi-random numbers.",
    ),
    Names("_coalesced_", "It only marks its argument as coalesced."),
    Names("quantize_per_tensor quantize_per_channel", "Quantized values have no gradient."),
    Names("argmax argmin argsort searchsorted bucketize", "They return indices."),
    Names(
        "isnan isposinf isneginf isinf signbit isin allclose logical_and logical_xor logical_not logical_or",
        "They return truth values.",
    ),
    Names("record_stream", "It returns nothing."),
    Names(
        "_nested_tensor_size _nested_tensor_strides _nested_tensor_storage_offsets",
        "They return sizes and offsets.",
    ),
    form="root or C++ name",
)

FOREACH_WITHOUT_DERIVATIVES: Final = NameTable(
    "In-place operators over lists that have no derivatives to take over from the operator that they repeat.",
    Names(
        """_foreach_maximum_.Scalar _foreach_maximum_.ScalarList _foreach_minimum_.Scalar
        _foreach_minimum_.ScalarList""",
        "`maximum` and `minimum` take tensors only.",
    ),
    Names(
        "_foreach_addcdiv_.Tensor _foreach_addcmul_.Tensor",
        "They take the scalars as one tensor, which `addcdiv` and `addcmul` do not.",
    ),
    Names("_foreach_copy_", "`copy_` has hand-written autograd kernels and no entry in `derivatives.yaml`."),
    form="overload",
)

#: Those with a kernel for all keys that is written by hand, and those with kernels for single keys.
OF_AUTOGRAD: Final = Names(
    "data set_data is_leaf output_nr _version retain_grad _backward requires_grad_",
    "They read or change autograd's own data; their kernels for the backends are hand-written too.",
)
CHANGING_AUTOGRAD: Final = Names(
    "resize_ resize_as_ detach detach_ copy_ _fw_primal _make_dual",
    "Their kernels change autograd's data in ways that no formula describes.",
)

HAND_WRITTEN: Final = NameTable(
    "Operators whose kernels for Autograd and Tracer are written and registered by hand.",
    OF_AUTOGRAD,
    Names("options", "PyTorch lists it; no release known has such an operator.", absent=True),
    CHANGING_AUTOGRAD,
    form="C++ name",
)

RESHAPED_IN_PLACE: Final = NameTable(
    "In-place operators after which the gradient is accumulated in a tensor of another shape.",
    Names("set_ resize_", "They may change the size of `self`."),
    listed_in=("RESET_GRAD_ACCUMULATOR",),
)
