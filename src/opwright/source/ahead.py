"""YAML files read ahead: a second process reads them while this one still imports what works on them.

That takes most of PyYAML's time out of a run where there is a second processor. Whatever goes wrong there makes no
difference: what the other process does not give, this one reads itself, and finds the faults of it.
"""

from __future__ import annotations

import contextlib
import marshal
import os

from opwright.source.flat import Flattening, unflattened
from opwright.source.nodes import Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence as Row
    from typing import IO, NoReturn

    from opwright.source.nodes import Node
    from opwright.source.span import SourceText

__all__ = ["read_coming", "read_tree", "reading_ahead"]

_LENGTH_BYTES = 8
_AT_ONCE = 150
"""How many items of a list pass from one process to the other at once."""

#: What comes of each file that is read ahead, by the identity of the file.
_streams: dict[int, IO[bytes]] = {}


def read_tree(file: SourceText) -> Node:
    """The root node of a YAML file: what another process read of it ahead, if one did, else what `load_yaml` gives.

    Raises Fault as `load_yaml` does.
    """
    root = read_coming(file)
    return Sequence(file, root.start, root.end, list(root)) if isinstance(root, _Coming) else root


def read_coming(file: SourceText) -> Node:
    """The same, but the items of a list may still be to come: iterate over it, once, which may raise the Fault."""
    stream = _streams.pop(id(file), None)
    first = None if stream is None else _received(file, stream)
    return _loaded(file) if stream is None or not first else _Coming(file, first, stream)


class _Coming(Sequence):
    """A list of which another process gives the items. None of them is kept, so that their memory is used again."""

    __slots__ = ("_stream",)

    def __init__(self, file: SourceText, first: list[Node], stream: IO[bytes]) -> None:
        super().__init__(file, first[0].start, len(file.text), first)
        self._stream = stream

    def __iter__(self) -> Iterator[Node]:
        given = 0
        some: list[Node] | None = self.items
        self.items = []
        while some:
            given += len(some)
            yield from some
            some = None
            some = _received(self.file, self._stream)
        self._stream.close()
        if some is None:
            # What the other process does not give is read here.
            root = _loaded(self.file)
            yield from root.items[given:] if isinstance(root, Sequence) else ()


def _received(file: SourceText, stream: IO[bytes]) -> list[Node] | None:
    """The next items of a file, none where there are no more; None where the other process gave up on it."""
    length = stream.read(_LENGTH_BYTES)
    data = stream.read(int.from_bytes(length, "little"))
    return unflattened(file, marshal.loads(data)) if data else None


def _loaded(file: SourceText) -> Node:
    # PyYAML takes longer to import than the nodes of a file take to pass: it is imported where it is needed.
    from opwright.source.yaml import load_yaml

    return load_yaml(file)


@contextlib.contextmanager
def reading_ahead(files: Row[SourceText]) -> Iterator[None]:
    """Within the context, another process reads these files, and `read_tree` takes what it gives.

    They are read in this order, and had better be asked for in it. The caller knows that this process can be copied.
    """
    pipes = [os.pipe() for _ in files]
    process = os.fork()
    if not process:
        _read_apart(files, pipes)
    streams = []
    for file, (results, send) in zip(files, pipes, strict=True):
        os.close(send)
        _streams[id(file)] = stream = os.fdopen(results, "rb")
        streams.append(stream)
    try:
        yield
    finally:
        for file, stream in zip(files, streams, strict=True):
            _streams.pop(id(file), None)
            # The other process ends where nobody listens.
            stream.close()
        os.waitpid(process, 0)


def _read_apart(files: Row[SourceText], pipes: Row[tuple[int, int]]) -> NoReturn:
    """The life of the other process."""
    import gc

    gc.disable()
    try:
        for results, _ in pipes:
            os.close(results)
        for file, (_, send) in zip(files, pipes, strict=True):
            # What fails here, a fault of the file among it, leaves the file to the first process.
            with os.fdopen(send, "wb") as stream, contextlib.suppress(Exception):
                _send_items(file, stream)
    finally:
        # This copy must not go on with what the first process is about to do.
        os._exit(0)


def _send_items(file: SourceText, stream: IO[bytes]) -> None:
    from opwright.source.yaml import load_items

    flattening = Flattening()
    for items in load_items(file, _AT_ONCE):
        for item in items:
            flattening.add(item)
        _send(marshal.dumps(flattening.taken()), stream)
    _send(marshal.dumps(flattening.taken()), stream)


def _send(data: bytes, stream: IO[bytes]) -> None:
    stream.write(len(data).to_bytes(_LENGTH_BYTES, "little"))
    stream.write(data)
    stream.flush()
