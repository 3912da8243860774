"""Damage to a text, drawn from a random generator: what slips of the hand, of merges and of scripts leave behind."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

Damage = Callable[[str, Random], str]

WORD = re.compile(r"\w+")
# Characters that mean something in YAML, in schemas or in C++ expressions, and some that mean nothing anywhere.
CHARACTERS = ":-#{}[]()<>!?*&|%@`'\"\\,.=+~^;$ \t\n\r\x00\x07\x85\ufeff\ufffdé漢0aZ_"
FRAGMENTS = (
    "- func: ",
    "  dispatch:\n",
    "::",
    "->",
    "Tensor(a!)",
    "*, ",
    "&x ",
    "*x",
    "!!int ",
    "<<: ",
    "? ",
    "|\n",
    "{",
    "---\n",
)


def delete_character(text: str, random: Random) -> str:
    """The text without one of its characters."""
    place = random.randrange(len(text))
    return text[:place] + text[place + 1 :]


def insert_character(text: str, random: Random) -> str:
    """The text with one more character."""
    place = random.randrange(len(text) + 1)
    return text[:place] + random.choice(CHARACTERS) + text[place:]


def replace_character(text: str, random: Random) -> str:
    """The text with another character in place of one."""
    return insert_character(delete_character(text, random), random)


def insert_fragment(text: str, random: Random) -> str:
    """The text with a piece of syntax where none belongs."""
    place = random.randrange(len(text) + 1)
    return text[:place] + random.choice(FRAGMENTS) + text[place:]


def swap_words(text: str, random: Random) -> str:
    """The text with a word of it in place of another."""
    words = list(WORD.finditer(text))
    if not words:
        return text
    target, source = random.choice(words), random.choice(words)
    return text[: target.start()] + source.group() + text[target.end() :]


def misspell_word(text: str, random: Random) -> str:
    """The text with two neighbours in a word exchanged."""
    words = [word for word in WORD.finditer(text) if len(word.group()) > 2]
    if not words:
        return text
    word = random.choice(words)
    place = random.randrange(word.start(), word.end() - 1)
    return text[:place] + text[place + 1] + text[place] + text[place + 2 :]


def delete_line(text: str, random: Random) -> str:
    """The text without one of its lines."""
    lines = text.splitlines(keepends=True)
    del lines[random.randrange(len(lines))]
    return "".join(lines)


def repeat_line(text: str, random: Random) -> str:
    """The text with one of its lines a second time, somewhere."""
    lines = text.splitlines(keepends=True)
    lines.insert(random.randrange(len(lines) + 1), random.choice(lines))
    return "".join(lines)


def indent_line(text: str, random: Random) -> str:
    """The text with one line moved to the right or to the left."""
    lines = text.splitlines(keepends=True)
    place = random.randrange(len(lines))
    step = random.choice(("  ", " ", "\t", ""))
    lines[place] = step + (lines[place] if step else lines[place].lstrip(" "))
    return "".join(lines)


def cut_off(text: str, random: Random) -> str:
    """The text up to somewhere."""
    return text[: random.randrange(len(text))]


DAMAGES: tuple[Damage, ...] = (
    delete_character,
    insert_character,
    replace_character,
    insert_fragment,
    swap_words,
    misspell_word,
    delete_line,
    repeat_line,
    indent_line,
    cut_off,
)


def damaged(text: str, random: Random) -> str:
    """The text after one to three damages."""
    for _ in range(random.randint(1, 3)):
        if text.strip():
            text = random.choice(DAMAGES)(text, random)
    return text


def damaged_bytes(text: str, random: Random) -> bytes:
    """The bytes of the text with some of them changed, inserted or deleted: what a wrong encoding or a disk does."""
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(random.randint(1, 4)):
        place = random.randrange(len(data) + 1)
        match random.randrange(5):
            case 0:
                data[place : place + 1] = bytes([random.randrange(256)])
            case 1:
                data[place:place] = random.randbytes(random.randint(1, 4))
            case 2:
                del data[place : place + random.randint(1, 8)]
            case 3:
                data[:0] = random.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b"))
            case _:
                data[place : place + 1] = (
                    bytes([data[place] ^ (1 << random.randrange(8))]) if place < len(data) else b""
                )
    return bytes(data)
