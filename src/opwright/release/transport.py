"""Requests to servers for pages, ranges of files and whole files, with pip's settings and within limits."""

from __future__ import annotations

import errno
import hashlib
import http.client
import io
import netrc
import ssl
import tempfile
import time
import urllib.error
import urllib.request
from base64 import b64encode
from contextlib import contextmanager
from functools import partial
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from opwright.release.addresses import Address, BadAddressError, is_secure, is_trusted, parse_address
from opwright.release.view import THREE_WAYS
from opwright.source.codes import DOWNLOAD_ALTERED, DOWNLOAD_SHORT, INDEX_SILENT, INSECURE_INDEX, NO_SPACE, WRITE_FAILED
from opwright.source.diagnostic import Fault
from opwright.source.limits import FILE_BYTES, read_number

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator, Sequence
    from email.message import Message

    from _typeshed import WriteableBuffer

    from opwright.release.pip_settings import IndexSettings

    _Result = TypeVar("_Result")

# Seconds to wait before the second and third attempt.
_PAUSES = (0.2, 0.8)
_WORTH_REPEATING: Final = (408, 429, 500, 502, 503, 504)
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_MOST_REDIRECTS: Final = 10
# How servers refuse a range, besides sending the whole file.
_RANGE_UNKNOWN: Final = (400, 416, 501)
_CHUNK: Final = 1 << 20
_LARGEST_WHEEL: Final = 1 << 34

# A request may take this many times pip's time limit for one wait, and longer by the time that what was received takes
# at the slowest rate, in bytes a second.
_WAITS: Final = 4
_SLOWEST: Final = 16_384

# In all releases and platforms examined, a PyTorch wheel ends with its directory (1.2 MB), its RECORD (0.6 MB) and
# torchgen (0.45 MB). One request for all of it takes one round trip.
TAIL: Final = 2_500_000


class TransportError(Exception):
    """A server cannot be reached or sends a wrong answer; the message says why. With `repeat`, try again."""

    def __init__(self, message: str, *, repeat: bool = False) -> None:
        super().__init__(message)
        self.repeat = repeat


class StatusError(TransportError):
    """The server answers with an error."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message, repeat=status in _WORTH_REPEATING)
        self.status = status


class NotFoundError(StatusError):
    """The server has no such page."""


class ShortAnswerError(TransportError):
    """The answer is shorter than announced."""


class InsecureError(TransportError):
    """The address is one that pip would not trust."""

    def __init__(self, address: Address) -> None:
        super().__init__(f"{address.url} is neither HTTPS nor on a host that pip's settings trust")
        self.help = f"use `https:`, or trust the host as for pip: `PIP_TRUSTED_HOST={address.host}`"


class RangesRefusedError(Exception):
    """The server answers a range request with the whole file; `size` is the file's length, if known."""

    def __init__(self, size: int | None) -> None:
        super().__init__(size)
        self.size = size


class Page(NamedTuple):
    """A page's final address, its media type without parameters, and its bytes."""

    address: Address
    media_type: str
    content: bytes


class Answer(NamedTuple):
    """A server's answer with its content."""

    status: int
    headers: Message
    content: bytes


class _Clock:
    """The time that is left for a request with all its redirects and repetitions."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._end = time.monotonic() + _WAITS * timeout
        self.received = 0

    def seconds(self) -> float:
        """How long the next wait may take. Raises TimeoutError if no time is left."""
        left = self._end + self.received / _SLOWEST - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return min(left, self._timeout)


class _TimedReader(io.RawIOBase):
    """What a socket receives, within the time of a clock."""

    def __init__(self, connection: socket.socket, clock: _Clock) -> None:
        self._connection = connection
        self._stream = connection.makefile("rb", buffering=0)
        self._clock = clock

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        """Receives bytes into a buffer, and tells how many."""
        self._connection.settimeout(self._clock.seconds())
        count = self._stream.readinto(buffer)
        self._clock.received += count or 0
        return int(count or 0)

    def close(self) -> None:
        """Closes the stream."""
        self._stream.close()
        super().close()


class _TimedResponse(http.client.HTTPResponse):
    """A response that is read within the time of a clock."""

    def __init__(self, connection: socket.socket, *arguments: object, clock: _Clock, **options: object) -> None:
        super().__init__(connection, *arguments, **options)  # type: ignore[arg-type]
        self.fp.close()
        self.fp = io.BufferedReader(_TimedReader(connection, clock))


class _HttpHandler(urllib.request.AbstractHTTPHandler):
    """Opens `http:` and `https:` addresses within the time of a clock; `tls` gives the context for `https:`."""

    http_request = https_request = urllib.request.AbstractHTTPHandler.do_request_

    def __init__(self, clock: _Clock, tls: Callable[[], ssl.SSLContext]) -> None:
        super().__init__()
        self._clock = clock
        self._tls = tls

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        """The response to a request."""
        return self.do_open(partial(self._connection, http.client.HTTPConnection), request)

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        """The response to a request."""
        kind = partial(http.client.HTTPSConnection, context=self._tls())
        return self.do_open(partial(self._connection, kind), request)

    def _connection(self, kind: Callable[..., Any], host: str, **options: object) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection = kind(host, **{**options, "timeout": self._clock.seconds()})
        connection.response_class = partial(_TimedResponse, clock=self._clock)  # type: ignore[assignment]
        return connection


class Transport:
    """Sends requests with pip's certificates, proxy, credentials and time limit, and repeats them if that may help.

    It sends none to an address that pip would not trust, which raises InsecureError.
    """

    def __init__(self, settings: IndexSettings) -> None:
        self._settings = settings
        self._contexts: dict[bool, ssl.SSLContext] = {}

    def page(self, address: Address, accept: str) -> Page:
        """The page at an address. Raises NotFoundError if there is none, or TransportError."""

        def attempt(clock: _Clock) -> Page:
            stream = io.BytesIO()
            with self._answer(address, {"Accept": accept}, clock) as (response, final):
                _receive(response, final, stream.write, FILE_BYTES)
            media_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
            return Page(final, media_type, stream.getvalue())

        return self._retry(attempt)

    def part(self, address: Address, part: str, most: int) -> Answer:
        """The part of a file that a Range header names (`bytes=0-99`), which has at most so many bytes.

        A server may send the whole file, which is accepted up to 2.5 MB. Raises RangesRefusedError if it is longer, or
        TransportError.
        """

        def attempt(clock: _Clock) -> Answer:
            stream = io.BytesIO()
            with self._answer(address, {"Range": part}, clock) as (response, final):
                if response.status != 206:
                    size = _length(response)
                    if size is None or size > TAIL:
                        raise RangesRefusedError(size)
                _receive(response, final, stream.write, most if response.status == 206 else TAIL)
            return Answer(response.status, response.headers, stream.getvalue())

        return self._retry(attempt)

    def whole(self, address: Address) -> tuple[IO[bytes], int, str]:
        """A file downloaded whole: an unnamed temporary file, its length and its SHA-256 in hexadecimal.

        Raises TransportError, or Fault if it cannot be written (E0606, E0608).
        """

        def attempt(clock: _Clock) -> tuple[IO[bytes], int, str]:
            digest = hashlib.sha256()
            with _named_failure():
                stream = tempfile.TemporaryFile()  # noqa: SIM115 - it outlives this function

            def write(chunk: bytes) -> None:
                digest.update(chunk)
                with _named_failure():
                    stream.write(chunk)
                    stream.flush()

            try:
                with self._answer(address, {}, clock) as (response, final):
                    _receive(response, final, write, _LARGEST_WHEEL)
            except BaseException:
                stream.close()
                raise
            return stream, stream.tell(), digest.hexdigest()

        return self._retry(attempt)

    def _retry(self, attempt: Callable[[_Clock], _Result]) -> _Result:
        clock = _Clock(self._settings.timeout)
        for pause in _PAUSES:
            try:
                return attempt(clock)
            except TransportError as error:
                if not error.repeat:
                    raise
                time.sleep(pause)
        return attempt(clock)

    @contextmanager
    def _answer(
        self, address: Address, headers: dict[str, str], clock: _Clock
    ) -> Iterator[tuple[http.client.HTTPResponse, Address]]:
        """The successful response to a request, and the address that it was redirected to."""
        origin, credentials = address.origin, _credentials(address)
        try:
            for _ in range(_MOST_REDIRECTS):
                # Credentials are for the server that they were given for.
                more = {"Authorization": credentials} if credentials and address.origin == origin else {}
                with self._response(address, {**headers, **more}, clock) as response:
                    if response.status not in _REDIRECTS:
                        _check_status(response, address)
                        yield response, address
                        return
                    address = _redirect_target(response, address)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _transport_error(address, error) from error
        raise TransportError(f"{address.url} is one of more than {_MOST_REDIRECTS} redirects")

    def _response(self, address: Address, headers: dict[str, str], clock: _Clock) -> http.client.HTTPResponse:
        """The response to one request, whatever its status."""
        if not is_secure(address, self._settings.trusted_hosts):
            raise InsecureError(address)
        proxy = self._settings.proxy
        opener = urllib.request.OpenerDirector()
        opener.add_handler(urllib.request.ProxyHandler(None if proxy is None else {"http": proxy, "https": proxy}))
        trusted = is_trusted(address, self._settings.trusted_hosts)
        opener.add_handler(_HttpHandler(clock, partial(self._tls, trusted)))
        request = urllib.request.Request(address.url, headers={"User-Agent": "opwright", **headers})
        response: http.client.HTTPResponse = opener.open(request)
        return response

    def _tls(self, trusted: bool) -> ssl.SSLContext:
        context = self._contexts.get(trusted)
        if context is None:
            context = self._contexts[trusted] = self._new_tls(trusted)
        return context

    def _new_tls(self, trusted: bool) -> ssl.SSLContext:
        path = self._settings.certificates
        try:
            context = ssl.create_default_context(cafile=path)
            if self._settings.client_certificate:
                path = self._settings.client_certificate
                context.load_cert_chain(path)
        except OSError as error:
            raise TransportError(f"the certificates in `{path}` cannot be used: {error.strerror or error}") from None
        if trusted:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


@contextmanager
def _named_failure() -> Iterator[None]:
    """Tell failures to write a download from those of the network."""
    try:
        yield
    except OSError as error:
        code = NO_SPACE if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else WRITE_FAILED
        message = f"cannot write the download to a temporary file: {error.strerror or error}"
        raise Fault.at(code, message, help="make room on the disk, or name another folder with TMPDIR") from None


def _length(response: http.client.HTTPResponse) -> int | None:
    return read_number(response.headers.get("Content-Length") or "")


def _receive(response: http.client.HTTPResponse, address: Address, write: Callable[[bytes], object], most: int) -> None:
    """Writes the content of an answer. Raises TransportError if it is longer than `most` bytes or than announced."""
    received = 0
    while chunk := response.read(_CHUNK):
        received += len(chunk)
        if received > most:
            raise TransportError(f"{address.url} sends more than {most:,} bytes")
        write(chunk)
    # If no length was announced, or in chunks, a closed connection ends an answer without an error.
    size = _length(response)
    if size is not None and received != size:
        raise ShortAnswerError(f"{address.url} sent {received} of {size} bytes", repeat=True)


def _check_status(response: http.client.HTTPResponse, address: Address) -> None:
    status = response.status
    if status not in (200, 206):
        kind = NotFoundError if status in (404, 410) else StatusError
        raise kind(f"{address.url} answers {status} {response.reason}".rstrip(), status)


def _redirect_target(response: http.client.HTTPResponse, address: Address) -> Address:
    """The address to which an answer redirects."""
    # Header lines are read as Latin-1, and servers send UTF-8.
    location = response.headers.get("Location", "").encode("latin-1", "replace").decode("utf-8", "replace")
    if not location:
        raise TransportError(f"{address.url} redirects without saying where to")
    try:
        return parse_address(location, address)
    except BadAddressError as error:
        raise TransportError(f"{address.url} redirects to an address that {error}") from None


def _credentials(address: Address) -> str | None:
    """The Authorization header for an address, from the address itself or the user's netrc file."""
    user, password = address.user, address.password
    if user is None:
        try:
            credentials = netrc.netrc().authenticators(address.host)
        except (OSError, netrc.NetrcParseError, ValueError):
            return None
        if credentials is None:
            return None
        user, password = credentials[0], credentials[2] or ""
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


def _transport_error(address: Address, error: Exception) -> TransportError:
    """What went wrong with a request, out of urllib's wrappers."""
    root = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(root, http.client.IncompleteRead):
        message = f"{address.url} ended its answer early, after {len(root.partial)} bytes"
        return ShortAnswerError(message, repeat=True)
    if isinstance(root, TimeoutError):
        return TransportError(f"{address.url} did not answer in time", repeat=True)
    reason = getattr(root, "strerror", None) or str(root) or type(root).__name__
    is_lasting = isinstance(root, ConnectionRefusedError | ssl.SSLCertVerificationError | ValueError)
    return TransportError(f"{address.url}: {reason}", repeat=not is_lasting)


def transport_fault(error: TransportError, notes: Sequence[str] = ()) -> Fault:
    """The fault for a failed request: cut short (E0509), not trusted (E0518) or not answered (E0508)."""
    if isinstance(error, ShortAnswerError):
        return Fault.at(DOWNLOAD_SHORT, f"the download was cut short: {error}", notes=notes, help="try again")
    if isinstance(error, InsecureError):
        return Fault.at(INSECURE_INDEX, f"no request was sent: {error}", notes=notes, help=error.help)
    return Fault.at(INDEX_SILENT, f"the server does not answer: {error}", notes=notes, help=THREE_WAYS)


class RemoteBytes:
    """A wheel on a server, read by ranges, with the ranges read so far in memory.

    Raises RangesRefusedError if the server sends only whole files, and Fault if it does not answer (E0508) or ends its
    answers early (E0509).
    """

    def __init__(self, transport: Transport, address: Address, tail: int = TAIL) -> None:
        self._transport = transport
        self._address = address
        answer = self._end(tail)
        if answer.status == 206:
            start, self.size = self._content_range(answer)
        else:
            start, self.size = 0, len(answer.content)
        self._pieces: list[tuple[int, bytes]] = [(start, answer.content)]

    def _end(self, length: int) -> Answer:
        """The last bytes of the file."""
        try:
            return self._transport.part(self._address, f"bytes=-{length}", length)
        except RangesRefusedError:
            pass
        except TransportError as error:
            if not isinstance(error, StatusError) or error.status not in _RANGE_UNKNOWN:
                raise transport_fault(error) from None
        # Some servers only support ranges with a start: ask for the first byte to learn the length.
        first = self._part(0, 1)
        if first.status != 206:
            return first
        size = self._content_range(first)[1]
        return self._part(max(0, size - length), size)

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of each `(start, end)` range, in the order asked."""
        return [self._range(start, min(end, self.size)) for start, end in ranges]

    def _range(self, start: int, end: int) -> bytes:
        if start >= end:
            return b""
        for piece_start, piece in self._pieces:
            if piece_start <= start and end <= piece_start + len(piece):
                return piece[start - piece_start : end - piece_start]
        try:
            answer = self._part(start, end)
        except RangesRefusedError:
            raise Fault.at(INDEX_SILENT, f"{self._address.url} no longer sends parts", help="try again") from None
        if (
            answer.status != 206
            or self._content_range(answer) != (start, self.size)
            or len(answer.content) != end - start
        ):
            raise Fault.at(DOWNLOAD_ALTERED, f"{self._address.url} changed while it was read", help="try again")
        self._pieces.append((start, answer.content))
        return answer.content

    def _part(self, start: int, end: int) -> Answer:
        try:
            return self._transport.part(self._address, f"bytes={start}-{end - 1}", end - start)
        except TransportError as error:
            raise transport_fault(error) from None

    def _content_range(self, answer: Answer) -> tuple[int, int]:
        """The start of a part, and the length of the whole file, from `Content-Range: bytes 5-9/10`."""
        url = self._address.url
        span, _, total = answer.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
        start, last, whole = map(read_number, (*span.partition("-")[::2], total))
        if start is None or last is None or whole is None or not start <= last < whole:
            raise Fault.at(INDEX_SILENT, f"{url} sends a part without saying which", help=THREE_WAYS)
        if last - start + 1 != len(answer.content):
            message = f"{url} sent {len(answer.content)} of {last - start + 1} bytes"
            raise Fault.at(DOWNLOAD_SHORT, message, help="try again")
        return start, whole


class StreamBytes:
    """A temporary file as the bytes of an archive."""

    def __init__(self, stream: IO[bytes], size: int) -> None:
        self._stream = stream
        self.size = size

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of each `(start, end)` range, in the order asked."""
        pieces = []
        for start, end in ranges:
            self._stream.seek(start)
            pieces.append(self._stream.read(end - start))
        return pieces
