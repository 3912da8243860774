"""Stamps tell an unchanged file by its status, as far as the clock of the file system can."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from opwright.incremental.identity import InputStamps

#: The ticks of FAT, the coarsest clock of a file system, in nanoseconds.
COARSEST_TICK = 2 * 10**9


def edit_in_the_same_tick(path: Path) -> None:
    """Change a file so that its size, its inode and its times are those of before."""
    before = path.stat()
    with path.open("r+b") as stream:
        stream.write(b"b")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize(
    ("age", "is_seen"), [(COARSEST_TICK // 100, True), (COARSEST_TICK, True), (COARSEST_TICK + 10**9, False)]
)
def test_a_file_is_known_by_its_status_one_tick_after_its_change(
    age: int, is_seen: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edit in the tick of the change before is seen; an older stamp is trusted without reading the file."""
    path = tmp_path / "a.yaml"
    path.write_bytes(b"a")
    status = path.stat()
    changed = max(status.st_mtime_ns, status.st_ctime_ns)
    monkeypatch.setattr(time, "time_ns", lambda: changed + age)
    stamps = InputStamps.take([str(path)], [])
    edit_in_the_same_tick(path)
    # The file system of this machine counts more finely than the coarsest one, which would give these times.
    coarse = os.stat_result((*path.stat()[:7], *status[7:10]), {name: getattr(status, name) for name in _TIMES})
    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", lambda *_: coarse)
        is_current = stamps.are_current()
    assert is_current is not is_seen


_TIMES = ("st_atime_ns", "st_mtime_ns", "st_ctime_ns")
