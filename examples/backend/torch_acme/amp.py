"""Mixed precision on the device, as `torch.cuda.amp` has it: `torch.acme.amp`."""

from __future__ import annotations

from functools import partial

import torch

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

autocast = partial(torch.autocast, "acme")
GradScaler = partial(torch.amp.GradScaler, "acme")
custom_fwd = partial(torch.amp.custom_fwd, device_type="acme")
custom_bwd = partial(torch.amp.custom_bwd, device_type="acme")
