"""What the documentation leans on runs in continuous integration: every proving target of the Makefile has a turn."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.field_replay.ports import PORTS
from tests.port_replay.__main__ import LIBRARIES

ROOT = Path(__file__).resolve().parents[1]
#: A row of the table of targets: the target, and its turn.
ROW = re.compile(r"(?m)^\| `([a-z-]+)` \|.*\| ([^|]+) \|$")
PAGE = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8").partition("## What proves what\n")[2]
SECTION = PAGE.partition("\n## ")[0]
RUN_FOR_EACH = "each"
BY_HAND = "by hand: "


def makefile_targets() -> set[str]:
    """The targets of the Makefile that are no files."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return {word for line in re.findall(r"(?m)^\.PHONY: (.*)", text) for word in line.split()}


def turn_lines() -> list[str]:
    """A line for each turn, as `.ci/run` reads them."""
    lines = (ROOT / ".ci" / "turns").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def turns() -> list[list[str]]:
    """The targets of each turn."""
    return [[part.split()[0] for part in line.split(",")] for line in turn_lines()]


def documented_turns() -> dict[str, str]:
    """What the table says of the turn of each target."""
    return dict(ROW.findall(SECTION))


def test_every_target_is_explained() -> None:
    """A target is in the table, or among those of which the page says that they prove nothing."""
    below = SECTION.partition("Other targets")[2].partition("\n\n")[0]
    others = set(re.findall(r"`([a-z-]+)`", below))
    assert documented_turns().keys() | others == makefile_targets()
    assert not documented_turns().keys() & others


def test_help_names_every_target() -> None:
    """`make help` prints a line for each target."""
    done = subprocess.run(["make", "--silent", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(re.findall(r"(?m)^  make ([a-z-]+) +# ", done.stdout)) | {"help"} == makefile_targets()


def test_every_proving_target_has_its_turn() -> None:
    """The table names the turns that `.ci/turns` gives a target; one without a turn has the reason."""
    for target, documented in documented_turns().items():
        numbers = [str(number) for number, words in enumerate(turns(), 1) if target in words]
        if documented.startswith(BY_HAND):
            assert (numbers, documented != BY_HAND) == ([], True), target
        elif documented == RUN_FOR_EACH:
            assert re.search(rf"make {target} |in {target} ", (ROOT / ".ci" / "run").read_text(encoding="utf-8")), (
                target
            )
        else:
            assert documented.split(", ") == numbers, target


def test_turns_name_targets() -> None:
    """Each word that a turn runs is a target of the table."""
    assert {word for words in turns() for word in words} <= documented_turns().keys()


def test_parts_make_a_whole() -> None:
    """A target that runs in parts has all of them, each in one turn."""
    words = [part.split() for line in turn_lines() for part in line.split(",") if "PART=" in part or "ONLY=" in part]
    chosen: dict[str, list[str]] = {}
    for target, *variables in words:
        chosen.setdefault(target, []).extend([variable.partition("=")[2] for variable in variables])
    names = {
        "field-port": [port.distribution for port in PORTS],
        "port-replay": [library.name for library in LIBRARIES],
        "test-pythons": ["oldest", "newest"],
    }
    for target, texts in chosen.items():
        if target in names:
            assert all(any(text in name for text in texts) for name in names[target]), target
        else:
            assert sorted(texts) == [f"{number}/{len(texts)}" for number in range(1, len(texts) + 1)], target
