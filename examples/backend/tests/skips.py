"""Operators of PyTorch's list that are not compared with the CPU, each with the reason."""

from __future__ import annotations

from typing import Final

_UNINITIALIZED: Final = "the elements of its result have no values yet"
_MISSING: Final = "the device has no kernel for it"
_CUDA: Final = "it is only for CUDA devices"
_SAMPLES: Final = "PyTorch's samples for it have two types"

SKIPS: Final = {
    "empty": _UNINITIALIZED,
    "empty_like": _UNINITIALIZED,
    "empty_permuted": _UNINITIALIZED,
    "empty_strided": _UNINITIALIZED,
    "jiterator_2inputs_2outputs": _CUDA,
    "jiterator_4inputs_with_extra_args": _CUDA,
    "jiterator_binary": _CUDA,
    "jiterator_binary_return_by_ref": _CUDA,
    "jiterator_unary": _CUDA,
    "new_empty": _UNINITIALIZED,
    "new_empty_strided": _UNINITIALIZED,
    "nn.FractionalMaxPool2d": _SAMPLES,
    "nn.FractionalMaxPool3d": _SAMPLES,
    "sparse.mm.reduce": _MISSING,
    "tensor_split": "its indices must be a tensor of the CPU",
}

# How much results may differ from those of the CPU, where it is more than for other operators, or for those in a type.
TOLERANCES: Final = {
    # The CPU has a kernel that adds in another order.
    "nn.functional.scaled_dot_product_attention": 5e-3,
    "linalg.householder_product, complex64": 1e-3,
    "pca_lowrank, complex64": 5e-3,
    "svd_lowrank, complex64": 5e-3,
    # The CPU rounds once, and the device after each of several operators.
    "native_group_norm, bfloat16": 0.5,
    "native_group_norm, float16": 0.1,
    "nn.functional.group_norm, bfloat16": 0.5,
    "nn.functional.group_norm, float16": 0.1,
    "nn.functional.layer_norm, bfloat16": 0.2,
    "nn.functional.linear_cross_entropy.chunked_none, bfloat16": 0.3,
    "nn.functional.linear_cross_entropy.chunked_none, float16": 0.1,
}

# Tests of PyTorch's that cannot pass on the device: patterns of their names, and what they ask of it.
UPSTREAM: Final = {
    r"distributed/\w+::\w+::test_ignored_output\w*": "labels on the CPU",
    r"distributed/\w+::\w+::test_gloo_backend_cpu_module\w*": "a model on the CPU",
    r"distributed/\w+::\w+::test_init_process_group_for_all_backends": "no group of Python but PyTorch's own",
    r"distributed/\w+::\w+::test_(get_backend|monitored_barrier\w*)": "a backend with the name `gloo`",
    r"test_binary_ufuncs::\w+::test_fmod_remainder_by_zero_integral_\w+": "a remainder by zero as CUDA gives it",
    r"test_binary_ufuncs::\w+::test_type_promotion__refs_copysign": "a number, in a reference for the CPU alone",
    r"test_nn::\w+::test_upsamplingBiMode2d_nonsupported_dtypes_\w+_uint8": "an error for what the CPU computes",
    r"test_foreach::\w+::test_parity__foreach_pow_slowpath_inplace_complex64": "what it skips on the CPU as flaky",
    r"test_linalg::\w+::test_linalg_lstsq_input_checks_\w+": "an error of CUDA's kernel",
    r"test_nn::\w+::test_transformerencoderlayer_\w+": "numbers where the fast path of the CPU gives NaN",
    r"test_scatter_gather_ops::\w+::test_scatter(__reductions|_reduce_prod)_complex\d+": "the bits of another kernel",
    r"test_sort_and_select::\w+::test_stable_sort_against_numpy_\w+": "indices on the CPU",
    r"test_sparse::\w+::test_print_(un)?coalesced_\w+": "texts that name other devices",
    r"test_torch::\w+::test_grad_scaler_deprecated_warning": "a warning of the CPU's scaler that names the device",
    r"test_torch::\w+::test_(grad_scaling_state_dict|tensor_storage_type_\w+)": "the classes of tensors of the CPU",
}
