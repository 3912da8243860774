"""The policies and the devices of autocast, which library files and backend files name."""

from __future__ import annotations

from typing import Final

from opwright.model.dispatch_key import LIBRARY_KEYS

__all__ = ["AUTOCAST_DEVICES", "AUTOCAST_POLICIES"]

#: The policies that PyTorch has for operators under autocast, with their help.
AUTOCAST_POLICIES: Final = {
    "lower_precision_fp": "Cast tensors to the dtype of autocast, such as float16 or bfloat16.",
    "fp32": "Cast tensors to float32.",
    "fp32_set_opt_dtype": "Set the argument of type `ScalarType?` to float32 where the caller left it out.",
    "fp32_append_dtype": "Call the overload with a further, last argument of type `ScalarType`, which is float32.",
    "promote": "Cast tensors to the widest dtype among them.",
}

_AUTOCAST: Final = "Autocast"

#: The devices with autocast.
AUTOCAST_DEVICES: Final = tuple(
    [name.removeprefix(_AUTOCAST) for name in LIBRARY_KEYS if name.startswith(_AUTOCAST) and name != _AUTOCAST]
)
