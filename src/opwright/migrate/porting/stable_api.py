"""What PyTorch's stable headers have in place of its other C++ API, and the first release that has each.

Source: the headers `torch/csrc/stable` and `torch/headeronly` in the wheels of 2.9 to 2.15. A release is the first one
whose headers have the name; a library is built with the headers of the oldest release that it serves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from opwright.schema.defaults import DTYPES
from opwright.source.records import NamedTuple

StableRelease = tuple[int, int]

#: What the headers of PyTorch for CUDA include.
CUDA_HEADER: Final = "cuda_runtime_api.h"
_TENSOR: Final = "torch/csrc/stable/tensor.h"
_OPS: Final = "torch/csrc/stable/ops.h"
_ACCELERATOR: Final = "torch/csrc/stable/accelerator.h"
_DEVICE: Final = "torch/csrc/stable/device.h"
_SCALAR_TYPE: Final = "torch/headeronly/core/ScalarType.h"
_DISPATCH: Final = "torch/headeronly/core/Dispatch_v2.h"
_ARRAY: Final = "torch/headeronly/util/HeaderOnlyArrayRef.h"
_EXCEPTION: Final = "torch/headeronly/util/Exception.h"


class StableName(NamedTuple):
    """A name of the stable headers: its text, its header, the first release with it, and the type of its values.

    The header is empty if the header of generated calls has the name.
    """

    text: str
    header: str = ""
    since: StableRelease = (2, 9)
    type: str = ""


class StableFunction(NamedTuple):
    """A function in place of an overload: its name, the parameters of the overload that it takes, and its release.

    A function that `needs_variable` takes its tensor as a reference that is not constant. One of `integers` takes no
    other numbers.
    """

    name: str
    parameters: tuple[str, ...]
    since: StableRelease = (2, 10)
    needs_variable: bool = False
    integers: bool = False


def names_of_dtypes() -> dict[str, str]:
    """The names of constants for dtypes, with the enumerators that they stand for.

    >>> names_of_dtypes()["kFloat"], names_of_dtypes()["kInt64"]
    ('Float', 'Long')
    """
    names = {f"k{name}": name for name in DTYPES.values()}
    bits = {"Byte": "UInt8", "Char": "Int8", "Short": "Int16", "Int": "Int32", "Long": "Int64"}
    bits |= {"Half": "Float16", "Float": "Float32", "Double": "Float64"}
    return names | {f"k{sized}": name for name, sized in bits.items()}


def _core(names: str, header: str, since: StableRelease, type: str = "") -> dict[str, StableName]:
    return {name: StableName(f"torch::headeronly::{name}", header, since, type) for name in names.split()}


#: Names of `at`, `c10` and `torch`, without these namespaces.
NAMES: Final[Mapping[str, StableName]] = {
    "Tensor": StableName("torch::stable::Tensor", _TENSOR),
    "autograd::Variable": StableName("torch::stable::Tensor", _TENSOR),
    "optional": StableName("std::optional", "optional"),
    "nullopt": StableName("std::nullopt", "optional", type="None"),
    "make_optional": StableName("std::make_optional", "optional"),
    "string_view": StableName("std::string_view", "string_view"),
    "IntArrayRef": StableName("torch::headeronly::IntHeaderOnlyArrayRef", _ARRAY, (2, 10)),
    "IntList": StableName("torch::headeronly::IntHeaderOnlyArrayRef", _ARRAY, (2, 10)),
    "ArrayRef": StableName("torch::headeronly::HeaderOnlyArrayRef", _ARRAY, (2, 10)),
    "TensorList": StableName("torch::headeronly::HeaderOnlyArrayRef<torch::stable::Tensor>", _TENSOR, (2, 10)),
    "OptionalIntArrayRef": StableName("std::optional<torch::headeronly::IntHeaderOnlyArrayRef>", _ARRAY, (2, 10)),
    **{
        name: StableName(f"stable_ops::{name}", since=(2, 10))
        for name in ("TensorArg", "CheckedFrom", "checkSameType", "checkAllSameType", "checkSameGPU", "checkAllSameGPU")
    },
    "ScalarType": StableName("torch::headeronly::ScalarType", _SCALAR_TYPE, type="ScalarType"),
    **{
        name: StableName(f"torch::headeronly::ScalarType::{dtype}", _SCALAR_TYPE, type="ScalarType")
        for name, dtype in names_of_dtypes().items()
    },
    **_core("toString", _SCALAR_TYPE, (2, 10)),
    **_core("CppTypeToScalarType", _SCALAR_TYPE, (2, 10), "ScalarType"),
    **_core("Half", "torch/headeronly/util/Half.h", (2, 9)),
    **_core("BFloat16", "torch/headeronly/util/BFloat16.h", (2, 9)),
    **_core("complex", "torch/headeronly/util/complex.h", (2, 9)),
    **{
        name: StableName(f"torch::headeronly::{name}", f"torch/headeronly/util/{name}.h")
        for name in ("Float8_e4m3fn", "Float8_e4m3fnuz", "Float8_e5m2", "Float8_e5m2fnuz", "Float8_e8m0fnu")
    },
    **_core(
        "DeviceType kCPU kCUDA kHIP kXPU kMPS kMeta kPrivateUse1",
        "torch/headeronly/core/DeviceType.h",
        (2, 10),
        "DeviceType",
    ),
    **_core("Layout kStrided kSparse", "torch/headeronly/core/Layout.h", (2, 10), "Layout"),
    **_core("MemoryFormat", "torch/headeronly/core/MemoryFormat.h", (2, 10), "MemoryFormat"),
    "Device": StableName("torch::stable::Device", _DEVICE, (2, 10)),
    "DeviceIndex": StableName("torch::stable::accelerator::DeviceIndex", _ACCELERATOR),
    "parallel_for": StableName("torch::stable::parallel_for", _OPS, (2, 10)),
    "get_num_threads": StableName("torch::stable::get_num_threads", _OPS, (2, 10), "int"),
    "get_thread_num": StableName("stable_ops::get_thread_num", since=(2, 10), type="int"),
    "internal::GRAIN_SIZE": StableName("stable_ops::GRAIN_SIZE", since=(2, 10), type="int"),
    "opmath_type": StableName("stable_ops::opmath_type", since=(2, 10)),
    "irange": StableName("c10::irange", "torch/headeronly/util/irange.h", (2, 15)),
    "cuda::getCurrentCUDAStream": StableName("stable_ops::current_cuda_stream", since=(2, 10), type="stream"),
    "cuda::CUDAStream": StableName("cudaStream_t", CUDA_HEADER),
    **{
        name: StableName("torch::stable::accelerator::DeviceGuard", _ACCELERATOR)
        for name in ("DeviceGuard", "OptionalDeviceGuard", "cuda::CUDAGuard", "cuda::OptionalCUDAGuard")
    },
}

#: Types of `NAMES` whose constructors give a value of a plain type.
CONSTRUCTED: Final = frozenset(("IntArrayRef", "IntList", "OptionalIntArrayRef", "Device", "Tensor"))

#: Macros, by the names that they have in other headers.
MACROS: Final[Mapping[str, StableName]] = {
    **{
        name: StableName("STD_TORCH_CHECK", _EXCEPTION)
        for name in ("TORCH_CHECK", "TORCH_INTERNAL_ASSERT", "AT_ASSERTM", "AT_ASSERT", "AT_CHECK")
    },
    "AT_DISPATCH_SWITCH": StableName("THO_DISPATCH_SWITCH", "torch/headeronly/core/Dispatch.h", (2, 10)),
    "AT_DISPATCH_CASE": StableName("THO_DISPATCH_CASE", "torch/headeronly/core/Dispatch.h", (2, 10)),
    "AT_DISPATCH_V2": StableName("THO_DISPATCH_V2", _DISPATCH, (2, 10)),
    **{
        name: StableName("STD_CUDA_CHECK", "torch/csrc/stable/macros.h", (2, 10))
        for name in ("AT_CUDA_CHECK", "C10_CUDA_CHECK")
    },
    **{
        name: StableName("STD_CUDA_KERNEL_LAUNCH_CHECK", "torch/csrc/stable/macros.h", (2, 10))
        for name in ("C10_CUDA_KERNEL_LAUNCH_CHECK", "AT_CUDA_KERNEL_LAUNCH_CHECK")
    },
}

#: Methods of tensors that stable tensors have with the same meaning: the type of the result, and the release.
FACTS: Final[Mapping[str, tuple[str, StableRelease]]] = {
    "dim": ("int", (2, 9)),
    "numel": ("int", (2, 9)),
    "sizes": ("int[]", (2, 10)),
    "strides": ("int[]", (2, 10)),
    "stride": ("int", (2, 9)),
    "size": ("int", (2, 9)),
    "is_contiguous": ("bool", (2, 9)),
    "is_cuda": ("bool", (2, 9)),
    "is_cpu": ("bool", (2, 9)),
    "defined": ("bool", (2, 9)),
    "storage_offset": ("int", (2, 10)),
    "element_size": ("int", (2, 10)),
    "get_device": ("int", (2, 9)),
    "get_device_index": ("int", (2, 9)),
    "scalar_type": ("ScalarType", (2, 9)),
    "device": ("Device", (2, 10)),
    "layout": ("Layout", (2, 11)),
    "data_ptr": ("other", (2, 9)),
    "mutable_data_ptr": ("other", (2, 10)),
    "const_data_ptr": ("other", (2, 10)),
}

#: Methods of tensors that have another name, without arguments.
METHODS: Final[Mapping[str, str]] = {
    "dtype": "scalar_type",
    "ndimension": "dim",
    "itemsize": "element_size",
    "type": "scalar_type",
    "sym_sizes": "sizes",
    "sym_numel": "numel",
}


def _function(
    name: str, parameters: str, since: StableRelease = (2, 10), *, needs_variable: bool = False
) -> StableFunction:
    return StableFunction(f"torch::stable::{name}", tuple(parameters.split()), since, needs_variable)


_OPTIONS: Final = "dtype layout device pin_memory"

#: Functions of `ops.h`, by the overload of PyTorch's operator.
FUNCTIONS: Final[Mapping[str, StableFunction]] = {
    "empty_like": _function("empty_like", "self", (2, 9)),
    "narrow": _function("narrow", "self dim start length", (2, 9), needs_variable=True),
    "pad": _function("pad", "self pad mode value", (2, 9)),
    "amax": _function("amax", "self dim keepdim", (2, 9)),
    "transpose.int": _function("transpose", "self dim0 dim1", (2, 9)),
    "zero_": _function("zero_", "self", (2, 9), needs_variable=True),
    "new_empty": _function("new_empty", f"self size {_OPTIONS}"),
    "new_zeros": _function("new_zeros", f"self size {_OPTIONS}"),
    "copy_": _function("copy_", "self src non_blocking", needs_variable=True),
    "clone": _function("clone", "self"),
    "flatten.using_ints": _function("flatten", "self start_dim end_dim"),
    "unsqueeze": _function("unsqueeze", "self dim"),
    "squeeze.dim": _function("squeeze", "self dim"),
    "select.int": _function("select", "self dim index"),
    "matmul": _function("matmul", "self other"),
    "empty.memory_format": _function("empty", f"size {_OPTIONS} memory_format"),
    "reshape": _function("reshape", "self shape"),
    "view": _function("view", "self size"),
    "to.dtype_layout": _function("to", f"self {_OPTIONS} non_blocking copy memory_format"),
    "contiguous": _function("contiguous", "self memory_format"),
    "sum.dim_IntList": _function("sum", "self dim keepdim dtype"),
    "permute": _function("permute", "self dims", (2, 14)),
    "index_select": _function("index_select", "self dim index", (2, 14)),
    "floor_divide": _function("floor_divide", "self other", (2, 14)),
    "bitwise_and.Tensor": _function("bitwise_and", "self other", (2, 14)),
    "bitwise_or.Tensor": _function("bitwise_or", "self other", (2, 14)),
}

#: Their names without namespace. Each gives a tensor.
FUNCTION_NAMES: Final = frozenset([function.name.rpartition("::")[2] for function in FUNCTIONS.values()])


def _helper(name: str, parameters: str) -> StableFunction:
    return StableFunction(f"stable_ops::{name}", tuple(parameters.split()))


#: Functions of `helpers.h`, by the overload of PyTorch's operator, which takes numbers of any kind.
HELPERS: Final[Mapping[str, StableFunction]] = {
    **{
        f"{name}.{overload}": _helper(name, "self other")
        for name in ("add", "add_", "sub", "sub_")
        for overload in ("Tensor", "Scalar")
    },
    "fill_.Scalar": _helper("fill_", "self value"),
    "addmm": _helper("addmm", "self mat1 mat2"),
    "addmm_": _helper("addmm_", "self mat1 mat2"),
    "arange": _helper("arange", f"end {_OPTIONS}")._replace(integers=True),
    "arange.start": _helper("arange", f"start end {_OPTIONS}")._replace(integers=True),
    "arange.start_step": _helper("arange", f"start end step {_OPTIONS}")._replace(integers=True),
    "full": _helper("full", f"size fill_value {_OPTIONS}"),
    "full_like": _helper("full_like", f"self fill_value {_OPTIONS} memory_format"),
}

#: A number that promotes as one does, which only a tensor with a dimension can be told from a tensor beside it.
PROMOTED: Final = "number({tensor}, {number})"
#: What takes the place of a number in the call of the overload with tensors, by the name of an operator or of an
#: overload. Others stay: with a tensor, some compute something else (`pow`, `lerp`).
NUMBERS: Final[Mapping[str, str]] = {
    **{
        f"{name}{suffix}": PROMOTED
        for name in (
            "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "copysign", "div",
            "divide", "eq", "floor_divide", "fmod", "ge", "greater", "greater_equal", "gt", "le", "less", "less_equal",
            "lt", "mul", "multiply", "ne", "not_equal", "remainder", "true_divide", "xlogy",
        )
        for suffix in ("", "_")
    },
    "pow.Scalar": PROMOTED,
    # PyTorch converts the number first here.
    **dict.fromkeys(
        ("mul_", "multiply_"), "torch::stable::to(number({tensor}, {number}), promoted({tensor}, {number}))"
    ),
    **dict.fromkeys(
        ("clamp", "clamp_", "clamp_max", "clamp_max_", "clamp_min", "clamp_min_", "clip", "clip_"),
        "converted(bounds({tensor}, {numbers}), {number})",
    ),
    **dict.fromkeys(
        ("index_fill", "index_fill_", "masked_fill", "masked_fill_"),
        "converted(checked({tensor}.scalar_type(), {number}), {number})",
    ),
    "where": "converted(promoted({tensor}, {number}), {number})",
    "where.Scalar": "full({{}}, {number})",
}  # fmt: skip

#: Operators in place of a power with a number, by the number.
POWERS: Final[Mapping[str, str]] = {"2": "square", "0.5": "sqrt"}

#: What the stable headers of no release have, with the reason and what serves.
NEVER: Final[tuple[tuple[str, str], ...]] = (
    (r"Scalar", "the stable API has no type for numbers of any kind: take `double` or `int64_t`"),
    (r"TensorOptions|dtype|device", "the stable API has no options of tensors: pass dtype and device"),
    (
        r"autograd::.*|.*Grad(?:Guard|Mode)|AutoNonVariableTypeMode",
        "the stable API has no autograd: write formulas in `derivatives.yaml`, and Opwright puts them into the package",
    ),
    (r"TORCH_WARN.*|warn", "the stable API has no warnings"),
    (r"TORCH_CHECK_\w+|\w*Error", "`STD_TORCH_CHECK` raises `RuntimeError` only"),
    (r"acc_type", "the stable API has no such type: name the type for sums"),
    (r"vec::.*|cpu::.*", "the stable API has no vectors of PyTorch"),
    (r"cuda::.*|globalContext", "the stable API has no such part of CUDA's"),
    (r"IValue|List|Dict|intrusive_ptr|Storage", "the stable API has no such type"),
)
