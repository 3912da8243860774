"""Calls of a library for `opwright import`: from a file, or recorded while a command runs; repeated, and compared."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from opwright.migrate.calls import recorder
from opwright.migrate.calls.outcomes import add_end, last_outcome
from opwright.migrate.calls.stored_calls import CallCounts, counted, merged, read_records
from opwright.migrate.import_codes import CALLS_NOT_READ
from opwright.migrate.importing.comparison import RegistrationDifference
from opwright.migrate.importing.process import LoadedOperator, answer_of, last_words, run_program
from opwright.migrate.importing.programs import MARK
from opwright.migrate.limited import TooSlow
from opwright.source.diagnostic import Fault, shorten
from opwright.source.records import NamedTuple

#: How many calls may end the process that repeats them, before the others count as not repeated.
_MOST_ENDS: Final = 20

#: The fields of an entry, or of the files that it names, that may make a port differ -> the parts of calls.
_FIELDS: Final = {
    "outputs": ("fake", "compiled"),
    "requirements": ("error", "calls"),
    "derivatives": ("gradients", "second gradients", "tangents"),
    "autocast": ("autocast",),
    "batch_rule": ("vmap",),
}
_SAYS: Final = {"requirements": "what it requires of arguments"}


class RecordedCalls(NamedTuple):
    """What a command recorded: the contents of a file of calls, the exit status of the command, and the counts."""

    calls: bytes
    status: int
    counts: CallCounts


def stored_counts(calls: bytes) -> CallCounts:
    """How many calls the contents of a file have of each operator."""
    with _file_of(calls) as (_, path):
        return counted(read_records(path))


def record_command(
    command: Sequence[str], operators: Mapping[tuple[str, str], LoadedOperator], modules: Sequence[str]
) -> tuple[bytes, int]:
    """The calls of operators and of functions of modules while a command runs, and its exit status.

    What Python calls of other operators in the namespaces of `operators` counts too. Each Python
    that the command starts records. Raises Fault if the command cannot be started.
    """
    with tempfile.TemporaryDirectory() as folder:
        wanted, calls = os.path.join(folder, "wanted.json"), os.path.join(folder, "calls")
        names = {"::".join(name): recorder.ON_THE_WAY not in loaded.kernels for name, loaded in operators.items()}
        Path(wanted).write_text(json.dumps([calls, names, [*map(_absolute, modules)]]), encoding="utf-8")
        hook = os.path.join(folder, "hook")
        os.mkdir(hook)
        Path(hook, "sitecustomize.py").write_text(_sitecustomize(hook), encoding="utf-8")
        paths = [hook, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, recorder.VARIABLE: wanted, "PYTHONPATH": os.pathsep.join(paths)}
        try:
            status = subprocess.run(command, env=environment, check=False).returncode
        except OSError as error:
            message = f"cannot run `{shorten(' '.join(command))}`: {error.strerror}"
            raise Fault.at(CALLS_NOT_READ, message) from None
        return merged(_parts(folder)), status


def _absolute(name: str) -> str:
    """A module as it is named, a path from any folder: the command may have another one."""
    return os.path.abspath(name) if os.path.lexists(name) else name


def _parts(folder: str) -> list[str]:
    """The files of the processes that recorded, the oldest first."""
    parts = [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith("calls.")]
    return sorted(parts, key=lambda path: (os.stat(path).st_mtime_ns, path))


def _sitecustomize(hook: str) -> str:
    return (
        "import importlib.util as _util\n"
        f"_spec = _util.spec_from_file_location('_opwright_recorder', {os.path.abspath(recorder.__file__)!r})\n"
        "_recorder = _util.module_from_spec(_spec)\n"
        "_spec.loader.exec_module(_recorder)\n"
        "_recorder.install()\n"
        f"_recorder.run_next_sitecustomize({hook!r})\n"
    )


def calls_of(sources: Sequence[str], modules: Sequence[str]) -> bytes:
    """The calls of files: those that were recorded, and those that Python files yield, which run with the modules.

    Raises Fault if a file cannot be read, or if the process of a Python file fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        parts = []
        for number, source in enumerate(sources):
            if source.endswith(".py"):
                path = os.path.join(folder, f"{number}.calls")
                words = "the process of `{}`"
                answer_of("sample file", [source, path], modules, doing=words.format(source))
                parts += sorted(str(part) for part in Path(folder).glob(f"{number}.calls.*"))
            else:
                # Reads it all: what is damaged is no call that was left out.
                whole = os.path.join(folder, f"{number}.whole")
                counted(read_records(source))
                Path(whole).write_bytes(Path(source).read_bytes()[len(recorder.HEADER) :])
                parts.append(whole)
        return merged(parts)


@contextmanager
def _file_of(calls: bytes) -> Iterator[tuple[str, str]]:
    """A folder, and a file with calls in it."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "stored.calls")
        Path(path).write_bytes(calls)
        yield folder, path


class TriedCalls(NamedTuple):
    """What calls of an original show: how many of each operator gave results, and facts with the counts of calls."""

    calls: Mapping[str, int]
    facts: Mapping[str, Sequence[tuple[str, str, int]]]
    stored: CallCounts

    def of(self, operator: str, kind: str) -> list[tuple[str, int]]:
        """The names of one kind of fact about an operator, with the counts of calls that show it."""
        return [(name, count) for fact, name, count in self.facts.get(operator, ()) if fact == kind]


def tried_calls(calls: bytes, modules: Sequence[str]) -> TriedCalls:
    """Repeat calls with the original, and say what they show. This runs the code of the modules."""
    with _file_of(calls) as (folder, path):
        outcomes = _repeated(path, folder, "original", modules, twice=False)
        answer = cast("dict[str, Any]", answer_of("compared", [path, outcomes], (), doing="comparing calls"))
        return TriedCalls(answer["calls"], answer["facts"], counted(read_records(path)))


class CallComparison(NamedTuple):
    """The differences of calls, how many calls of each operator were compared, in which ways, and what was not."""

    differences: Sequence[RegistrationDifference]
    calls: Mapping[str, int]
    parts: Mapping[str, int]
    skipped: Mapping[str, int]


#: The names of the fields that may explain differences, by operator.
DeclaredFields: TypeAlias = "Mapping[str, frozenset[str]]"


def compared_calls(
    calls: bytes, original: Sequence[str], port: Sequence[str], fields: DeclaredFields
) -> CallComparison:
    """Repeat calls with an original and with its port, and compare. This runs the code of both.

    `fields` are what the library file says of operators that may make the port differ.
    """
    with _file_of(calls) as (folder, path):
        namespaces = sorted({name.partition("::")[0] for name in fields})
        sides = [
            _repeated(path, folder, "original", original, twice=True),
            _repeated(path, folder, "port", port, namespaces, twice=False),
        ]
        answer = cast("dict[str, Any]", answer_of("compared", [path, *sides], (), doing="comparing calls"))
        stored = counted(read_records(path))
    skipped = {**answer["skipped"], **{f"not stored: {why}": count for why, count in stored.not_stored.items()}}
    differences = [_difference(*row, fields=fields) for row in answer["differences"]]
    return CallComparison(differences, answer["calls"], answer["parts"], skipped)


def _difference(
    kind: str, operator: str, part: str, text: str, count: int, shown: str, *, fields: DeclaredFields
) -> RegistrationDifference:
    """A difference of calls. It is intended if the library file has a field that says so."""
    own = fields.get(operator, frozenset())
    reason = next((field for field, parts in _FIELDS.items() if part in parts and field in own), "")
    is_more = kind == "added" or (kind in ("lost", "changed") and part in ("error", "calls") and "raises" in text)
    if kind == "declared":
        kind, text = "intended", f"{text}, as the schema says that it is written"
    elif reason and is_more:
        kind, text = "intended", f"{text}; the library file says {_SAYS.get(reason, f'its `{reason}`')}"
    calls = "1 call" if count == 1 else f"{count} calls"
    return RegistrationDifference(kind, operator, f"in {calls}, such as ({shown}): {text}")


def _repeated(
    calls: str, folder: str, side: str, modules: Sequence[str], namespaces: Sequence[str] = (), *, twice: bool
) -> str:
    """The file with the outcomes of calls. A call that ends the process has an outcome, and the next ones go on.

    `namespaces` are those with the operators that functions of modules became.
    """
    path = os.path.join(folder, f"{side}.outcomes")
    doing = f"repeating calls with the {side}"
    first, ends = 0, 0
    while True:
        told, lines, is_slow = "", "", False
        try:
            done = run_program("repeated", [calls, path, first, twice, namespaces], modules, doing)
            told, lines, status = done.stdout, last_words(done), done.returncode
            reason = f"signal {-status}" if status < 0 else f"exit status {status}"
        except TooSlow as slow:
            reason, is_slow = str(slow), True
        marks = [line.removeprefix(MARK) for line in told.splitlines() if line.startswith(MARK)]
        if marks and marks[-1] == '"done"':
            return path
        last = last_outcome(path)
        if not marks and (not is_slow or not os.path.exists(path)):
            raise Fault.at(CALLS_NOT_READ, f"{doing} failed: {lines or reason}")
        number = int(marks[-1]) if marks else last + 1
        # A process that only takes long goes on where it was.
        if not is_slow or last < first:
            ends += 1
            if ends > _MOST_ENDS:
                raise Fault.at(CALLS_NOT_READ, f"{doing}: more than {_MOST_ENDS} calls end the process")
            add_end(path, number, reason)
            number += 1
        first = number
