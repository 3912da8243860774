"""Messages between the processes of a judge, with file descriptors."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

JsonMessage: TypeAlias = "dict[str, Any]"
#: PyTorch has no types here.
Torch: TypeAlias = Any
Tensor: TypeAlias = Any


def receive(connection: socket.socket) -> tuple[JsonMessage, list[int]] | None:
    """The next message with its file descriptors; None at the end."""
    head, descriptors, _, _ = socket.recv_fds(connection, 8, 16)
    data = _rest(connection, bytearray(head), 8) if head else None
    if data is None:
        return None
    text = _rest(connection, bytearray(), int.from_bytes(data, "little"))
    return None if text is None else (json.loads(text), list(descriptors))


def _rest(connection: socket.socket, data: bytearray, size: int) -> bytearray | None:
    while len(data) < size:
        part = connection.recv(min(size - len(data), 1 << 20))
        if not part:
            return None
        data += part
    return data


def send(connection: socket.socket, message: Mapping[str, object], descriptors: Sequence[int] = ()) -> None:
    """Send a message, with file descriptors."""
    data = json.dumps(message).encode()
    head = len(data).to_bytes(8, "little")
    if descriptors:
        socket.send_fds(connection, [head], list(descriptors))
        connection.sendall(data)
    else:
        connection.sendall(head + data)
