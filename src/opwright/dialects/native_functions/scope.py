"""Scope of a run: which entries of `native_functions.yaml` it loads.

Most programs make files for few operators. They know which before they load any, from the texts that name them or from
the schemas, so they need not read the YAML of the others.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from opwright.model.dispatch_key import KEYS
from opwright.schema.signature import base_of_operation
from opwright.source.items import ChosenItems, split_items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Final

    from opwright.source.items import ItemText
    from opwright.source.text import SourceFile

_OPERATOR: Final = re.compile(r"func: +(?:\w+::)?([\w.]+)\(")
_WORD: Final = re.compile(r"\w+")


class LoadScope:
    """Chooses the entries that a run loads, by their operations.

    `texts` are files that name operators: every operation with a name among their words is loaded. So are entries with
    kernels for dispatch keys that the texts name. With `selects`, a function of an entry's text from its schema on, the
    operations of all entries for which it is true are loaded too.

    An operation is loaded with all its overloads, and a view with its copying form and its inverse. A run may take more
    than it needs, never less: `Catalog.may_lack` and `Catalog.require_all` raise `PartialCatalog` for questions that
    only all operators can answer, and the run then loads them all, as it does after any error.

    >>> scope = LoadScope(["supported: [add.Tensor]"], selects=lambda schema: "Stream" in schema)
    >>> names = ["add_(Tensor(a!) self)", "sub()", "record_stream(Tensor self, Stream s) -> ()"]
    >>> [text for _, text in scope.choose([(0, f"func: {name}") for name in names])]
    ['func: add_(Tensor(a!) self)', 'func: record_stream(Tensor self, Stream s) -> ()']
    """

    __slots__ = ("_bases", "_keys", "_selects")

    def __init__(self, texts: Iterable[str] = (), selects: Callable[[str], bool] | None = None) -> None:
        words = {word for text in texts for word in _WORD.findall(text)}
        self._bases: Final = {base_of_operation(word) for word in words}
        self._keys: Final = [word for word in words if word in KEYS]
        self._selects: Final = selects

    def items(self, file: SourceFile) -> ChosenItems | None:
        """Items of a file that the run loads; None if the file is not split."""
        items = split_items(file.text)
        return ChosenItems(file, self.choose(items)) if items else None

    def choose(self, items: Sequence[ItemText]) -> list[ItemText]:
        """Items of these that the run loads, in their order."""
        bases, selects = set(self._bases), self._selects
        operators = [operator_of(text) for _, text in items]
        if selects is not None:
            named = [(text, name) for (_, text), name in zip(items, operators, strict=True) if name is not None]
            bases |= {_base_of(name) for text, name in named if selects(text.partition(":")[2].lstrip())}
        # An entry that begins with another field is loaded, because its name is not known yet.
        pairs = zip(items, operators, strict=True)
        chosen = [item for item, name in pairs if name is None or _base_of(name) in bases]
        for key in self._keys:
            if any(key in text for _, text in items):
                chosen += [item for item in items if key in item[1]]
        return sorted(set(chosen)) if self._keys else chosen


@lru_cache(maxsize=8192)
def operator_of(item: str) -> str | None:
    """Operator that an item is about, told from its text; None if the item does not begin with its schema.

    >>> operator_of("func: add.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)")
    'add.out'
    """
    match = _OPERATOR.match(item)
    return None if match is None else match[1]


_base_of: Final = cache(base_of_operation)
