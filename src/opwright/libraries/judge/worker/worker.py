"""A worker: a process that has one candidate, and answers messages."""

from __future__ import annotations

import socket
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from .calls import Calls
from .loading import LoadedCandidate
from .memory import Memory
from .protocol import JsonMessage, receive, send
from .results import Results
from .state import state
from .transforms import Transforms


class Worker:
    """A process that has one candidate."""

    def __init__(self, connection: socket.socket, file: int) -> None:
        torch: Any = import_module("torch")
        self._connection: Final = connection
        self._memory: Final = Memory(torch)
        candidate = LoadedCandidate(torch)
        results = Results(torch, file, self._memory, candidate)
        calls = Calls(torch, candidate, self._memory, results)
        transforms = Transforms(torch, candidate, self._memory, results)
        self._answers: Final[dict[str, Callable[[JsonMessage], JsonMessage]]] = {
            "load": candidate.load,
            "state": lambda _: state(torch),
            "call": calls.call,
            "together": calls.together,
            "interrupt": calls.interrupt,
            "time": calls.time,
            "read": results.read,
            "gradient": transforms.gradient,
            "compile": transforms.compile,
            "export": transforms.export,
            "vmap": transforms.vmap,
            "fake": transforms.fake,
        }

    def run(self) -> None:
        """Answer messages until there are none."""
        while (received := receive(self._connection)) is not None:
            message, descriptors = received
            try:
                if message["do"] == "map":
                    answer = self._memory.map(message, descriptors)
                else:
                    answer = self._answers[message["do"]](message)
            except BaseException as error:
                answer = {"error": type(error).__name__, "text": _text_of(error)}
            send(self._connection, answer)


def _text_of(error: BaseException) -> str:
    try:
        return str(error)[:2000]
    except Exception:
        return ""
