"""YAML files read ahead: a second process reads them while this one still imports what works on them.

That takes most of PyYAML's time out of a run where there is a second processor. Whatever goes wrong there makes no
difference: what the other process does not give, this one reads itself, and finds the faults of it.
"""

from __future__ import annotations

import contextlib
import marshal

from opwright.source.child import Child
from opwright.source.diagnostic import Fault
from opwright.source.flat import unflattened
from opwright.source.nodes import Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence as Row
    from typing import IO

    from opwright.source.flat import Flat
    from opwright.source.nodes import Node
    from opwright.source.span import SourceText

__all__ = ["read_coming", "read_tree", "reading_ahead"]

_NUMBER_BYTES = 4
_PIPE_BYTES = 2**20
_AT_ONCE = 1500
"""How many scalars pass from one process to the other at once."""

#: The process that reads it, for each file that is read ahead and was not asked for.
_readings: dict[SourceText, _Reading] = {}


def read_tree(file: SourceText) -> Node:
    """The root node of a YAML file: what another process read of it ahead, if one did, else what `load_yaml` gives.

    Raises Fault as `load_yaml` does.
    """
    root = read_coming(file)
    return Sequence(file, root.start, root.end, list(root)) if isinstance(root, _Coming) else root


def read_coming(file: SourceText) -> Node:
    """The same, but the items of a list may still be to come: iterate over it, once, which may raise the Fault."""
    reading = _readings.pop(file, None)
    first = None if reading is None else reading.next_items(file)
    return _loaded(file) if reading is None or not first else _Coming(file, first, reading)


class _Coming(Sequence):
    """A list of which another process gives the items. None of them is kept, so that their memory is used again."""

    __slots__ = ("_reading",)

    def __init__(self, file: SourceText, first: list[Node], reading: _Reading) -> None:
        super().__init__(file, first[0].start, len(file.text), first)
        self._reading = reading

    def __iter__(self) -> Iterator[Node]:
        given = 0
        some: list[Node] | None = self.items
        self.items = []
        while some:
            given += len(some)
            yield from some
            some = self._reading.next_items(self.file)
        if some is None:
            # What the other process does not give is read here.
            root = _loaded(self.file)
            yield from root.items[given:] if isinstance(root, Sequence) else ()


def _loaded(file: SourceText) -> Node:
    # PyYAML takes longer to import than the nodes of a file take to pass: it is imported where it is needed.
    from opwright.source.yaml import load_yaml

    return load_yaml(file)


@contextlib.contextmanager
def reading_ahead(files: Row[SourceText]) -> Iterator[None]:
    """Within the context, another process reads these files, in this order; `read_tree` takes what it gives.

    What was not asked for when the context ends is kept, to be asked for later, in this process or a copy of it.
    The caller knows that this process can be copied.
    """
    reading = _Reading(files)
    # What nobody asked for since the last time is not asked for any more.
    _readings.clear()
    _readings.update(dict.fromkeys(files, reading))
    try:
        yield
        reading.take_all()
    except BaseException:
        for file in files:
            _readings.pop(file, None)
        raise
    finally:
        reading.end()


class _Reading:
    """A process that reads files, and what came of it so far.

    A message is the number of a file, a length, and so many bytes: items of the file, or nothing where it ends.
    """

    def __init__(self, files: Row[SourceText]) -> None:
        self._child = Child(lambda parent: _read_apart(files, parent.results))
        self._results = self._child.results
        with contextlib.suppress(ImportError, AttributeError, OSError):
            # The other process shall not wait for this one; not all systems let a pipe hold so much.
            import fcntl

            fcntl.fcntl(self._results, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._files = list(files)
        self._came: dict[SourceText, list[bytes]] = {file: [] for file in files}

    def next_items(self, file: SourceText) -> list[Node] | None:
        """The next items of a file, none where there are no more; None where the process gave up on it."""
        came = self._came[file]
        while not came:
            if not self._receive():
                return None
        items = marshal.loads(came.pop(0))
        return None if items is None else unflattened(file, items)

    def take_all(self) -> None:
        """Take all that is still to come."""
        while self._receive():
            pass

    def end(self) -> None:
        """Wait for the process, which ends when nobody listens."""
        self._child.end()

    def _receive(self) -> bool:
        """Take the next message, if there is one."""
        if self._results.closed:
            return False
        number, length = (int.from_bytes(self._results.read(_NUMBER_BYTES), "little") for _ in range(2))
        data = self._results.read(length)
        if not data or len(data) < length:
            # All has come, or the process was ended.
            return False
        self._came[self._files[number]].append(data)
        return True


def _read_apart(files: Row[SourceText], results: IO[bytes]) -> None:
    """The work of the other process."""
    import gc

    gc.disable()
    for number, file in enumerate(files):
        for flat in _parts(file):
            data = marshal.dumps(flat)
            results.write(number.to_bytes(_NUMBER_BYTES, "little"))
            results.write(len(data).to_bytes(_NUMBER_BYTES, "little"))
            results.write(data)
            results.flush()


def _parts(file: SourceText) -> Iterator[Flat | None]:
    """The items of a file, some at a time, and then none; None where the rest is left to the first process."""
    from opwright.source.flattening import flattened

    try:
        yield from flattened(file, _AT_ONCE)
    except (Fault, ValueError):
        yield None
