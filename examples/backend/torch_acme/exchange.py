"""Tensors of the device for others: for other libraries with DLPack, and for other processes.

DLPack passes them without a copy. PyTorch compares the name of the device with `privateuse1`, which no device has once
it has a name of its own.

Queues of `torch.multiprocessing` and workers of data loaders pass copies, because processes do not share the memory of
the device. PyTorch would pass the storage, which it can for the CPU and for CUDA.
"""

from __future__ import annotations

import enum
import io
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
from torch.multiprocessing import reductions
from torch.utils.dlpack import DLDeviceType

__all__ = ["dlpack_device", "reduce_tensor"]

_dlpack_device_of_pytorch: Any = torch.Tensor.__dlpack_device__


def dlpack_device(tensor: torch.Tensor) -> tuple[enum.IntEnum, int]:
    """The kind and the index of a tensor's device, as DLPack has them."""
    if tensor.device.type == "acme":
        return DLDeviceType.kDLExtDev, tensor.device.index
    return _dlpack_device_of_pytorch(tensor)


torch.Tensor.__dlpack_device__ = dlpack_device  # type: ignore[method-assign]


def reduce_tensor(tensor: torch.Tensor) -> tuple[Any, ...]:
    """A function that makes a tensor in another process, and its arguments."""
    if tensor.device.type != "acme" or (tensor.requires_grad and not tensor.is_leaf):
        return reductions.reduce_tensor(tensor)
    file = io.BytesIO()
    torch.save(tensor, file)
    return _load, (file.getvalue(),)


def _load(content: bytes) -> torch.Tensor:
    # Whoever could change the content could change the code that is pickled beside it.
    return torch.load(io.BytesIO(content), weights_only=False)


for _kind in (torch.Tensor, torch.nn.Parameter):
    ForkingPickler.register(_kind, reduce_tensor)
