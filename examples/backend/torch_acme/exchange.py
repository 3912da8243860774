"""DLPack: tensors of the device without a copy for other libraries, and theirs for PyTorch.

PyTorch compares the name of the device with `privateuse1`, which no device has once it has a name of its own.
"""

from __future__ import annotations

import enum
from typing import Any

import torch
from torch.utils.dlpack import DLDeviceType

__all__ = ["dlpack_device"]

_dlpack_device_of_pytorch: Any = torch.Tensor.__dlpack_device__


def dlpack_device(tensor: torch.Tensor) -> tuple[enum.IntEnum, int]:
    """The kind and the index of a tensor's device, as DLPack has them."""
    if tensor.device.type == "acme":
        return DLDeviceType.kDLExtDev, tensor.device.index
    return _dlpack_device_of_pytorch(tensor)


torch.Tensor.__dlpack_device__ = dlpack_device  # type: ignore[method-assign]
