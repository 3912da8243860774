"""Prefetch YAML files: a second process reads them while this one still imports the modules that use them.

Reading the YAML of PyTorch takes about as long as those imports, 0.1 s each. On two free processors, a run after one
edited entry that writes all ATen files takes 1.27 s with prefetching and 1.39 s without, the median of 14 pairs. On one
processor, and where processes cannot be copied, nothing is prefetched.

Prefetching never changes a result. Where the second process fails, or meets YAML that `encode` leaves out, this process
reads the file itself and reports its faults.
"""

from __future__ import annotations

import contextlib
import marshal

from opwright.source.child import Child
from opwright.source.decode import decode_items
from opwright.source.diagnostic import Fault
from opwright.source.items import ChosenItems, encode_runs, runs_of
from opwright.source.nodes import Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Sequence as Row
    from typing import IO, TypeAlias

    from opwright.source.decode import EncodedItems
    from opwright.source.nodes import Node
    from opwright.source.span import SourceText

    Wanted: TypeAlias = "SourceText | ChosenItems"
    """What is prefetched: a file, or some of its items."""

__all__ = ["keep_trees", "prefetching", "read_items", "read_tree", "stream_tree"]

_NUMBER_BYTES = 4
_PIPE_BYTES = 2**20
_CHUNK_SCALARS = 1500
"""How many scalars pass from one process to the other at once."""

#: The process that reads it, for all that is prefetched and not yet used.
_prefetchers: dict[Wanted, _Prefetcher] = {}

#: The trees of files that are read several times.
_kept_trees: dict[SourceText, Node] = {}


@contextlib.contextmanager
def keep_trees(trees: Mapping[SourceText, Node]) -> Iterator[None]:
    """Within the context, `read_tree` and `stream_tree` give these trees for these files."""
    _kept_trees.update(trees)
    try:
        yield
    finally:
        for file in trees:
            _kept_trees.pop(file, None)


def read_tree(file: SourceText) -> Node:
    """The root node of a YAML file, from the process that prefetched it or from `load_yaml`.

    Raises Fault as `load_yaml` does.
    """
    root = stream_tree(file)
    return Sequence(file, root.start, root.end, list(root)) if isinstance(root, _StreamedList) else root


def stream_tree(file: SourceText) -> Node:
    """The same, but a list may get its items while they are used: iterate over it once, which may raise the Fault."""
    if file in _kept_trees:
        return _kept_trees[file]
    prefetcher = _prefetchers.pop(file, None)
    first = None if prefetcher is None else prefetcher.next_items(file)
    return _load(file) if prefetcher is None or not first else _StreamedList(file, first, prefetcher)


def read_items(items: ChosenItems) -> list[Node] | None:
    """The nodes of items; None if one of them does not parse alone."""
    nodes: list[Node] = []
    try:
        for run, received in zip(runs_of(items.items), _read_runs(items), strict=False):
            if len(received) != len(run):
                return None
            nodes += received
    except (Fault, ValueError):
        return None
    return nodes


def _read_runs(items: ChosenItems) -> Iterator[list[Node]]:
    """The nodes of each run: of those that the other process reads, and then of the others.

    Raises Fault or ValueError where a run does not parse alone.
    """
    prefetcher = _prefetchers.pop(items, None)
    count = 0
    while prefetcher is not None and (received := prefetcher.next_items(items)) is not None:
        yield received
        count += len(received)
    for encoded in encode_runs(items.file, items.items[count:]):
        yield decode_items(items.file, encoded)


class _StreamedList(Sequence):
    """A list whose items another process sends. It keeps no item that was used, so that its memory is free again."""

    __slots__ = ("_prefetcher",)

    def __init__(self, file: SourceText, first: list[Node], prefetcher: _Prefetcher) -> None:
        super().__init__(file, first[0].start, len(file.text), first)
        self._prefetcher = prefetcher

    def __iter__(self) -> Iterator[Node]:
        count = 0
        items: list[Node] | None = self.items
        self.items = []
        while items:
            count += len(items)
            yield from items
            items = self._prefetcher.next_items(self.file)
        if items is None:
            # The other process gave up: this one reads the file and goes on after the items that it already has.
            root = _load(self.file)
            yield from root.items[count:] if isinstance(root, Sequence) else ()


def _load(file: SourceText) -> Node:
    # Importing PyYAML takes longer than decoding the nodes of a file, so a run that prefetched all does not import it.
    from opwright.source.yaml import load_yaml

    return load_yaml(file)


@contextlib.contextmanager
def prefetching(files: Row[Wanted]) -> Iterator[None]:
    """Within the context, another process reads these files, in this order; `read_tree` takes what it sends.

    Of a file of which a run needs some items, it reads only these, which `read_items` takes.

    When the context ends, what was not yet used is kept for this process and for copies of it. The caller knows that
    this process can be copied.
    """
    prefetcher = _Prefetcher(files)
    # Files of an earlier context that nobody used are dropped.
    _prefetchers.clear()
    _prefetchers.update(dict.fromkeys(files, prefetcher))
    try:
        yield
        prefetcher.receive_all()
    except BaseException:
        for file in files:
            _prefetchers.pop(file, None)
        raise
    finally:
        prefetcher.end()


class _Prefetcher:
    """A process that reads files, and the chunks that it sent so far.

    A message is the index of a file, a length, and a chunk of so many bytes: encoded items of the file, none at its
    end, or None where the process gives up.
    """

    def __init__(self, files: Row[Wanted]) -> None:
        self._child = Child(lambda parent: _send_items(files, parent.results))
        self._results = self._child.results
        with contextlib.suppress(ImportError, AttributeError, OSError):
            # A large pipe, where the system allows one, lets the other process go on while this one is busy.
            import fcntl

            fcntl.fcntl(self._results, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._files = list(files)
        self._chunks: dict[Wanted, list[bytes]] = {file: [] for file in files}

    def next_items(self, file: Wanted) -> list[Node] | None:
        """The next items of a file, none at its end; None where the process gave up on the file."""
        chunks = self._chunks[file]
        while not chunks:
            if not self._receive():
                return None
        items = marshal.loads(chunks.pop(0))
        if items is None:
            return None
        return decode_items(file.file if isinstance(file, ChosenItems) else file, items)

    def receive_all(self) -> None:
        """Receive all messages that are still to come."""
        while self._receive():
            pass

    def end(self) -> None:
        """Wait for the process, which ends when nobody reads its messages."""
        self._child.end()

    def _receive(self) -> bool:
        """Receive the next message; False if there is none."""
        if self._results.closed:
            return False
        index, length = (int.from_bytes(self._results.read(_NUMBER_BYTES), "little") for _ in range(2))
        chunk = self._results.read(length)
        if not chunk or len(chunk) < length:
            # The process has sent all, or was killed.
            return False
        self._chunks[self._files[index]].append(chunk)
        return True


def _send_items(files: Row[Wanted], results: IO[bytes]) -> None:
    """Read the files and send their items: this runs in the other process."""
    import gc

    gc.disable()
    for index, file in enumerate(files):
        for items in _encoded_chunks(file):
            chunk = marshal.dumps(items)
            results.write(index.to_bytes(_NUMBER_BYTES, "little"))
            results.write(len(chunk).to_bytes(_NUMBER_BYTES, "little"))
            results.write(chunk)
            results.flush()


def _encoded_chunks(file: Wanted) -> Iterator[EncodedItems | None]:
    """The items of a file, some at a time, and an empty chunk at the end; None where the first process must read on.

    Of some items, a chunk has those that follow each other.
    """
    try:
        if isinstance(file, ChosenItems):
            yield from encode_runs(file.file, file.items)
            return
        # Imported here: a run without a second process does not need it.
        from opwright.source.encode import encode_items

        yield from encode_items(file, _CHUNK_SCALARS)
    except (Fault, ValueError):
        yield None
