"""The judge for programs: `opwright.accept`."""

from __future__ import annotations

import os
from typing import Final

from opwright.libraries.judge.candidates import find_candidate
from opwright.libraries.judge.entry import JudgedEntry, read_entry
from opwright.libraries.judge.judging import JudgeOptions, judge
from opwright.libraries.judge.processes import Desk, WorkerLimits
from opwright.libraries.judge.verdict import Verdict

_LIMITS: Final = WorkerLimits()


class Judge:
    """A judge of one entry, for many candidates: it starts PyTorch twice, and copies a process for each candidate.

    `entry` is a text such as `acme.yaml::rms_norm`. `folders` are those of Python modules that the reference needs,
    besides the folder of the library file. Raises FaultsFound or Fault with what is wrong with the entry.

    >>> with Judge("acme.yaml::rms_norm") as judge:  # doctest: +SKIP
    ...     verdicts = [judge.accept(path, seed=7) for path in candidates]
    """

    def __init__(self, entry: str | JudgedEntry, *, folders: tuple[str, ...] = ()) -> None:
        self._entry = read_entry(entry) if isinstance(entry, str) else entry
        self._folders = tuple(map(os.path.abspath, folders))
        self._desk = Desk()

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes of the judge."""
        self._desk.close()

    def accept(
        self,
        candidate: str,
        *,
        seed: int = 0,
        seconds: float = 60.0,
        limits: WorkerLimits = _LIMITS,
        speed: str | None = None,
        sanitize: bool = False,
    ) -> Verdict:
        """The verdict about a candidate. Raises Fault if there is none (E1213).

        `seconds` are those for all checks, and `limits` those of a worker. `speed` is `reference`, or a candidate whose
        speed is measured beside. With `sanitize`, a candidate in C++ is called with AddressSanitizer too.
        """
        options = JudgeOptions(seed, limits, seconds, self._folders, speed, sanitize)
        return judge(self._entry, find_candidate(candidate), self._desk, options)


def accept(
    entry: str, candidate: str, *, seed: int = 0, seconds: float = 60.0, folders: tuple[str, ...] = ()
) -> Verdict:
    """Judge whether a candidate computes what an entry of a library file says.

    `entry` is a text such as `acme.yaml::rms_norm`, whose entry names a reference. `candidate` is a file of Python, C++
    or CUDA, a shared object, or an installed package; `::name` after it names a function or an operator in it. The
    verdict is true if the candidate is accepted. The same seed gives the same verdict.

    Raises FaultsFound with mistakes in the library file, and Fault if there is no such entry or candidate (E1213).

    >>> verdict = opwright.accept("acme.yaml::rms_norm", "candidate.py", seed=7)  # doctest: +SKIP
    >>> print(verdict)  # doctest: +SKIP
    accepted: candidate.py as acme::rms_norm (seed 7)
    """
    with Judge(entry, folders=folders) as judge:
        return judge.accept(candidate, seed=seed, seconds=seconds)
