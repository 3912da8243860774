"""Schemas of functions: their arguments, returns and kinds."""

from __future__ import annotations

import enum
from typing import Final

from opwright.schema.defaults import DefaultValue, default_value
from opwright.schema.names import OperatorName
from opwright.schema.types import Annotation, Interned, OptionalType, Type
from opwright.source.records import frozen_fields, not_fingerprinted


class Argument:
    """One argument; interned by its text, so that equal arguments are the same object.

    `default` is the text after `=`, None without a default. `is_write` says that the call writes the argument.
    """

    __slots__ = ("annotation", "default", "is_write", "name", "text", "type")

    def __init__(self, name: str, type: Type, default: str | None, annotation: Annotation | None) -> None:
        self.name: Final = name
        self.type: Final = type
        self.default: Final = default
        self.annotation: Final = annotation
        self.is_write: Final = annotation is not None and annotation.is_write
        ending = "" if default is None else f"={default}"
        self.text: Final = f"{annotated_type(type, annotation)} {name}{ending}"

    @property
    def default_value(self) -> DefaultValue:
        """Value of the default; None also if there is none (see `default`).

        >>> from opwright.schema import parse_schema
        >>> schema = parse_schema("f(int[2] a=1, bool b=True, str c='x') -> ()")
        >>> [argument.default_value for argument in schema.arguments.all]
        [(1, 1), True, 'x']
        """
        return None if self.default is None else default_value(self.type, self.default)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<argument {self.text}>"


class Return:
    """One return, with or without a name; interned by its text."""

    __slots__ = ("annotation", "is_write", "name", "text", "type")

    def __init__(self, name: str | None, type: Type, annotation: Annotation | None) -> None:
        self.name: Final = name
        self.type: Final = type
        self.annotation: Final = annotation
        self.is_write: Final = annotation is not None and annotation.is_write
        shown = annotated_type(type, annotation)
        self.text: Final = shown if name is None else f"{shown} {name}"

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<return {self.text}>"


def annotated_type(type: Type, annotation: Annotation | None) -> str:
    """Text of a type with its alias annotation, which follows the innermost type."""
    if annotation is None:
        return type.text
    innermost = type.innermost.text
    return f"{innermost}({annotation.text}){type.text[len(innermost) :]}"


_ARGUMENTS: Final[Interned[tuple[str, Type, str | None, Annotation | None], Argument]] = Interned(
    lambda key: Argument(*key)
)
_RETURNS: Final[Interned[tuple[str | None, Type, Annotation | None], Return]] = Interned(lambda key: Return(*key))


def required_argument(argument: Argument) -> Argument:
    """An optional argument as one that is always given.

    >>> from opwright.schema.parser import parse_schema
    >>> schema = parse_schema("f(Tensor(a!)? seen=None) -> ()")
    >>> print(required_argument(schema.arguments.all[0]))
    Tensor(a!) seen
    """
    innermost = argument.type.elem if isinstance(argument.type, OptionalType) else argument.type
    return make_argument(argument.name, innermost, None, argument.annotation)


def make_argument(name: str, type: Type, default: str | None = None, annotation: Annotation | None = None) -> Argument:
    """Argument with these parts."""
    return _ARGUMENTS[name, type, default, annotation]


def make_return(name: str | None, type: Type, annotation: Annotation | None = None) -> Return:
    """Return with these parts."""
    return _RETURNS[name, type, annotation]


@frozen_fields
class TensorOptions:
    """Four arguments `dtype, layout, device, pin_memory` that C++ packs into one `TensorOptions`."""

    dtype: Argument
    layout: Argument
    device: Argument
    pin_memory: Argument

    @property
    def all(self) -> tuple[Argument, Argument, Argument, Argument]:
        """Four arguments in schema order."""
        return (self.dtype, self.layout, self.device, self.pin_memory)


_OPTION_TYPES: Final = (
    ("dtype", "ScalarType"),
    ("layout", "Layout"),
    ("device", "Device"),
    ("pin_memory", "bool"),
)


def _option_start(keyword_only: tuple[Argument, ...]) -> int:
    """Index of the first of four successive tensor options, or -1."""
    for start in range(len(keyword_only) - 3):
        if all(
            argument.name == name and argument.type.text in (type, type + "?")
            for argument, (name, type) in zip(keyword_only[start : start + 4], _OPTION_TYPES, strict=True)
        ):
            return start
    return -1


_NO_ARGUMENTS: Final[tuple[Argument, ...]] = ()


#: What of `Arguments` follows from `positional`, `keyword_only` and `out`.
_DERIVED: Final = (
    *("all", "has_annotations", "has_symint", "joins_wildcard", "non_out", "options", "post_options", "post_self"),
    *("pre_options", "pre_self", "self_arg", "writes", "writes_after_self", "writes_before_self"),
)


@not_fingerprinted(**dict.fromkeys(_DERIVED, "it follows from `positional`, `keyword_only` and `out`"))
class Arguments:
    """Arguments of a schema, and the groups that calling conventions need.

    `positional` = `pre_self` + [`self_arg`] + `post_self`; `keyword_only` (outs left out) = `pre_options` +
    `options` + `post_options`; `out` are the keyword-only arguments that are written to. `non_out` is `positional`
    + `keyword_only`, `all` adds `out`: the order of the schema. Without a `self`, all of `positional` is
    `post_self`.

    Interned: `argument_list` gives the same object for the same arguments, and half of all overloads share theirs.
    `has_symint` says that an argument is a symbolic integer, `has_annotations` that one has an alias set, `writes` that
    one is written, `writes_after_self` and `writes_before_self` that one after or before `self` is, and
    `joins_wildcard` that one joins the alias set `*`.
    """

    __slots__ = ("keyword_only", "out", "positional", *_DERIVED)

    def __init__(
        self, positional: tuple[Argument, ...], keyword_only: tuple[Argument, ...], out: tuple[Argument, ...]
    ) -> None:
        self.positional: Final = positional
        self.keyword_only: Final = keyword_only
        self.out: Final = out
        self.non_out: Final = positional + keyword_only
        self.all: Final = self.non_out + out
        self.pre_self: tuple[Argument, ...] = _NO_ARGUMENTS
        self.self_arg: Argument | None = None
        self.post_self: tuple[Argument, ...] = positional
        for index, candidate in enumerate(positional):
            if candidate.name == "self":
                self.pre_self = positional[:index]
                self.self_arg = candidate
                self.post_self = positional[index + 1 :]
                break
        self.pre_options: tuple[Argument, ...] = keyword_only
        self.options: TensorOptions | None = None
        self.post_options: tuple[Argument, ...] = _NO_ARGUMENTS
        if len(keyword_only) >= 4 and (start := _option_start(keyword_only)) >= 0:
            self.pre_options = keyword_only[:start]
            self.options = TensorOptions(*keyword_only[start : start + 4])
            self.post_options = keyword_only[start + 4 :]
        has_symint = has_annotations = writes = joins_wildcard = False
        for argument in self.all:
            has_symint = has_symint or argument.type.is_symint_like
            if argument.annotation is not None:
                has_annotations = True
                writes = writes or argument.is_write
                joins_wildcard = joins_wildcard or "*" in argument.annotation.after
        self.has_symint: Final = has_symint
        self.has_annotations: Final = has_annotations
        self.writes: Final = writes
        self.writes_before_self: Final = writes and any(argument.is_write for argument in self.pre_self)
        self.writes_after_self: Final = writes and any(argument.is_write for argument in self.post_self)
        self.joins_wildcard: Final = joins_wildcard

    def __str__(self) -> str:
        shown = [argument.text for argument in self.positional]
        if self.keyword_only or self.out:
            shown.append("*")
            shown += [argument.text for argument in self.keyword_only]
            shown += [argument.text for argument in self.out]
        return ", ".join(shown)


_ARGUMENT_LISTS: Final[Interned[tuple[tuple[Argument, ...], tuple[Argument, ...], tuple[Argument, ...]], Arguments]] = (
    Interned(lambda key: Arguments(*key))
)


def argument_list(
    positional: tuple[Argument, ...], keyword_only: tuple[Argument, ...] = (), out: tuple[Argument, ...] = ()
) -> Arguments:
    """Arguments of a schema that has these."""
    return _ARGUMENT_LISTS[positional, keyword_only, out]


class SchemaKind(enum.Enum):
    """What a function does with its arguments; exactly one holds for each schema."""

    # Kinds are keys of many small tables, and the hash of an enumeration is a function in Python.
    __hash__ = object.__hash__

    functional = enum.auto()
    inplace = enum.auto()
    out = enum.auto()
    mutable = enum.auto()
    scratch = enum.auto()


@not_fingerprinted(
    _text="the normal form is built from the other fields when it is first needed",
    has_symint="it is that of the arguments",
    kind="it follows from the name, the arguments and `is_regular`",
)
class FunctionSchema:
    """Signature of one overload.

    `is_regular` says that it keeps the rules for schemas of PyTorch's files, by which name, written arguments and
    returns go together. An irregular one is of the kind `mutable` or `functional`: nothing follows from its name.

    >>> from opwright.schema import parse_schema
    >>> schema = parse_schema("add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)")
    >>> schema.kind.name, [argument.name for argument in schema.arguments.all]
    ('inplace', ['self', 'other', 'alpha'])
    """

    __slots__ = ("_text", "_written", "arguments", "has_symint", "is_regular", "kind", "name", "returns")

    def __init__(
        self,
        name: OperatorName,
        arguments: Arguments,
        returns: tuple[Return, ...],
        *,
        is_regular: bool = True,
        is_strict: bool = True,
        written: str = "",
    ) -> None:
        """`written` is the text from which the schema was parsed, if it is not the normal form.

        `is_strict` says that the schema follows PyTorch's files, where one that writes only `self` is functional.
        """
        self.name: Final = name
        self.arguments: Final = arguments
        self.returns: Final = returns
        self.is_regular: Final = is_regular
        if is_regular:
            self.kind: SchemaKind = _kind(
                name, arguments, arguments.writes_after_self if is_strict else arguments.writes
            )
        else:
            self.kind = SchemaKind.mutable if arguments.writes else SchemaKind.functional
        self._text: str | None = None
        self._written: Final = written
        self.has_symint: Final = arguments.has_symint

    @property
    def written_text(self) -> str:
        """Schema as its author wrote it, which is registered; its normal form is `str(schema)`.

        >>> from opwright.syntax.dispatcher_schemas import read_written_schema
        >>> schema = read_written_schema("fill( Tensor! x )->()")
        >>> schema.written_text, str(schema)
        ('fill( Tensor! x )->()', 'fill(Tensor(a!) x) -> ()')
        """
        return self._written or str(self)

    @property
    def is_out(self) -> bool:
        """Whether the function writes to `out` arguments."""
        return self.kind is SchemaKind.out

    def __str__(self) -> str:
        # Most emitted files quote the schema, so its text is built once.
        if self._text is None:
            shown = ", ".join([result.text for result in self.returns])
            if len(self.returns) != 1 or shown[:1] == "(":
                shown = f"({shown})"
            self._text = f"{self.name.text}({self.arguments}) -> {shown}"
        return self._text

    def __repr__(self) -> str:
        return f"<schema {self}>"


def _kind(name: OperatorName, arguments: Arguments, is_mutable: bool) -> SchemaKind:
    if name.inplace:
        return SchemaKind.inplace
    if arguments.out:
        scratch = any(argument.name.startswith("_scratch_") for argument in arguments.out)
        return SchemaKind.scratch if scratch else SchemaKind.out
    return SchemaKind.mutable if is_mutable else SchemaKind.functional
