"""What the texts of functions of modules say of their arguments, beside the schemas of operators."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Final

from opwright.migrate.importing.pybind import python_names
from opwright.schema.fault import SchemaFault
from opwright.schema.function import Argument
from opwright.schema.parser import read_written_schema
from opwright.source.records import NamedTuple

#: How pybind11 names an argument that has no name.
_UNNAMED: Final = re.compile(r"arg\d+")


class KnownArgument(NamedTuple):
    """An argument: its name, whether it is given by name alone, and its default, None for none or an unknown one.

    A name is empty if nothing says it. A default is the text of its value.
    """

    name: str
    is_keyword: bool
    has_default: bool
    default: str | None

    def differs(self, other: KnownArgument) -> str | None:
        """What another function says otherwise of this argument; None if nothing does."""
        if self.name and self.name != other.name:
            return f"its argument `{self.name}` is `{other.name}` in the port"
        if self.is_keyword != other.is_keyword:
            kinds = ["by name alone" if side.is_keyword else "by position too" for side in (self, other)]
            return f"its argument `{other.name}` is given {kinds[0]}, and {kinds[1]} in the port"
        shown = [_default(side) for side in (self, other)]
        if self.has_default != other.has_default or (None not in shown and shown[0] != shown[1]):
            return (
                f"its argument `{other.name}` has {shown[0] or 'a default'}, and {shown[1] or 'a default'} in the port"
            )
        return None


def _default(argument: KnownArgument) -> str | None:
    if not argument.has_default:
        return "no default"
    return None if argument.default is None else f"the default `{argument.default}`"


def arguments_of_signature(text: str) -> list[KnownArgument] | None:
    """The arguments in the first line of a function's text; None if that is no signature.

    >>> [tuple(row) for row in arguments_of_signature("f(x: torch.Tensor, *, by: float = 1.0) -> None")]
    [('x', False, False, None), ('by', True, True, '1')]
    >>> arguments_of_signature("f(x: a::B)") is None
    True
    """
    # The value of an object has a form that Python does not read.
    text = re.sub(r"= <[^<>]*>", "= ...", text)
    try:
        (function,) = ast.parse(f"def {text}: ...").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(function, ast.FunctionDef) or function.args.vararg or function.args.kwarg:
        return None
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [*[None] * (len(positional) - len(given.defaults)), *given.defaults]
    rows = [*zip(positional, defaults, strict=True), *zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    names = python_names([argument.arg for argument, _ in rows])
    return [
        KnownArgument(
            "" if _UNNAMED.fullmatch(name) else name,
            number >= len(positional),
            default is not None,
            _value(default) if default is not None else None,
        )
        for number, (name, (_, default)) in enumerate(zip(names, rows, strict=True))
    ]


def arguments_of_schema(text: str) -> list[KnownArgument] | None:
    """The arguments of an operator; None if the schema cannot be read.

    >>> [tuple(row) for row in arguments_of_schema("f(Tensor x, *, float by=1., int[] n=[1]) -> ()")]
    [('x', False, False, None), ('by', True, True, '1'), ('n', True, True, '[1]')]
    """
    try:
        arguments = read_written_schema(text).arguments
    except SchemaFault:
        return None
    by_name = arguments.all[len(arguments.positional) :]
    return [*_of_schema(arguments.positional, is_keyword=False), *_of_schema(by_name, is_keyword=True)]


def _of_schema(arguments: Iterable[Argument], *, is_keyword: bool) -> Iterator[KnownArgument]:
    for argument in arguments:
        value = argument.default_value
        # What has a name of its own, such as `Mean`, is no value of Python.
        default = _text(value) if value is not None or argument.default == "None" else None
        yield KnownArgument(argument.name, is_keyword, argument.default is not None, default)


def _value(default: ast.expr) -> str | None:
    """The default of a parameter as text; None for one that is no constant of Python."""
    try:
        return _text(ast.literal_eval(default))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _text(value: object) -> str | None:
    """A value as text, the same for a number of C++ and of Python, whatever the width of the C++ one."""
    if isinstance(value, (list, tuple)):
        texts = [_text(part) for part in value]
        return None if None in texts else f"[{', '.join(map(str, texts))}]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{value:.7g}"
    return repr(value) if value is None or isinstance(value, (bool, str)) else None
