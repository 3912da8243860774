"""A PyTorch wheel, read by ranges of bytes, whose members are verified against the archive and the wheel's RECORD.

A wheel of PyTorch has some 13,000 members and hundreds of megabytes; Opwright needs 90 small members. The reader reads
the archive's directory, requests as few byte ranges as possible for the members, and checks each member's CRC. It
unpacks nothing to disk.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zipfile
import zlib
from base64 import urlsafe_b64encode
from typing import IO, TYPE_CHECKING, Protocol, cast

from opwright.source.codes import BAD_WHEEL, DOWNLOAD_ALTERED, INPUT_MISSING
from opwright.source.diagnostic import Fault, shorten
from opwright.source.limits import FILE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: The fixed part of the header before a member; a name and extra data follow.
_HEADER_BYTES = 30
_LONGEST_FIELD = 0xFFFF
#: What `zipfile` raises for archives of all kinds of damage.
_UNREADABLE = (zipfile.BadZipFile, EOFError, NotImplementedError, OverflowError, ValueError, struct.error)

# PyTorch's directory has 1.2 MB, and all inputs of a release have 4 MB.
_LARGEST_DIRECTORY = 32_000_000
_MOST_BYTES = 256_000_000

# Reading a shorter gap is cheaper than a second request.
_GAP_WORTH_SKIPPING = 64 * 1024


class BadArchiveError(Exception):
    """The bytes are not a complete, readable zip archive; the message says why."""


class DamagedMemberError(Exception):
    """A member's bytes do not match the archive's directory."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.name = name
        self.reason = reason


class ByteSource(Protocol):
    """Random access to the bytes of one archive."""

    @property
    def size(self) -> int:
        """The archive's length in bytes."""
        ...

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of each `(start, end)` range, in the order of the ranges."""
        ...


class FileBytes:
    """A file on disk as a `ByteSource`."""

    __slots__ = ("path", "size")

    def __init__(self, path: str) -> None:
        self.path = path
        self.size = os.stat(path).st_size

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of each `(start, end)` range, in the order of the ranges."""
        chunks = []
        with open(self.path, "rb") as stream:
            for start, end in ranges:
                stream.seek(start)
                chunks.append(stream.read(end - start))
        return chunks


class Archive:
    """The directory of a zip archive; reads members on demand.

    Raises `BadArchiveError` when the directory cannot be read.
    """

    __slots__ = ("_stops", "_stream", "_zip")

    def __init__(self, source: ByteSource) -> None:
        self._stream = _Stream(source)
        try:
            self._zip = zipfile.ZipFile(cast("IO[bytes]", self._stream))
        except _UNREADABLE as error:
            raise BadArchiveError(f"{error}") from None
        for info in self._zip.infolist():
            if not 0 <= info.header_offset < source.size:
                raise BadArchiveError("its directory is damaged")
            if not _is_member_name(info.orig_filename):
                raise BadArchiveError(f"it has a member with the name `{shorten(info.orig_filename)}`")
        # A member ends where the next one begins, or before.
        offsets = sorted({info.header_offset for info in self._zip.infolist()})
        self._stops = dict(zip(offsets, [*offsets[1:], source.size], strict=False))

    def __contains__(self, name: str) -> bool:
        return name in self._zip.NameToInfo

    def names(self, prefix: str = "") -> tuple[str, ...]:
        """All files whose name begins with `prefix`, sorted, without folders."""
        return tuple(sorted(name for name in self._zip.namelist() if name.startswith(prefix) and name[-1] != "/"))

    def read(self, names: Iterable[str]) -> dict[str, bytes]:
        """The content of each named member, with verified CRC.

        Raises `KeyError` for an unknown name, and `DamagedMemberError` for content that does not match the directory
        or is larger than any input.
        """
        members = sorted(map(self._zip.getinfo, names), key=lambda member: member.header_offset)
        total = 0
        for member in members:
            longest = max(member.file_size, member.compress_size)
            total += longest
            if longest > FILE_BYTES:
                raise DamagedMemberError(member.filename, f"it has more than {FILE_BYTES:,} bytes")
            if total > _MOST_BYTES:
                raise DamagedMemberError(member.filename, f"with other members it has more than {_MOST_BYTES:,} bytes")
        self._stream.keep(_join_ranges([(member.header_offset, self._end(member)) for member in members]))
        return {member.filename: self._content(member) for member in members}

    def _end(self, member: zipfile.ZipInfo) -> int:
        """Where to stop reading for a member: after the longest header and its bytes, or at the next member."""
        longest = _HEADER_BYTES + 2 * _LONGEST_FIELD + member.compress_size
        return min(self._stops[member.header_offset], member.header_offset + longest)

    def _content(self, member: zipfile.ZipInfo) -> bytes:
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            reason = f"it is packed with method {member.compress_type}, which is not read here"
            raise DamagedMemberError(member.filename, reason)
        try:
            return self._zip.read(member)
        except (*_UNREADABLE, zlib.error, RuntimeError) as error:
            raise DamagedMemberError(member.filename, f"it does not unpack ({error})") from None


class _OutsideError(zipfile.BadZipFile, OSError):
    """A place outside a stream; `zipfile` expects an OSError where it looks for the end of a small archive."""


class _Stream:
    """What `zipfile` needs of a stream, over a source of bytes; ranges that are kept come from memory."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._at = 0
        self._kept: list[tuple[int, bytes]] = []

    def keep(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Read ranges at once, for the reads that follow."""
        chunks = self._source.read_ranges(ranges)
        self._kept = [(start, chunk) for (start, _), chunk in zip(ranges, chunks, strict=True)]

    def seekable(self) -> bool:
        """Yes."""
        return True

    def tell(self) -> int:
        """The place where the next read begins."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a place, counted from the start, from here or from the end."""
        self._at = offset + (0, self._at, self._source.size)[whence]
        if self._at < 0:
            raise _OutsideError("it points before its start")
        return self._at

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        start, end = self._at, self._source.size
        if size >= 0:
            end = max(start, min(end, start + size))
        if end - start > _LARGEST_DIRECTORY:
            raise zipfile.BadZipFile(f"its directory has more than {_LARGEST_DIRECTORY:,} bytes")
        self._at = end
        for at, piece in self._kept:
            if at <= start and end <= at + len(piece):
                return piece[start - at : end - at]
        return self._source.read_ranges([(start, end)])[0]


def _is_member_name(name: str) -> bool:
    """Whether the name of a member is a printable relative path without backslashes and without `..`.

    >>> [_is_member_name(name) for name in ("torch/lib/", "torch/a\\0b", "../x", "/etc/x", "a\\\\b")]
    [True, False, False, False, False]
    """
    return name.isprintable() and not name.startswith("/") and "\\" not in name and ".." not in name.split("/")


def _join_ranges(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Joins sorted ranges if the gap between them is not worth another request."""
    joined: list[tuple[int, int]] = []
    for start, end in ranges:
        if joined and start - joined[-1][1] <= _GAP_WORTH_SKIPPING:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


class Wheel:
    """The members of one wheel, in a file or on a server.

    Reading compares each member with the archive's CRC and with its SHA-256 in the wheel's RECORD. Raises Fault if the
    bytes are not a wheel (E0504).
    """

    __slots__ = ("_archive", "_info_folder", "_recorded", "name")

    def __init__(self, name: str, source: ByteSource) -> None:
        self.name = name
        try:
            self._archive = Archive(source)
        except BadArchiveError as error:
            raise Fault.at(BAD_WHEEL, f"`{name}` is not a readable wheel: {error}") from None
        records = [
            path for path in self._archive.names() if path.endswith(".dist-info/RECORD") and path.count("/") == 1
        ]
        if len(records) != 1:
            raise Fault.at(BAD_WHEEL, f"`{name}` is not a wheel: it has no .dist-info/RECORD")
        self._info_folder = records[0].rpartition("/")[0]
        self._recorded: dict[str, str] | None = None

    @classmethod
    def open(cls, path: str) -> Wheel:
        """Opens the wheel in a file."""
        try:
            return cls(path, FileBytes(path))
        except OSError as error:
            raise Fault.at(BAD_WHEEL, f"cannot read the wheel `{path}`: {error.strerror or error}") from None

    @property
    def version(self) -> str:
        """The version in the name of the wheel's metadata folder, `2.13.0+cpu`."""
        return self._info_folder.removesuffix(".dist-info").partition("-")[2]

    def names(self, prefix: str = "") -> tuple[str, ...]:
        """The files whose path begins with `prefix`, sorted."""
        return self._archive.names(prefix)

    def read(self, names: Iterable[str]) -> dict[str, bytes]:
        """The verified content of each named member.

        Raises Fault for a member that does not exist (E0514) or differs from its checksums (E0510).
        """
        wanted = list(names)
        for name in wanted:
            if name not in self._archive:
                raise Fault.at(INPUT_MISSING, f"`{self.name}` has no member `{name}`")
        if self._recorded is None:
            record = f"{self._info_folder}/RECORD"
            contents = self._read_members([*wanted, record])
            self._recorded = _recorded_digests(contents[record].decode("utf-8", "replace"))
            if record not in wanted:
                del contents[record]
        else:
            contents = self._read_members(wanted)
        for name, content in contents.items():
            self._check_digest(name, content)
        return {name: contents[name] for name in wanted}

    def check_complete(self, prefix: str) -> None:
        """Raises Fault if the archive lacks a file below `prefix` that the RECORD lists (E0510).

        Call it after the first `read`, which reads the RECORD.
        """
        for name in self._recorded or ():
            if name.startswith(prefix) and name not in self._archive:
                raise self._altered_fault(name, "the wheel's RECORD lists it and the archive lacks it")

    def _read_members(self, names: list[str]) -> dict[str, bytes]:
        try:
            return self._archive.read(names)
        except DamagedMemberError as error:
            raise self._altered_fault(error.name, error.reason) from None
        except OSError as error:
            raise Fault.at(BAD_WHEEL, f"cannot read the wheel `{self.name}`: {error.strerror or error}") from None

    def _check_digest(self, name: str, content: bytes) -> None:
        """Compares a member with the wheel's RECORD, which contains no digest of itself."""
        if name == f"{self._info_folder}/RECORD":
            return
        recorded = (self._recorded or {}).get(name)
        if recorded is None:
            raise self._altered_fault(name, "the wheel's RECORD does not list it with a SHA-256")
        digest = urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        if digest != recorded:
            raise self._altered_fault(name, "its SHA-256 differs from the wheel's RECORD")

    def _altered_fault(self, member: str, reason: str) -> Fault:
        return Fault.at(
            DOWNLOAD_ALTERED,
            f"`{member}` in `{self.name}` is damaged: {reason}",
            help="download the wheel again, or from another source",
        )


def _recorded_digests(record: str) -> dict[str, str]:
    """The SHA-256 of each member, in URL-safe base 64, from lines of `path,sha256=...,size`.

    >>> _recorded_digests("torch/version.py,sha256=abc,12\\ntorch.dist-info/RECORD,,\\n")
    {'torch/version.py': 'abc'}
    """
    digests = {}
    for line in record.splitlines():
        # A path with a comma is quoted; the last two fields never hold one.
        path, _, rest = line.rpartition(",sha256=")
        if path:
            digests[path.strip('"')] = rest.partition(",")[0].rstrip("=")
    return digests
