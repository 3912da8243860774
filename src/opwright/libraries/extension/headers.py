"""Headers of the installed PyTorch that declare what C++ code names."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from typing import Final

#: Names that no header is called after, and the header that declares them; a name ends with `*` for all that begin so.
_DECLARED: Final = {
    "AT_DISPATCH_*": "ATen/Dispatch.h",
    "parallel_for": "ATen/Parallel.h",
    "parallel_reduce": "ATen/Parallel.h",
    "get_num_threads": "ATen/Parallel.h",
    "getCurrentCUDAStream": "ATen/cuda/CUDAContext.h",
    "getCurrentDeviceProperties": "ATen/cuda/CUDAContext.h",
    "CUDAGuard": "c10/cuda/CUDAGuard.h",
    "OptionalCUDAGuard": "c10/cuda/CUDAGuard.h",
    "C10_CUDA_*": "c10/cuda/CUDAException.h",
    "PackedTensorAccessor*": "ATen/core/TensorAccessor.h",
    "TensorAccessor": "ATen/core/TensorAccessor.h",
    "TensorIteratorConfig": "ATen/TensorIterator.h",
    "AccumulateType": "ATen/AccumulateType.h",
    "acc_type": "ATen/AccumulateType.h",
    "opmath_type": "ATen/OpMathType.h",
    "THO_DISPATCH_*": "torch/headeronly/core/Dispatch.h",
    "STD_TORCH_CHECK*": "torch/headeronly/util/Exception.h",
}
#: Functions of PyTorch's stable API, which one header declares.
_STABLE_FUNCTION: Final = re.compile(r"\btorch::stable::\w+\s*\(")
_STABLE_FUNCTIONS: Final = "torch/csrc/stable/ops.h"
#: Names of `at` and `c10`, and macros.
_NAME: Final = re.compile(r"\b(?:at|c10)::(?:cuda::|native::)?(\w+)|\b([A-Z][A-Z0-9]+_[A-Z0-9_]+)\b|\b(opmath_type)\b")
_QUOTED: Final = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"", re.DOTALL)


def header_of(name: str) -> str:
    """Header of the installed PyTorch that declares a function, class or macro of it; empty if none is known.

    Functions and classes have headers of their names.
    """
    named = next((header for key, header in _DECLARED.items() if _is_key(key, name)), "")
    headers = [named] if named else [f"ATen/ops/{name}.h", f"ATen/{name}.h", f"c10/util/{name}.h", f"c10/core/{name}.h"]
    return next(filter(_exists, headers), "")


def _is_key(key: str, name: str) -> bool:
    return name.startswith(key[:-1]) if key.endswith("*") else name == key


def _exists(header: str) -> bool:
    package = find_spec("torch")
    folders = [] if package is None else package.submodule_search_locations or []
    return any(os.path.isfile(os.path.join(folder, "include", header)) for folder in folders)


def named_headers(text: str) -> list[str]:
    """Headers that declare what a C++ text names, apart from those that it includes.

    >>> named_headers('#include <ATen/ops/relu.h>\\nauto a = at::gelu(at::relu(x)); // at::cat')
    ['ATen/ops/gelu.h']
    """
    code = _QUOTED.sub(" ", text)
    names = dict.fromkeys([next(filter(None, groups)) for groups in _NAME.findall(code)])
    headers = [header_of(name) for name in names]
    if _STABLE_FUNCTION.search(code) and _exists(_STABLE_FUNCTIONS):
        headers.append(_STABLE_FUNCTIONS)
    return [header for header in dict.fromkeys(headers) if header and f"<{header}>" not in text]
