"""A PyTorch wheel, read by ranges of bytes, whose members are verified against the archive and the wheel's RECORD.

A wheel of PyTorch has some 13,000 members and hundreds of megabytes; Opwright needs 90 small members. The reader reads
the archive's directory, requests as few byte ranges as possible for the members, and checks each member's CRC. It
unpacks nothing to disk.
"""

from __future__ import annotations

import hashlib
import struct
import zipfile
import zlib
from base64 import urlsafe_b64encode
from typing import IO, TYPE_CHECKING, Final, cast

from opwright.source.codes import BAD_WHEEL, DOWNLOAD_ALTERED, INPUT_MISSING
from opwright.source.diagnostic import Fault, shorten
from opwright.source.limits import FILE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    _Load: TypeAlias = Callable[[Sequence[tuple[int, int]]], None]

# The fixed part of the header before a member, and the longest name and extra data that follow.
_LONGEST_HEADER: Final = 30 + 2 * 0xFFFF
#: What `zipfile` raises for archives of all kinds of damage.
_UNREADABLE: Final = (zipfile.BadZipFile, EOFError, NotImplementedError, OverflowError, ValueError, struct.error)

# PyTorch's directory has 1.2 MB, and all inputs of a release have 4 MB.
_LARGEST_DIRECTORY: Final = 32_000_000
_MOST_BYTES: Final = 256_000_000

# Reading a shorter gap is cheaper than a second request.
_GAP_WORTH_SKIPPING: Final = 64 * 1024


class _Bounded:
    """A file for `zipfile`, which reads a directory at once whatever length the archive states."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek = file.seek
        self.tell = file.tell

    def seekable(self) -> bool:
        """Yes."""
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        if size > _LARGEST_DIRECTORY:
            raise zipfile.BadZipFile(f"its directory has more than {_LARGEST_DIRECTORY:,} bytes")
        return self._file.read(size)


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

    __slots__ = ("_info_folder", "_load", "_recorded", "_stops", "_zip", "name")

    def __init__(self, name: str, file: str | IO[bytes], load: _Load | None = None) -> None:
        """A wheel in a file at a path, or in an object, of which `load` reads ranges at once before members are."""
        self.name = name
        self._load = load
        try:
            self._zip = zipfile.ZipFile(file if isinstance(file, str) else cast("IO[bytes]", _Bounded(file)))
        except (*_UNREADABLE, OSError) as error:
            raise self._bad_fault(getattr(error, "strerror", None) or str(error)) from None
        members = self._zip.infolist()
        for member in members:
            if not 0 <= member.header_offset < self._zip.start_dir:
                raise self._bad_fault("its directory is damaged")
            if not _is_member_name(member.orig_filename):
                raise self._bad_fault(f"it has a member with the name `{shorten(member.orig_filename)}`")
        # A member ends where the next one begins, or before.
        offsets = sorted({member.header_offset for member in members})
        self._stops = dict(zip(offsets, [*offsets[1:], self._zip.start_dir], strict=False))
        records = [path for path in self.names() if path.endswith(".dist-info/RECORD") and path.count("/") == 1]
        if len(records) != 1:
            raise Fault.at(BAD_WHEEL, f"`{name}` is not a wheel: it has no .dist-info/RECORD")
        self._info_folder = records[0].rpartition("/")[0]
        self._recorded: dict[str, str] | None = None

    @property
    def version(self) -> str:
        """The version in the name of the wheel's metadata folder, `2.13.0+cpu`."""
        return self._info_folder.removesuffix(".dist-info").partition("-")[2]

    def names(self, prefix: str = "") -> tuple[str, ...]:
        """The files whose path begins with `prefix`, sorted."""
        return tuple(sorted(name for name in self._zip.namelist() if name.startswith(prefix) and name[-1] != "/"))

    def read(self, names: Iterable[str]) -> dict[str, bytes]:
        """The verified content of each named member.

        Raises Fault for a member that does not exist (E0514) or differs from its checksums (E0510).
        """
        wanted = list(names)
        for name in wanted:
            if name not in self._zip.NameToInfo:
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
            if name.startswith(prefix) and name not in self._zip.NameToInfo:
                raise self._altered_fault(name, "the wheel's RECORD lists it and the archive lacks it")

    def _read_members(self, names: list[str]) -> dict[str, bytes]:
        """The content of each named member, with verified CRC."""
        members = sorted(map(self._zip.getinfo, names), key=lambda member: member.header_offset)
        total = 0
        for member in members:
            longest = max(member.file_size, member.compress_size)
            total += longest
            if longest > FILE_BYTES:
                raise self._altered_fault(member.filename, f"it has more than {FILE_BYTES:,} bytes")
            if total > _MOST_BYTES:
                message = f"with other members it has more than {_MOST_BYTES:,} bytes"
                raise self._altered_fault(member.filename, message)
        if self._load is not None:
            self._load(_join_ranges([(member.header_offset, self._end(member)) for member in members]))
        return {member.filename: self._content(member) for member in members}

    def _end(self, member: zipfile.ZipInfo) -> int:
        """Where to stop reading for a member: after the longest header and its bytes, or at the next member."""
        stop = self._stops[member.header_offset]
        return min(stop, member.header_offset + _LONGEST_HEADER + member.compress_size)

    def _content(self, member: zipfile.ZipInfo) -> bytes:
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            reason = f"it is packed with method {member.compress_type}, which is not read here"
            raise self._altered_fault(member.filename, reason)
        try:
            return self._zip.read(member)
        except (*_UNREADABLE, zlib.error, RuntimeError) as error:
            raise self._altered_fault(member.filename, f"it does not unpack ({error})") from None
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

    def _bad_fault(self, reason: str) -> Fault:
        return Fault.at(BAD_WHEEL, f"`{self.name}` is not a readable wheel: {reason}")

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
