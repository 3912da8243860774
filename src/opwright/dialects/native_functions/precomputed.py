"""The field `precomputed`: values that a structured kernel's `meta` passes to its `impl`."""

from __future__ import annotations

from typing import Final

from opwright.dialects.names import IDENTIFIER
from opwright.dialects.native_functions.entry_builder import EntryBuilder
from opwright.model.native_function import Precomputed
from opwright.schema.fault import SchemaFault
from opwright.schema.function import Argument
from opwright.schema.parser import read_argument
from opwright.source import codes
from opwright.source.nodes import Node, Scalar, Sequence

_ARROW: Final = " -> "
_FORM: Final = "write `argument -> type name, ...`; the last line may be `type name, ...`, which is added"


def read_precomputed(node: Node, builder: EntryBuilder) -> None:
    """Reads the lines `argument -> type name, ...`; the last line may have no arrow."""
    if isinstance(node, Scalar) and node.kind == "null":
        return
    if not isinstance(node, Sequence):
        builder.wrong_type(node, "precomputed", "a list of lines")
        return
    replace: dict[str, tuple[Argument, ...]] = {}
    add: tuple[Argument, ...] = ()
    for index, item in enumerate(node.items):
        if not isinstance(item, Scalar) or item.kind != "str":
            builder.fault(codes.PRECOMPUTED, f"a line of `precomputed` is text, not {item.description}", item.span)
        elif _ARROW in item.value:
            _read_replacement(item, replace, builder)
        elif index == len(node.items) - 1:
            add = _read_arguments(item, 0, builder)
        else:
            builder.fault(codes.PRECOMPUTED, "only the last line may omit ` -> `", item.span, help=_FORM)
    if replace or add:
        builder.precomputed = Precomputed(replace, add)


def _read_replacement(item: Scalar, replace: dict[str, tuple[Argument, ...]], builder: EntryBuilder) -> None:
    text = item.value
    end = text.index(_ARROW)
    name = text[:end]
    if IDENTIFIER.fullmatch(name) is None:
        message = f"`{name}` is not an argument name"
        builder.fault(codes.PRECOMPUTED, message, item.span_of(0, end), help=_FORM)
        return
    if name in replace:
        builder.fault(codes.PRECOMPUTED, f"argument `{name}` is replaced twice", item.span_of(0, end))
    replace[name] = _read_arguments(item, end + len(_ARROW), builder)


def _read_arguments(item: Scalar, start: int, builder: EntryBuilder) -> tuple[Argument, ...]:
    """The arguments in a line from `start` on, separated by commas."""
    text = item.value
    arguments: list[Argument] = []
    while start <= len(text):
        comma = text.find(",", start)
        end = comma if comma >= 0 else len(text)
        begin = start + len(text[start:end]) - len(text[start:end].lstrip())
        stop = max(begin, start + len(text[start:end].rstrip()))
        try:
            argument = read_argument(text, begin, stop)
        except SchemaFault as fault:
            builder.schema_fault(fault, item)
        else:
            if argument.name.upper() == argument.name:
                message = f"precomputed `{argument.name}` is all upper-case, like the template parameter made from it"
                builder.fault(codes.PRECOMPUTED_NAME, message, item.span_of(begin, stop))
            arguments.append(argument)
        start = end + 1
    return tuple(arguments)
