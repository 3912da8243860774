"""Requests to servers for pages, parts of files and whole files: urllib3 with pip's settings and with limits.

Everything that a server sends may be hostile. A request reads a limited number of bytes, takes a limited time, and goes
to no address that pip would not trust, redirects included.
"""

from __future__ import annotations

import errno
import hashlib
import http.client
import ipaddress
import netrc
import os
import re
import ssl
import tempfile
import time
import urllib.request
from concurrent.futures import Future, wait
from contextlib import contextmanager
from threading import Thread
from typing import IO, TYPE_CHECKING, Final, NamedTuple, TypeVar
from urllib.parse import unquote, urljoin

import urllib3
from urllib3.util import Url, make_headers, parse_url

from opwright.release.view import THREE_WAYS
from opwright.source.codes import (
    BAD_PIP_SETTINGS,
    DOWNLOAD_ALTERED,
    DOWNLOAD_SHORT,
    INDEX_SILENT,
    INSECURE_INDEX,
    NO_SPACE,
    WRITE_FAILED,
)
from opwright.source.diagnostic import Fault, shorten
from opwright.source.limits import FILE_BYTES, read_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from urllib3 import BaseHTTPResponse

    from opwright.wheels.pip_settings import IndexSettings

    _Result = TypeVar("_Result")

# The second attempt follows at once, the third after twice this number of seconds.
_PAUSE = 0.4
_ATTEMPTS: Final = 3
_WORTH_REPEATING: Final = (408, 429, 500, 502, 503, 504)
_MOST_REDIRECTS: Final = 10
_LONGEST_URL: Final = 4_000
# How servers refuse a range, besides sending the whole file.
_RANGE_UNKNOWN: Final = (400, 416, 501)
_CHUNK: Final = 1 << 16
_LARGEST_WHEEL: Final = 1 << 34

# A request may take this many times pip's time limit for one wait, and longer by the time that what was received takes
# at the slowest rate, in bytes a second.
_WAITS: Final = 4
_SLOWEST: Final = 16_384

# In all releases and platforms examined, a PyTorch wheel ends with its directory (1.2 MB), its RECORD (0.6 MB) and
# torchgen (0.45 MB). One request for all of it takes one round trip.
TAIL: Final = 2_500_000

_THIS_MACHINE: Final = ("localhost", "127.0.0.0/8", "::1")


class RangesRefusedError(Exception):
    """The server answers a range request with the whole file; `size` is the file's length, if known."""

    def __init__(self, size: int | None) -> None:
        super().__init__(size)
        self.size = size


class Page(NamedTuple):
    """A page's final address, its media type without parameters, and its bytes."""

    url: str
    media_type: str
    content: bytes


class _Part(NamedTuple):
    """A part of a file that begins at `start`, and the length of the whole file."""

    start: int
    content: bytes
    size: int


def read_url(text: str, base: str = "") -> str:
    """The address on a server that a text is, or that it is relative to another one. It is ASCII, without fragment.

    An address on the server of the base has the user of the base. Raises ValueError with a reason that names no user.

    >>> read_url("../f/é.whl#sha256=x", "https://me:secret@[::1]:8080/simple/torch/")
    'https://me:secret@[::1]:8080/simple/f/%C3%A9.whl'
    """
    text = text.strip()
    try:
        url = parse_url(urljoin(base, text))
        # The codec refuses names with empty and with long labels.
        host = (url.host or "").strip("[]").encode("idna")
    except ValueError:
        url, host = Url(), b""
    is_valid = url.scheme in ("http", "https") and host and b"%" not in host
    if not is_valid or len(text) > _LONGEST_URL or not text.isprintable():
        shown = re.sub(r"//[^/]*@", "//", shorten(text, 100))
        raise ValueError(f"`{shown}` cannot be read: it is not a valid address of the kind `http:` or `https:`")
    if base and url.auth is None and _origin(url) == _origin(source := parse_url(base)):
        url = url._replace(auth=source.auth)
    return url._replace(fragment=None, path=url.path or "/").url


def bare(url: str) -> str:
    """An address without user and password."""
    return parse_url(url)._replace(auth=None).url


def _origin(url: Url) -> tuple[str | None, str | None, int | None]:
    """What the owner of a user name and a password gave them for."""
    return url.scheme, url.host, url.port


def is_secure(url: Url, trusted_hosts: Sequence[str]) -> bool:
    """Whether pip would read an index at an address: by HTTPS, on this machine, or on a trusted host."""
    return url.scheme == "https" or is_trusted(url, (*_THIS_MACHINE, *trusted_hosts))


def is_trusted(url: Url, trusted_hosts: Sequence[str]) -> bool:
    """Whether pip's setting `trusted-host` has the host, with the same port or without one.

    Raises Fault for a word of the setting that is no host (E0516).
    """
    for text in trusted_hosts:
        is_bare_ip6 = text.count(":") >= 2 and "[" not in text
        try:
            trusted = parse_url(read_url(f"http://[{text}]" if is_bare_ip6 else f"http://{text}"))
        except ValueError as error:
            raise Fault.at(BAD_PIP_SETTINGS, f"pip's settings name a trusted host whose address {error}") from None
        is_same = url.host == trusted.host or _is_in(url, f"{trusted.host}{trusted.path}".rstrip("/"))
        if is_same and trusted.port in (None, url.port):
            return True
    return False


def _is_in(url: Url, network: str) -> bool:
    try:
        address = ipaddress.ip_address((url.host or "").strip("[]"))
        return address in ipaddress.ip_network(re.sub(r"[][]", "", network))
    except ValueError:
        return False


class _Clock:
    """The time that is left for a request with all its redirects and repetitions."""

    def __init__(self, timeout: float) -> None:
        self._end = time.monotonic() + _WAITS * timeout
        self.received = 0

    def left(self) -> float:
        """Seconds until the end, which is later the more was received."""
        return self._end + self.received / _SLOWEST - time.monotonic()


class Client:
    """Sends requests with pip's certificates, proxy, users and time limit, and repeats them if that may help.

    Raises Fault if a server is not trusted (E0518), does not answer (E0508), or ends its answer early (E0509).
    """

    def __init__(self, settings: IndexSettings) -> None:
        self.settings = settings
        self._retries = urllib3.Retry(
            total=_ATTEMPTS - 1,
            status_forcelist=_WORTH_REPEATING,
            backoff_factor=_PAUSE,
            raise_on_status=False,
            respect_retry_after_header=False,
        )
        self._pools: dict[tuple[str | None, bool, str | None], urllib3.PoolManager] = {}

    def page(self, url: str, accept: str, read: Callable[[Page], _Result]) -> _Result | None:
        """What a function reads from the page at an address, within the time limit; None if there is no page."""

        def receive(response: BaseHTTPResponse, final: str, clock: _Clock) -> _Result | None:
            if response.status in (404, 410):
                return None
            media_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
            return read(Page(final, media_type, b"".join(_chunks(response, final, clock, FILE_BYTES))))

        return self._get(url, {"Accept": accept, "Accept-Encoding": "gzip"}, receive)

    def part(self, url: str, part: str, most: int) -> _Part | None:
        """The part of a file that a Range header names (`bytes=0-99`), which has at most so many bytes.

        None if the server does not know such ranges. It may send the whole file, which is accepted up to 2.5 MB. Raises
        RangesRefusedError if it is longer.
        """

        def receive(response: BaseHTTPResponse, final: str, clock: _Clock) -> _Part | None:
            if response.status in _RANGE_UNKNOWN:
                return None
            if response.status == 206:
                content = b"".join(_chunks(response, final, clock, most))
                return _part(final, response.headers.get("Content-Range", ""), content)
            size = read_number(response.headers.get("Content-Length", ""))
            if response.status == 200 and (size is None or size > TAIL):
                raise RangesRefusedError(size)
            content = b"".join(_chunks(response, final, clock, TAIL))
            return _Part(0, content, len(content))

        return self._get(url, {"Range": part, "Accept-Encoding": "identity"}, receive)

    def whole(self, url: str) -> tuple[IO[bytes], str]:
        """A file downloaded whole: an unnamed temporary file, and its SHA-256 in hexadecimal.

        Raises Fault if it cannot be written (E0606, E0608).
        """
        with _writing():
            stream = tempfile.TemporaryFile()  # noqa: SIM115 - it outlives this function

        def receive(response: BaseHTTPResponse, final: str, clock: _Clock) -> str:
            digest = hashlib.sha256()
            stream.seek(0)
            for chunk in _chunks(response, final, clock, _LARGEST_WHEEL):
                digest.update(chunk)
                with _writing():
                    stream.write(chunk)
                    stream.flush()
            stream.truncate()
            return digest.hexdigest()

        try:
            return stream, self._get(url, {"Accept-Encoding": "identity"}, receive)
        except BaseException:
            stream.close()
            raise

    def _get(
        self, url: str, headers: dict[str, str], receive: Callable[[BaseHTTPResponse, str, _Clock], _Result]
    ) -> _Result:
        """What a function receives from the response to a request. An answer that ends early is asked for again."""
        clock = _Clock(self.settings.timeout)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return _in_time(lambda: self._attempt(url, headers, receive, clock), bare(url), clock)
            except Fault as fault:
                if fault.diagnostic.code != DOWNLOAD_SHORT or attempt == _ATTEMPTS:
                    raise
        raise AssertionError("the last attempt gives a result or a fault")

    def _attempt(
        self,
        url: str,
        headers: dict[str, str],
        receive: Callable[[BaseHTTPResponse, str, _Clock], _Result],
        clock: _Clock,
    ) -> _Result:
        origin, credentials = _origin(parse_url(url)), _credentials(parse_url(url))
        try:
            for _ in range(_MOST_REDIRECTS + 1):
                place = parse_url(url)
                if not is_secure(place, self.settings.trusted_hosts):
                    reason = f"{bare(url)} is neither HTTPS nor on a host that pip's settings trust"
                    advice = f"use `https:`, or trust the host as for pip: `PIP_TRUSTED_HOST={place.host}`"
                    raise Fault.at(INSECURE_INDEX, f"no request was sent: {reason}", help=advice)
                # Credentials are for the server that they were given for.
                more = credentials if _origin(place) == origin else {}
                sent = {"User-Agent": "opwright", **headers, **more}
                response = self._pool(place).request(
                    "GET",
                    bare(url),
                    headers=sent,
                    preload_content=False,
                    redirect=False,
                    retries=self._retries,
                    timeout=self.settings.timeout,
                )
                try:
                    location = response.get_redirect_location()
                    if location is False:
                        return receive(response, url, clock)
                finally:
                    response.close()
                # Header lines are read as Latin-1, and servers send UTF-8.
                url = read_url((location or "").encode("latin-1", "replace").decode("utf-8", "replace"), url)
        except (urllib3.exceptions.HTTPError, http.client.HTTPException, OSError, ValueError) as error:
            raise _request_fault(bare(url), error) from None
        raise _silent(f"{bare(url)} is one of more than {_MOST_REDIRECTS} redirects")

    def _pool(self, url: Url) -> urllib3.PoolManager:
        """The connections to servers that are reached in the same way."""
        proxy = self.settings.proxy
        if proxy is None and not urllib.request.proxy_bypass(url.host or ""):
            proxy = urllib.request.getproxies().get(url.scheme or "")
        trusted = is_trusted(url, self.settings.trusted_hosts)
        key = (url.scheme, trusted, proxy)
        if key not in self._pools:
            context = self._tls_context(is_checked=not trusted) if url.scheme == "https" or proxy else None
            if not proxy:
                self._pools[key] = urllib3.PoolManager(ssl_context=context)
            else:
                proxy = proxy if "://" in proxy else f"http://{proxy}"
                user = unquote(parse_url(proxy).auth or "")
                headers = make_headers(proxy_basic_auth=user) if user else None
                self._pools[key] = urllib3.ProxyManager(bare(proxy), proxy_headers=headers, ssl_context=context)
        return self._pools[key]

    def _tls_context(self, *, is_checked: bool) -> ssl.SSLContext:
        path = self.settings.certificates
        try:
            context = ssl.create_default_context(cafile=path)
            if self.settings.client_certificate:
                path = self.settings.client_certificate
                context.load_cert_chain(path)
        except OSError as error:
            raise _silent(f"the certificates in `{path}` cannot be used: {error.strerror or error}") from None
        if not is_checked:
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def _in_time(work: Callable[[], _Result], url: str, clock: _Clock) -> _Result:
    """The result of work in a thread, which is left alone when the time is over.

    A server that sends a byte of a header now and then meets no other time limit.
    """
    future: Future[_Result] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    while not future.done():
        if clock.left() <= 0:
            raise _silent(f"{url} did not answer in time")
        wait([future], clock.left())
    return future.result()


def _chunks(response: BaseHTTPResponse, url: str, clock: _Clock, most: int) -> Iterator[bytes]:
    """The content of a successful answer, which may have at most so many bytes."""
    if response.status not in (200, 206):
        raise _silent(f"{bare(url)} answers {response.status} {response.reason or ''}".rstrip())
    received = 0
    while chunk := response.read(_CHUNK, decode_content=True):
        received += len(chunk)
        clock.received += len(chunk)
        if received > most:
            raise _silent(f"{bare(url)} sends more than {most:,} bytes")
        if clock.left() <= 0:
            raise _silent(f"{bare(url)} did not answer in time")
        yield chunk


def _part(url: str, stated: str, content: bytes) -> _Part:
    """The part of a file, checked against its header `Content-Range: bytes 5-9/10`."""
    span, _, total = stated.removeprefix("bytes ").partition("/")
    start, last, size = map(read_number, (*span.partition("-")[::2], total))
    if start is None or last is None or size is None or not start <= last < size:
        raise _silent(f"{bare(url)} sends a part without saying which")
    if last - start + 1 != len(content):
        raise _short(f"{bare(url)} sent {len(content)} of {last - start + 1} bytes")
    return _Part(start, content, size)


def _credentials(url: Url) -> dict[str, str]:
    """The Authorization header for an address, from the address itself or the user's netrc file."""
    user, _, password = (url.auth or "").partition(":")
    user, password = unquote(user), unquote(password)
    if url.auth is None:
        try:
            entry = netrc.netrc().authenticators((url.host or "").strip("[]"))
        except (OSError, netrc.NetrcParseError, ValueError):
            entry = None
        if entry is None:
            return {}
        user, password = entry[0], entry[2] or ""
    return make_headers(basic_auth=f"{user}:{password}".encode().decode("latin-1"))


def _silent(message: str) -> Fault:
    return Fault.at(INDEX_SILENT, f"the server does not answer: {message}", help=THREE_WAYS)


def _short(message: str) -> Fault:
    return Fault.at(DOWNLOAD_SHORT, f"the download was cut short: {message}", help="try again")


def _request_fault(url: str, error: Exception) -> Fault:
    """What went wrong with a request: the first cause, out of urllib3's wrappers."""
    root: BaseException = error
    while inner := root.__cause__ or root.__context__:
        root = inner
    if isinstance(root, http.client.IncompleteRead):
        return _short(f"{url} ended its answer early")
    reason = getattr(root, "strerror", None) or str(root) or type(root).__name__
    return _silent(f"{url} did not answer in time" if isinstance(root, TimeoutError) else f"{url}: {reason}")


@contextmanager
def _writing() -> Iterator[None]:
    """Tells failures to write a download from those of the network."""
    try:
        yield
    except OSError as error:
        code = NO_SPACE if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else WRITE_FAILED
        message = f"cannot write the download to a temporary file: {error.strerror or error}"
        raise Fault.at(code, message, help="make room on the disk, or name another folder with TMPDIR") from None


class RemoteFile:
    """A wheel on a server as a file for `zipfile`, read by ranges, with the ranges read so far in memory.

    Raises RangesRefusedError if the server sends only whole files.
    """

    def __init__(self, client: Client, url: str) -> None:
        self._client = client
        self._url = url
        self._at = 0
        part = self._end(TAIL)
        self.size = part.size
        self._parts = [part]

    def _end(self, length: int) -> _Part:
        try:
            part = self._client.part(self._url, f"bytes=-{length}", length)
        except RangesRefusedError:
            part = None
        if part is not None:
            return part
        # Some servers only support ranges with a start: ask for the first byte to learn the length.
        first = self._ask(0, 1)
        return first if len(first.content) == first.size else self._ask(max(0, first.size - length), first.size)

    def _ask(self, start: int, end: int) -> _Part:
        part = self._client.part(self._url, f"bytes={start}-{end - 1}", end - start)
        if part is None:
            raise _silent(f"{bare(self._url)} does not send parts")
        return part

    def load(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Reads ranges at once, for the reads that follow."""
        for start, end in ranges:
            self._range(start, min(end, self.size))

    def tell(self) -> int:
        """The place where the next read begins."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Moves to a place, counted from the start, from here or from the end."""
        at = offset + (0, self._at, self.size)[whence]
        if at < 0:
            raise OSError("it points before its start")
        self._at = at
        return at

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        start = min(self._at, self.size)
        end = self.size if size < 0 else min(self.size, start + size)
        self._at = end
        return self._range(start, end)

    def _range(self, start: int, end: int) -> bytes:
        for part in self._parts:
            if part.start <= start and end <= part.start + len(part.content):
                return part.content[start - part.start : end - part.start]
        if start >= end:
            return b""
        try:
            part = self._ask(start, end)
        except RangesRefusedError:
            message = f"{bare(self._url)} no longer sends parts"
            raise Fault.at(INDEX_SILENT, message, help="try again") from None
        if (part.start, len(part.content), part.size) != (start, end - start, self.size):
            raise Fault.at(DOWNLOAD_ALTERED, f"{bare(self._url)} changed while it was read", help="try again")
        self._parts.append(part)
        return part.content
