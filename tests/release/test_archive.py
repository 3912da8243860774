from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

import pytest

from opwright.release.wheel import Archive, BadArchiveError, DamagedMemberError


class Recorded:
    """An archive's bytes that remember what was asked of them."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.size = len(content)
        self.asked: list[tuple[int, int]] = []

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of each range."""
        self.asked += ranges
        return [self.content[start:end] for start, end in ranges]


def packed(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED, comment: bytes = b"") -> bytes:
    """An archive of these members."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.comment = comment
    return stream.getvalue()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("comment", [b"", b"x" * 3000])
def test_members_are_read_back(method: int, comment: bytes) -> None:
    """Stored and deflated members, empty ones too, come out as they went in."""
    members = {"b/long.txt": b"abc" * 5000, "a.txt": b"", "b/": b""}
    archive = Archive(Recorded(packed(members, method, comment)))
    assert archive.names() == ("a.txt", "b/long.txt")
    assert archive.names("b/") == ("b/long.txt",)
    assert "a.txt" in archive
    assert archive.read(["b/long.txt", "a.txt"]) == {"b/long.txt": b"abc" * 5000, "a.txt": b""}


def test_an_archive_without_members_has_no_names() -> None:
    """An empty archive is sound."""
    assert Archive(Recorded(packed({}))).names() == ()


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A small archive whose sizes and offsets stand only in the records for those beyond 32 bits."""
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 10)
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)
    content = packed({"first": b"x" * 100, "second": bytes(range(256))}, comment=b"large")
    end = content.rindex(b"PK\x05\x06")
    # Number of members, and size and offset of the directory.
    return content[: end + 8] + b"\xff" * 12 + content[end + 20 :]


def test_large_archives_are_read(large: bytes) -> None:
    """Sizes and offsets beyond 32 bits stand in other records; small archives can be written with these too."""
    archive = Archive(Recorded(large))
    with zipfile.ZipFile(io.BytesIO(large)) as expected:
        assert archive.read(["second", "first"]) == {name: expected.read(name) for name in ("first", "second")}


LOCATOR, RECORD = b"PK\x06\x07", b"PK\x06\x06"


@pytest.mark.parametrize(
    ("mark", "offset", "value"),
    [
        (LOCATOR, 0, b"PK\x00\x00"),
        (RECORD, 0, b"PK\x00\x00"),
        (RECORD, 40, b"\xff\xff"),
        (RECORD, 48, b"\xff\xff"),
    ],
)
def test_damaged_large_archives_are_refused(large: bytes, mark: bytes, offset: int, value: bytes) -> None:
    """Each record that leads to the directory is checked."""
    start = large.rindex(mark) + offset
    with pytest.raises(BadArchiveError):
        Archive(Recorded(large[:start] + value + large[start + len(value) :]))


def test_a_directory_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory of as many bytes as may be read is read; one byte more, and the archive is refused."""
    content = packed({"a": b"1"})
    size = len(content) - 22 - content.index(b"PK\x01\x02")
    monkeypatch.setattr("opwright.release.wheel._LARGEST_DIRECTORY", size)
    assert Archive(Recorded(content)).names() == ("a",)
    monkeypatch.setattr("opwright.release.wheel._LARGEST_DIRECTORY", size - 1)
    with pytest.raises(BadArchiveError, match="its directory has more than"):
        Archive(Recorded(content))


class Shrinking(Recorded):
    """An archive that loses its end while it is read."""

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """The bytes of each range, before the file is cut."""
        chunks = super().read_ranges(ranges)
        self.content = self.content[:-23]
        return chunks


def test_an_archive_may_end_early() -> None:
    """A file that becomes shorter while it is read has no whole directory."""
    with pytest.raises(BadArchiveError):
        Archive(Shrinking(packed({"a": b"1"})))


def test_neighbours_are_read_in_one_range() -> None:
    """Members beside each other are one range; one that is far away is another."""
    noise = bytes(range(256)) * 1000
    source = Recorded(packed({"a": b"1", "b": b"2", "noise": noise, "c": b"3"}, zipfile.ZIP_STORED))
    archive = Archive(source)
    source.asked.clear()
    assert archive.read(["c", "a", "b"]) == {"a": b"1", "b": b"2", "c": b"3"}
    assert len(source.asked) == 2
    assert sum(end - start for start, end in source.asked) < 1000


def test_a_missing_member_is_a_key_error() -> None:
    """A caller asks for what `names` lists."""
    with pytest.raises(KeyError):
        Archive(Recorded(packed({"a": b""}))).read(["b"])


def test_a_member_larger_than_any_input_is_not_unpacked() -> None:
    """A small archive cannot fill the memory with what it unpacks to."""
    archive = Archive(Recorded(packed({"a": b"\0" * 16_000_001})))
    with pytest.raises(DamagedMemberError, match="more than 16,000,000 bytes"):
        archive.read(["a"])


def test_members_together_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members of as many bytes as may be read at once are read; one byte less, and they are refused together."""
    archive = Archive(Recorded(packed({"a": b"1" * 100, "b": b"2" * 100})))
    monkeypatch.setattr("opwright.release.wheel._MOST_BYTES", 200)
    assert len(archive.read(["a", "b"])) == 2
    monkeypatch.setattr("opwright.release.wheel._MOST_BYTES", 199)
    with pytest.raises(DamagedMemberError, match="with other members it has more than 199 bytes"):
        archive.read(["a", "b"])


def test_other_packing_methods_are_named() -> None:
    """A member packed by a method that is not read says by which."""
    archive = Archive(Recorded(packed({"a": b"1" * 100}, zipfile.ZIP_BZIP2)))
    with pytest.raises(DamagedMemberError, match="method 12"):
        archive.read(["a"])


@pytest.mark.parametrize(
    "content", [b"", b"PK", b"x" * 100_000, packed({"a": b"1"})[:-30]], ids=["empty", "short", "text", "cut"]
)
def test_what_is_no_archive_is_refused(content: bytes) -> None:
    """Bytes without a whole directory are no archive."""
    with pytest.raises(BadArchiveError):
        Archive(Recorded(content))
