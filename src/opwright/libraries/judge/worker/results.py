"""The results of calls, as bytes in a file."""

from __future__ import annotations

import contextlib
import ctypes
import os
from typing import Any, Final

from .loading import LoadedCandidate
from .memory import Memory
from .protocol import JsonMessage, Tensor, Torch


class Results:
    """What the last calls gave, and what others did that waits to be read."""

    def __init__(self, torch: Torch, file: int, memory: Memory, candidate: LoadedCandidate) -> None:
        self._torch: Final = torch
        self._file: Final = file
        self._memory: Final = memory
        self._candidate: Final = candidate
        self.last: list[Any] = []
        self.held: list[Any] = []
        #: Results of calls that gave others before, with the place of each call among several.
        self.more: list[tuple[int, Any]] = []

    def read(self, message: JsonMessage) -> JsonMessage:
        """Write the results of the last calls, or those that are held."""
        if message.get("held"):
            self.last, self.held = self.held, []
        header, at = [], 0
        for results in (*self.last, *[results for _, results in self.more]):
            are_many = self._candidate.returns != 1 and isinstance(results, (list, tuple))
            listed = results if are_many else () if results is None else (results,)
            rows = []
            for result in listed:
                row = []
                for tensor in result if isinstance(result, (list, tuple)) else [result]:
                    fact, at = self._write(tensor, at)
                    row.append(fact)
                rows.append(row)
            header.append(rows)
        count, places = len(self.last), [place for place, _ in self.more]
        self.last, self.more = [], []
        return {"results": header[:count], "more": [*zip(places, header[count:], strict=True)]}

    def _write(self, tensor: Tensor, at: int) -> tuple[JsonMessage, int]:
        torch = self._torch
        if type(tensor) is not torch.Tensor:
            return {"type": type(tensor).__name__}, at
        plain, data = self._bytes(tensor)
        os.pwrite(self._file, data, at)
        size = len(data)
        fact = {"dtype": str(plain.dtype).removeprefix("torch."), "shape": list(plain.shape), "at": at, "size": size}
        fact["stride"] = list(tensor.stride())
        fact["graph"] = tensor.requires_grad
        self._spoil(tensor)
        return fact, at + size

    def _bytes(self, tensor: Tensor) -> tuple[Tensor, bytes]:
        """A tensor without gaps, and its bytes."""
        if tensor._is_zerotensor():
            # Some gradients are zeros that have no memory.
            tensor = self._torch.zeros(tensor.shape, dtype=tensor.dtype)
        plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
        size = plain.numel() * plain.element_size()
        return plain, ctypes.string_at(plain.data_ptr(), size) if size else b""

    def _spoil(self, tensor: Tensor) -> None:
        """Give a result other values, unless it is an argument: its memory is the caller's.

        What a candidate keeps to give it again, and other results in the same memory, are wrong then.
        """
        if not self._memory.has(tensor.data_ptr()):
            # Expanded tensors cannot be written.
            with self._torch.inference_mode(), contextlib.suppress(RuntimeError):
                tensor.detach().fill_(85)

    def image(self, results: Any, written: list[Tensor]) -> list[bytes]:  # noqa: ANN401
        """The bytes of results, as far as they are tensors, and of written arguments."""
        tensors = [leaf for leaf in flat(results) if type(leaf) is self._torch.Tensor]
        return [self._bytes(tensor)[1] for tensor in (*tensors, *written)]


def flat(results: Any) -> list[Any]:  # noqa: ANN401
    """The results of a call, without lists."""
    if isinstance(results, (list, tuple)):
        return [leaf for result in results for leaf in flat(result)]
    return [results]
