"""The two spellings of the schema language, and what was parsed in each."""

from __future__ import annotations

import keyword
import re
from typing import Final

from opwright.schema.function import Argument, Arguments, Return
from opwright.schema.types import Annotation, Type

# One item of a list of arguments or returns: everything up to a comma outside brackets and quotes.
_PLAIN: Final = r"[^,()\[\]\"']"
_QUOTED: Final = r"\[[^\[\]]*\]|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'"
#: How deep parentheses are nested in types such as `Dict(str, Dict(int, Tensor))`.
_DEEPEST: Final = 8


def _parentheses(depth: int) -> str:
    """The pattern of parentheses around others."""
    pattern = r"\([^()]*\)"
    for _ in range(depth - 1):
        pattern = rf"\((?:[^()]|{pattern})*\)"
    return pattern


class Grammar:
    """A spelling of the schema language.

    `is_strict` says that it is the one of PyTorch's own files, which its generator reads. `words` cannot be names of
    arguments. The tables have what was parsed, by its text: most texts occur many times.
    """

    __slots__ = ("annotated_types", "arguments", "is_strict", "item", "lists", "return_lists", "returns", "words")

    def __init__(self, *, is_strict: bool, words: frozenset[str], depth: int) -> None:
        self.is_strict: Final = is_strict
        self.words: Final = words
        self.item: Final = re.compile(rf"(?:{_PLAIN}|{_parentheses(depth)}|{_QUOTED})*")
        self.annotated_types: Final[dict[str, tuple[Type, Annotation | None]]] = {}
        self.arguments: Final[dict[str, Argument]] = {}
        self.lists: Final[dict[str, Arguments]] = {}
        self.returns: Final[dict[str, Return]] = {}
        self.return_lists: Final[dict[str, tuple[Return, ...]]] = {}


#: The spelling of PyTorch's own files.
STRICT: Final = Grammar(is_strict=True, words=frozenset(keyword.kwlist) - {"lambda", "from", "is"}, depth=1)

#: The words that are no names in a schema that the dispatcher parses.
DISPATCHER_WORDS: Final = frozenset((
    "False", "None", "NoneType", "True", "and", "as", "assert", "break", "class", "continue", "def", "del", "elif",
    "else", "for", "global", "if", "import", "in", "is", "not", "or", "pass", "raise", "return", "while", "with",
    "Ellipsis",
))  # fmt: skip

#: The spelling that PyTorch's dispatcher takes, as `m.def` and `torch.library.define` do.
DISPATCHER: Final = Grammar(is_strict=False, words=DISPATCHER_WORDS, depth=_DEEPEST)
