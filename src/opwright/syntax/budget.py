"""Work that one source may ask for, which a stranger may have written: characters, steps, depth, and seconds."""

from __future__ import annotations

import time
from time import monotonic
from typing import Final

from opwright.source.codes import TOO_MUCH_WORK
from opwright.source.diagnostic import Fault
from opwright.source.span import SourceText

#: Characters of a C++ source. PyTorch's largest with registrations has 1.5 million.
SOURCE_CHARACTERS: Final = 4_000_000
#: Work for one C++ source: its characters, and 32 for each token, with what its macros stand for. PyTorch's largest
#: source with registrations needs 3 million.
SOURCE_WORK: Final = 20_000_000
#: Seconds of a processor for one C++ source, whatever the work consists of. PyTorch's largest needs about one.
SOURCE_SECONDS: Final = 20
#: Nesting depth of brackets, which is Clang's limit, and how many conditions of the preprocessor hold at a place.
CPP_DEPTH: Final = 256

# Python in a browser has one thread, and no clock of threads.
_thread_time: Final = getattr(time, "thread_time", time.process_time)
#: Work after which the clock is read again: some milliseconds.
_BETWEEN_LOOKS: Final = 20_000


class SourceBudget:
    """Work that is left for one source, the same in a command and in an editor.

    The clock is that of the thread: neither a busy machine nor other requests of a server take anything away.
    """

    def __init__(self, file: SourceText, *, in_bytes: bool = False) -> None:
        """Budget of a source. Raises Fault (E0006) if that is too long. Places are characters, or bytes in UTF-8."""
        self._file: Final = file
        self._in_bytes: Final = in_bytes
        self._left = SOURCE_WORK
        self._until_look = _BETWEEN_LOOKS
        self._end: Final = monotonic() + SOURCE_SECONDS
        self._end_of_thread: Final = _thread_time() + SOURCE_SECONDS
        if len(file.text) > SOURCE_CHARACTERS:
            message = f"the source has more than {SOURCE_CHARACTERS:,} characters"
            raise Fault.at(TOO_MUCH_WORK, message, file.span(SOURCE_CHARACTERS))

    def take(self, work: int, start: int, end: int | None = None) -> None:
        """Take work for the code at a place. Raises Fault (E0006) if nothing is left for it, or no time."""
        self._left -= work
        self._until_look -= work
        if self._left < 0:
            raise self.fault("there is too much code, with what the macros stand for", start, end)
        if self._until_look < 0:
            self.check_time(start, end)

    def check_time(self, start: int, end: int | None = None) -> None:
        """Raises Fault (E0006) if the time is over that the source may take."""
        self._until_look = _BETWEEN_LOOKS
        # A thread has at most the time that has passed, which costs less to ask for.
        if monotonic() > self._end and _thread_time() > self._end_of_thread:
            raise self.fault(
                f"the source takes more than {SOURCE_SECONDS} seconds, of which this is the end", start, end
            )

    def fault(self, message: str, start: int, end: int | None = None) -> Fault:
        """Fault (E0006) at a place."""
        if end is None:
            end = start
        if self._in_bytes:
            data = self._file.text.encode()
            start, end = (len(data[:place].decode("utf-8", "replace")) for place in (start, end))
        return Fault.at(TOO_MUCH_WORK, message, self._file.span(start, end))
