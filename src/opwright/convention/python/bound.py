"""Which overloads Python gets from the generator, and in which module."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from opwright.convention import cpp
from opwright.convention.derived import per_function
from opwright.model.native_function import NativeFunction

#: C++ names of operators whose binding is written by hand, is an attribute, or that Python is not to have.
_UNBOUND: Final = frozenset(
    (
        # Attributes of tensors, and what they are made of.
        "data", "dim", "get_device", "is_cuda", "is_leaf", "is_sparse", "is_sparse_csr", "itemsize", "mH", "mT",
        "matrix_H", "nbytes", "numel", "numpy_T", "output_nr", "retains_grad", "size", "storage_offset", "stride",
        "sym_is_contiguous", "sym_numel", "sym_size", "sym_storage_offset", "sym_stride", "_version",
        # Written by hand, for arguments that the parser does not know.
        "contiguous", "copy_", "index", "is_contiguous", "item", "nonzero", "nonzero_numpy", "nonzero_out",
        "requires_grad_", "set_", "set_data", "tensor", "to",
        # Parts of others, for C++ alone.
        "alias", "copy", "copy_sparse_to_sparse_", "fake_quantize_per_channel_affine_cachemask",
        "fake_quantize_per_tensor_affine_cachemask", "fill.Scalar", "fill.Tensor", "index_out", "normal_functional",
        "replace_", "slice", "unique_dim_consecutive", "_batch_norm_no_update", "_batch_norm_with_update",
        "_batch_norm_with_update_out", "_foreach_copy", "_fw_primal", "_has_same_storage_numel", "_local_scalar_dense",
        "_new_zeros_with_same_feature_meta", "_reshape_alias", "_reshape_copy", "_reshape_copy_out", "_sparse_add_out",
        "_sparse_dense_add_out", "_to_copy", "_to_copy_out", "_unsafe_view",
    )
)  # fmt: skip

#: The same for whole families: how their names begin ...
_UNBOUND_BEGINNINGS: Final = (
    "lift", "range", "_cholesky", "_cumprod", "_cumsum", "_inverse", "_prod", "_qr", "_range", "_solve", "_sparse_div",
    "_sparse_mul", "_sparse_sub", "_sum", "_svd", "_th_", "_thnn_", "_triangular_solve",
)  # fmt: skip

#: ... how they end ...
_UNBOUND_ENDINGS: Final = (
    "_backward", "_backward_bias", "_backward_input", "_backward_out", "_backward_weight", "_forward", "_forward_out",
    "_jvp", "_overrideable",
)  # fmt: skip

#: ... or what is in them.
_SPARSE_FACTORY: Final = re.compile("_?sparse_(?:coo|compressed|csr|csc|bsr|bsc)_tensor")

#: Overloads that Python does without: a number is taken by the overload for tensors.
_UNBOUND_SCHEMAS: Final = {
    "add.Scalar": "add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    "add_.Scalar": "add_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)",
    "sub.Scalar": "sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    "sub_.Scalar": "sub_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)",
    "mul.Scalar": "mul.Scalar(Tensor self, Scalar other) -> Tensor",
    "mul_.Scalar": "mul_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
    "div.Scalar": "div.Scalar(Tensor self, Scalar other) -> Tensor",
    "div_.Scalar": "div_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
}


def is_bound_name(name: str) -> bool:
    """Whether operators of a C++ name get a Python binding.

    >>> [is_bound_name(name) for name in ("add", "tanh_backward", "size", "_sparse_coo_tensor_unsafe")]
    [True, False, False, False]
    """
    return not (
        name in _UNBOUND
        or name.startswith(_UNBOUND_BEGINNINGS)
        or name.endswith(_UNBOUND_ENDINGS)
        or _SPARSE_FACTORY.match(name) is not None
    )


@per_function
def is_bound(function: NativeFunction) -> bool:
    """Whether an overload gets a Python binding.

    Synthesized overloads do not, since they are slower than what they stand for; copying forms of views had one before
    they were synthesized.
    """
    if "generated" in function.tags and "view_copy" not in function.tags:
        return False
    if not is_bound_name(cpp.name(function.schema)):
        return False
    without = _UNBOUND_SCHEMAS.get(function.name.text)
    return without is None or without != str(function.schema)


class PythonModule(NamedTuple):
    """A module with generated functions.

    `name` is its name for users, `key` what entries call it (`python_module`, None for the main one), `variable` the
    C++ variable of its object.
    """

    name: str
    key: str | None
    variable: str


TORCH: Final = PythonModule("torch", None, "THPVariableFunctionsModule")
NN: Final = PythonModule("torch.nn", "nn", "THPNNVariableFunctionsModule")
FFT: Final = PythonModule("torch.fft", "fft", "THPFFTVariableFunctionsModule")
LINALG: Final = PythonModule("torch.linalg", "linalg", "THPLinalgVariableFunctionsModule")
NESTED: Final = PythonModule("torch.nested", "nested", "THPNestedVariableFunctionsModule")
SPARSE: Final = PythonModule("torch.sparse", "sparse", "THPSparseVariableFunctionsModule")
SPECIAL: Final = PythonModule("torch.special", "special", "THPSpecialVariableFunctionsModule")

#: Stands for the methods of tensors, which are no module.
TENSOR_METHODS: Final = PythonModule("torch.Tensor", None, "THPVariableClass")

#: All of them, the methods first.
MODULES: Final = (TENSOR_METHODS, TORCH, NN, FFT, LINALG, NESTED, SPARSE, SPECIAL)


def is_in_module(function: NativeFunction, module: PythonModule) -> bool:
    """Whether an overload belongs to a module, or is a method of tensors."""
    if function.python_module != module.key:
        return False
    if module is TENSOR_METHODS:
        return function.method
    return function.function or module is not TORCH
