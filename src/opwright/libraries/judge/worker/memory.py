"""The tensors of calls, which files have, between pages that nobody may touch."""

from __future__ import annotations

import ctypes
import mmap
import os
from typing import Any, Final

from .confinement import C
from .protocol import JsonMessage, Tensor, Torch

_PAGE: Final = mmap.PAGESIZE
C.mmap.restype = ctypes.c_void_p
C.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_FAILED: Final = ctypes.c_void_p(-1).value
_FIXED: Final = 0x10


class Memory:
    """The tensors of calls, by the name of the memory that they are in."""

    def __init__(self, torch: Torch) -> None:
        self._torch: Final = torch
        self._regions: Final[dict[str, tuple[int, int]]] = {}
        self.tensors: Final[dict[str, list[Tensor]]] = {}

    def has(self, address: int) -> bool:
        """Whether memory of arguments is at an address."""
        return any(base <= address < base + total for base, total in self._regions.values())

    def map(self, message: JsonMessage, descriptors: list[int]) -> JsonMessage:
        """Map the tensors of a call between pages that nobody may touch. What is not written can only be read."""
        name = message["arena"]
        self._unmap(name)
        total = sum([segment["size"] + _PAGE for segment in message["segments"]]) + _PAGE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        base = C.mmap(None, total, 0, flags, -1, 0)
        if base == _FAILED:
            return {"error": "MemoryError", "text": "no memory for tensors"}
        self._regions[name] = base, total
        starts, at = [], base + _PAGE
        for segment in message["segments"]:
            is_written = segment["file"] == 1
            rights = mmap.PROT_READ | (mmap.PROT_WRITE if is_written else 0)
            shared = mmap.MAP_SHARED | _FIXED
            mapped = C.mmap(at, segment["size"], rights, shared, descriptors[segment["file"]], segment["at"])
            if mapped == _FAILED:
                return {"error": "MemoryError", "text": "no memory for tensors"}
            starts.append(at)
            at += segment["size"] + _PAGE
        for descriptor in descriptors:
            os.close(descriptor)
        self.tensors[name] = [self._tensor(fact, starts) for fact in message["tensors"]]
        return {}

    def _unmap(self, name: str) -> None:
        self.tensors.pop(name, None)
        if name in self._regions:
            base, total = self._regions.pop(name)
            C.munmap(ctypes.c_void_p(base), ctypes.c_size_t(total))

    def _tensor(self, fact: JsonMessage, starts: list[int]) -> Tensor:
        torch = self._torch
        dtype = getattr(torch, fact["dtype"])
        if not fact["nbytes"]:
            return torch.empty_strided(fact["shape"], fact["stride"], dtype=dtype, device="cpu")
        memory = (ctypes.c_char * fact["nbytes"]).from_address(starts[fact["segment"]] + fact["start"])
        stored = torch.frombuffer(memory, dtype=torch.uint8).untyped_storage()
        empty = torch.empty(0, dtype=dtype, device="cpu")
        return empty.set_(stored, fact["offset"], fact["shape"], fact["stride"])

    def _value(self, spec: JsonMessage, tensors: list[Tensor]) -> Any:  # noqa: ANN401
        if "tensor" in spec:
            return tensors[spec["tensor"]]
        if "tensors" in spec:
            return [None if place is None else tensors[place] for place in spec["tensors"]]
        if "dtype" in spec:
            return getattr(self._torch, spec["dtype"])
        if "device" in spec:
            return self._torch.device(spec["device"])
        return spec["value"]

    def with_leaves(self, message: JsonMessage) -> list[Tensor]:
        """The tensors of a call, some of which are leaves of a graph."""
        tensors, leaves = self.tensors[message["arena"]], message["leaves"]
        return [tensor.detach().requires_grad_() if place in leaves else tensor for place, tensor in enumerate(tensors)]

    def given(self, message: JsonMessage, tensors: list[Tensor] | None = None) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of a call, by place and by name; perhaps with other tensors than it has."""
        tensors = self.tensors[message["arena"]] if tensors is None else tensors
        if "leaves" in message and tensors is self.tensors[message["arena"]]:
            tensors = self.with_leaves(message)
        positional = [self._value(spec, tensors) for spec in message["positional"]]
        return positional, {name: self._value(spec, tensors) for name, spec in message["named"].items()}

    # Calls
