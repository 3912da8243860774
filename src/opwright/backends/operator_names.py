"""Operators that backends outside PyTorch must know about, because PyTorch's own code relies on their kernels."""

from __future__ import annotations

from typing import Final

from opwright.release.name_table import NameMap, Names, NameTable
from opwright.release.operator_names.autograd import CHANGING_AUTOGRAD, OF_AUTOGRAD

NEEDED: Final = NameMap(
    "Operators that tensors of every device need, each with what raises NotImplementedError without a kernel.",
    Names(
        "empty.memory_format",
        "Factories and allocation of results call it.",
        value="`torch.empty` and every operator that allocates its result",
    ),
    Names(
        "empty_strided",
        "Copies and results that keep the strides of an argument are allocated with it.",
        value="`to`, `clone`, `empty_like`, and operators whose results keep the strides of an argument",
    ),
    Names(
        "_copy_from",
        "`copy_` calls it if either tensor is on a device that is not PyTorch's own.",
        value="`copy_`, `to`, `clone`, `contiguous`, and printing a tensor",
    ),
    Names(
        "_copy_from_and_resize",
        "The CPU fallback and wrappers of functional kernels write their results with it.",
        value="in-place and out overloads that copy the result of a functional kernel, and every fallback",
    ),
    Names(
        "resize_",
        "Out overloads resize their outputs with it.",
        value="`out=` with a tensor of another size",
    ),
    Names(
        "as_strided",
        "Most views of dense tensors are made by it.",
        value="indexing with slices, `transpose`, `expand`, `select` and most other views",
    ),
    Names("view", "Most changes of a shape end in it.", value="`view`, `reshape` and `flatten`"),
    Names("unfold", "It has a kernel for each device.", value="`Tensor.unfold`"),
    Names(
        "view_as_real view_as_complex", "They have a kernel for each device.", value="these views of complex numbers"
    ),
    Names("set_", "It empties a tensor.", value="`Tensor.set_` without an argument"),
    Names(
        "set_.source_Tensor", "It puts the storage of a tensor into another one.", value="`Tensor.set_` with a tensor"
    ),
    Names(
        "set_.source_Storage set_.source_Storage_storage_offset",
        "They put a storage into a tensor.",
        value="`Tensor.set_` with a storage, `torch.load` and `copy.deepcopy`",
    ),
    Names("_local_scalar_dense", "It reads a number.", value="`item()`, `bool(tensor)`, and printing a tensor"),
    form="overload",
)

BROKEN_BY_FALLBACK: Final = NameMap(
    "Operators that a CPU fallback cannot serve, each with what happens if they are left to it.",
    Names(
        "empty_strided",
        "The fallback allocates its results with it.",
        value="the process crashes at the first tensor: the fallback calls it without end",
    ),
    Names(
        "_copy_from",
        "The fallback copies its arguments with it.",
        value="the process crashes at the first copy to or from the device: the fallback calls it without end",
    ),
    Names(
        "resize_",
        "The fallback copies results into the tensors that an operator writes.",
        value="the process crashes at the first operator that resizes a tensor",
    ),
    Names(
        "_copy_from_and_resize",
        "The fallback writes its results with it, and the CPU has no kernel for it.",
        value="every fallback raises NotImplementedError, which names the CPU",
    ),
    Names(
        "set_.source_Tensor",
        "The fallback sets the storage of a copy.",
        value="`y.set_(x)` copies the values of `x` in place of sharing its memory, without an error",
    ),
    Names(
        "set_.source_Storage set_.source_Storage_storage_offset",
        "The fallback does not copy storages.",
        value="`Tensor.set_` with a storage raises an error, and so do `torch.load` and `copy.deepcopy`",
    ),
    form="overload",
)

INTEGRAL_COMPOSITES: Final = NameTable(
    "Operators made of others whose results have no gradient, so a kernel in their place loses none.",
    Names(
        "isclose isfinite isreal greater greater_equal less less_equal not_equal and or xor",
        "They return truth values, or combine bits.",
    ),
    Names("argsort argwhere nonzero_numpy", "They return indices."),
    Names("_dim_arange _shape_as_tensor linalg_matrix_rank one_hot", "They return integers."),
    Names("_cast_Byte _cast_Char _cast_Int _cast_Long _cast_Short", "They convert to integers."),
    form="root",
)

META_WITH_CUDA: Final = NameTable(
    "Operators whose kernel for Meta only builds of PyTorch with CUDA register.",
    Names("_cudnn_rnn_flatten_weight", "The source of its kernel for cuDNN registers the one for Meta too."),
    form="overload",
)

RARE_VIEWS: Final = NameTable(
    "Views with a kernel for each device that a device may do without.",
    Names("_nested_view_from_buffer", "It makes a nested tensor."),
    Names("_reshape_alias", "PyTorch itself no longer calls it."),
    form="overload",
)

RAISING_COMPOSITES: Final = NameTable(
    "Operators whose composite kernel does nothing but raise an error, so a device that uses them needs its own.",
    Names(
        "convolution_overrideable convolution_backward_overrideable",
        "Convolutions of devices outside PyTorch end in them.",
    ),
    Names(
        "_scaled_dot_product_fused_attention_overrideable _scaled_dot_product_fused_attention_overrideable_backward",
        "Devices outside PyTorch may choose them for attention.",
    ),
    form="overload",
)

COMPOSITES_OF_OWN_DEVICES: Final = NameTable(
    "Operators whose composite kernel raises an error on devices outside PyTorch.",
    Names("conj_physical_", "It looks for a kernel in a table by device, without the dispatcher."),
    form="overload",
)

LACKED_BY_CPU: Final = NameTable(
    "Operators that programs call on any device, of which PyTorch has kernels for CUDA and other GPUs alone.",
    Names(
        "mm.dtype mm.dtype_out addmm.dtype addmm.dtype_out bmm.dtype bmm.dtype_out baddbmm.dtype baddbmm.dtype_out",
        "`torch.mm` and others with `out_dtype` call them.",
        since="2.8",
    ),
    Names("_scaled_grouped_mm", "`torch.nn.functional.scaled_grouped_mm` calls it.", since="2.8"),
    Names("_scaled_grouped_mm_v2", "`torch.nn.functional.scaled_grouped_mm` calls it.", since="2.10"),
    Names("_convert_weight_to_int4pack _weight_int4pack_mm _mixed_dtypes_linear", "Quantized models call them."),
    Names(
        """_to_sparse_semi_structured _sparse_semi_structured_linear _sparse_semi_structured_mm
        _sparse_semi_structured_addmm _sparse_semi_structured_tile _sparse_semi_structured_apply
        _sparse_semi_structured_apply_dense""",
        "`torch.sparse.to_sparse_semi_structured` and its tensors call them.",
    ),
    Names("_fused_rms_norm_backward", "The gradient of `_fused_rms_norm` is in it.", since="2.9"),
    Names(
        "_philox_key_split _philox_key_fold_in _philox_normal_ _philox_uniform_",
        "Random numbers from keys come from them.",
        since="2.13",
    ),
    form="overload",
)

CALLED_ON_OTHER_DEVICES: Final = NameMap(
    "Composite operators that call another one on devices outside PyTorch, each with that operator.",
    Names(
        "convolution _convolution",
        "The choice of an implementation ends there.",
        value="convolution_overrideable",
    ),
    Names(
        "convolution_backward",
        "The choice of an implementation ends there.",
        value="convolution_backward_overrideable",
    ),
    Names("lstm_cell lstm.input lstm.data", "They have a fused cell there.", value="_thnn_fused_lstm_cell"),
    Names("gru_cell gru.input gru.data", "They have a fused cell there.", value="_thnn_fused_gru_cell"),
    form="overload",
)

_COMPUTES: Final = "The kernel allocates the result at most, and this operator computes it."

CALLED_BY_COMPOSITES: Final = NameMap(
    "Operators whose composite kernel needs one other operator on every device, each with that operator.",
    Names("abs abs_", _COMPUTES, value="abs.out"),
    Names("arange arange.start arange.start_step", _COMPUTES, value="arange.start_out"),
    Names("logical_not logical_not_", _COMPUTES, value="logical_not.out"),
    Names("logical_xor logical_xor_", _COMPUTES, value="logical_xor.out"),
    Names("logical_and logical_and_", _COMPUTES, value="logical_and.out"),
    Names("logical_or logical_or_", _COMPUTES, value="logical_or.out"),
    Names("complex", _COMPUTES, value="complex.out"),
    Names("polar", _COMPUTES, value="polar.out"),
    Names("cummax", _COMPUTES, value="cummax.out"),
    Names("cummin", _COMPUTES, value="cummin.out"),
    Names("eye eye.m", _COMPUTES, value="eye.m_out"),
    Names("nan_to_num nan_to_num_", _COMPUTES, value="nan_to_num.out"),
    Names("ldexp_", _COMPUTES, value="ldexp.out"),
    Names("linspace", _COMPUTES, value="linspace.out"),
    Names("logspace", _COMPUTES, value="logspace.out"),
    Names("logcumsumexp", _COMPUTES, value="_logcumsumexp"),
    Names("logsumexp", _COMPUTES, value="logsumexp.out"),
    Names("mv", _COMPUTES, value="addmv_"),
    Names("mvlgamma_", _COMPUTES, value="mvlgamma.out"),
    Names("rad2deg rad2deg_", _COMPUTES, value="rad2deg.out"),
    Names("deg2rad deg2rad_", _COMPUTES, value="deg2rad.out"),
    Names("rand rand.generator", _COMPUTES, value="uniform_"),
    Names("randint randint.generator randint.low randint.low_generator", _COMPUTES, value="random_.from"),
    Names("randn randn.generator", _COMPUTES, value="normal_"),
    Names("randperm randperm.generator", _COMPUTES, value="randperm.generator_out"),
    Names("range.step range", _COMPUTES, value="range.out"),
    Names("full ones", _COMPUTES, value="fill_.Scalar"),
    Names("stack", _COMPUTES, value="cat"),
    Names("frexp.Tensor", _COMPUTES, value="frexp.Tensor_out"),
    Names("bitwise_left_shift_.Tensor_Scalar", _COMPUTES, value="bitwise_left_shift.Tensor_out"),
    Names("bitwise_right_shift_.Tensor_Scalar", _COMPUTES, value="bitwise_right_shift.Tensor_out"),
    Names("cholesky_solve", _COMPUTES, value="_cholesky_solve_helper"),
    Names("polygamma_", _COMPUTES, value="polygamma.out"),
    Names("huber_loss_backward", _COMPUTES, value="huber_loss_backward.out"),
    Names("soft_margin_loss", _COMPUTES, value="soft_margin_loss.out"),
    Names("linalg_lstsq", _COMPUTES, value="linalg_lstsq.out"),
    form="overload",
)


#: Dispatch key -> the operators with a kernel that is registered by hand, in place of a generated one.
BY_HAND: Final = {
    "Autograd": NameTable(
        "Operators with an autograd kernel in `VariableTypeManual.cpp`.", CHANGING_AUTOGRAD, form="overload"
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
        OF_AUTOGRAD,
        CHANGING_AUTOGRAD,
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


HIDDEN_KERNELS: Final = NameTable(
    "Kernels that the main library does not export.",
    Names(
        "_grouped_mm is_vulkan_available rms_norm_composite rms_norm_symint",
        "Their source files do not include the header that declares them with the export macro.",
    ),
    form="kernel",
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
