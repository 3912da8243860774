"""PyTorch's entries with a mistake or two put in, as a person or a bad merge would."""

from __future__ import annotations

import random
import re

_ENTRY = re.compile(r"(?m)^(?=- func)")
_COMMENT = re.compile(r"(?m)^#.*\n")
_WORD = re.compile(r"[A-Za-z_]+|[()!,?\[\]]| -> |[0-9]+")
_BASE = re.compile(r"- func: (\w+?)(?:_copy|_)?[.(]")


class Mutator:
    """Makes texts of a few entries with mistakes out of all the entries of a YAML; the same for the same number."""

    def __init__(self, text: str) -> None:
        self.entries = [_COMMENT.sub("", entry) for entry in _ENTRY.split(text)[1:]]
        families: dict[str, list[str]] = {}
        for entry in self.entries:
            match = _BASE.match(entry)
            families.setdefault(match.group(1) if match else entry, []).append(entry)
        self.families = list(families.values())
        self.words = sorted({word for entry in self.entries for word in _WORD.findall(entry)})

    def text(self, number: int) -> str:
        """The entries of one operator, or one entry alone, with one or two mistakes."""
        chance = random.Random(number)
        family = chance.choice(self.families) if chance.random() < 0.7 else [chance.choice(self.entries)]
        text = "".join(family)
        for _ in range(chance.choice((1, 1, 1, 2))):
            text = self._with_moved_line(text, chance) if chance.random() < 0.5 else self._with_word(text, chance)
        return text

    def _with_moved_line(self, text: str, chance: random.Random) -> str:
        lines = text.split("\n")
        place = chance.randrange(len(lines))
        match chance.randrange(3):
            case 0:
                del lines[place]
            case 1:
                lines.insert(chance.randrange(len(lines)), lines[place])
            case _:
                others = [line for line in chance.choice(self.entries).split("\n") if line.strip()]
                lines.insert(place, chance.choice(others))
        return "\n".join(lines)

    def _with_word(self, text: str, chance: random.Random) -> str:
        words = list(_WORD.finditer(text))
        if not words:
            return text
        word = chance.choice(words)
        other = chance.choice((chance.choice(self.words), "", chance.choice(words).group(), word.group() * 2))
        return text[: word.start()] + other + text[word.end() :]
