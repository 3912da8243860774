"""Package indexes that are faulty or hostile: everything they say is a diagnostic, and takes limited time."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import struct
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from urllib3.util import parse_url

from opwright.cli.main import main
from opwright.release.inputs import from_version
from opwright.source.diagnostic import Diagnostic, Diagnostics, Fault
from opwright.source.limits import FILE_BYTES
from opwright.source.render import render_report, render_short
from opwright.wheels.client import Client, Page, is_secure
from opwright.wheels.fetch import offered_versions
from opwright.wheels.index import links_of_file, links_of_page
from opwright.wheels.pip_settings import IndexSettings, load_index_settings
from tests.release.fake_torch import FakeIndex, package_files, wheel_bytes

JSON = "application/vnd.pypi.simple.v1+json"
NAME = "torch-2.13.0-cp312-cp312-macosx_14_0_arm64.whl"


def fault_of(read: Callable[[], object]) -> Diagnostic:
    """The diagnostic with which reading ends."""
    with pytest.raises(Fault) as caught:
        read()
    return caught.value.diagnostic


def wheel_fault(*, require_hashes: bool = False) -> Diagnostic:
    """The diagnostic with which PyTorch 2.13.0 cannot be had."""
    return fault_of(lambda: from_version("2.13.0", require_hashes=require_hashes))


def link_page(href: str) -> tuple[str, bytes]:
    """A page in HTML with one link."""
    return "text/html", f'<a href="{href}">{NAME}</a>'.encode()


def json_page(**fields: object) -> tuple[str, bytes]:
    """A page in JSON with one file; `fields` replace its own."""
    entry = {"filename": NAME, "url": f"../../files/{NAME}", **fields}
    return JSON, json.dumps({"files": [entry]}).encode()


@contextmanager
def raw_server(answer: Callable[[str], Iterator[bytes]]) -> Iterator[str]:
    """A server that sends the pieces of an answer to the path of a request as they come; gives its address."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

        def do_GET(self) -> None:
            try:
                for piece in answer(self.path):
                    self.wfile.write(piece)
            except OSError:
                # The client hung up.
                pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("value", ["-1", "0", "nan", "soon", "-inf"])
def test_a_time_limit_that_is_none_is_a_diagnostic(
    index: FakeIndex, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    """`PIP_TIMEOUT` is a number of seconds; very large ones wait for a day."""
    monkeypatch.setenv("PIP_TIMEOUT", value)
    diagnostic = wheel_fault()
    assert diagnostic.code == "E0516"
    assert "timeout" in diagnostic.message
    monkeypatch.setenv("PIP_TIMEOUT", "1e300")
    assert load_index_settings().timeout == 86_400


def test_a_trusted_host_that_is_none_is_a_diagnostic(index: FakeIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each word of `PIP_TRUSTED_HOST` is a host, with or without a port."""
    monkeypatch.setenv("PIP_TRUSTED_HOST", "one.org no[host")
    diagnostic = wheel_fault()
    assert diagnostic.code == "E0516"
    assert "no[host" in diagnostic.message


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:99999/simple",
        "http://127.0.0.1:port/simple",
        "http://[::1/simple",
        "http://[::1%25lo]/simple",
        "https:///simple",
        "https://a b/simple",
        f"https://{'x' * 70}.org/simple",
        "https://a..org/simple",
        "data:text/html,x",
        "ftp://example.org/simple",
        "git+https://example.org/simple",
        f"https://example.org/{'x' * 5000}",
    ],
)
def test_a_setting_that_is_no_address_is_a_diagnostic(
    quiet_pip: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    """Whatever pip's settings name as an index is read or refused with the reason."""
    monkeypatch.setenv("PIP_INDEX_URL", address)
    assert wheel_fault().code == "E0516"
    monkeypatch.setenv("PIP_INDEX_URL", address.replace("//", "//me:secret@", 1))
    assert "secret" not in repr(wheel_fault())


@pytest.mark.parametrize(
    "href",
    [
        f"file:///etc/{NAME}",
        f"data:application/zip,/{NAME}",
        f"ftp://example.org/{NAME}",
        f"http://127.0.0.1:99999/{NAME}",
        f"http://127.0.0.1:x/{NAME}",
        f"http://[::1/{NAME}",
        f"http://[zz]/{NAME}",
        f"https://&#x2100;/{NAME}",
        f"https://a&#0;b/{NAME}",
        f"https://a&#27;[31m/{NAME}",
        f"../../files/{NAME}#sha256=abc",
    ],
)
def test_a_link_that_cannot_be_followed_is_a_diagnostic(index: FakeIndex, href: str) -> None:
    """Only well-formed links to servers are followed; the reason why another is not is printable."""
    index.add("2.13.0")
    index.page = link_page(href)
    diagnostic = wheel_fault()
    assert diagnostic.code == "E0519"
    assert NAME in diagnostic.message
    assert len(index.requests) == 1
    for text in (render_short([diagnostic]), render_report([diagnostic], color=False)):
        assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "fields",
    [
        {"size": "12"},
        {"size": -1},
        {"size": 1.5},
        {"size": True},
        {"size": 10**30},
        {"hashes": {"sha256": 7}},
        {"hashes": {"sha256": "xyz"}},
        {"hashes": 7},
        {"url": 7},
        {"url": None},
        {"url": "file:///etc/passwd"},
        {"url": "https://\ud800.org/"},
    ],
)
def test_a_field_of_the_wrong_type_is_a_diagnostic(index: FakeIndex, fields: dict[str, object]) -> None:
    """A page in JSON may have any value anywhere."""
    index.add("2.13.0")
    index.page = json_page(**fields)
    assert wheel_fault().code == "E0519"


@pytest.mark.parametrize(
    "content",
    [b"[" * 200_000, b'{"files":' * 100_000, b"\xff\xfe", b"1" * 5000, b'{"files": {}}', b"null", b'{"files": [[]]}'],
)
def test_json_that_is_no_page_is_a_diagnostic(index: FakeIndex, content: bytes) -> None:
    """Text that is no JSON, JSON that is nested deeply, and JSON of something else."""
    index.page = (JSON, content)
    assert wheel_fault().code == "E0515"
    assert fault_of(offered_versions).code == "E0515"


@pytest.mark.parametrize(
    "fields",
    [
        {"filename": f"\x1b[31m{NAME}"},
        {"filename": "torch-2.13.0\x1b]0;title\x07-cp312-cp312-any.whl"},
        {"filename": f"torch-{'1' * 5000}-cp312-cp312-any.whl"},
        {"filename": f"torch-{'1' * 280}-cp312-cp312-any.whl"},
        {"filename": "torch-2..13-cp312-cp312-any.whl"},
        {"filename": 7},
        {"filename": "../torch-2.13.0-cp312-cp312-any.whl"},
    ],
)
def test_what_is_no_name_of_a_wheel_is_passed_over(index: FakeIndex, fields: dict[str, object]) -> None:
    """As pip does, Opwright ignores files whose names are not those of wheels."""
    index.page = json_page(**fields)
    assert wheel_fault().code == "E0506"


def test_links_that_are_not_ascii_are_followed(index: FakeIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link may contain blanks and letters of any alphabet, which a request has percent-encoded."""
    index.add("2.13.0")
    index.page = link_page(f"../../files/{NAME}?mirror=Zürich nord&amp;x=%20")
    assert wheel_fault().code == "E0508"
    assert index.requests[-1][0] == f"/files/{NAME}?mirror=Z%C3%BCrich%20nord&x=%20"
    monkeypatch.setenv("PIP_INDEX_URL", f"{index.address}/größe")
    assert wheel_fault().code == "E0506"
    assert index.requests[-1][0] == "/gr%C3%B6%C3%9Fe/torch/"


@pytest.mark.parametrize(
    "location",
    [
        "",
        "file:///etc/passwd",
        "data:text/html,x",
        "http://127.0.0.1:99999/",
        "http://127.0.0.1:x/",
        "http://[::1/",
        "http://[zz]/",
        "http://\x1b[31m/",
        "/simple/torch/",
        "http://example.org/",
    ],
)
def test_a_redirect_that_cannot_be_followed_is_a_diagnostic(
    quiet_pip: Path, monkeypatch: pytest.MonkeyPatch, location: str
) -> None:
    """Redirects lead to addresses of servers that pip would trust, and come to an end."""

    def answer(path: str) -> Iterator[bytes]:
        yield f"HTTP/1.0 302 Found\r\nLocation: {location}\r\n\r\n".encode()

    with raw_server(answer) as address:
        monkeypatch.setenv("PIP_INDEX_URL", f"{address}/simple")
        diagnostic = wheel_fault()
    assert diagnostic.code == ("E0518" if "example.org" in location else "E0508")
    assert render_short([diagnostic]).strip().isprintable()


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\0\0\0",
        b"HTTP/1.1 999999 x\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 999999999999999999\r\n\r\nx",
        b"HTTP/1.0 200 OK\r\nContent-Length: -5\r\nContent-Type: text/html\r\nContent-Range: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc",
        b"HTTP/1.0 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"HTTP/1.0 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.0 503 \x1b[31mred\r\n\r\n",
        b"HTTP/1.0 206 Partial\r\nContent-Range: bytes 9-1/2\r\n\r\nabc",
    ],
)
def test_an_answer_that_is_no_http_is_a_diagnostic(
    quiet_pip: Path, monkeypatch: pytest.MonkeyPatch, head: bytes
) -> None:
    """Whatever a server sends for a page or for a wheel."""

    def page(path: str) -> Iterator[bytes]:
        yield head

    def file(path: str) -> Iterator[bytes]:
        media_type, content = link_page(f"/files/{NAME}")
        is_file = path.startswith("/files/")
        yield head if is_file else f"HTTP/1.0 200 OK\r\nContent-Type: {media_type}\r\n\r\n".encode() + content

    for answer in (page, file):
        with raw_server(answer) as address:
            monkeypatch.setenv("PIP_INDEX_URL", f"{address}/simple")
            diagnostic = wheel_fault()
        assert diagnostic.code in ("E0504", "E0506", "E0508", "E0509", "E0511", "E0515")
        assert render_short([diagnostic]).strip().isprintable()


@pytest.mark.parametrize("sent", ["nothing", "header", "content"])
def test_a_slow_server_meets_the_total_time_limit(quiet_pip: Path, monkeypatch: pytest.MonkeyPatch, sent: str) -> None:
    """A byte now and then keeps no request alive: it ends after four time limits, with all repetitions."""
    starts = {"nothing": b"", "header": b"HTTP/1.0 200 OK\r\nX: ", "content": b"HTTP/1.0 200 OK\r\n\r\n"}

    def answer(path: str) -> Iterator[bytes]:
        yield starts[sent]
        for _ in range(1000):
            time.sleep(0.02)
            yield b"" if sent == "nothing" else b"x"

    with raw_server(answer) as address:
        client = Client(IndexSettings(indexes=(), timeout=0.1))
        with pytest.raises(Fault, match="did not answer in time"):
            client.page(f"{address}/", "text/html", str)


def test_a_page_without_end_is_cut(quiet_pip: Path) -> None:
    """A page has at most 16 MB."""

    def answer(path: str) -> Iterator[bytes]:
        yield b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n"
        for _ in range(1000):
            yield b"x" * 1_000_000

    with raw_server(answer) as address:
        client = Client(IndexSettings(indexes=()))
        with pytest.raises(Fault, match="more than 16,000,000 bytes"):
            client.page(f"{address}/", "text/html", str)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "unit", ['<a href="x">', "<a ", "<!--", '<a x="', "<a x='\"", "<a a=", "<a" + " " * 9, "<![x ", "</", "&#"]
)
def test_a_large_page_takes_little_time(unit: str) -> None:
    """Many tags, closed or not, are read or refused."""
    page = Page("https://pypi.org/simple/torch/", "text/html", (unit * 200_000).encode())
    with suppress(Fault):
        assert links_of_page(page, "torch") == []


def test_the_time_limit_covers_the_reading_of_a_page(index: FakeIndex) -> None:
    """A page that takes long to read is left alone when the time of its request is over."""
    client = Client(IndexSettings(indexes=(), timeout=0.05))
    with pytest.raises(Fault, match="did not answer in time"):
        client.page(f"{index.address}/simple/torch/", "text/html", lambda _page: time.sleep(3))


def test_a_page_with_too_many_wheels_is_a_diagnostic(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of a project's wheels is limited."""
    monkeypatch.setattr("opwright.wheels.index._MOST_LINKS", 100)
    links = "".join(f'<a href="torch-2.{number}-py3-none-any.whl"></a>' for number in range(101))
    page = Page("https://pypi.org/simple/torch/", "text/html", links.encode())
    assert fault_of(lambda: links_of_page(page, "torch")).code == "E0515"
    assert links_of_page(page, "acme") == []


def test_a_page_in_a_file_has_at_most_the_bytes_of_a_file() -> None:
    """A file with one byte more is refused, and one without it is read."""
    page = b"<a>" + b" " * (FILE_BYTES - 3)
    assert links_of_file(page, Path("index.html"), "torch") == []
    assert fault_of(lambda: links_of_file(page + b" ", Path("index.html"), "torch")).code == "E0515"


@pytest.mark.parametrize("name", ["x\0y", "x\x1b[31m", "../../x", "/etc/x", "x\\y"])
def test_a_member_with_a_wild_name_is_a_diagnostic(index: FakeIndex, quiet_pip: Path, name: str) -> None:
    """A wheel whose members are not relative paths is no wheel, and nothing of it is written."""
    placeholder = "torchgen/packaged/ATen/templates/" + "Z" * len(name)
    content = wheel_bytes("2.13.0", {**package_files("2.13.0"), placeholder: "x"})
    wild = ("torchgen/packaged/ATen/templates/" if name[0] == "x" else "") + name
    wild += "Z" * (len(placeholder) - len(wild))
    index.add("2.13.0", content.replace(placeholder.encode(), wild.encode()))
    diagnostic = wheel_fault()
    assert diagnostic.code == "E0504"
    assert render_short([diagnostic]).strip().isprintable()
    assert not quiet_pip.exists()


def test_extra_fields_that_are_cut_short_are_a_diagnostic(index: FakeIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """The field of 64-bit sizes may state a length beyond its end, or one that is no multiple of eight."""
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 10)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("first", b"x" * 100)
    content = packed.getvalue()
    at = content.index(b"PK\x01\x02")
    extra = content.index(b"first", at) + len("first")
    for length in (0, 1, 7, 0x7FFF, 0xFFFF):
        changed = content[: extra + 2] + struct.pack("<H", length) + content[extra + 4 :]
        index.add("2.13.0", changed)
        assert wheel_fault().code == "E0504"


def test_a_record_without_a_digest_is_a_diagnostic(index: FakeIndex) -> None:
    """A wheel's RECORD leaves out the digest of no file but itself."""
    member = "torchgen/packaged/ATen/native/tags.yaml"
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(wheel_bytes("2.13.0"))) as old, zipfile.ZipFile(packed, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("/RECORD"):
                content = re.sub(rb"(?m)^(.*/tags\.yaml),.*$", rb"\1,,", content)
                assert f"{member},,\n".encode() in content
            new.writestr(name, content)
    index.add("2.13.0", packed.getvalue())
    diagnostic = wheel_fault()
    assert diagnostic.code == "E0510"
    assert member in diagnostic.message


ADDRESSES = [
    "https://example.org/simple",
    "http://example.org/simple",
    "http://example.org:8080/simple",
    "http://EXAMPLE.org/simple",
    "http://localhost/simple",
    "http://localhost:3141/root",
    "http://sub.localhost/simple",
    "http://127.0.0.1/simple",
    "http://127.9.9.9:80/simple",
    "http://128.0.0.1/simple",
    "http://10.0.0.5/simple",
    "http://0.0.0.0/simple",
    "http://[::1]:80/simple",
    "http://[::2]/simple",
    "http://[fe80::1]/simple",
]


TRUSTED_HOSTS = [
    [],
    ["example.org"],
    ["example.org:8080"],
    ["Example.ORG"],
    ["10.0.0.5"],
    ["::2"],
    ["[fe80:0::1]:80"],
    ["10.0.0.5:80"],
]

ASK_PIP = """
import json, sys
from pip._internal.models.link import Link
from pip._internal.network.session import PipSession
addresses, lists = json.load(sys.stdin)
sessions = [PipSession(trusted_hosts=trusted) for trusted in lists]
print(json.dumps([[session.is_secure_origin(Link(url)) for url in addresses] for session in sessions]))
"""


def test_the_same_addresses_are_secure_as_for_pip() -> None:
    """pip itself says which indexes it would read with these trusted hosts."""
    asked = json.dumps([ADDRESSES, TRUSTED_HOSTS])
    # pip's modules change how the process that imports them imports others.
    done = subprocess.run([sys.executable, "-c", ASK_PIP], input=asked, capture_output=True, text=True, check=True)
    for trusted, answers in zip(TRUSTED_HOSTS, json.loads(done.stdout), strict=True):
        assert [is_secure(parse_url(text), trusted) for text in ADDRESSES] == answers, trusted


def test_an_index_that_pip_would_not_trust_is_refused(index: FakeIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain HTTP is for this machine and trusted hosts; if another index has the version, the refused one is named."""
    monkeypatch.setenv("PIP_INDEX_URL", "http://wheels.invalid/simple")
    diagnostic = wheel_fault()
    assert diagnostic.code == "E0518"
    assert "PIP_TRUSTED_HOST=wheels.invalid" in str(diagnostic.help)
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"{index.address}/simple")
    index.add("2.13.0")
    sink = Diagnostics()
    from_version("2.13.0", sink=sink)
    assert [found.code for found in sink] == ["W0504"]
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL")
    monkeypatch.setenv("PIP_TRUSTED_HOST", "wheels.invalid")
    assert fault_of(offered_versions).code == "E0508"


def test_a_wheel_at_an_address_that_pip_would_not_trust_is_refused(index: FakeIndex) -> None:
    """The links of a page meet the same rule as the page."""
    index.page = link_page(f"http://wheels.invalid/{NAME}")
    assert wheel_fault().code == "E0518"


def test_a_hash_that_was_not_checked_is_named(index: FakeIndex) -> None:
    """The origin of inputs says whether parts of a wheel were read, or all of it and compared with the index's hash."""
    index.add("2.13.0")
    sink = Diagnostics()
    assert from_version("2.13.0", sink=sink).origin.startswith(f"parts of {NAME} at ")
    whole = from_version("2.13.0", require_hashes=True, ask_whole=lambda name, size: True, sink=sink)
    assert whole.origin.startswith(f"{NAME} at ")
    assert not len(sink)


@pytest.mark.parametrize("by_setting", [False, True])
def test_with_required_hashes_the_whole_wheel_is_compared(
    index: FakeIndex, monkeypatch: pytest.MonkeyPatch, by_setting: bool
) -> None:
    """By the flag or by pip's setting: the wheel is downloaded whole, and compared with the index's hash."""
    name = index.add("2.13.0", wheel_bytes("2.13.0", filler=10))
    from_version("2.13.0")
    index.requests.clear()
    if by_setting:
        monkeypatch.setenv("PIP_REQUIRE_HASHES", "1")
        monkeypatch.setenv("OPWRIGHT_CACHE_DIR", os.environ["OPWRIGHT_CACHE_DIR"] + "-2")
    sink = Diagnostics()
    inputs = from_version("2.13.0", require_hashes=not by_setting, sink=sink)
    assert inputs.names()
    assert not len(sink)
    assert index.requests == [("/simple/torch/", None), (f"/files/{name}", None)]
    # What the cache has was compared.
    index.altered_digest = True
    from_version("2.13.0", require_hashes=True)
    index.add("2.14.0")
    assert fault_of(lambda: from_version("2.14.0", require_hashes=True)).code == "E0510"
    index.page = link_page(f"../../files/{NAME}")
    monkeypatch.setenv("OPWRIGHT_CACHE_DIR", os.environ["OPWRIGHT_CACHE_DIR"] + "-3")
    assert wheel_fault(require_hashes=True).code == "E0523"


def test_required_hashes_hold_for_wheels_on_this_machine(
    quiet_pip: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The page of a folder may state hashes, too."""
    content = wheel_bytes("2.13.0")
    (tmp_path / NAME).write_bytes(content)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert wheel_fault(require_hashes=True).code == "E0523"
    for digest, code in ((hashlib.sha256(content).hexdigest(), None), ("0" * 64, "E0510")):
        (tmp_path / "index.html").write_text(f'<a href="{NAME}#sha256={digest}">{NAME}</a>', encoding="utf-8")
        if code is None:
            assert from_version("2.13.0", require_hashes=True).names()
        else:
            assert wheel_fault(require_hashes=True).code == code


def test_the_list_of_releases_passes_over_odd_versions(
    index: FakeIndex, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Versions that PyTorch would not write are left out; what an index says reaches the terminal as printable text."""
    for version in ("2.13.0", "13", "1!2.13.0"):
        index.add(version)
    assert main(["releases"]) == 0
    printed = capsys.readouterr().out
    assert [line.split()[0] for line in printed.splitlines() if "offered" in line] == ["2.13.0"]
    index.page = ("text/\x1b[31mred", b"")
    assert main(["releases"]) == 0
    assert capsys.readouterr().out.replace("\n", "").isprintable()


def test_a_version_with_too_many_digits_is_a_diagnostic(index: FakeIndex) -> None:
    """Python converts at most 4,300 digits."""
    assert fault_of(lambda: from_version("2." + "1" * 5000)).code == "E0503"
