"""Requests to servers for pages, ranges of files and whole files, with pip's settings."""

from __future__ import annotations

import hashlib
import http.client
import ssl
import tempfile
import time
import urllib.error
import urllib.request
from typing import IO, TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit, urlunsplit

from opwright.release.codes import DOWNLOAD_ALTERED, DOWNLOAD_SHORT, INDEX_SILENT, THREE_WAYS
from opwright.source.diagnostic import Fault
from opwright.source.numbers import read_number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from email.message import Message

    from opwright.release.pip_settings import IndexSettings

__all__ = ["NotFoundError", "Page", "RangesRefusedError", "RemoteBytes", "Transport", "TransportError", "shown_url"]

# Seconds to wait before the second and third attempt.
_PAUSES = (0.2, 0.8)
_WORTH_REPEATING = (408, 429, 500, 502, 503, 504)
# How servers refuse a range, besides sending the whole file.
_RANGE_UNKNOWN = (400, 416, 501)
_CHUNK = 1 << 20

# In all releases and platforms examined, a PyTorch wheel ends with its directory (1.2 MB), its RECORD (0.6 MB) and
# torchgen (0.45 MB). One request for all of it takes one round trip.
TAIL = 2_500_000


class TransportError(Exception):
    """A server cannot be reached or sends a wrong answer; the message says why."""


class NotFoundError(TransportError):
    """The server has no such page."""


class ShortAnswerError(TransportError):
    """The answer is shorter than announced."""


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


class Answer(NamedTuple):
    """A server's answer with its content."""

    status: int
    url: str
    headers: Message
    content: bytes


def shown_url(url: str) -> str:
    """An address without user name and password, for messages.

    >>> shown_url("https://me:secret@pypi.example.com/simple")
    'https://pypi.example.com/simple'
    """
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


class Transport:
    """Sends requests with pip's certificates, proxy, credentials and time limit, and repeats them if that may help."""

    def __init__(self, settings: IndexSettings) -> None:
        self._settings = settings
        self._openers: dict[bool, urllib.request.OpenerDirector] = {}

    def page(self, url: str, accept: str) -> Page:
        """The page at an address. Raises NotFoundError if there is none, or TransportError."""
        answer = self._retry(lambda: self._answer(url, {"Accept": accept}))
        media_type = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        return Page(answer.url, media_type, answer.content)

    def part(self, url: str, part: str, small: int) -> Answer:
        """The part of a file that a Range header names (`bytes=0-99`).

        A server may send the whole file, which is accepted up to `small` bytes. Raises RangesRefusedError if it is
        longer, or TransportError.
        """
        return self._retry(lambda: self._answer(url, {"Range": part}, small=small))

    def whole(self, url: str) -> tuple[IO[bytes], int, str]:
        """A file downloaded whole: an unnamed temporary file, its length and its SHA-256."""
        return self._retry(lambda: self._download(url))

    def _retry(self, attempt: Callable[[], _Result]) -> _Result:
        for pause in _PAUSES:
            try:
                return attempt()
            except NotFoundError:
                raise
            except TransportError as error:
                if isinstance(error.__cause__, urllib.error.HTTPError) and error.__cause__.code not in _WORTH_REPEATING:
                    raise
                if isinstance(error.__cause__, ConnectionRefusedError | ssl.SSLCertVerificationError):
                    raise
                time.sleep(pause)
        return attempt()

    def _answer(self, url: str, headers: dict[str, str], small: int | None = None) -> Answer:
        try:
            with self._open(url, headers) as response:
                length = response.headers.get("Content-Length")
                size = read_number(length or "")
                if small is not None and response.status != 206 and (size is None or size > small):
                    raise RangesRefusedError(size)
                content = response.read()
                # If no length was announced, or in chunks, a closed connection ends an answer without an error.
                if size is not None and len(content) != size:
                    raise ShortAnswerError(f"{shown_url(url)} sent {len(content)} of {size} bytes")
                return Answer(response.status, response.url, response.headers, content)
        except (OSError, http.client.HTTPException) as error:
            raise _transport_error(url, error) from _root(error)

    def _download(self, url: str) -> tuple[IO[bytes], int, str]:
        digest, size = hashlib.sha256(), 0
        stream = tempfile.TemporaryFile()  # noqa: SIM115 - it outlives this function
        try:
            with self._open(url, {}) as response:
                length = response.headers.get("Content-Length")
                while chunk := response.read(_CHUNK):
                    digest.update(chunk)
                    stream.write(chunk)
                    size += len(chunk)
            if read_number(length or "") not in (None, size):
                raise ShortAnswerError(f"{shown_url(url)} sent {size} of {length} bytes")
        except BaseException as error:
            stream.close()
            if isinstance(error, OSError | http.client.HTTPException):
                raise _transport_error(url, error) from _root(error)
            raise
        return stream, size, digest.hexdigest()

    def _open(self, url: str, headers: dict[str, str]) -> http.client.HTTPResponse:
        parts = urlsplit(url)
        request = urllib.request.Request(shown_url(url), headers={"User-Agent": "opwright", **headers})
        credentials = _credentials(url)
        if credentials:
            # A redirect to another host does not get this header.
            request.add_unredirected_header("Authorization", credentials)
        host = parts.hostname or ""
        trusted = bool({host, f"{host}:{parts.port}"} & set(self._settings.trusted_hosts))
        response: http.client.HTTPResponse = self._opener(trusted).open(request, timeout=self._settings.timeout)
        return response

    def _opener(self, trusted: bool) -> urllib.request.OpenerDirector:
        opener = self._openers.get(trusted)
        if opener is None:
            proxy = self._settings.proxy
            proxies = None if proxy is None else {"http": proxy, "https": proxy}
            opener = self._openers[trusted] = urllib.request.build_opener(
                urllib.request.ProxyHandler(proxies),
                urllib.request.HTTPSHandler(context=self._tls(trusted)),
            )
        return opener

    def _tls(self, trusted: bool) -> ssl.SSLContext:
        settings = self._settings
        try:
            context = ssl.create_default_context(cafile=settings.certificates)
            if settings.client_certificate:
                context.load_cert_chain(settings.client_certificate)
        except OSError as error:
            name = settings.certificates or settings.client_certificate
            raise TransportError(f"the certificates in `{name}` cannot be used: {error.strerror or error}") from None
        if trusted:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


if TYPE_CHECKING:
    from typing import TypeVar

    _Result = TypeVar("_Result")


def _credentials(url: str) -> str | None:
    """The Authorization header for an address, from the address itself or the user's netrc file."""
    from base64 import b64encode

    parts = urlsplit(url)
    user, password = parts.username, parts.password or ""
    if user is None:
        import netrc

        try:
            credentials = netrc.netrc().authenticators(parts.hostname or "")
        except (OSError, netrc.NetrcParseError):
            return None
        if credentials is None:
            return None
        user, password = credentials[0], credentials[2] or ""
    return "Basic " + b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode()


def _root(error: Exception) -> Exception:
    """The error inside urllib's wrappers."""
    reason = getattr(error, "reason", None)
    if isinstance(error, urllib.error.URLError) and isinstance(reason, Exception):
        return reason
    return error


def _transport_error(url: str, error: Exception) -> TransportError:
    root = _root(error)
    if isinstance(root, urllib.error.HTTPError):
        kind = NotFoundError if root.code in (404, 410) else TransportError
        return kind(f"{shown_url(url)} answers {root.code} {root.reason}")
    if isinstance(root, http.client.IncompleteRead):
        return ShortAnswerError(f"{shown_url(url)} ended its answer early, after {len(root.partial)} bytes")
    if isinstance(root, TimeoutError):
        return TransportError(f"{shown_url(url)} did not answer in time")
    return TransportError(f"{shown_url(url)}: {getattr(root, 'strerror', None) or root or type(root).__name__}")


class RemoteBytes:
    """A wheel on a server, read by ranges, with the ranges read so far in memory.

    Raises RangesRefusedError if the server sends only whole files, and Fault if it does not answer (E0508) or ends its
    answers early (E0509).
    """

    def __init__(self, transport: Transport, url: str, tail: int = TAIL) -> None:
        self._transport = transport
        self._url = url
        answer = self._end(tail)
        if answer.status == 206:
            start, self.size = self._content_range(answer)
        else:
            start, self.size = 0, len(answer.content)
        self._pieces: list[tuple[int, bytes]] = [(start, answer.content)]

    def _end(self, length: int) -> Answer:
        """The last bytes of the file."""
        try:
            return self._transport.part(self._url, f"bytes=-{length}", TAIL)
        except RangesRefusedError:
            pass
        except TransportError as error:
            if not isinstance(error.__cause__, urllib.error.HTTPError) or error.__cause__.code not in _RANGE_UNKNOWN:
                raise transport_fault(error) from None
        # Some servers only support ranges with a start: ask for the first byte to learn the length.
        first = self._part("bytes=0-0")
        if first.status != 206:
            return first
        size = self._content_range(first)[1]
        return self._part(f"bytes={max(0, size - length)}-{size - 1}")

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of each `(start, end)` range, in the order asked."""
        return [self._range(start, min(end, self.size)) for start, end in ranges]

    def _range(self, start: int, end: int) -> bytes:
        for piece_start, piece in self._pieces:
            if piece_start <= start and end <= piece_start + len(piece):
                return piece[start - piece_start : end - piece_start]
        try:
            answer = self._part(f"bytes={start}-{end - 1}")
        except RangesRefusedError:
            raise Fault.at(INDEX_SILENT, f"{shown_url(self._url)} no longer sends parts", help="try again") from None
        if (
            answer.status != 206
            or self._content_range(answer) != (start, self.size)
            or len(answer.content) != end - start
        ):
            raise Fault.at(DOWNLOAD_ALTERED, f"{shown_url(self._url)} changed while it was read", help="try again")
        self._pieces.append((start, answer.content))
        return answer.content

    def _part(self, part: str) -> Answer:
        try:
            return self._transport.part(self._url, part, TAIL)
        except TransportError as error:
            raise transport_fault(error) from None

    def _content_range(self, answer: Answer) -> tuple[int, int]:
        """The start of a part, and the length of the whole file, from `Content-Range: bytes 5-9/10`."""
        span, _, total = answer.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
        start, last, whole = map(read_number, (*span.partition("-")[::2], total))
        if start is None or last is None or whole is None:
            raise Fault.at(INDEX_SILENT, f"{shown_url(self._url)} sends a part without saying which")
        if last - start + 1 != len(answer.content):
            raise Fault.at(DOWNLOAD_SHORT, f"{shown_url(self._url)} sent {len(answer.content)} bytes of {span}")
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


def transport_fault(error: TransportError) -> Fault:
    """The fault for a failed request: cut short (E0509) or not answered (E0508)."""
    if isinstance(error, ShortAnswerError):
        return Fault.at(DOWNLOAD_SHORT, f"the download was cut short: {error}", help="try again")
    return Fault.at(INDEX_SILENT, f"the server does not answer: {error}", help=THREE_WAYS)
