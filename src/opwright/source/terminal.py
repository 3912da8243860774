"""What programs print: the only functions that write to standard output and standard error.

Names of files, sources and plug-ins may have characters that control a terminal: that move the cursor, hide lines or
change the direction of text. Texts are printed with these characters made visible. A rendered report is printed as it
is: what renders it has done the same with all that it quotes, and has added colours and links. Also of such a report, a
terminal gets only these.
"""

from __future__ import annotations

import contextlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final, TextIO

#: Seconds after which people who watch a terminal are told what takes so long.
PATIENCE: Final = 2.0


def visible(text: str) -> str:
    """A text with its line breaks, and with other characters that control a terminal made visible.

    >>> visible("a.py\\x1b[2K\\nb.py")
    'a.py␛[2K\\nb.py'
    """
    return text if text.isprintable() else "\n".join(map(_printable, text.split("\n")))


def _printable(line: str) -> str:
    if line.isprintable():
        return line
    # Programs that print plain lines need no reports.
    from opwright.source.snippet import printable

    # A byte of a name that is not UTF-8 has a form that tells which one it is.
    return "".join(
        [
            f"\\u{ord(character):04x}" if "\ud800" <= character <= "\udfff" else printable(character)
            for character in line
        ]
    )


def counted(number: int, noun: str) -> str:
    """A number with its noun, in the plural unless it is one.

    >>> counted(1, "operator"), counted(2_000, "operator")
    ('1 operator', '2,000 operators')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def tell(*lines: str, flush: bool = False) -> None:
    """Print lines to standard output; a line break inside of one is made visible too: names of files may have some."""
    sys.stdout.write("".join([f"{_printable(line)}\n" for line in lines]))
    if flush:
        sys.stdout.flush()


def say(text: str) -> None:
    """Write a text to standard error at once. Text that cannot be written is lost, and the run goes on."""
    say_rendered(visible(text))


@contextlib.contextmanager
def slow(text: str) -> Iterator[None]:
    """A context that says what takes so long if it lasts two seconds, to a terminal alone; nothing for an empty text.

    Of contexts inside each other, the innermost speaks. The system's timer does it and no thread: a process with
    threads cannot be copied to share the work. Without such a timer nothing is said.
    """
    import signal

    if not (hasattr(signal, "setitimer") and sys.stderr is not None and sys.stderr.isatty()):
        yield
        return
    try:
        handler = signal.signal(signal.SIGALRM, lambda *_: say(f"{text}\n" if text else ""))
    except ValueError:
        # Only the main thread can handle signals.
        yield
        return
    outer, _ = signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, outer)
        signal.signal(signal.SIGALRM, handler)


def print_rendered(text: str) -> None:
    """Print a report, which has made visible what it quotes, to standard output."""
    sys.stdout.write(_for_stream(text, sys.stdout))


def print_document(text: str) -> None:
    """Print a document with text of inputs to standard output. A terminal gets no colour or link that they have."""
    sys.stdout.write(visible(text) if sys.stdout.isatty() else text)


def say_rendered(text: str) -> None:
    """Write a report to standard error at once. Text that cannot be written is lost, and the run goes on."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(_for_stream(text, sys.stderr))
        sys.stderr.flush()


def _for_stream(text: str, stream: TextIO) -> str:
    """A rendered text for a stream. A terminal gets only colours and links of it."""
    if text.replace("\n", "").isprintable() or not stream.isatty():
        return text
    import re

    parts = re.split(r"(\x1b\[[0-9;]*m|\x1b\]8;[^\x00-\x1f\x7f-\x9f]*(?:\x1b\\|\x07))", text)
    return "".join([visible(part) if number % 2 == 0 else part for number, part in enumerate(parts)])
