"""Operations: the overloads that share one signature, by kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from opwright.dialects.native_functions.report import CrossReport
from opwright.model.native_function import UnlinkedFunction
from opwright.schema.function import SchemaKind
from opwright.schema.signature import SignatureKey
from opwright.source import codes


class Operation:
    """All overloads of one signature, by kind, in the order in which they stand in the file.

    `is_left_alone` says that missing forms are not synthesized.
    """

    def __init__(self, key: SignatureKey) -> None:
        self.key: Final = key
        self.members: Final[dict[SchemaKind, UnlinkedFunction]] = {}
        self.is_left_alone = False


def operations_of(keyed: Iterable[tuple[UnlinkedFunction, SignatureKey]], report: CrossReport) -> list[Operation]:
    """Operations that the functions belong to, in the order of their first overload.

    Reports the second of two overloads with the same signature and kind, which nothing distinguishes.
    """
    operations: dict[SignatureKey, Operation] = {}
    for function, key in keyed:
        operation = operations.get(key)
        if operation is None:
            operation = operations[key] = Operation(key)
        earlier = operation.members.setdefault(function.kind, function)
        if earlier is not function:
            report.doubles[earlier] = function
            message = f"`{function.name}` has the signature of `{earlier.name}`, and both are {function.kind.name}"
            also = report.other(earlier, "the other one")
            report.error(codes.SAME_SIGNATURE, message, report.name(function), also=also)
    return list(operations.values())
