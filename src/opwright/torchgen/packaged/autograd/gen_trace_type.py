"""Kernels that record calls: the names of `torchgen.packaged.autograd.gen_trace_type`."""

from __future__ import annotations

from opwright.emit.autograd.wrappers import wrapper_name
from opwright.model.derivatives import DEFAULT_KEY
from opwright.torchgen.interface.functions import NativeFunction, model_function


def type_wrapper_name(f: NativeFunction, key: str = DEFAULT_KEY) -> str:
    """The C++ name of the kernels of an operator for autograd, views and tracing, such as `add_Tensor`."""
    return wrapper_name(model_function(f), key)
