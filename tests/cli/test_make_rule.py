"""Dependency files name what they are meant to name, as Make and Ninja read them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from opwright.cli.depfile import make_rule
from opwright.source.diagnostic import Fault

ASCII = [chr(number) for number in range(1, 128) if not chr(number).isalnum() and chr(number) not in "/."]

NAMES = [
    *[f"a{character}b" for character in ASCII],
    *[f"ab{character}" for character in ASCII],
    *[f"{character}ab" for character in ASCII],
    *[
        "a  b",
        "a # b:c$d",
        "a\\b",
        "a\\ b",
        "a\\#b",
        "a\\\\b",
        "a$(b)c",
        "a(b)",
        "é b",
        "a\udcffb",
        "$$",
        "a$$b",
        "a::b",
    ],
]

SAFE = [" ab", "a b", "a#b", "a$b", "a:b", "a%b", "a\\b", "a[b]", "a+b,c", "é b", "a\udcffb", "a  b", "a # b:c$d"]


def is_written(name: str, *, as_target: bool) -> bool:
    """Whether a rule can have a name; if not, that is the fault for it."""
    try:
        make_rule(*((name,), ("dep",)) if as_target else (("out",), (name,)))
    except Fault as fault:
        if fault.diagnostic.code != "E0612":
            raise
        return False
    return True


def put(path: Path, time: int) -> None:
    """A file that was last written at a time."""
    path.touch()
    os.utime(path, (time, time))


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A build program, run in a folder."""
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)


def make_reads(folder: Path, target: str, dependency: str) -> bool:
    """Whether Make remakes a target when a file that it depends on is newer, and only then."""
    rule = make_rule([target], [dependency])
    (folder / "rule").write_bytes(rule + b"\t@echo remade\n")
    asked = []
    for time in (1, 300):
        put(folder / dependency, time)
        put(folder / target, 200)
        asked.append(run(folder, "make", "-q", "-f", "rule").returncode)
    return asked == [0, 1]


def ninja_reads(folder: Path, target: str, dependency: str) -> bool:
    """Whether Ninja remakes a target when a file that it depends on is newer, and only then."""
    (folder / "rule").write_bytes(make_rule([target], [dependency]))
    place = target.replace("$", "$$").replace(" ", "$ ").replace(":", "$:")
    text = f"rule r\n  command = cp rule made && cp -p made done\n  depfile = made\nbuild {place}: r\n"
    (folder / "build.ninja").write_bytes(os.fsencode(text))
    put(folder / target, 200)
    put(folder / dependency, 1)
    if run(folder, "ninja").returncode:
        return False
    settled = "no work" in run(folder, "ninja", "-n").stdout
    (folder / dependency).touch()
    os.utime(folder / dependency, (2**31, 2**31))
    return settled and "no work" not in run(folder, "ninja", "-n").stdout


@pytest.mark.thorough
@pytest.mark.parametrize("as_target", [False, True])
@pytest.mark.parametrize("tool", ["make", "ninja"])
def test_a_rule_is_read_as_it_was_meant(tmp_path: Path, tool: str, as_target: bool) -> None:
    """Every name that a rule accepts is read by Make and by Ninja as that very file; all others are faults."""
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    reads = make_reads if tool == "make" else ninja_reads
    wrong = []
    for number, name in enumerate(NAMES):
        if is_written(name, as_target=as_target):
            folder = tmp_path / str(number)
            folder.mkdir()
            if not reads(folder, *(name, "dep") if as_target else ("out", name)):
                wrong.append(name)
    assert wrong == []


def test_the_names_of_usual_folders_can_be_written() -> None:
    """Blanks, colons, `#`, `$` and what is not ASCII are escaped, not refused; `%` is refused for targets alone."""
    assert [name for name in SAFE if not is_written(name, as_target=False)] == []
    assert [name for name in SAFE if not is_written(name, as_target=True)] == ["a%b"]


@pytest.mark.parametrize("name", ["a\nb", "a\tb", "a;b", "a|b", "a=b", "a*b", "ab:", "ab\\", "~ab", "a(b)", "a\x7fb"])
def test_what_cannot_be_written_is_a_fault(name: str) -> None:
    """A name that Make and Ninja do not both read is refused with its character, as target and as input."""
    assert not is_written(name, as_target=False)
    assert not is_written(name, as_target=True)
