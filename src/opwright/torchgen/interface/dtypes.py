"""The dtypes of ufuncs, and sets of them."""

from __future__ import annotations

import enum
from typing import Final

from opwright.dialects.native_functions.ufunc import DTYPE_CLASSES as MODEL_CLASSES
from opwright.dialects.native_functions.ufunc import DTYPES
from opwright.torchgen.interface.faults import Invalid
from opwright.torchgen.interface.keys import UfuncKey
from opwright.torchgen.interface.records import Record, record
from opwright.torchgen.utils import OrderedSet


class ScalarType(enum.Enum):
    """A dtype that a ufunc entry may name."""

    _ignore_ = "name_ number_"
    for number_, name_ in enumerate(DTYPES, 1):
        vars()[name_] = number_

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def maybe_parse(value: str) -> ScalarType | None:
        """The dtype of a name; None if there is none."""
        return ScalarType[value] if value in ScalarType.__members__ else None

    @staticmethod
    def parse(value: str) -> ScalarType:
        """The dtype of a name. Raises AssertionError if there is none."""
        if value not in ScalarType.__members__:
            raise Invalid(f"no dtype is named `{value}`")
        return ScalarType[value]

    @staticmethod
    def parse_set(values: str) -> OrderedSet[ScalarType]:
        """The dtypes of a list of names of dtypes and of classes of them."""
        dtypes: OrderedSet[ScalarType] = OrderedSet()
        for word in values.split(", "):
            dtypes.update(DTYPE_CLASSES[word] if word in DTYPE_CLASSES else OrderedSet([ScalarType.parse(word)]))
        return dtypes


#: The names that stand for several dtypes.
DTYPE_CLASSES: Final = {
    name: OrderedSet([ScalarType[dtype] for dtype in dtypes]) for name, dtypes in MODEL_CLASSES.items()
}


@record("name supported_dtypes ufunc_key")
class UfuncInnerLoop(Record):
    """One loop of a ufunc: the C++ function of its body, and the dtypes for which it runs."""

    ufunc_key: UfuncKey
    supported_dtypes: OrderedSet[ScalarType]
    name: str

    def __hash__(self) -> int:
        return hash((self.name, self.ufunc_key))

    @staticmethod
    def parse(value: str, ufunc_key: UfuncKey) -> UfuncInnerLoop:
        """The loop of a text `name (dtype, ...)`. Raises ValueError or AssertionError if it is not one."""
        name, rest = value.split(" ", 1)
        if not (rest.startswith("(") and rest.endswith(")")):
            raise Invalid(f"`{value}` is not a loop such as `add (AllAndComplex, Half)`")
        return UfuncInnerLoop(ufunc_key=ufunc_key, supported_dtypes=ScalarType.parse_set(rest[1:-1]), name=name)
