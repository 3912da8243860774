"""The nearest name is found among a few that are compared, as if all were."""

from __future__ import annotations

import random
import re

import pytest

from opwright.release.inputs import open_inputs
from opwright.source import spelling
from opwright.source.spelling import nearest_name


@pytest.fixture(scope="module")
def names() -> list[str]:
    """The names of PyTorch's overloads."""
    text = open_inputs("auto").read_text("native/native_functions.yaml").text
    return sorted(set(re.findall(r"^- func: ([\w.]+)\(", text, re.MULTILINE)))


def _misspelt(name: str, chance: random.Random) -> str:
    """A name with one letter changed, dropped, added or swapped."""
    place = chance.randrange(1, len(name) - 1)
    before, letter, after = name[:place], name[place], name[place + 1 :]
    return chance.choice([before + "q" + after, before + after, before + "q" + letter + after, name[::-1]])


@pytest.mark.thorough
def test_what_is_found_among_all_names_is_nearest_among_each_few(names: list[str]) -> None:
    """No name is left out: the nearest of all is the nearest of it and any other name."""
    chance = random.Random(7)
    for name in chance.sample([name for name in names if len(name) > 4], 25):
        word = _misspelt(name, chance)
        nearest = nearest_name(word, names)
        others = {nearest_name(word, [other]) for other in names} - {""}
        assert nearest in others or not others, word
        assert all(nearest_name(word, [nearest, other]) == nearest for other in others), word


def test_few_names_are_compared(names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A word is compared with one name in twenty at the most, so a file with a thousand unknown words takes seconds."""
    compared: list[str] = []
    compare = spelling._misspellings

    def counted(word: str, name: str, most: int) -> int:
        compared.append(name)
        return compare(word, name, most)

    monkeypatch.setattr(spelling, "_misspellings", counted)
    chance = random.Random(1)
    words = [_misspelt(name, chance) for name in chance.sample([name for name in names if len(name) > 4], 100)]
    for word in words:
        nearest_name(word, names)
    assert len(compared) < len(words) * len(names) / 20
