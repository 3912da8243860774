"""A PyTorch wheel, whose members are verified against the archive and the wheel's RECORD."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING

from opwright.release.archive import Archive, BadArchiveError, ByteSource, DamagedMemberError, FileBytes
from opwright.source.codes import BAD_WHEEL, DOWNLOAD_ALTERED, INPUT_MISSING
from opwright.source.diagnostic import Fault

if TYPE_CHECKING:
    from collections.abc import Iterable


__all__ = ["Wheel"]


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
        import hashlib

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
