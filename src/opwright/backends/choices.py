"""Choices of a run for external backends that change the text of files."""

from __future__ import annotations

from opwright.source.records import NamedTuple


class BackendHeaders(NamedTuple):
    """Where the headers of external backends are: a folder in include directives, with a slash at its end.

    It is empty where the headers are beside the sources.
    """

    folder: str = ""


class LazyNames(NamedTuple):
    """The C++ names that the code of lazy tensors uses, and other choices of a run.

    `node_base` is the base class of nodes, which `node_base_header` declares, and `value` the class of the values that
    nodes take. `shape_header` declares shape functions, None if nothing checks for them. `in_tree` includes the
    generated headers in angle brackets. `backend_name` is part of the names of registration functions. With
    `forced_fallback`, kernels run the CPU's kernel if the user asks for it. With `takes_shapes`, constructors of nodes
    take precomputed shapes. With `create_from_tensor`, `create_tensor` is a member of the first tensor.
    """

    node_base: str = "Node"
    node_base_header: str | None = None
    shape_header: str | None = "torch/csrc/lazy/core/shape_inference.h"
    tensor_header: str = "torch/csrc/lazy/core/tensor.h"
    in_tree: bool = False
    backend_name: str = "TorchScript"
    forced_fallback: bool = False
    takes_shapes: bool = True
    namespace: str = "torch::lazy"
    get_tensor_list: str = "GetTensorList"
    get_tensor: str = "GetLtcTensorOrCreateForWrappedNumber"
    try_get_tensor: str = "TryGetLtcTensor"
    counter: str = 'TORCH_LAZY_FN_COUNTER("lazy::")'
    create_tensor: str = "LazyTensor::Create"
    create_from_tensor: bool = False
    to_aten: str = "torch::lazy::CreateAtenFromLtcTensor"
    to_aten_tuple: str = "torch::lazy::TupleAtenFromLtcTensors"
    value: str = "torch::lazy::Value"
    tensor_pointer: str = "LazyTensorPtr"
    get_device: str = "torch::lazy::GetBackendDevice"
    style: str = "plain"
