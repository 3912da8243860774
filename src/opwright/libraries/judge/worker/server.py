"""A server that imports PyTorch once, and copies itself for each worker."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import traceback
from types import ModuleType

from .confinement import NEW_NETWORK, NEW_PROCESSES, hide_memory, limit, unshare
from .protocol import JsonMessage, receive, send
from .worker import Worker


def serve(control: socket.socket) -> None:
    """Start a worker for each message, whose descriptors are its socket, the file for its results, and its status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    hide_memory()
    while (received := receive(control)) is not None:
        message, descriptors = received
        reader, writer = os.pipe()
        guard = os.fork()
        if guard == 0:
            try:
                os.close(reader)
                control.close()
                _guard(message, descriptors, writer)
            finally:
                os._exit(1)
        for descriptor in (writer, *descriptors):
            os.close(descriptor)
        with os.fdopen(reader, encoding="utf-8") as stream:
            send(control, json.loads(stream.readline() or "{}"))
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _guard(message: JsonMessage, descriptors: list[int], writer: int) -> None:
    """Start the worker in namespaces of its own, and tell how it ended."""
    connection, results, status = descriptors
    isolated = {"network": unshare(NEW_NETWORK), "processes": unshare(NEW_PROCESSES)}
    child = os.fork()
    if child == 0:
        try:
            os.close(status)
            os.close(writer)
            os.setsid()
            limit(message)
            sys.modules["__main__"], sys.argv = ModuleType("__main__"), [""]
            Worker(socket.socket(fileno=connection), results).run()
        except BaseException:
            os.write(2, traceback.format_exc().encode())
        finally:
            os._exit(0)
    os.write(writer, json.dumps({"pid": child, "isolated": isolated}).encode() + b"\n")
    for descriptor in (connection, results, writer):
        os.close(descriptor)
    _, code = os.waitpid(child, 0)
    ended = os.waitstatus_to_exitcode(code)
    name = signal.Signals(-ended).name if ended < 0 else f"exit status {ended}"
    with contextlib.suppress(OSError):
        os.write(status, name.encode())
