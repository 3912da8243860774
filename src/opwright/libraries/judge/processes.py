"""The processes of a judge: workers with candidates, and the oracle that knows what is right."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from itertools import chain
from types import TracebackType
from typing import Final

from opwright.libraries.judge import worker
from opwright.libraries.judge.worker.protocol import JsonMessage, receive, send
from opwright.source.records import NamedTuple
from opwright.workspace.memory import memory_folder

#: Variables that would tell a candidate where it runs.
_TELLING: Final = ("OPWRIGHT", "PYTEST", "PYTHON", "CI", "GITHUB_", "COV", "TOX_", "NOX_")


#: How long a process that may hang is looked at.
_IDLE_SECONDS: Final = 2.0


class WorkerLimits(NamedTuple):
    """What a worker may take: seconds of a call, and of all of them on processors; bytes of memory, and of results."""

    call_seconds: float = 20.0
    seconds: int = 240
    memory: int = 4 << 30


class Ended(Exception):
    """Raised with a sentence when a worker ended."""


class CallTooSlow(Exception):
    """Raised with a sentence when a worker does not answer in time, and with the seconds that it had for the call."""

    def __init__(self, text: str, seconds: float) -> None:
        super().__init__(text)
        self.seconds: Final = seconds


class ProcessFailed(Exception):
    """Raised with a sentence when a process of the judge itself fails, for instance without PyTorch."""


class Process:
    """A program of this package with a socket, which ends with its user."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], folder: str) -> None:
        own, other = socket.socketpair()
        self.socket: Final = own
        self._log: Final = os.path.join(folder, f"log-{os.path.basename(command[-1])}")
        with other, open(self._log, "ab") as errors:
            self._process: Final = subprocess.Popen(
                [sys.executable, *command, str(other.fileno())],
                pass_fds=[other.fileno()],
                env=dict(environment),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )

    def ask(self, message: Mapping[str, object], descriptors: Sequence[int] = ()) -> JsonMessage:
        """The answer to a message. Raises ProcessFailed."""
        try:
            send(self.socket, message, descriptors)
            received = receive(self.socket)
        except OSError:
            received = None
        if received is None:
            status = self._process.wait()
            with open(self._log, encoding="utf-8", errors="replace") as stream:
                last = stream.read().strip().rpartition("\n")[2]
            raise ProcessFailed(f"a process of the judge ended with status {status}{f': {last}' if last else ''}")
        answer, _ = received
        if "error" in answer:
            raise ProcessFailed(f"{answer['error']}: {answer['text']}")
        return answer

    def close(self) -> None:
        """End the process."""
        self.socket.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def worker_environment(folder: str) -> dict[str, str]:
    """The environment of workers: that of the user, but for what names tests and this program."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(_TELLING)}
    # PyTorch's compiler starts processes for its work, which nobody ends.
    return {"TORCHINDUCTOR_COMPILE_THREADS": "1", **own, "TMPDIR": folder, "HOME": own.get("HOME", folder)}


class Desk:
    """A folder for files of calls, the oracle, and the server of workers. Both start when they are first asked."""

    def __init__(self) -> None:
        self._folder: Final = tempfile.TemporaryDirectory(prefix="opwright-judge-", dir=memory_folder(1 << 30))
        self.folder: Final = self._folder.name
        self._oracle: Process | None = None
        self._servers: Final[dict[tuple[tuple[str, str], ...], Process]] = {}
        self._count = 0
        self.isolated: dict[str, bool] = {}

    def __enter__(self) -> Desk:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the processes, and remove the files."""
        for process in (self._oracle, *self._servers.values()):
            if process is not None:
                process.close()
        self._oracle = None
        self._servers.clear()
        self._folder.cleanup()

    @property
    def oracle(self) -> Process:
        """The process that knows what is right."""
        if self._oracle is None:
            package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
            path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH", "")])])
            environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
            self._oracle = Process(["-m", "opwright.libraries.judge.oracle"], environment, self.folder)
        return self._oracle

    def start_server(self, environment: Mapping[str, str]) -> Process:
        """Start the server of workers that have some more variables, if there is none yet."""
        key = tuple(sorted(environment.items()))
        if key not in self._servers:
            program = os.path.dirname(os.path.abspath(worker.__file__))
            variables = {**worker_environment(self.folder), **environment}
            self._servers[key] = Process(["-I", program], variables, self.folder)
        return self._servers[key]

    def path(self, name: str) -> str:
        """The path of a file of the judge."""
        return os.path.join(self.folder, name)

    def worker(self, limits: WorkerLimits, environment: Mapping[str, str]) -> WorkerProcess:
        """A fresh worker with some more variables. Those of a sanitizer reserve more addresses than any limit."""
        self._count += 1
        folder = self.path(f"worker-{self._count}")
        os.mkdir(folder)
        own = limits._replace(memory=1 << 50) if environment else limits
        started = WorkerProcess(self.start_server(environment), folder, own)
        self.isolated = started.isolated
        return started


def _worked(process: int) -> int:
    """How many ticks of processors a process and those that it started have used; 0 for one that ended."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as stream:
            ticks = sum(map(int, stream.read().rpartition(")")[2].split()[11:15]))
        for task in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{task}/children", encoding="ascii") as stream:
                ticks += sum([_worked(int(child)) for child in stream.read().split()])
    except (OSError, ValueError):
        return 0
    return ticks


def _anonymous_file() -> int:
    """A new open file in memory without a name, so that a candidate cannot replace it."""
    return os.memfd_create("tensors", os.MFD_CLOEXEC)


class WorkerProcess:
    """A worker, as the judge sees it. What it answers may be anything."""

    def __init__(self, server: Process, folder: str, limits: WorkerLimits) -> None:
        self.folder: Final = folder
        self._arenas: Final[dict[str, tuple[int, int]]] = {}
        self.results: Final = _anonymous_file()
        self.limits: Final = limits
        own, other = socket.socketpair()
        self._socket: Final = own
        reader, writer = os.pipe()
        self._status: Final = reader
        work = os.path.join(folder, "work")
        os.mkdir(work)
        message = {
            "seconds": limits.seconds,
            "memory": limits.memory,
            "folder": work,
            "log": os.path.join(folder, "output"),
        }
        answer = server.ask(message, (other.fileno(), self.results, writer))
        other.close()
        os.close(writer)
        self.pid: Final = int(answer.get("pid", 0))
        self.isolated: Final[dict[str, bool]] = answer.get("isolated", {})

    def arena(self, name: str) -> tuple[int, int]:
        """Two open files: for the arguments of a call that are only read, and for those that are written."""
        if name not in self._arenas:
            self._arenas[name] = _anonymous_file(), _anonymous_file()
        return self._arenas[name]

    def ask(
        self, message: Mapping[str, object], descriptors: Sequence[int] = (), *, seconds: float | None = None
    ) -> JsonMessage:
        """The answer to a message. Raises Ended and CallTooSlow."""
        limit = self.limits.call_seconds if seconds is None else seconds
        deadline = time.monotonic() + limit
        try:
            send(self._socket, message, descriptors)
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise CallTooSlow(f"the call takes more than {limit:g} seconds", limit)
                if select.select([self._socket], [], [], left)[0]:
                    break
            self._socket.settimeout(limit)
            received = receive(self._socket)
        except (OSError, ValueError):
            received = None
        if received is None:
            how = self._how_ended()
            if how == signal.SIGXCPU.name:
                text = f"the calls take more than {self.limits.seconds} seconds of processors"
                raise CallTooSlow(text, self.limits.seconds)
            raise Ended(f"the process ends during the call ({how})")
        answer, more = received
        for descriptor in more:
            os.close(descriptor)
        return answer if isinstance(answer, dict) else {}

    def _how_ended(self) -> str:
        if not select.select([self._status], [], [], 2)[0]:
            return "nobody knows how"
        return os.read(self._status, 100).decode("utf-8", "replace") or "nobody knows how"

    def worked(self) -> float:
        """The seconds of processors that the worker has used; 0 where that is not known."""
        try:
            # The clock of a process, as `clock_getcpuclockid` gives it.
            return time.clock_gettime(~self.pid << 3 | 2)
        except OSError:
            return 0.0

    def is_idle(self) -> bool:
        """Whether neither the worker nor a process that it started works for some seconds."""
        before = _worked(self.pid)
        time.sleep(_IDLE_SECONDS)
        return 0 <= _worked(self.pid) - before < 2

    def output(self) -> str:
        """The end of what the candidate printed."""
        with contextlib.suppress(OSError):
            # The candidate may have put anything in the place of the file.
            descriptor = os.open(os.path.join(self.folder, "output"), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
            with open(descriptor, "rb") as stream:
                return stream.read(1 << 20)[-4000:].decode("utf-8", "replace")
        return ""

    def close(self) -> None:
        """Kill the worker."""
        self._socket.close()
        if self.pid > 0:
            for kill in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    kill(self.pid, signal.SIGKILL)
        for descriptor in (self._status, self.results, *chain(*self._arenas.values())):
            os.close(descriptor)
        shutil.rmtree(self.folder, ignore_errors=True)
