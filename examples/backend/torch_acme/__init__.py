"""A device for PyTorch whose memory is a part of the host's memory: `torch.device("acme")`.

PyTorch imports this package when it is imported itself, because the package is an entry point of `torch.backends`.
"""

from __future__ import annotations

import atexit
import sys
import time
from pathlib import Path

import torch

torch.ops.load_library(Path(__file__).with_name("_C.so"))
torch.utils.rename_privateuse1_backend("acme")

from torch_acme import device  # noqa: E402
from torch_acme._ops import *  # noqa: E402, F403
from torch_acme._ops import __all__ as __all__  # noqa: E402

torch._register_device_module("acme", device)
torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)

from torch_acme import amp, exchange, random  # noqa: E402, F401

# `torch.acme` has them as PyTorch's devices do.
for _module in (amp, random):
    setattr(device, _module.__name__.rpartition(".")[2], _module)
    sys.modules[_module.__name__.replace("torch_acme", "torch.acme")] = _module

if torch.distributed.is_available():
    from torch_acme import distributed  # noqa: F401

# Autograd starts a thread for each device, which needs the lock of the interpreter once. If the interpreter ends
# before, the thread aborts the process, so release the lock once more.
atexit.register(time.sleep, 0.01)


def autoload() -> None:
    """What PyTorch calls after it has imported this module, which does everything."""
