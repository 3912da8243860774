"""What the Makefile does where an index of smaller wheels does not answer."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here")


def flag(address: str) -> tuple[str, str]:
    """The flag that pip gets for an index of small wheels, and what is said besides."""
    command = ["make", "--eval", 'show: ; @echo "[$(SMALL_WHEELS_FLAG)]"', "show", f"SMALL_WHEELS={address}"]
    options = ["SMALL_WHEELS_SECONDS=1", f"PYTHON={sys.executable}"]
    # Where make runs the tests, its own flags are in the environment.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run([*command, *options], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip("[] \n"), done.stderr


@pytest.fixture
def index() -> Iterator[str]:
    """The address of an index that answers."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever).start()
    yield f"http://127.0.0.1:{server.server_port}/whl"
    server.shutdown()
    server.server_close()


def test_an_index_that_answers_is_asked(index: str) -> None:
    """pip gets the index as one more, and nothing is said."""
    assert flag(index) == (f"--extra-index-url {index}", "")


def test_an_index_that_is_silent_is_left_out() -> None:
    """An index that takes the connection and never says anything is waited for no longer than is set, and left out."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        shown, said = flag(f"http://127.0.0.1:{silent.getsockname()[1]}/whl")
    assert shown == ""
    assert "does not answer; the usual index serves" in said


def test_an_index_that_is_not_there_is_left_out() -> None:
    """An address where nobody listens is left out at once; without an address nothing is asked or said."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/whl"
    shown, said = flag(address)
    assert shown == ""
    assert "does not answer" in said
    assert flag("") == ("", "")


def test_remote_builds_need_bazel(tmp_path: Path) -> None:
    """Where there is no Bazel, `make remote` says what is missing and ends well."""
    make = shutil.which("make")
    assert make is not None
    environment = {"PATH": str(tmp_path)}
    done = subprocess.run([make, "remote"], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("make remote: left out, this machine lacks bazel unshare setpriv")
    assert "Debian has bazel-bootstrap" in done.stdout
