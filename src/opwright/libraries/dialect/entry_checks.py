"""Rules within an entry that hold outside of PyTorch's files."""

from __future__ import annotations

import re
from typing import Final

from opwright.dialects.native_functions.entry_builder import EntryBuilder, argument_span, item_span
from opwright.libraries import library_codes
from opwright.schema.function import FunctionSchema
from opwright.schema.tag_rules import TAG_RULES
from opwright.schema.types import OptionalType, Type


def check_library_entry(builder: EntryBuilder, schema: FunctionSchema) -> None:
    """Report tags and defaults that do not fit the schema of an operator."""
    if builder.context.library.defines_operators:
        _check_tags(builder, schema)
        _check_held_defaults(builder, schema)


def _check_tags(builder: EntryBuilder, schema: FunctionSchema) -> None:
    """Checks that PyTorch's tracing takes the operator for what its tags say."""
    for tag in sorted(builder.tags):
        fits, meaning = TAG_RULES.get(tag, (None, ""))
        if fits is not None and not fits(schema):
            message = f"`{schema.name}` cannot have the tag `{tag}`: such an operator {meaning}"
            builder.fault(
                library_codes.TAG_MISFIT, message, item_span(builder.node, "tags", tag), help="remove the tag"
            )


def _check_held_defaults(builder: EntryBuilder, schema: FunctionSchema) -> None:
    """Warns of defaults that the dispatcher takes, and that kernels in C++ cannot receive."""
    for argument in schema.arguments.all:
        if argument.default is not None and not holds_default(argument.type, argument.default):
            message = f"`{argument.type.text}` cannot hold `{argument.default}`, the default of `{argument.name}`"
            help = f"write `{argument.type.text}?`" if argument.default == "None" else ""
            if argument.type.text == "float?" and argument.default.lstrip("+-").isdigit():
                help = f"write `{argument.default}.0`"
            at = argument_span(builder.node, argument.text)
            builder.context.sink.warning(library_codes.MISFIT_DEFAULT, message, at, help=help)


#: The texts of values that types can hold, besides None.
_HELD: Final = {
    "int": re.compile(r"[-+]?\d+"),
    "SymInt": re.compile(r"[-+]?\d+"),
    "bool": re.compile("True|False"),
    "Tensor": re.compile(r"(?!)"),
    "float": re.compile(r"[-+]?[\d.]+(e[-+]?\d+)?", re.IGNORECASE),
}


def holds_default(type: Type, text: str) -> bool:
    """Whether a type holds a default that the dispatcher takes for it: a tensor or number is never None.

    >>> from opwright.schema import parse_type
    >>> [holds_default(parse_type("int"), text) for text in ("1", "1.5", "True", "None")]
    [True, False, False, False]
    """
    if isinstance(type, OptionalType):
        # The dispatcher makes a number with a fraction of an integer only where the type is no optional.
        is_integer = type.elem.text == "float" and text.lstrip("+-").isdigit()
        return text == "None" or (holds_default(type.elem, text) and not is_integer)
    if text == "None":
        return type.innermost.text not in _HELD
    held = _HELD.get(type.innermost.text)
    items = text[1:-1].split(",") if text[:1] in ("[", "{") else [text]
    return held is None or all(held.fullmatch(item.strip()) for item in items if item.strip())
