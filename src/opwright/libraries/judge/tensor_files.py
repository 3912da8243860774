"""Tensors of calls in files that workers map, and those that workers wrote, whatever these say of them."""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple

from opwright.libraries.judge.worker.protocol import JsonMessage, Tensor

_PAGE: Final = mmap.PAGESIZE
#: How many bytes a result has at most.
_MOST_BYTES: Final = 1 << 30
#: What memory beside tensors has.
_PATTERN: Final = 0xA5


class Unreadable(Exception):
    """Raised where a worker's answer is no results."""


class _Placed(NamedTuple):
    """Where the storage of tensors is in a file, and the bytes that it has there at first."""

    file: int
    at: int
    size: int
    start: int
    data: bytes
    tensors: list[Tensor]
    is_written: bool


class Placing:
    """The tensors of a call in two files: those that are only read, and those that are written.

    Storages end, or begin (`side`), where pages that nobody may touch do.
    """

    def __init__(self, values: Mapping[str, Any], written: Sequence[str], side: str, alignment: int) -> None:
        self._torch: Final[Any] = import_module("torch")
        self._side: Final = side
        self._alignment: Final = alignment
        self._sizes: Final = [0, 0]
        self._places: Final[dict[int, int]] = {}
        self._storages: Final[list[_Placed]] = []
        #: What workers have to know of each tensor.
        self.tensors: Final[list[JsonMessage]] = []
        #: Each argument by its name: a value, or the places of tensors in that list.
        self.specs: Final = {name: self._spec(value, name in written) for name, value in values.items()}

    @property
    def segments(self) -> list[JsonMessage]:
        """The parts of the files that are memory of tensors."""
        return [{"file": item.file, "at": item.at, "size": item.size} for item in self._storages]

    def write(self, files: Iterable[int]) -> None:
        """Write both files, which are open."""
        for number, file in enumerate(files):
            content = bytearray([_PATTERN]) * max(self._sizes[number], _PAGE)
            for item in self._storages:
                if item.file == number:
                    content[item.at + item.start : item.at + item.start + len(item.data)] = item.data
            _write(file, content)

    def _spec(self, value: Any, is_written: bool) -> JsonMessage:  # noqa: ANN401
        torch = self._torch
        if isinstance(value, list) and any(isinstance(item, torch.Tensor) for item in value):
            return {"tensors": [None if item is None else self._place(item, is_written) for item in value]}
        if isinstance(value, torch.dtype):
            return {"dtype": str(value).removeprefix("torch.")}
        if isinstance(value, torch.device):
            return {"device": str(value)}
        return {"tensor": self._place(value, is_written)} if isinstance(value, torch.Tensor) else {"value": value}

    def _place(self, tensor: Tensor, is_written: bool) -> int:
        """The number of a tensor, which gets a place."""
        storage = tensor.untyped_storage()
        count = storage.nbytes() if tensor.numel() else 0
        number = -1
        if count:
            number = self._places.get(storage.data_ptr(), -1)
            if number < 0 or self._storages[number].is_written != is_written:
                number = len(self._storages)
                self._places[storage.data_ptr()] = number
                file = 1 if is_written else 0
                size = -(-count // _PAGE) * _PAGE
                start = size - count if self._side == "end" else 0
                # Elements are aligned wherever they are.
                start -= start % max(tensor.element_size(), self._alignment)
                placed = _Placed(file, self._sizes[file], size, start, _bytes_of(storage), [], is_written)
                self._storages.append(placed)
                self._sizes[file] += size
            self._storages[number].tensors.append(tensor)
        self.tensors.append(
            {
                "segment": number,
                "start": self._storages[number].start if count else 0,
                "nbytes": count,
                "dtype": str(tensor.dtype).removeprefix("torch."),
                "shape": list(tensor.shape),
                "stride": list(tensor.stride()),
                "offset": tensor.storage_offset(),
            }
        )
        return len(self.tensors) - 1

    def written_values(self, tensors: Sequence[Tensor], file: int) -> tuple[list[Tensor], str]:
        """The new values of written tensors; a fault if memory beside them changed."""
        torch = self._torch
        content = _content(file, self._sizes[1])
        new: dict[int, Tensor] = {}
        for item in self._storages:
            if not item.is_written:
                continue
            segment = content[item.at : item.at + item.size]
            end = item.start + len(item.data)
            names = "the arguments that it writes"
            if segment[: item.start].strip(bytes([_PATTERN])) or segment[end:].strip(bytes([_PATTERN])):
                return [], f"memory before or after {names} has changed"
            stored = torch.frombuffer(bytearray(segment[item.start : end]), dtype=torch.uint8).untyped_storage()
            before = torch.frombuffer(bytearray(item.data), dtype=torch.uint8).untyped_storage()
            for tensor in item.tensors:
                facts = (tensor.storage_offset(), tensor.shape, tensor.stride())
                value = torch.empty(0, dtype=tensor.dtype).set_(stored, *facts)
                new[id(tensor)] = value.clone()
                torch.empty(0, dtype=tensor.dtype).set_(before, *facts).copy_(value)
            if _bytes_of(before) != segment[item.start : end]:
                return [], f"memory between the elements of {names} has changed"
        return [new.get(id(tensor), tensor) for tensor in tensors], ""


def read_rows(rows: object) -> list[list[JsonMessage]]:
    """The results of a call, each as a list of tensors. Raises Unreadable."""
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise Unreadable("the worker's results cannot be read")
    if not all(isinstance(fact, dict) for row in rows for fact in row):
        raise Unreadable("the worker's results cannot be read")
    for fact in [fact for row in rows for fact in row if "type" in fact]:
        raise Unreadable(f"a result is of the type {str(fact['type'])[:100]}, and not a tensor")
    return rows


def read_tensor(fact: JsonMessage, file: int) -> Tensor:
    """A tensor that a worker wrote. What the worker says of it may be anything. Raises Unreadable."""
    torch: Any = import_module("torch")
    try:
        dtype, shape, at, size = getattr(torch, fact["dtype"]), fact["shape"], fact["at"], fact["size"]
        numbers = [*shape, at, size]
        is_right = isinstance(dtype, torch.dtype) and all(type(number) is int and number >= 0 for number in numbers)
        if is_right and math.prod(shape) * dtype.itemsize == size <= _MOST_BYTES:
            part = bytearray(_content(file, size, at))
            if not part:
                return torch.empty(shape, dtype=dtype)
            if len(part) == size:
                return torch.frombuffer(part, dtype=torch.uint8).view(dtype).reshape(shape)
    except (AttributeError, KeyError, TypeError, RuntimeError, OverflowError):
        pass
    raise Unreadable("the worker's results cannot be read")


def tensor_bytes(tensor: Tensor) -> bytes:
    """The bytes of the elements of a tensor, one after the other."""
    return _bytes_of(tensor.contiguous().untyped_storage()) if tensor.numel() else b""


def _bytes_of(storage: Any) -> bytes:  # noqa: ANN401
    if storage.nbytes() < 64:
        return bytes(storage.tolist())
    torch: Any = import_module("torch")
    data: bytes = torch.empty(0, dtype=torch.uint8).set_(storage).numpy().tobytes()
    return data


def _content(file: int, size: int, at: int = 0) -> bytes:
    """Some bytes of an open file; less where it ends."""
    parts = []
    while size and (part := os.pread(file, min(size, 1 << 30), at)):
        parts.append(part)
        at, size = at + len(part), size - len(part)
    return b"".join(parts)


def _write(file: int, content: bytearray) -> None:
    at = 0
    while at < len(content):
        at += os.pwrite(file, memoryview(content)[at:], at)
