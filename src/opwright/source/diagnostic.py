"""Diagnostics as values: what is wrong, where, and how to fix it.

A leaf parser that cannot go on raises `Fault`, which carries one diagnostic. Whoever drives it collects faults in a
`Diagnostics` sink and goes on to the next unit, so that one run reports every fault. Between two stages the driver
calls `raise_if_errors`, the gate: no stage works on input that is known to be wrong.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Iterable, Iterator, Sequence

from opwright.source import limits
from opwright.source.records import NamedTuple
from opwright.source.span import Span


class Severity(enum.Enum):
    """How grave a diagnostic is: an error stops the run at the next gate, a warning and a note do not."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Label(NamedTuple):
    """A span with a few words. A diagnostic's primary labels mark the fault, the others what it collides with."""

    span: Span
    text: str = ""
    primary: bool = True


class Edit(NamedTuple):
    """A change of a file: the span that it replaces, and the new text. A point as span inserts."""

    span: Span
    text: str


class Diagnostic(NamedTuple):
    """One finding: code, severity, message, labels at spans, notes, and a help text.

    `edits` fix it, all of them together; a diagnostic has edits only where there is no other way to fix it.
    """

    code: str
    severity: Severity
    message: str
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: str | Suggestion = ""
    edits: tuple[Edit, ...] = ()

    @property
    def span(self) -> Span | None:
        """Span of the first primary label, else of the first label, else None."""
        for label in self.labels:
            if label.primary:
                return label.span
        return self.labels[0].span if self.labels else None


def _diagnostic(
    severity: Severity,
    code: str,
    message: str,
    at: Span | None,
    label: str,
    notes: Sequence[str],
    help: str | Suggestion,
    also: Sequence[Label],
    edits: Sequence[Edit],
) -> Diagnostic:
    labels = (() if at is None else (Label(at, label),)) + tuple(also)
    return Diagnostic(code, severity, message, labels, tuple(notes), help, tuple(edits))


class Fault(Exception):
    """A fault that stops a parser. It carries the diagnostic; users never see it as a traceback.

    >>> print(Fault.at("E0001", "no such file: `ops.yml`", help="did you mean `ops.yaml`?"))
    error[E0001]: no such file: `ops.yml`
      help: did you mean `ops.yaml`?
    """

    diagnostic: Diagnostic

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic)
        self.diagnostic = diagnostic

    def __str__(self) -> str:
        span = self.diagnostic.span
        where = "" if span is None else f"{span}: "
        help = f"\n  help: {self.diagnostic.help}" if self.diagnostic.help else ""
        return f"{where}{self.diagnostic.severity.value}[{self.diagnostic.code}]: {self.diagnostic.message}{help}"

    @classmethod
    def at(
        cls,
        code: str,
        message: str,
        at: Span | None = None,
        *,
        label: str = "",
        notes: Sequence[str] = (),
        help: str | Suggestion = "",
        also: Sequence[Label] = (),
        edits: Sequence[Edit] = (),
    ) -> Fault:
        """A fault with an error, from the arguments of `Diagnostics.error`."""
        return cls(_diagnostic(Severity.ERROR, code, message, at, label, notes, help, also, edits))


class FaultsFound(Exception):
    """Raised between two stages of a run with errors: all diagnostics so far, sorted.

    >>> sink = Diagnostics()
    >>> sink.error("E0001", "no such file: `ops.yaml`")
    >>> try:
    ...     sink.raise_if_errors()
    ... except FaultsFound as found:
    ...     print([diagnostic.code for diagnostic in found.diagnostics])
    ['E0001']
    """

    diagnostics: tuple[Diagnostic, ...]

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(self.diagnostics)

    def __str__(self) -> str:
        return "\n".join(str(Fault(diagnostic)) for diagnostic in self.diagnostics)


class Diagnostics:
    """Sink that collects the diagnostics of a run.

    It keeps 1,000 errors and raises `FaultsFound` with the last of them, so that work on a completely wrong file
    ends. It keeps 1,000 warnings and notes, and drops further ones unless it `keeps_all_remarks`.

    >>> sink = Diagnostics()
    >>> sink.warning("W0001", "the file has no entries")
    >>> sink.has_errors
    False
    >>> sink.error("E0001", "no such file")
    >>> [diagnostic.code for diagnostic in sink.sorted()]
    ['E0001', 'W0001']
    """

    __slots__ = ("_errors", "_found", "_remarks")

    def __init__(self, *, keeps_all_remarks: bool = False) -> None:
        self._found: list[Diagnostic] = []
        self._errors = 0
        self._remarks = sys.maxsize if keeps_all_remarks else limits.REMARKS

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self._found)

    @property
    def has_errors(self) -> bool:
        """Whether an error was added."""
        return self._errors > 0

    def add(self, diagnostic: Diagnostic) -> None:
        """Adds a diagnostic, for instance one that a `Fault` carries. Raises FaultsFound when there are too many."""
        self._keep(diagnostic)
        if self._errors >= limits.ERRORS and diagnostic.severity is Severity.ERROR:
            raise FaultsFound(self.sorted())

    def extend(self, more: Iterable[Diagnostic]) -> None:
        """Adds several existing diagnostics; never raises."""
        for diagnostic in more:
            self._keep(diagnostic)

    def _keep(self, diagnostic: Diagnostic) -> None:
        if diagnostic.severity is Severity.ERROR:
            self._errors += 1
            if self._errors <= limits.ERRORS:
                self._found.append(diagnostic)
        elif len(self._found) - min(self._errors, limits.ERRORS) < self._remarks:
            self._found.append(diagnostic)

    def take(self, raised: Fault | FaultsFound) -> None:
        """Adds the diagnostics of an exception."""
        self.extend(raised.diagnostics if isinstance(raised, FaultsFound) else [raised.diagnostic])

    def since(self, count: int) -> list[Diagnostic]:
        """Diagnostics after the first `count`."""
        return self._found[count:]

    def error(
        self,
        code: str,
        message: str,
        at: Span | None = None,
        *,
        label: str = "",
        notes: Sequence[str] = (),
        help: str | Suggestion = "",
        also: Sequence[Label] = (),
        edits: Sequence[Edit] = (),
    ) -> None:
        """Adds an error at a span (its label says `label`), with further labels from `also`."""
        self.add(_diagnostic(Severity.ERROR, code, message, at, label, notes, help, also, edits))

    def warning(
        self,
        code: str,
        message: str,
        at: Span | None = None,
        *,
        label: str = "",
        notes: Sequence[str] = (),
        help: str | Suggestion = "",
        also: Sequence[Label] = (),
        edits: Sequence[Edit] = (),
    ) -> None:
        """Adds a warning; the arguments are those of `error`."""
        self.add(_diagnostic(Severity.WARNING, code, message, at, label, notes, help, also, edits))

    def note(
        self,
        code: str,
        message: str,
        at: Span | None = None,
        *,
        label: str = "",
        notes: Sequence[str] = (),
        help: str | Suggestion = "",
        also: Sequence[Label] = (),
        edits: Sequence[Edit] = (),
    ) -> None:
        """Adds a note; the arguments are those of `error`."""
        self.add(_diagnostic(Severity.NOTE, code, message, at, label, notes, help, also, edits))

    def sorted(self) -> tuple[Diagnostic, ...]:
        """The diagnostics sorted by path, offset and code, without duplicates; those without a span come first."""
        seen: dict[tuple[object, ...], Diagnostic] = {}
        for diagnostic in self._found:
            seen.setdefault(_identity(diagnostic), diagnostic)
        return tuple(sorted(seen.values(), key=_order))

    def raise_if_errors(self) -> None:
        """Raises `FaultsFound` with all diagnostics if one of them is an error."""
        if self._errors:
            raise FaultsFound(self.sorted())


def _order(diagnostic: Diagnostic) -> tuple[str, int, str, int, str]:
    span = diagnostic.span
    if span is None:
        return "", 0, diagnostic.code, 0, diagnostic.message
    return span.file.path, span.start, diagnostic.code, span.end, diagnostic.message


def _identity(diagnostic: Diagnostic) -> tuple[object, ...]:
    # A file that was read twice is two objects, so a place is compared by path.
    labels = tuple(
        (label.span.file.path, label.span.start, label.span.end, label.text, label.primary)
        for label in diagnostic.labels
    )
    return diagnostic.code, diagnostic.severity, diagnostic.message, labels, diagnostic.notes


class Suggestion:
    """A question with the name most like a word; the search takes place when a report shows it.

    A search may compare the word with thousands of names, and a report shows 100 diagnostics of maybe 1,000.
    """

    __slots__ = ("_candidates", "_otherwise", "_prefix", "_text", "_word")

    def __init__(self, word: str, candidates: Iterable[str], otherwise: str, prefix: str) -> None:
        self._word = word
        self._candidates = candidates
        self._otherwise = otherwise
        self._prefix = prefix
        self._text: str | None = None

    def __str__(self) -> str:
        if self._text is None:
            from opwright.source.spelling import nearest_name  # Only a run that has a fault needs it.

            near = nearest_name(self._word, self._candidates)
            self._text = f"did you mean `{self._prefix}{near}`?" if near else self._otherwise
        return self._text

    def __bool__(self) -> bool:
        return bool(str(self))

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) if isinstance(other, (str, Suggestion)) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return repr(str(self))

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        # Another process needs the answer, not the names.
        return str, (str(self),)


def did_you_mean(word: str, candidates: Iterable[str], otherwise: str = "", *, prefix: str = "") -> Suggestion:
    """A question with the candidate most like the word, after a prefix, or another text if none is similar.

    >>> did_you_mean("CPUU", ["CPU", "CUDA"])
    'did you mean `CPU`?'
    >>> did_you_mean("banana", ["CPU", "CUDA"])
    ''
    """
    return Suggestion(word, candidates, otherwise, prefix)


def shorten(text: str, limit: int = 60) -> str:
    """Text on one line, cut to a number of characters, to be quoted in a message.

    >>> shorten("a text that\\n goes on", 10)
    'a text ...'
    """
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 3]}..."
