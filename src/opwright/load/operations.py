"""Operations: the overloads that share one signature, by what they do with their arguments."""

from __future__ import annotations

from typing import Final

from opwright.model.native_function import NativeFunction
from opwright.schema.function import SchemaKind
from opwright.schema.signature import SignatureKey


class Operation:
    """All overloads of one signature, by kind, in the order in which they stand in the file."""

    __slots__ = ("key", "members")

    def __init__(self, key: SignatureKey) -> None:
        self.key: Final = key
        self.members: Final[dict[SchemaKind, NativeFunction]] = {}
