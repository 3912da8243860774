"""What `torch.compile` needs: the device as TorchDynamo sees it, and the code generator of Inductor.

Inductor generates C++ for the host, because the memory of this device is there. A vendor's generator takes the place of
`Scheduling`, which makes kernels, and of `PythonWrapperCodegen`, which makes the Python code that calls them. What has
no generated kernel calls the operators of the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._dynamo.device_interface import DeviceInterface, register_interface_for_device
from torch._inductor import config
from torch._inductor.codegen.common import DeviceOpOverrides, register_device_op_overrides
from torch._inductor.codegen.cpp import CppScheduling
from torch._inductor.codegen.wrapper import PythonWrapperCodegen as _PythonWrapperCodegen
from torch._inductor.codegen.wrapper_fxir import WrapperFxCodegen

from torch_acme import device as module

__all__ = ["CppWrapperCodegen", "Interface", "PythonWrapperCodegen", "Scheduling", "WrapperFxCodegen"]


class Interface(DeviceInterface):
    """The device as TorchDynamo and Inductor see it."""

    device = module.device
    Event = torch.Event
    Stream = torch.Stream
    current_device = staticmethod(module.current_device)
    set_device = staticmethod(module.set_device)
    exchange_device = staticmethod(torch._C._accelerator_exchangeDevice)
    maybe_exchange_device = staticmethod(torch._C._accelerator_maybeExchangeDevice)
    device_count = staticmethod(module.device_count)
    is_available = staticmethod(module.is_available)
    current_stream = staticmethod(module.current_stream)
    set_stream = staticmethod(module.set_stream)
    stream = staticmethod(module.stream)
    synchronize = staticmethod(module.synchronize)
    memory_allocated = staticmethod(module.memory_allocated)

    class Worker:
        """What processes that compile ask instead of the device."""

        current_device = staticmethod(module.current_device)
        set_device = staticmethod(module.set_device)
        get_device_properties = staticmethod(module.get_device_properties)

    @staticmethod
    def get_raw_stream(device_idx: int) -> int:
        """The stream as an address; the device has no streams of its own."""
        return 0

    @staticmethod
    def get_compute_capability(device: torch.types.Device = None) -> tuple[int, int]:
        """The version of the device's architecture."""
        return module.get_device_capability(device)

    @staticmethod
    def is_bf16_supported(including_emulation: bool = False) -> bool:
        """Whether the device computes with bfloat16."""
        return module.is_bf16_supported()


class OpOverrides(DeviceOpOverrides):
    """The Python code with which compiled code handles the device."""

    def import_get_raw_stream_as(self, name: str) -> str:
        """Define a function that gives the current stream."""
        return f"def {name}(_):\n    return 0\n"

    def set_device(self, device_idx: int) -> str:
        """Make a device current."""
        return f"torch.acme.set_device({device_idx})"

    def synchronize(self) -> str:
        """Wait until the device has done its work."""
        return "torch.acme.synchronize()"

    def device_guard(self, device_idx: int) -> str:
        """A context in which a device is current."""
        return f"torch.acme.device({device_idx})"


class Scheduling(CppScheduling):
    """Makes kernels: those that Inductor makes for the host, without vectors, which it has for the CPU alone."""

    def codegen_node(self, node: Any) -> None:  # noqa: ANN401
        """Make the kernel of some fused operators, with the types that Inductor notes for C++."""
        with config.patch({"cpp.simdlen": 1, "cuda_backend": "cpp"}):
            super().codegen_node(node)


class PythonWrapperCodegen(_PythonWrapperCodegen):
    """Makes the code that calls kernels. They may touch the memory of the device only in a context."""

    @staticmethod
    def create(
        is_subgraph: bool,
        subgraph_name: str | None,
        parent_wrapper: _PythonWrapperCodegen | None,
        partition_signatures: Any = None,
    ) -> _PythonWrapperCodegen:
        """The generator for a graph, or for a part of one."""
        if is_subgraph:
            return _PythonWrapperCodegen.create(is_subgraph, subgraph_name, parent_wrapper, partition_signatures)
        return PythonWrapperCodegen()

    def _generate_kernel_call_helper(self, kernel_name: str, call_args: Sequence[str], **options: Any) -> None:
        device = options.get("device")
        if options.get("triton", True) or device is None or device.type != "acme":
            super()._generate_kernel_call_helper(kernel_name, call_args, **options)
            return
        self.writeline(f"with torch.acme.memory_access(): {self.wrap_kernel_call(kernel_name, call_args)}")


class CppWrapperCodegen(_PythonWrapperCodegen):
    """What Inductor would make with `cpp_wrapper`, which the device does not have."""

    @staticmethod
    def create(*_: Any) -> _PythonWrapperCodegen:  # noqa: ANN401
        """Raise an error that says so."""
        raise NotImplementedError("acme compiles with Python wrappers alone: leave out `cpp_wrapper`")


# Inductor changes loops in these ways for every device but the CPU, and its C++ generator cannot.
config.loop_ordering_after_fusion = False
config.loop_reindexing_after_fusion = False

register_interface_for_device("acme", Interface)
register_device_op_overrides("acme", OpOverrides())
