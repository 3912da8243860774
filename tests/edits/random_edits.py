"""Random edits of PyTorch's inputs: of entries, of tags, of templates, each as a person might make it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from random import Random
from typing import Final

#: The inputs by their paths below the folder above ATen's.
Texts = dict[str, str]

NATIVE: Final = "ATen/native/native_functions.yaml"
TAGS: Final = "ATen/native/tags.yaml"
DERIVATIVES: Final = "autograd/derivatives.yaml"
DEPRECATED: Final = "autograd/deprecated.yaml"

_ITEM: Final = re.compile(r"^- ", re.MULTILINE)

_RENAMED: Final = re.compile(r"(?<=func: )\w+|(?<=name: )\w+")


def items_of(text: str) -> list[str]:
    """What precedes the first item of a list in YAML, and the text of each item with what follows it."""
    starts = [0, *[match.start() for match in _ITEM.finditer(text)], len(text)]
    return [text[start:end] for start, end in pairwise(starts)]


def edit(random: Random, texts: Texts) -> str:
    """Change the inputs in one way, and say how. A way that does not fit leaves them as they are."""
    in_place = random.random() < _IN_PLACE_RATE
    rows = [
        (path, change, weight)
        for path, changes in CHANGES.items()
        for change, weight in changes.items()
        if not in_place or change in IN_PLACE
    ]
    [(path, change, _)] = random.choices(rows, [weight for *_, weight in rows])
    texts[path] = change(random, texts[path])
    return f"{change.__name__} in {path}"


def edit_template(random: Random, texts: Texts) -> str:
    """Add a comment to a template."""
    path = random.choice(sorted(path for path in texts if path not in CHANGES))
    mark = "#" if path.endswith((".py.in", ".pyi.in", ".py", ".ini")) else "//"
    comment = f"{mark} edited {random.randrange(10**6)}\n"
    texts[path] = comment + texts[path] if random.random() < 0.5 else texts[path] + comment
    return f"a comment in {path}"


def _edit_item(pattern: str, replacement: Callable[[Random, re.Match[str]], str]) -> Callable[[Random, str], str]:
    """Edit one place of an item that a pattern matches."""
    compiled = re.compile(pattern, re.MULTILINE)

    def change(random: Random, text: str) -> str:
        items = items_of(text)
        places = [number for number, item in enumerate(items[1:], 1) if compiled.search(item)]
        if not places:
            return text
        number = random.choice(places)
        match = random.choice(list(compiled.finditer(items[number])))
        items[number] = items[number][: match.start()] + replacement(random, match) + items[number][match.end() :]
        return "".join(items)

    return change


def _named(name: str, change: Callable[[Random, str], str]) -> Callable[[Random, str], str]:
    change.__name__ = name
    return change


def _number(random: Random, _: re.Match[str]) -> str:
    return str(random.randrange(100))


def _suffixed(random: Random, match: re.Match[str]) -> str:
    return f"{match[0]}_{random.choice('xyz')}"


def removed(random: Random, text: str) -> str:
    """Remove an item."""
    items = items_of(text)
    if len(items) > 1:
        del items[random.randrange(1, len(items))]
    return "".join(items)


def moved(random: Random, text: str) -> str:
    """Move an item to another place."""
    items = items_of(text)
    if len(items) > 1:
        item = items.pop(random.randrange(1, len(items)))
        items.insert(random.randrange(1, len(items) + 1), item)
    return "".join(items)


def repeated(random: Random, text: str) -> str:
    """Add an item like another one, under a name of its own."""
    items = items_of(text)
    if len(items) > 1:
        item = random.choice(items[1:])
        new = _RENAMED.sub(lambda match: f"{match[0]}{random.randrange(1000)}", item, count=1)
        items.insert(random.randrange(1, len(items) + 1), new)
    return "".join(items)


def added(random: Random, text: str) -> str:
    """Add an operator."""
    items = items_of(text)
    name = f"added{random.randrange(10**4)}"
    more = random.choice(["", "  variants: function, method\n", "  dispatch:\n    CPU: added\n  autogen: NAME.out\n"])
    entry = f"- func: {name}(Tensor self, int by=1) -> Tensor\n" + more.replace("NAME", name) + "\n"
    items.insert(random.randrange(1, len(items) + 1), entry)
    return "".join(items)


def commented(random: Random, text: str) -> str:
    """Add a comment line between two lines that do not belong to a scalar, or at the end."""
    items = items_of(text)
    number = random.randrange(len(items))
    comment = f"# edited {random.randrange(10**6)}\n"
    items[number] = items[number].rstrip("\n") + "\n" + comment if items[number] else comment
    return "".join(items)


def new_tag(random: Random, text: str) -> str:
    """Add a tag."""
    name = f"tag{random.randrange(10**4)}"
    return f"{text.rstrip()}\n- tag: {name}\n  desc: |\n          A new one.\n"


_DEFAULT: Final = _named("a default", _edit_item(r"(?<==)\d+(?=[,)])", _number))
_KERNEL: Final = _named("a kernel", _edit_item(r"(?<=^    )\w[\w, ]*: \w+$", _suffixed))
_KEY_LESS: Final = _named("a key less", _edit_item(r"^    \w[\w, ]*: \w+\n", lambda *_: ""))
_ALL_KEYS: Final = [
    "CPU",
    "CUDA",
    "MPS",
    "XPU",
    "SparseCPU",
    "SparseCUDA",
    "MkldnnCPU",
    "QuantizedCPU",
    "ZeroTensor",
    "NestedTensorCPU",
    "Meta",
]
_KEY_MORE: Final = _named(
    "a key more",
    _edit_item(r"(?<=^  dispatch:\n)", lambda random, _: f"    {random.choice(_ALL_KEYS)}: kernel_x\n"),
)
_TAG: Final = _named("a tag", _edit_item(r"(?<=^  tags: )\[?[\w, ]+\]?$", lambda *_: "[core, pointwise]"))
_TAG_LESS: Final = _named("no tags", _edit_item(r"^  tags: .*\n", lambda *_: ""))
_VARIANTS: Final = _named(
    "variants",
    _edit_item(
        r"(?<=^  variants: )[\w, ]+$", lambda random, _: random.choice(["function", "method", "function, method"])
    ),
)
_ARGUMENT: Final = _named("an argument's name", _edit_item(r"(?<=[(,] )?(?<=(?:int|ool|oat) )\w+(?=[,)=])", _suffixed))
_RENAME: Final = _named("an operator's name", _edit_item(r"(?<=func: )\w+", _suffixed))
_AUTOGEN: Final = _named("no autogen", _edit_item(r"^  autogen: .*\n", lambda *_: ""))
_LOOSE: Final = _named("a line in an item", _edit_item(r"\n(?=  \w)", lambda *_: "\n  # edited\n"))
_FORMULA: Final = _named("a formula", _edit_item(r"(?<=: )grad\b[^\n\"']*$", lambda _, match: f"({match[0]}) * 1"))
_FORMULA_LESS: Final = _named("a formula less", _edit_item(r"^  \w+: .*\n(?=\S|\n|  \w)", lambda *_: ""))
_CALL: Final = _named("a call", _edit_item(r"(?<=: )\w+_backward(?=\()", _suffixed))
_DESCRIPTION: Final = _named("a description", _edit_item(r"(?<=\n {10}).+", _suffixed))

#: How many of the edits leave all items and their names in place.
_IN_PLACE_RATE: Final = 0.6

#: The ways to change an item in place.
IN_PLACE: Final = (
    _DEFAULT, _KERNEL, _KEY_LESS, _KEY_MORE, _TAG, _TAG_LESS, _VARIANTS, _ARGUMENT, _LOOSE, _FORMULA, _FORMULA_LESS,
    _CALL,
)  # fmt: skip

#: The ways to change each input, with how often they are chosen.
CHANGES: Final[Mapping[str, Mapping[Callable[[Random, str], str], int]]] = {
    NATIVE: {
        _DEFAULT: 8, _KERNEL: 8, _KEY_LESS: 3, _KEY_MORE: 3, _TAG: 4, _TAG_LESS: 2, _VARIANTS: 3, _ARGUMENT: 3,
        _RENAME: 2, _AUTOGEN: 1, _LOOSE: 2, removed: 2, moved: 3, repeated: 4, added: 4, commented: 3,
    },
    DERIVATIVES: {_FORMULA: 8, _CALL: 3, _FORMULA_LESS: 3, removed: 3, moved: 2, repeated: 1, commented: 2, _LOOSE: 1},
    DEPRECATED: {removed: 1, moved: 1, commented: 1, _LOOSE: 1},
    TAGS: {_DESCRIPTION: 1, new_tag: 1, moved: 1},
}  # fmt: skip
