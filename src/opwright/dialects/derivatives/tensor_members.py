"""Members of the types that formulas hold, besides the operators that are methods of tensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from opwright.source.diagnostic import Suggestion, did_you_mean

#: Public methods of `TensorBase` and `Tensor` that are no operators; those of scalars, lists and options.
MEMBERS: Final = frozenset(
    (
        "accessor", "at", "begin", "const_data_ptr", "contiguous", "cpu", "cuda", "data", "data_ptr", "defined",
        "device", "device_opt", "dim", "dtype", "dtype_opt", "element_size", "end", "equal", "expect_contiguous",
        "expect_int", "generic_packed_accessor", "getIntrusivePtr", "get_device", "grad", "grad_fn", "guard_int",
        "has_names", "has_storage", "hip", "index", "index_put_", "isBoolean", "isComplexType", "isFloatingType",
        "isIntegral", "isSignedType", "isSymbolic", "is_alias_of", "is_contiguous", "is_cpu", "is_cuda",
        "is_floating_point", "is_hpu", "is_inference", "is_ipu", "is_lazy", "is_leaf", "is_maia", "is_meta", "is_metal",
        "is_mkldnn", "is_mps", "is_mtia", "is_neg", "is_nested", "is_non_overlapping_and_dense", "is_quantized",
        "is_same", "is_sparse", "is_sparse_csr", "is_symbolic", "is_undefined", "is_variable", "is_vulkan", "is_xla",
        "is_xpu", "item", "itemsize", "key_set", "layout", "layout_opt", "maybe_as_int", "memory_format_opt", "meta",
        "mutable_data_ptr", "name", "names", "nbytes", "ndimension", "numel", "opt_names", "options", "output_nr",
        "packed_accessor32", "packed_accessor64", "pinned_memory", "push_back", "quantizer", "requires_grad",
        "requires_grad_", "reserve", "reset", "retain_grad", "scalar_type", "set_data", "set_requires_grad", "size",
        "sizes", "slice", "storage", "storage_offset", "stride", "strides", "suggest_memory_format",
        "sym_is_contiguous", "sym_nbytes", "sym_numel", "sym_size", "sym_sizes", "sym_storage_offset", "sym_stride",
        "sym_strides", "tensor_data", "to", "toBool", "toComplexDouble", "toComplexFloat", "toDouble", "toFloat",
        "toLong", "toString", "toSymBool", "toSymFloat", "toSymInt", "toBackend", "unsafeGetTensorImpl", "use_count",
        "value", "variable_data", "vec", "vulkan",
    )
)  # fmt: skip

#: Attributes of tensors in Python, each with what C++ says instead.
_OF_PYTHON: Final = {
    "shape": "write `sym_sizes()`, or `sym_size(0)` for one of them",
    "ndim": "write `dim()`",
    "T": "write `t()`",
    "mT": "write `transpose(-2, -1)`",
}


def member_help(name: str, functions: Iterable[str]) -> str | Suggestion:
    """What to write instead of a member that no tensor has."""
    return _OF_PYTHON.get(name, "") or did_you_mean(name, [*MEMBERS, *functions])
