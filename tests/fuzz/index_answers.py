"""Hostile package indexes: the answers of a server on this machine, made from a seed, and the client that reads them.

A sound answer is damaged in one or a few places, at any of the levels of which it consists: HTTP, redirects, the page
of links, ranges, the archive, the RECORD and the members of the wheel.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import struct
import threading
import traceback
import unicodedata
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Final
from unittest import mock

from opwright.cli import console
from opwright.release.inputs import from_version
from opwright.source.diagnostic import Diagnostics
from opwright.wheels.fetch import offered_versions
from tests.fuzz.run import Finding, TooSlow, time_limit
from tests.release.fake_torch import package_files, wheel_bytes

NAME: Final = "torch-2.13.0-cp312-cp312-macosx_14_0_arm64.whl"
SLOWEST_SECONDS: Final = 5.0

#: Texts that belong nowhere in an answer.
WILD_TEXTS: Final = (
    "",
    " ",
    "\0",
    "\x1b[31mred",
    "\ud800",
    "\u202egnp",
    "é",
    "ℂ.org",
    "..",
    "../../../../etc/passwd",
    "/",
    "\\",
    "-1",
    "0",
    "1e400",
    "99999999999999999999",
    "9" * 5000,
    "x" * 60_000,
    "nan",
    "null",
    "%",
    "%zz",
    "%00",
    "&#27;",
    "&#99999999999;",
    "file:///etc/passwd",
    "data:text/html,x",
    "ftp://example.org/",
    "http://",
    "http://[",
    "http://[::1",
    "http://127.0.0.1:99999/",
    "http://127.0.0.1:x/",
    "http://example.org/",
    "https://a..b/",
    f"https://{'x' * 70}.org/",
    "javascript:alert(1)",
    "//",
    "#sha256=",
    "#sha256=xyz",
    "?",
)

#: Values that belong nowhere in a page in JSON.
WILD_VALUES: Final[tuple[object, ...]] = (
    None,
    True,
    False,
    -1,
    0,
    1.5,
    1e308,
    10**30,
    [],
    {},
    [[]],
    {"sha256": 1},
    [None],
    *WILD_TEXTS,
)

STATUSES: Final = (100, 200, 204, 206, 300, 301, 302, 304, 307, 400, 401, 403, 404, 407, 410, 416, 429, 500, 503, 599)


@dataclass
class Answers:
    """What the server says in one run: the page, the wheel, and what is damaged on the way."""

    page: bytes
    media_type: str
    wheel: bytes
    random: Random
    #: The paths whose answers are damaged as HTTP, each with how it is.
    damages: dict[str, Callable[[bytes, Random], bytes]] = field(default_factory=dict)
    sends_ranges: bool = True

    def answer(self, path: str, part: str | None) -> bytes:
        """The bytes of an answer to a request."""
        kind = "page" if path.startswith("/simple/") else "file" if path.startswith("/files/") else "other"
        if kind == "page":
            answer = _http(200, self.page, {"Content-Type": self.media_type})
        elif kind == "file":
            answer = self._part(part)
        else:
            answer = _http(404, b"", {})
        damage = self.damages.get(kind)
        return answer if damage is None else damage(answer, self.random)

    def _part(self, part: str | None) -> bytes:
        if part is None or not self.sends_ranges:
            return _http(200, self.wheel, {})
        size = len(self.wheel)
        first, _, last = part.removeprefix("bytes=").partition("-")
        start = int(first) if first else max(0, size - int(last))
        end = min(int(last) + 1, size) if first else size
        return _http(206, self.wheel[start:end], {"Content-Range": f"bytes {start}-{end - 1}/{size}"})


def _http(status: int, content: bytes, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} x", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, f"Content-Length: {len(content)}", "", ""]).encode() + content


def _redirects(answer: bytes, random: Random) -> bytes:
    """A redirect in place of the answer."""
    target = random.choice([*WILD_TEXTS, "/simple/torch/", f"/files/{NAME}", "/x"])
    head = f"HTTP/1.1 {random.choice((301, 302, 303, 307, 308))} x\r\nLocation: {target}\r\n"
    return f"{head}Content-Length: 0\r\n\r\n".encode("utf-8", "surrogatepass")


def _changes_status(answer: bytes, random: Random) -> bytes:
    """Another status."""
    return answer.replace(answer[9:12], str(random.choice(STATUSES)).encode(), 1)


def _changes_headers(answer: bytes, random: Random) -> bytes:
    """A header with another value, or one more."""
    head, _, content = answer.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    names = [line.partition(b":")[0] for line in lines[1:]]
    name = random.choice([*names, b"Transfer-Encoding", b"Content-Encoding", b"Location", b"Content-Range"])
    numbers = [
        f"bytes {random.choice((0, 5, -1, 10**20))}-{random.choice((0, 9, 10**20))}/{random.choice((0, 9, '*'))}"
    ]
    value = random.choice([*WILD_TEXTS, *numbers, "chunked", "gzip", "text/html", "application/json"])
    kept = [line for line in lines if not line.startswith(name)] if random.random() < 0.8 else lines
    return b"\r\n".join([*kept, name + b": " + value.encode("utf-8", "surrogatepass"), b"", content])


def _changes_bytes(answer: bytes, random: Random) -> bytes:
    """Some bytes changed, left out or put in, anywhere or in the first few hundred."""
    changed = bytearray(answer)
    for _ in range(random.choice((1, 1, 2, 5, 20))):
        at = random.randrange(min(len(changed), random.choice((50, 300, 10**9)))) if changed else 0
        length = random.choice((0, 1, 1, 4, 100))
        changed[at : at + length] = random.randbytes(random.choice((0, 1, 1, 4)))
    return bytes(changed)


def _is_cut(answer: bytes, random: Random) -> bytes:
    """The answer ends early."""
    return answer[: random.randrange(len(answer))]


HTTP_DAMAGES: Final = (_redirects, _changes_status, _changes_headers, _changes_bytes, _is_cut)


def _page(random: Random, address: str) -> tuple[bytes, str]:
    """A page of links in HTML or JSON, sound or damaged, and its media type."""
    entry: dict[str, object] = {
        "filename": NAME,
        "url": f"../../files/{NAME}",
        "hashes": {},
        "size": 9,
        "yanked": False,
    }
    entries = [entry, {**entry, "filename": NAME.replace("2.13.0", "2.12.0+cpu")}]
    wild = random.random() < 0.5
    if random.random() < 0.5:
        if wild:
            target = random.choice([entry, entry["hashes"]])
            assert isinstance(target, dict)
            target[random.choice(("filename", "url", "hashes", "size", "yanked", "sha256"))] = random.choice(
                WILD_VALUES
            )
        root: object = {"meta": {}, "files": entries}
        if random.random() < 0.05:
            root = random.choice(([root], {"files": entry}, entries, None, 7))
        text = json.dumps(root).encode()
        if random.random() < 0.02:
            text = b'{"files":' * 50_000
        return text, "application/vnd.pypi.simple.v1+json"
    href = f"../../files/{NAME}"
    extra = ""
    if wild:
        word = random.choice(WILD_TEXTS)
        href = random.choice(
            (word + href, href + word, f"{word}/{NAME}", address + word + href, f"{href}#sha256={word}")
        )
        extra = random.choice(("", f' data-yanked="{word}"', f"<base href='{word}'>", f"<!-- {word}", f"<![{word}"))
    html = f'{extra}<a href="{href}"{extra}>{NAME}</a>'
    return html.encode("utf-8", "surrogatepass"), "text/html"


def _wheel(random: Random) -> bytes:
    """A wheel, sound or with damaged members, names, RECORD or directory."""
    files = package_files("2.13.0")
    choice = random.random()
    if choice < 0.3:
        return wheel_bytes("2.13.0", files)
    if choice < 0.45:
        member = random.choice(sorted(files))
        # zipfile ends a name at its first NUL, and takes no empty one.
        new = random.choice(WILD_TEXTS).encode("utf-8", "replace").decode().partition("\0")[0] or "x"
        files[random.choice((new, f"torchgen/packaged/ATen/templates/{new}", member + new))] = "x"
    elif choice < 0.5:
        files["torch/" + random.choice(("", "x" * 60_000))] = "x"
    with warnings.catch_warnings(), mock.patch.object(zipfile, "ZIP64_LIMIT", random.choice((10, 1 << 31))):
        warnings.simplefilter("ignore")  # two members may have the same name
        content = bytearray(wheel_bytes("2.13.0", files, record=random.choice(("", "", "A", "\x1b[31m"))))
    directory = max(0, content.rfind(b"PK\x01\x02"))
    starts = [at for at in range(len(content) - 4) if bytes(content[at : at + 4]) in (b"PK\x01\x02", b"PK\x05\x06")]
    for _ in range(random.choice((0, 1, 1, 3))):
        # A field of the directory, of the end record, or a byte of a member.
        at = random.choice(starts) + random.randrange(46) if starts else directory
        width, value = random.choice(
            ((1, 255), (2, 0xFFFF), (4, 0xFFFFFFFF), (2, 0), (4, 1), (1, random.randrange(256)))
        )
        content[at : at + width] = value.to_bytes(width, "little")
    if random.random() < 0.2:
        at = random.choice(starts) + 28 if starts else 0
        content[at : at + 4] = struct.pack("<HH", random.choice((0, 1, 900)), random.choice((0, 1, 5, 60_000)))
    if random.random() < 0.1:
        del content[random.randrange(len(content)) :]
    return bytes(content)


def answers_of(seed: int, address: str) -> Answers:
    """The answers that a seed stands for."""
    random = Random(f"index {seed}")
    page, media_type = _page(random, address)
    answers = Answers(page, media_type, _wheel(random), random, sends_ranges=random.random() < 0.8)
    for kind in ("page", "file"):
        if random.random() < 0.3:
            answers.damages[kind] = random.choice(HTTP_DAMAGES)
    return answers


class HostileIndex:
    """A server on this machine whose answers can be replaced while it runs."""

    def __init__(self) -> None:
        self.answers: Answers | None = None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *arguments: object) -> None:
                """Says nothing."""

            def do_GET(self) -> None:
                answers = outer.answers
                assert answers is not None
                # The client may have hung up.
                with suppress(OSError):
                    self.wfile.write(answers.answer(self.path, self.headers.get("Range")))

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self) -> None:
        """Ends the server."""
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def hostile_index(folder: str) -> Iterator[HostileIndex]:
    """A server that pip's settings name as the only index, with a cache in a folder."""
    settings = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    settings = {name: value for name, value in settings.items() if not name.startswith("PIP_")}
    index = HostileIndex()
    settings |= {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": f"{index.address}/simple",
        "PIP_TIMEOUT": "0.25",
        "OPWRIGHT_CACHE_DIR": folder,
    }
    pauses = mock.patch("opwright.wheels.client._PAUSE", 0.0)
    try:
        with mock.patch.dict(os.environ, settings, clear=True), pauses:
            yield index
    finally:
        index.close()


def read_index(sink: Diagnostics) -> int:
    """Reads all that a client ever reads of an index: the inputs of a version, and the list of versions."""
    offered = offered_versions()
    assert all(version.isprintable() for version in offered)
    inputs = from_version("2.13.0", ask_whole=lambda _name, _size: True, sink=sink)
    assert inputs.origin.isprintable()
    for name in inputs.names():
        assert inputs.display_path(name).isprintable()
        inputs.read_text(name)
    inputs.member_names("torch")
    return console.SUCCESS


def controls_terminal(text: str) -> bool:
    """Whether a text, besides its line breaks, has controls, halves of characters, or changes of direction."""
    return any(
        character != "\n"
        and (
            unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
            or unicodedata.bidirectional(character) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
        )
        for character in text
    )


def fuzz_index(index: HostileIndex, seed: int) -> Finding | None:
    """Read an index with the answers of a seed, guarded as a run of the program; a Finding if a bug comes of it."""
    shutil.rmtree(os.environ["OPWRIGHT_CACHE_DIR"], ignore_errors=True)
    index.answers = answers_of(seed, index.address)
    said = io.StringIO()
    status = -1
    try:
        with redirect_stderr(said), time_limit(SLOWEST_SECONDS):
            status = console.run(read_index, "never")
    except (Exception, TooSlow):
        print(traceback.format_exc(), file=said)
    text = said.getvalue()
    is_diagnostic = status == console.SUCCESS or (status == console.FAULTS and "error[E05" in text)
    if is_diagnostic and "Traceback" not in text and not controls_terminal(text):
        return None
    return Finding("index", seed, repr(index.answers), f"status {status}: {text}")
