"""Names of operators: base name, in-place and dunder spelling, overload."""

from __future__ import annotations

from typing import Final

from opwright.source.records import not_fingerprinted

#: Python's augmented assignments: `__iadd__` is the in-place form of `__add__`, but `__invert__` is not in-place.
AUGMENTED: Final = ("add", "sub", "mul", "div", "mod", "pow", "lshift", "rshift", "and", "xor", "or")

#: The suffix of a functional operator beside a mutable one of the same base name.
FUNCTIONAL_SUFFIX: Final = "_functional"


#: The prefix of the base names of operators over lists of tensors.
FOREACH_PREFIX: Final = "_foreach_"


@not_fingerprinted(**dict.fromkeys(("name", "text", "unambiguous"), "it is spelled from the other parts"))
class OperatorName:
    """Parts of an overload's name.

    `base` is the name without in-place underscore, dunders and `_functional`; `name` the whole name without the
    overload (`add_`); `text` with it (`add_.Tensor`); `unambiguous` is `text` as one identifier (`add__Tensor`).

    >>> OperatorName("add", "Tensor", inplace=True).unambiguous
    'add__Tensor'
    >>> OperatorName("add_").inplace, parsed_operator_name("add_", "").inplace
    (False, True)
    """

    __slots__ = ("base", "dunder", "functional_overload", "inplace", "name", "overload", "text", "unambiguous")

    def __init__(
        self,
        base: str,
        overload: str = "",
        *,
        inplace: bool = False,
        dunder: bool = False,
        functional_overload: bool = False,
    ) -> None:
        self.base: Final = base
        self.overload: Final = overload
        self.inplace: Final = inplace
        self.dunder: Final = dunder
        self.functional_overload: Final = functional_overload
        if dunder:
            self.name = f"__{'i' if inplace else ''}{base}__"
        else:
            self.name = f"{base}{FUNCTIONAL_SUFFIX if functional_overload else ''}{'_' if inplace else ''}"
        self.text: Final = f"{self.name}.{overload}" if overload else self.name
        self.unambiguous: Final = f"{self.name}_{overload}" if overload else self.name

    @property
    def is_foreach(self) -> bool:
        """Whether the operator applies another one to each tensor of a list (`_foreach_add`)."""
        return self.base.startswith(FOREACH_PREFIX)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<operator {self.text}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OperatorName) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


def parsed_operator_name(name: str, overload: str) -> OperatorName:
    """Operator name of a text `name.overload`.

    >>> parsed_operator_name("__iand__", "Tensor").inplace
    True
    >>> parsed_operator_name("add_", "").base, parsed_operator_name("__frob_x__", "").base
    ('add', '__frob_x_')
    """
    inner = name[2:-2]
    # `__frob_x__` is not a dunder name but the in-place form of `__frob_x_`.
    if inner and "_" not in inner and name.startswith("__") and name.endswith("__"):
        if inner[0] == "i" and inner[1:] in AUGMENTED:
            return OperatorName(inner[1:], overload, inplace=True, dunder=True)
        return OperatorName(inner, overload, dunder=True)
    inplace = len(name) > 1 and name.endswith("_")
    base = name[:-1] if inplace else name
    functional = base.endswith(FUNCTIONAL_SUFFIX) and len(base) > len(FUNCTIONAL_SUFFIX)
    if functional:
        base = base[: -len(FUNCTIONAL_SUFFIX)]
    return OperatorName(base, overload, inplace=inplace, functional_overload=functional)
