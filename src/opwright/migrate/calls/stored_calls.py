"""Files with calls: what they have of each operator, and the values of a call."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, Final, TypeAlias

from opwright.migrate.calls.recorder import HEADER, MOST_BYTES, KeptCalls
from opwright.migrate.import_codes import CALLS_NOT_READ
from opwright.source.diagnostic import Fault
from opwright.source.records import NamedTuple

#: PyTorch has no types here, and values are those of any call.
_Torch: TypeAlias = Any
_Value: TypeAlias = Any

_LONGEST_HEAD: Final = 1 << 16


class StoredRecord(NamedTuple):
    """A call of an operator: `body` are its values. One without them says why so many calls were `not_stored`."""

    operator: str
    alike: str
    body: bytes
    not_stored: str = ""
    times: int = 0


class CallCounts(NamedTuple):
    """How many calls a file has of each operator, and how many were not stored, by the reason."""

    calls: Counter[str]
    not_stored: Counter[str]


def read_records(path: str) -> Iterator[StoredRecord]:
    """The records of a file of calls. Raises Fault (E2407) if it is none, or damaged."""
    try:
        with open(path, "rb") as stream:
            if stream.readline(len(HEADER)) != HEADER:
                raise _damaged(path, "it does not begin as such a file does")
            yield from _records(path, stream)
    except OSError as error:
        raise Fault.at(CALLS_NOT_READ, f"cannot read the calls of `{path}`: {error.strerror}") from None


def read_calls(path: str) -> list[StoredRecord]:
    """The calls of a file whose values are stored. Raises Fault (E2407)."""
    return [record for record in read_records(path) if not record.not_stored]


def _records(path: str, stream: IO[bytes]) -> Iterator[StoredRecord]:
    """The records in the rest of a file."""
    size_in_all = os.fstat(stream.fileno()).st_size
    while line := stream.readline(_LONGEST_HEAD):
        try:
            head = json.loads(line)
            size, count = int(head["bytes"]), int(head.get("count", 0))
            record = StoredRecord(
                str(head["operator"]), str(head.get("alike", "")), b"", str(head.get("not_stored", "")), count
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise _damaged(path, "a call has no head") from None
        if not 0 <= size <= 2 * MOST_BYTES:
            raise _damaged(path, "a call has too many bytes")
        if size > size_in_all - stream.tell():
            raise _damaged(path, "it ends within a call")
        yield record._replace(body=stream.read(size))


def _damaged(path: str, why: str) -> Fault:
    help = "record the calls again with `--record`, or name a Python file that yields them"
    return Fault.at(CALLS_NOT_READ, f"`{path}` is no file with calls, or a damaged one: {why}", help=help)


def counted(records: Iterable[StoredRecord]) -> CallCounts:
    """How many calls there are of each operator."""
    calls: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for record in records:
        if record.not_stored:
            refused[record.not_stored] += record.times
        else:
            calls[record.operator] += 1
    return CallCounts(calls, refused)


def merged(paths: Sequence[str]) -> bytes:
    """The records of several processes as one file, in which the limits of one process hold. What is left out counts.

    A process that was killed may have left half a record, which ends its part.
    """
    stored = KeptCalls()
    refused: Counter[tuple[str, str]] = Counter()
    parts = [HEADER]
    for path in paths:
        for record in _whole_records(path):
            size = len(record.body)
            if record.not_stored:
                refused[record.operator, record.not_stored] += record.times
            elif reason := stored.refusal(record.operator, record.alike, size):
                refused[record.operator, reason] += 1
            else:
                stored.keep(record.operator, record.alike, size)
                head = {"operator": record.operator, "alike": record.alike, "bytes": size}
                parts += [json.dumps(head).encode(), b"\n", record.body]
    for (operator, reason), count in refused.items():
        head = {"operator": operator, "not_stored": reason, "count": count, "bytes": 0}
        parts += [json.dumps(head).encode(), b"\n"]
    return b"".join(parts)


def _whole_records(path: str) -> Iterator[StoredRecord]:
    with open(path, "rb") as stream, contextlib.suppress(Fault):
        yield from _records(path, stream)


class DecodedCall:
    """The values of a stored call, made anew for each time that it is repeated. Raises Exception for damaged ones."""

    def __init__(self, torch: _Torch, body: bytes) -> None:
        self._torch = torch
        self._stored = torch.load(io.BytesIO(body), weights_only=True)

    def values(self) -> tuple[list[_Value], dict[str, _Value]]:
        """New arguments and keywords, with memory of their own that arguments share as those of the call did."""
        self._tensors: list[_Value] = []
        self._storages = [[int(first), data.clone()] for first, data in self._stored["storages"]]
        self._placed: dict[tuple[int, str], _Value] = {}
        given = [self._decode(value) for value in self._stored["arguments"]]
        named = {name: self._decode(value) for name, value in self._stored["keywords"].items()}
        return given, named

    @property
    def devices(self) -> set[str]:
        """The types of devices of the tensors."""
        devices: set[str] = set()
        waiting = [*self._stored["arguments"], *self._stored["keywords"].values()]
        while waiting:
            kind, *rest = waiting.pop()
            if kind in ("list", "tuple"):
                waiting += rest[0]
            elif kind == "dict":
                waiting += rest[0].values()
            elif kind == "tensor":
                devices.add(rest[5].partition(":")[0])
            elif kind in ("device", "generator"):
                devices.add(rest[0].partition(":")[0])
        return devices

    def _decode(self, value: Sequence[Any]) -> _Value:
        torch, (kind, *rest) = self._torch, value
        if kind == "tensor":
            self._tensors.append(self._tensor(*rest))
            return self._tensors[-1]
        if kind == "again":
            return self._tensors[rest[0]]
        if kind in ("list", "tuple"):
            parts = [self._decode(part) for part in rest[0]]
            return tuple(parts) if kind == "tuple" else parts
        if kind == "dict":
            return {name: self._decode(part) for name, part in rest[0].items()}
        if kind == "complex":
            return complex(*rest)
        if kind == "torch":
            return getattr(torch, rest[1])
        if kind == "device":
            return torch.device(rest[0])
        if kind == "generator":
            return torch.Generator(rest[0]).manual_seed(0)
        return rest[0]

    def _tensor(
        self,
        number: int,
        first: int,
        dtype: str,
        sizes: Sequence[int],
        strides: Sequence[int],
        device: str,
        flags: Sequence[bool],
    ) -> _Value:
        torch = self._torch
        kind = getattr(torch, dtype)
        if number < 0:
            return torch.empty_strided(sizes, strides, dtype=kind, device="meta")
        begin, data = self._storages[number]
        key = number, device
        if key not in self._placed:
            self._placed[key] = data.to(device)
        tensor = torch.empty(0, dtype=kind, device=device)
        width = tensor.element_size()
        offset = (first - begin) // width
        tensor.set_(self._placed[key].untyped_storage(), offset, tuple(sizes), tuple(strides))
        tensor = tensor.conj() if flags[1] else tensor
        return torch._neg_view(tensor) if flags[2] else tensor
