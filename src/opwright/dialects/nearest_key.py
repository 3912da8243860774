"""The dispatch key or the device that a misspelt word was meant for, which is never the device of another vendor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from opwright.model.dispatch_key import DEVICES, FUNCTIONALITIES
from opwright.source.diagnostic import Suggestion, did_you_mean

#: What the names of devices' keys begin with, the longest first.
_PREFIXES: Final = tuple(sorted(["Autocast", "Autograd", *filter(None, FUNCTIONALITIES)], key=len, reverse=True))
_DEVICES: Final = frozenset([device.name.casefold() for device in DEVICES])

#: What people call devices that have a key of another name; `{}` stands for what the key begins with.
_OTHER_WORDS: Final = {
    "gpu": "`{0}CUDA` is the key of GPUs of NVIDIA and AMD, `{0}XPU` that of Intel's, and `{0}MPS` that of Apple's",
    "rocm": "PyTorch for ROCm has the key `{0}CUDA`",
    "npu": "a device that PyTorch does not have itself has the key `{0}PrivateUse1`",
    "tpu": "`{0}XLA` is the key of what PyTorch/XLA runs",
}


def suggested_key(word: str, names: Iterable[str], otherwise: str = "") -> str | Suggestion:
    """A question with the key most like a word, or another text if none is similar.

    A letter in place of another makes the name of one device from that of another, so that it is no misspelling.

    >>> print(suggested_key("CDUA", ["CPU", "CUDA", "XPU"]), suggested_key("AutogradHPU", ["AutogradXPU"]) or "-")
    did you mean `CUDA`? -
    >>> suggested_key("rocm", ["CPU", "CUDA", "XPU"])
    'PyTorch for ROCm has the key `CUDA`'
    """
    prefix, device = _parts(word)
    text = _OTHER_WORDS.get(device.casefold())
    if text is not None:
        return text.format(prefix)
    names = tuple(names)
    # Much of a long name, such as `CompositeImplicit`.
    whole = min([name for name in names if name.startswith(word)], key=len, default="") if len(word) > 8 else ""
    if whole:
        return f"did you mean `{whole}`?"
    near = {name: _parts(name)[1].casefold() for name in names}
    devices = {other for name, other in near.items() if other in _DEVICES and _is_misspelt(word, name)}
    # One letter may be missing from the names of several devices.
    is_clear = len(devices) == 1 or device.casefold() in devices
    names_left = [
        name for name, other in near.items() if other not in _DEVICES or (is_clear and _is_misspelt(word, name))
    ]
    return did_you_mean(word, names_left, otherwise)


def _parts(name: str) -> tuple[str, str]:
    """What a name begins with, and the device after it."""
    lower = name.casefold()
    prefix = next((prefix for prefix in _PREFIXES if lower.startswith(prefix.casefold())), "")
    return name[: len(prefix)], name[len(prefix) :]


def _is_misspelt(word: str, name: str) -> bool:
    """Whether a word has the letters of a key's device in another order, or some more or less, and no others."""
    own, device = _parts(word)[1].casefold(), _parts(name)[1].casefold()
    if own.endswith(device) or sorted(own) == sorted(device):
        return True
    shorter, longer = sorted((own, device), key=len)
    letters = iter(longer)
    return len(shorter) > 1 and len(shorter) != len(longer) and all(letter in letters for letter in shorter)
