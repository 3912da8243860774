"""Operators that the Python bindings or the stub files of torch treat specially."""

from __future__ import annotations

from typing import Final

from opwright.release.name_table import NameMap, Names, NameTable

WITHOUT_GENERATED_HINTS: Final = NameTable(
    "Python functions and methods without generated hints in the stub files of torch.",
    Names(
        """atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors cartesian_prod cdist chain_matmul einsum
        meshgrid norm split stft tensordot unique_consecutive""",
        "Users call the functions of `torch/functional.py` and the methods of `torch/_tensor.py`, which have hints.",
    ),
    Names("align_tensors", "`torch/functional.py` has it; named tensors were removed in 2.13.", until="2.13"),
    Names(
        "add add_ sub sub_ mul mul_ div div_ true_divide true_divide_ floor_divide floor_divide_",
        "The argument parser takes numbers for their tensors, so their hints are hand-written.",
    ),
    Names(
        """add_out sub_out mul_out div_out true_divide_out floor_divide_out device grad requires_grad __new__
        __init_subclass__ __subclasshook__""",
        "PyTorch lists them; no release known has operators of these names.",
        absent=True,
    ),
    Names("to _to_copy copy_ range", "Their bindings are hand-written."),
)

UNBOUND: Final = NameTable(
    "Operators without a generated Python binding.",
    Names(
        """data is_leaf mH mT matrix_H numpy_T output_nr retains_grad size stride sym_is_contiguous sym_numel sym_size
        sym_storage_offset sym_stride _version""",
        "They are attributes or hand-written methods of `torch.Tensor`.",
    ),
    Names(
        "dim get_device numel storage_offset",
        "They are hand-written methods of `torch.Tensor`; these releases have operators of the same names.",
        since="2.12",
    ),
    Names(
        "is_cuda is_sparse is_sparse_csr itemsize nbytes",
        "They are attributes of `torch.Tensor`; PyTorch lists them, but no release known has such operators.",
        absent=True,
    ),
    Names(
        "contiguous copy_ index item nonzero nonzero_numpy requires_grad_ set_ set_data to",
        "Their bindings are hand-written, for arguments that the argument parser does not know.",
    ),
    Names(
        "is_contiguous",
        "Its binding is hand-written; these releases have an operator of the same name.",
        since="2.12",
    ),
    Names("nonzero_out", "Its binding is hand-written, in `nonzero`."),
    Names("tensor", "Its binding is hand-written; no release known has an operator of the same name.", absent=True),
    Names(
        """alias copy copy_sparse_to_sparse_ fake_quantize_per_channel_affine_cachemask
        fake_quantize_per_tensor_affine_cachemask index_out normal_functional slice unique_dim_consecutive
        _batch_norm_no_update _batch_norm_with_update _batch_norm_with_update_out _foreach_copy _fw_primal
        _has_same_storage_numel _local_scalar_dense _new_zeros_with_same_feature_meta _reshape_alias _reshape_copy
        _to_copy _to_copy_out _unsafe_view""",
        "Other operators call them; users call those.",
    ),
    Names(
        "replace_ _reshape_copy_out _sparse_add_out _sparse_dense_add_out",
        "PyTorch lists them; no release known has C++ functions of these names.",
        absent=True,
    ),
    form="C++ name",
)

UNBOUND_PREFIXES: Final = NameTable(
    "Beginnings of the names of operators without a generated Python binding.",
    Names("lift", "Functionalization calls them."),
    Names("range", "Its binding is hand-written."),
    Names("_cholesky _thnn_", "They are parts of other operators."),
    Names(
        """sparse_coo_tensor sparse_compressed_tensor sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor
        sparse_bsc_tensor""",
        "Their bindings are hand-written, because they take data as `torch.tensor` does.",
    ),
    Names(
        """_sparse_coo_tensor _sparse_compressed_tensor _sparse_csr_tensor _sparse_csc_tensor _sparse_bsr_tensor
        _sparse_bsc_tensor""",
        "They are parts of the hand-written bindings.",
    ),
    Names(
        """_cumprod _cumsum _inverse _prod _qr _range _solve _sparse_div _sparse_mul _sparse_sub _sum _svd _th_
        _triangular_solve""",
        "PyTorch lists them for parts of operators that older releases had; no release known has such operators.",
        absent=True,
    ),
    form="prefix",
)

UNBOUND_SUFFIXES: Final = NameTable(
    "Ends of the names of operators without a generated Python binding.",
    Names("_backward _backward_out _backward_input", "Only derivative formulas call them."),
    Names(
        "_backward_bias _backward_weight",
        "PyTorch lists them for convolutions that older releases had; no release known has such operators.",
        absent=True,
    ),
    Names("_forward _forward_out", "The operators that users call call them."),
    Names("_jvp", "Only formulas of forward derivatives call them."),
    Names("_overrideable", "Backends outside PyTorch register kernels for them; users call another operator."),
    form="suffix",
)

_TAKEN_AS_TENSOR: Final = "The overload for tensors takes numbers too."

UNBOUND_SCHEMAS: Final = NameMap(
    "Overloads without a generated Python binding as long as they have this schema.",
    Names("add.Scalar", _TAKEN_AS_TENSOR, value="add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"),
    Names(
        "add_.Scalar",
        _TAKEN_AS_TENSOR,
        value="add_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)",
    ),
    Names("sub.Scalar", _TAKEN_AS_TENSOR, value="sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"),
    Names(
        "sub_.Scalar",
        _TAKEN_AS_TENSOR,
        value="sub_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)",
    ),
    Names("mul.Scalar", _TAKEN_AS_TENSOR, value="mul.Scalar(Tensor self, Scalar other) -> Tensor"),
    Names("mul_.Scalar", _TAKEN_AS_TENSOR, value="mul_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)"),
    Names("div.Scalar", _TAKEN_AS_TENSOR, value="div.Scalar(Tensor self, Scalar other) -> Tensor"),
    Names("div_.Scalar", _TAKEN_AS_TENSOR, value="div_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)"),
    form="overload",
)

CALLED_WITHOUT_KEYWORDS: Final = NameTable(
    "Operators whose keyword-only arguments `annotated_fn_args.py` leaves out.",
    Names("diagonal round round_ scatter_", "Their overloads differ in these arguments."),
)
