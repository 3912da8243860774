"""Wheels as archives: what is read of them, and what is refused."""

from __future__ import annotations

import io
import zipfile

import pytest

from opwright.source.diagnostic import Diagnostic, Fault
from opwright.wheels.wheel import Wheel
from tests.release.fake_torch import wheel_bytes

FILES = {"torch/a.txt": "abc" * 5000, "torch/b.txt": "", "torch/far.txt": "far"}
CONTENT = wheel_bytes("2.13.0", FILES)


def open_bytes(content: bytes) -> Wheel:
    """A wheel in memory."""
    return Wheel("torch.whl", io.BytesIO(content))


def fault_of(content: bytes, *members: str) -> Diagnostic:
    """The diagnostic with which members cannot be read."""
    with pytest.raises(Fault) as caught:
        open_bytes(content).read(members)
    return caught.value.diagnostic


def test_members_are_read_back() -> None:
    """Members come out as they went in, also without a file on disk."""
    wheel = open_bytes(CONTENT)
    assert wheel.names("torch/a") == ("torch/a.txt",)
    assert wheel.read(FILES) == {name: text.encode() for name, text in FILES.items()}
    assert wheel.version == "2.13.0"


def test_a_directory_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory of as many bytes as may be read is read; one byte more, and the archive is refused."""
    size = len(CONTENT) - 22 - CONTENT.index(b"PK\x01\x02")
    monkeypatch.setattr("opwright.wheels.wheel._LARGEST_DIRECTORY", size)
    assert open_bytes(CONTENT).names("torch/far") == ("torch/far.txt",)
    monkeypatch.setattr("opwright.wheels.wheel._LARGEST_DIRECTORY", size - 1)
    diagnostic = fault_of(CONTENT)
    assert diagnostic.code == "E0504"
    assert "its directory has more than" in diagnostic.message


def test_neighbours_are_read_in_one_range() -> None:
    """Members beside each other are one range; what is far from them is another, and what lies between is not read."""
    content = wheel_bytes("2.13.0", FILES, filler=300_000)
    asked: list[tuple[int, int]] = []
    wheel = Wheel("torch.whl", io.BytesIO(content), asked.extend)
    wheel.read(["torch/b.txt", "torch/a.txt"])
    assert len(asked) == 1
    assert sum(end - start for start, end in asked) < 3000
    asked.clear()
    wheel.read(["torch/lib/noise.so", "torch/far.txt"])
    assert asked[0][0] == 0


def test_a_missing_member_is_a_fault() -> None:
    """A caller asks for what `names` lists."""
    assert fault_of(CONTENT, "torch/none").code == "E0514"


def test_a_member_larger_than_any_input_is_not_unpacked() -> None:
    """A small archive cannot fill the memory with what it unpacks to."""
    diagnostic = fault_of(wheel_bytes("2.13.0", {"a": "\0" * 16_000_001}), "a")
    assert diagnostic.code == "E0510"
    assert "more than 16,000,000 bytes" in diagnostic.message


def test_members_together_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members of as many bytes as may be read at once are read; one byte less, and they are refused together."""
    content = wheel_bytes("2.13.0", {"a": "1" * 100, "b": "2" * 100})
    wheel = open_bytes(content)
    wheel.read(["a"])
    monkeypatch.setattr("opwright.wheels.wheel._MOST_BYTES", 200)
    assert len(wheel.read(["a", "b"])) == 2
    monkeypatch.setattr("opwright.wheels.wheel._MOST_BYTES", 199)
    with pytest.raises(Fault, match="with other members it has more than 199 bytes"):
        wheel.read(["a", "b"])


def test_other_packing_methods_are_named() -> None:
    """A member packed by a method that is not read says by which."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("torch-2.13.0.dist-info/RECORD", "a,,\n" * 100)
    assert "method 12" in fault_of(packed.getvalue(), "torch-2.13.0.dist-info/RECORD").message


@pytest.mark.thorough
@pytest.mark.parametrize("content", [b"", b"PK", b"x" * 100_000, CONTENT[:-30]], ids=["empty", "short", "text", "cut"])
def test_what_is_no_archive_is_refused(content: bytes) -> None:
    """Bytes without a whole directory are no archive."""
    assert fault_of(content).code == "E0504"
