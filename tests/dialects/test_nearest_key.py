"""Suggestions of dispatch keys: misspelt names of a device lead to it, and names of others lead to none."""

from __future__ import annotations

import pytest

from opwright.dialects.nearest_key import suggested_key
from opwright.libraries.entry_fields import AUTOCAST_DEVICES
from opwright.model.dispatch_key import LIBRARY_KEYS


@pytest.mark.parametrize(
    ("word", "key"),
    [
        ("cuda", "CUDA"),
        ("CDUA", "CUDA"),
        ("CPUU", "CPU"),
        ("XUP", "XPU"),
        ("AutogadCUDA", "AutogradCUDA"),
        ("privateuse1", "PrivateUse1"),
        *[(word, "") for word in ("GPU", "gpu", "NPU", "TPU", "VPU", "PU", "MIA", "rocm", "SparseGPU", "AutocastTPU")],
    ],
)
def test_no_word_leads_to_the_device_of_another_vendor(word: str, key: str) -> None:
    """A letter that is left out, doubled or swapped is a misspelling, and another letter is another device."""
    text = str(suggested_key(word, LIBRARY_KEYS))
    assert ("did you mean" in text, f"`{key}`?" in text) == (bool(key), bool(key))


def test_every_device_with_autocast_is_known() -> None:
    """PyTorch's own names of the Autocast keys are those of the devices that a policy may name."""
    torch = pytest.importorskip("torch")
    devices = [*AUTOCAST_DEVICES, "HIP", "Lazy", "VE", "Meta", "FPGA", "Vulkan", "Metal"]
    known = []
    for device in devices:
        try:
            torch._C._dispatch_key_parse(f"Autocast{device}")
        except RuntimeError:
            continue
        known.append(device)
    assert known == list(AUTOCAST_DEVICES)
    assert {"HPU", "IPU", "XLA", "MAIA", "MTIA", "MPS"} <= set(known)
