"""Kernels of ExecuTorch's operators by their keys: the names of `torchgen.executorch.model`."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from opwright.mobile.executorch_dialect.fields import TensorSpec, kernel_keys, tensor_key
from opwright.mobile.executorch_operators import DEFAULT_KEY, DTYPES, ExecutorchKernel, ExecutorchOperator
from opwright.torchgen.interface.faults import Invalid
from opwright.torchgen.interface.functions import (
    BackendIndex,
    BackendMetadata,
    NativeFunction,
    NativeFunctionsGroup,
    model_function,
)
from opwright.torchgen.interface.keys import DispatchKey
from opwright.torchgen.interface.records import Record, record
from opwright.torchgen.interface.types import OperatorName, name_of

#: The version in the text of a key.
KERNEL_KEY_VERSION: Final = 1


class ScalarType(enum.IntEnum):
    """A dtype with its number in keys."""

    _ignore_ = "name_ number_"
    for name_, number_ in DTYPES.items():
        vars()[name_] = number_


_DTYPE_NAMES: Final = {str(number): name for name, number in DTYPES.items()}


@record("arg_name dtype dim_order")
class ETKernelKeyOpArgMeta(Record):
    """Dtype and the dim order of an argument."""

    dim_order: tuple[int, ...]
    dtype: str
    arg_name: str

    def to_native_string(self) -> str:
        """Both as the text of a key has them. Raises KeyError for a dtype that keys do not have."""
        return tensor_key(self.dtype, self.dim_order, as_reference=True)


@record("arg_meta default version")
class ETKernelKey(Record):
    """What a kernel is for: all calls if it is the default, else certain dtypes and dim orders of arguments."""

    default: bool = False
    arg_meta: tuple[ETKernelKeyOpArgMeta, ...] = ()
    version: int = KERNEL_KEY_VERSION

    @staticmethod
    def gen_from_yaml(
        args: Mapping[str, tuple[str, str]],
        type_alias_map: Mapping[str, Sequence[str]],
        dim_order_alias_map: Mapping[str, Sequence[int]],
    ) -> list[ETKernelKey]:
        """Keys of the aliases of arguments, the last alias varying fastest.

        Raises AssertionError for an alias that is not there, and KeyError for a dtype that keys do not have.
        """
        specs = []
        for name, (type_alias, dim_order) in args.items():
            if type_alias not in type_alias_map or dim_order not in dim_order_alias_map:
                raise Invalid(f"`{type_alias}` or `{dim_order}` of `{name}` is no alias")
            specs.append(TensorSpec(type_alias, tuple(map(int, dim_order_alias_map[dim_order]))))
        return [key_of(text, tuple(args)) for text in kernel_keys(specs, type_alias_map)]

    def to_native_string(self) -> str:
        """Key in a registration, such as `v1/6;0,1` or `default`."""
        if self.default:
            return DEFAULT_KEY
        return f"v{self.version}/{'|'.join([meta.to_native_string() for meta in self.arg_meta])}"


def key_of(text: str, arguments: tuple[str, ...]) -> ETKernelKey:
    """Record of a key of Opwright's kernels, and of the arguments that it has."""
    if text == DEFAULT_KEY:
        return ETKernelKey(default=True)
    tensors = [tensor.partition(";") for tensor in text.partition("/")[2].split("|") if tensor]
    metas = [
        ETKernelKeyOpArgMeta(
            arg_name=name,
            dtype=_DTYPE_NAMES[dtype],
            dim_order=tuple([int(number) for number in order.split(",") if number]),
        )
        for name, (dtype, _, order) in zip(arguments, tensors, strict=True)
    ]
    return ETKernelKey(arg_meta=tuple(metas))


_ByDispatchKey = dict[DispatchKey, dict[OperatorName, BackendMetadata]]
_Kernels = dict[OperatorName, dict[ETKernelKey, BackendMetadata]]


@record()
class ETKernelIndex(Record):
    """Kernels of operators by their keys."""

    index: _Kernels

    def has_kernels(self, g: NativeFunction | NativeFunctionsGroup) -> bool:
        """Whether a function, or the functional one of a group, has kernels."""
        return bool(self.get_kernels(g))

    def get_kernels(self, g: NativeFunction | NativeFunctionsGroup) -> dict[ETKernelKey, BackendMetadata]:
        """Kernels of a function, or of the functional one of a group."""
        function = g.functional if isinstance(g, NativeFunctionsGroup) else g
        return self.index.get(function.func.name, {})

    @staticmethod
    def grow_from_backend_indices(kernel_index: _Kernels, backend_indices: _ByDispatchKey) -> None:
        """Add the kernels under dispatch keys as default ones; a later one takes the place of an earlier one."""
        for kernels in backend_indices.values():
            for name, metadata in kernels.items():
                kernel_index.setdefault(name, {})[ETKernelKey(default=True)] = metadata

    @staticmethod
    def from_backend_indices(
        backend_indices: _ByDispatchKey,
    ) -> ETKernelIndex:
        """Kernels under dispatch keys as default ones."""
        return ETKernelIndex({}).grow(backend_indices)

    def grow(self, backend_indices: _ByDispatchKey) -> ETKernelIndex:
        """Add the kernels under dispatch keys as default ones, and give the index itself."""
        ETKernelIndex.grow_from_backend_indices(self.index, backend_indices)
        return self

    def _to_backend_index(self) -> BackendIndex:
        """Default kernels under the key of the CPU. Raises AssertionError if an operator has another kernel."""
        index: dict[OperatorName, BackendMetadata] = {}
        for name, kernels in self.index.items():
            if list(kernels) != [ETKernelKey(default=True)]:
                raise Invalid(f"`{name}` has kernels other than one default kernel")
            (index[name],) = kernels.values()
        return BackendIndex(
            dispatch_key=DispatchKey["CPU"], external=False, device_guard=False, use_out_as_primary=False, index=index
        )

    @staticmethod
    def merge_indices(index_a: ETKernelIndex, index_b: ETKernelIndex) -> ETKernelIndex:
        """Kernels of two indices; one of the second takes the place of one of the first with the same key."""
        merged = {name: dict(kernels) for name, kernels in index_a.index.items()}
        for name, kernels in index_b.index.items():
            merged.setdefault(name, {}).update(kernels)
        return ETKernelIndex(merged)


class ETParsedYaml(NamedTuple):
    """Functions of a file, and their kernels."""

    native_functions: list[NativeFunction]
    kernel_index: ETKernelIndex


def index_of_operators(operators: list[ExecutorchOperator]) -> ETKernelIndex:
    """Kernels of Opwright's operators."""
    return ETKernelIndex(
        {
            name_of(operator.function.name): {
                key_of(kernel.key, kernel.arguments): BackendMetadata(
                    kernel=kernel.name, structured=False, cpp_namespace=kernel.namespace
                )
                for kernel in operator.kernels
            }
            for operator in operators
            if operator.kernels
        }
    )


def model_operator(
    f: NativeFunction, kernels: dict[ETKernelKey, BackendMetadata], *, is_custom: bool = False
) -> ExecutorchOperator:
    """Opwright's operator of a function and its kernels."""
    listed = [
        ExecutorchKernel(
            key.to_native_string(),
            metadata.kernel,
            metadata.cpp_namespace,
            tuple([meta.arg_name for meta in key.arg_meta]),
        )
        for key, metadata in kernels.items()
    ]
    return ExecutorchOperator(model_function(f), str(f.func), tuple(listed), is_custom)
