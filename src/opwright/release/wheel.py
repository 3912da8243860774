"""A PyTorch wheel, read by ranges of bytes, whose members are verified against the archive and the wheel's RECORD.

A wheel of PyTorch has some 13,000 members and hundreds of megabytes; Opwright needs 90 small members. The reader reads
the archive's directory, requests as few byte ranges as possible for the members, and checks each member's CRC. It
unpacks nothing to disk.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING, NamedTuple, Protocol

from opwright.source.codes import BAD_WHEEL, DOWNLOAD_ALTERED, INPUT_MISSING
from opwright.source.diagnostic import Fault, shorten
from opwright.source.limits import FILE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["Wheel"]


_END = struct.Struct("<4s4H2LH")
_END_64_LOCATOR = struct.Struct("<4sLQL")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")

_LONGEST_COMMENT = _LONGEST_FIELD = 0xFFFF
_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 0x1
_IN_EXTRA = 0xFFFFFFFF
_ZIP64_EXTRA = 0x0001

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


class Member(NamedTuple):
    """One file of the archive, as described by the directory."""

    name: str
    method: int
    flags: int
    crc: int
    packed_size: int
    size: int
    offset: int


class Archive:
    """The directory of a zip archive; reads members on demand.

    Raises `BadArchiveError` when the directory cannot be read.
    """

    __slots__ = ("_members", "_source", "_stops")

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        start, length = _directory_span(source)
        if length > _LARGEST_DIRECTORY:
            raise BadArchiveError(f"its directory has more than {_LARGEST_DIRECTORY:,} bytes")
        directory = source.read_ranges([(start, start + length)])[0]
        if len(directory) != length:
            raise BadArchiveError("its directory is cut short")
        members = list(_directory_members(directory))
        self._members = {member.name: member for member in members}
        # A member ends where the next one begins, or before.
        offsets = sorted({member.offset for member in members})
        if offsets and offsets[-1] >= start:
            raise BadArchiveError("its directory is damaged")
        self._stops = dict(zip(offsets, [*offsets[1:], start], strict=False))

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def names(self, prefix: str = "") -> tuple[str, ...]:
        """All files whose name begins with `prefix`, sorted, without folders."""
        return tuple(sorted(name for name in self._members if name.startswith(prefix) and not name.endswith("/")))

    def read(self, names: Iterable[str]) -> dict[str, bytes]:
        """The content of each named member, with verified CRC.

        Raises `KeyError` for an unknown name, and `DamagedMemberError` for content that does not match the directory
        or is larger than any input.
        """
        members = sorted((self._members[name] for name in names), key=lambda member: member.offset)
        total = 0
        for member in members:
            longest = max(member.size, member.packed_size)
            total += longest
            if longest > FILE_BYTES:
                raise DamagedMemberError(member.name, f"it has more than {FILE_BYTES:,} bytes")
            if total > _MOST_BYTES:
                raise DamagedMemberError(member.name, f"with other members it has more than {_MOST_BYTES:,} bytes")
        ranges = _join_ranges([(member.offset, self._end(member)) for member in members])
        chunks = self._source.read_ranges(ranges)
        contents: dict[str, bytes] = {}
        index = 0
        for member in members:
            while member.offset >= ranges[index][1]:
                index += 1
            contents[member.name] = _content(member, chunks[index], member.offset - ranges[index][0])
        return contents

    def _end(self, member: Member) -> int:
        """Where to stop reading for a member: after the longest header and its bytes, or at the next member."""
        longest = _LOCAL.size + 2 * _LONGEST_FIELD + member.packed_size
        return min(self._stops[member.offset], member.offset + longest)


def _directory_span(source: ByteSource) -> tuple[int, int]:
    """The start and length of the directory, from the record at the end of the archive."""
    size = source.size
    tail_start = max(0, size - _LONGEST_COMMENT - _END.size - _END_64_LOCATOR.size)
    tail = source.read_ranges([(tail_start, size)])[0]
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or at + _END.size > len(tail):
        raise BadArchiveError("it has no end record: not a zip archive, or cut short")
    *_, count, length, start, _comment = _END.unpack_from(tail, at)
    if count == 0xFFFF or _IN_EXTRA in (length, start):
        return _large_directory_span(source, tail, at - _END_64_LOCATOR.size)
    if start + length > size:
        raise BadArchiveError("its directory lies outside the file")
    return start, length


def _large_directory_span(source: ByteSource, tail: bytes, locator_at: int) -> tuple[int, int]:
    """The start and length of the directory, from the 64-bit end record that the locator points to."""
    if locator_at < 0 or tail[locator_at : locator_at + 4] != b"PK\x06\x07":
        raise BadArchiveError("its 64-bit end record is missing")
    _, _, record_at, _ = _END_64_LOCATOR.unpack_from(tail, locator_at)
    if record_at + _END_64.size > source.size:
        raise BadArchiveError("its 64-bit end record lies outside the file")
    record = source.read_ranges([(record_at, record_at + _END_64.size)])[0]
    if len(record) != _END_64.size or not record.startswith(b"PK\x06\x06"):
        raise BadArchiveError("its 64-bit end record is damaged")
    *_, length, start = _END_64.unpack(record)
    if start + length > source.size:
        raise BadArchiveError("its directory lies outside the file")
    return start, length


def _directory_members(directory: bytes) -> Iterator[Member]:
    """Each entry of the directory's bytes."""
    at, end, unpack = 0, len(directory), _ENTRY.unpack_from
    while at + _ENTRY.size <= end and directory[at : at + 4] == b"PK\x01\x02":
        fields = unpack(directory, at)
        flags, method, crc, packed, size = fields[3], fields[4], *fields[7:10]
        name_length, extra_length, note_length, offset = *fields[10:13], fields[16]
        name_at = at + _ENTRY.size
        name = directory[name_at : name_at + name_length].decode("utf-8", "replace")
        if not _is_member_name(name):
            raise BadArchiveError(f"it has a member with the name `{shorten(name)}`")
        extra_at = name_at + name_length
        if _IN_EXTRA in (packed, size, offset):
            extra = directory[extra_at : extra_at + extra_length]
            size, packed, offset = _large_fields(name, extra, size, packed, offset)
        yield Member(name, method, flags, crc, packed, size, offset)
        at = extra_at + extra_length + note_length
    if at != end and directory[at : at + 4] != b"PK\x05\x05":
        raise BadArchiveError("its directory is damaged")


def _is_member_name(name: str) -> bool:
    """Whether the name of a member is a printable relative path without backslashes and without `..`.

    >>> [_is_member_name(name) for name in ("torch/lib/", "torch/a\\0b", "../x", "/etc/x", "a\\\\b")]
    [True, False, False, False, False]
    """
    return name.isprintable() and not name.startswith("/") and "\\" not in name and ".." not in name.split("/")


def _large_fields(name: str, extra: bytes, *fields: int) -> tuple[int, int, int]:
    """Size, packed size and offset; those that need 64 bits are read from the extra field."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == _ZIP64_EXTRA and at + 4 + length <= len(extra):
            large = struct.unpack_from(f"<{length // 8}Q", extra, at + 4)
            values = iter(large)
            size, packed, offset = (next(values, field) if field == _IN_EXTRA else field for field in fields)
            return size, packed, offset
        at += 4 + length
    raise BadArchiveError(f"the entry of `{shorten(name)}` has no 64-bit sizes")


def _join_ranges(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Joins sorted ranges if the gap between them is not worth another request."""
    joined: list[tuple[int, int]] = []
    for start, end in ranges:
        if joined and start - joined[-1][1] <= _GAP_WORTH_SKIPPING:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _content(member: Member, chunk: bytes, at: int) -> bytes:
    """A member's content, from a range of the archive in which the member's local header starts at `at`."""
    if len(chunk) < at + _LOCAL.size or chunk[at : at + 4] != b"PK\x03\x04":
        raise DamagedMemberError(member.name, "its header is not where the directory says")
    if member.flags & _ENCRYPTED or member.method not in (_STORED, _DEFLATED):
        raise DamagedMemberError(member.name, f"it is packed with method {member.method}, which is not read here")
    *_, name_length, extra_length = _LOCAL.unpack_from(chunk, at)
    start = at + _LOCAL.size + name_length + extra_length
    packed = chunk[start : start + member.packed_size]
    if len(packed) != member.packed_size:
        raise DamagedMemberError(member.name, "its bytes are cut short")
    try:
        content = packed if member.method == _STORED else _inflate(packed, member.size)
    except zlib.error as error:
        raise DamagedMemberError(member.name, f"it does not unpack ({error})") from None
    if len(content) != member.size or zlib.crc32(content) != member.crc:
        raise DamagedMemberError(member.name, "its checksum differs from the archive's directory")
    return content


def _inflate(packed: bytes, size: int) -> bytes:
    """Inflates a member; stops soon after the size in the directory, which an archive may understate."""
    return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, size + 1)


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
