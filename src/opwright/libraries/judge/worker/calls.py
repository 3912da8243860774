"""Calls of the candidate: alone, in several threads, and within each other."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from .confinement import C
from .loading import LoadedCandidate
from .memory import Memory
from .protocol import JsonMessage, Tensor, Torch
from .results import Results

_PATIENCE: Final = 0.3
#: `M_PERTURB`: the byte that new memory of the GNU C library is filled with, inverted.
_PERTURB: Final = -6


class Calls:
    """What is called, with what, and where results go."""

    def __init__(self, torch: Torch, candidate: LoadedCandidate, memory: Memory, results: Results) -> None:
        self._torch: Final = torch
        self._candidate: Final = candidate
        self._memory: Final = memory
        self._results: Final = results

    @contextlib.contextmanager
    def _settings(self, settings: Mapping[str, Any]) -> Iterator[None]:
        torch = self._torch
        threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
        perturb = getattr(C, "mallopt", None)
        if "threads" in settings:
            torch.set_num_threads(settings["threads"])
        if "dtype" in settings:
            torch.set_default_dtype(getattr(torch, settings["dtype"]))
        if "poison" in settings and perturb is not None:
            perturb(_PERTURB, settings["poison"])
        with torch.inference_mode() if settings.get("inference") else contextlib.nullcontext():
            try:
                yield
            finally:
                if "poison" in settings and perturb is not None:
                    perturb(_PERTURB, 0)
                # What the candidate itself changed stays, to be seen.
                if "threads" in settings:
                    torch.set_num_threads(threads)
                if "dtype" in settings and torch.get_default_dtype() == getattr(torch, settings["dtype"]):
                    torch.set_default_dtype(dtype)

    def _call(self, message: JsonMessage, place: int = 0) -> Any:  # noqa: ANN401
        """Call the candidate, perhaps some times with the same arguments.

        Where a call gives others than the first one, it is the last, and both are read. Of written arguments, which
        can be read once, the values are those of the one of the two that is unlike a third.
        """
        positional, named = self._memory.given(message)
        if not message.get("before"):
            return self._candidate.function(*positional, **named)
        written = [self._memory.tensors[message["arena"]][place] for place in message["written"]]
        copies = [tensor.clone() for tensor in written]

        def called() -> tuple[Any, list[bytes], list[Tensor]]:
            for tensor, value in zip(written, copies, strict=True):
                tensor.copy_(value)
            results = self._candidate.function(*positional, **named)
            return results, self._results.image(results, written), [tensor.clone() for tensor in written]

        first = last = called()
        for number in range(message["before"]):
            last = called()
            if last[1] != first[1] and not written:
                self._results.more.append((place, first[0]))
                return last[0]
            if last[1] != first[1]:
                odd = first if number == 0 and called()[1] == last[1] else last
                for tensor, value in zip(written, odd[2], strict=True):
                    tensor.copy_(value)
                return odd[0]
        return last[0]

    def call(self, message: JsonMessage) -> JsonMessage:
        """Call the candidate once, and write its results.

        A `late` call writes them when it is asked to, and `held` ones wait for those of other calls.
        """
        settings = message.get("settings", {})
        with self._settings(settings):
            results = _in_thread(lambda: self._call(message)) if settings.get("other") else self._call(message)
        if message.get("held"):
            self._results.held.append(results)
            return {"returned": True}
        self._results.last = [results]
        return {"returned": True} if message.get("late") else self._results.read(message)

    def together(self, message: JsonMessage) -> JsonMessage:
        """Call the candidate in several threads at the same time, and each of them some times."""
        calls = message["calls"]
        ready = threading.Barrier(len(calls))

        def called(place: int) -> Any:  # noqa: ANN401
            ready.wait()
            return self._call(calls[place], place)

        outcomes = _Outcomes(*[partial(called, place) for place in range(len(calls))])
        # Python's threads take turns within calls, which are shorter than its usual turns.
        turn = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        for thread in outcomes.threads:
            thread.start()
        for thread in outcomes.threads:
            thread.join()
        sys.setswitchinterval(turn)
        self._results.last = outcomes.results()
        return self._results.read(message)

    def interrupt(self, message: JsonMessage) -> JsonMessage:
        """Stop a call at a step of its Python code, make another call meanwhile, and let the first one go on.

        Threads may run so. Where the other call waits for the first one, as for a lock, that one goes on.
        """
        calls, wanted, steps = message["calls"], message["step"], 0
        stopped, goes_on = threading.Event(), threading.Event()
        given = [self._memory.given(call) for call in calls]

        def trace(_frame: object, _event: str, _argument: object) -> Any:  # noqa: ANN401
            nonlocal steps
            steps += 1
            if steps == wanted:
                stopped.set()
                goes_on.wait()
            return trace

        def interrupted() -> Any:  # noqa: ANN401
            positional, named = given[0]
            sys.settrace(trace)
            try:
                return self._candidate.function(*positional, **named)
            finally:
                sys.settrace(None)
                stopped.set()

        outcomes = _Outcomes(interrupted, lambda: self._candidate.function(*given[1][0], **given[1][1]))
        outcomes.threads[0].start()
        stopped.wait()
        outcomes.threads[1].start()
        outcomes.threads[1].join(_PATIENCE)
        waits = outcomes.threads[1].is_alive()
        goes_on.set()
        self._results.last = outcomes.results()
        return {**self._results.read(message), "steps": steps, "waits": waits}

    def time(self, message: JsonMessage) -> JsonMessage:
        """Call the candidate many times. The judge has the clock."""
        positional, named = self._memory.given(message)
        for _ in range(message["times"]):
            self._results.last = [self._candidate.function(*positional, **named)]
        if self._torch.cuda.is_available() and self._torch.cuda.is_initialized():
            self._torch.cuda.synchronize()
        return {"returned": True}


class _Outcomes:
    """What calls give, each in a thread of its own."""

    def __init__(self, *calls: Callable[[], Any]) -> None:
        self._outcomes: Final[list[Any]] = [None] * len(calls)
        self.threads: Final = [
            threading.Thread(target=self._work, args=(place, call)) for place, call in enumerate(calls)
        ]

    def _work(self, place: int, call: Callable[[], Any]) -> None:
        try:
            self._outcomes[place] = True, call()
        except BaseException as error:
            self._outcomes[place] = False, error

    def results(self) -> list[Any]:
        """The results, once all threads end. Raises what a call raised."""
        for thread in self.threads:
            thread.join()
        for is_result, error in self._outcomes:
            if not is_result:
                raise error
        return [result for _, result in self._outcomes]


def _in_thread(call: Callable[[], Any]) -> Any:  # noqa: ANN401
    """What a call gives in another thread."""
    outcomes = _Outcomes(call)
    outcomes.threads[0].start()
    return outcomes.results()[0]
