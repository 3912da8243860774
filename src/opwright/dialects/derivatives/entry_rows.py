"""Entries of `derivatives.yaml` as rows: what loading an entry gave, kept by the text of the entry for later runs.

An entry has the schema of its function, so what it loads into follows from its text. Whether its formulas are valid
depends on the names of all operators and helpers too, so these are part of the context in which rows hold. The numbers
in the names of autograd nodes depend on other entries and are no part of a row. Entries that caused a diagnostic are
not kept, so later runs report it too.

Rows come from disk, where others may have written them: reading one that no run wrote raises an error, and its values
have the types that they should have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from opwright.model.derivatives import (
    Derivative,
    Derivatives,
    DifferentiabilityInfo,
    ForwardDerivative,
    InfoByKey,
    SavedAttribute,
    SavedKind,
)
from opwright.release.store import FORMULA_HELPERS
from opwright.schema.function import Argument, Return
from opwright.source.items import split_items
from opwright.source.span import Span

if TYPE_CHECKING:
    from opwright.dialects.derivatives.functions import FunctionIndex
    from opwright.model.catalog import Catalog
    from opwright.model.native_function import NativeFunction
    from opwright.release.inputs import Inputs
    from opwright.release.rules import Rules
    from opwright.source.span import SourceText

__all__ = ["DerivativeRows", "context_start", "context_text", "entry_rows"]

# The separators of ASCII, from the whole to its smallest part.
_GROUP: Final = "\x1c"
_RECORD: Final = "\x1d"
_FIELD: Final = "\x1e"
_ITEM: Final = "\x1f"
_SEPARATORS: Final = (_GROUP, _RECORD, _FIELD, _ITEM)

_RETURN: Final = "r"
"""Stands before the index of a return, so that it differs from that of an argument."""


def context_text(catalog: Catalog, rules: Rules, inputs: Inputs, *, strict: bool) -> str:
    """What all entries depend on besides their texts: the names that formulas can use, and how formulas are checked."""
    header = inputs.read_optional(FORMULA_HELPERS)
    names = sorted({function.name.name for function in catalog.functions})
    digest = sha256(f"{names}|{header and header.text}".encode("utf-8", "surrogatepass"))
    return f"{context_start(rules, strict=strict)}{digest.hexdigest()}"


def context_start(rules: Rules, *, strict: bool) -> str:
    """How a context begins: with what it has besides names."""
    return f"{rules.identity}|{strict}|"


# Writing.


class _NotKept(Exception):
    """Raised for an entry that has no row."""


def entry_rows(file: SourceText, derivatives: Derivatives) -> dict[str, str]:
    """The rows of the entries of a file by their texts; empty ones for entries that are not kept."""
    if file.has_anchors:
        return {}
    functions = {start: function for function, start in derivatives.entries.items()}
    return {
        text: _row(functions[start], derivatives.infos[functions[start]], start) if start in functions else ""
        for start, text in split_items(file.text)
    }


def _row(function: NativeFunction, by_key: InfoByKey, start: int) -> str:
    try:
        groups = [_group(info, key, start) for key, info in by_key.items()]
    except _NotKept:
        return ""
    return _GROUP.join([str(function.schema), "01"[function.function], *groups])


def _group(info: DifferentiabilityInfo, key: str, start: int) -> str:
    """The part of a row for one dispatch key."""
    outputs = info.output_differentiability
    facts = (
        key,
        _join([_source(argument, info.function) for argument in info.differentiable_arguments]),
        _join(info.non_differentiable),
        _join(info.available_gradients),
        "-" if outputs is None else _join(["01"[output] for output in outputs]),
        "-" if info.output_condition is None else f"+{_check(info.output_condition)}",
        str(len(info.derivatives)),
    )
    backward = [_backward(derivative, info.function, start) for derivative in info.derivatives]
    forward = [_forward(derivative, info.function, start) for derivative in info.forward_derivatives]
    return _RECORD.join([_FIELD.join(facts), *backward, *forward])


def _backward(derivative: Derivative, function: NativeFunction, start: int) -> str:
    same = derivative.formula == derivative.original_formula
    fields = (
        _check(derivative.formula),
        "" if same else _check(derivative.original_formula),
        _join(derivative.var_names),
        _join(sorted(derivative.named_gradients)),
        _range(derivative.span, start),
        str(len(derivative.saved_inputs)),
    )
    saved = [_attribute(attribute, function) for attribute in derivative.saved_inputs + derivative.saved_outputs]
    return _FIELD.join([*fields, *saved])


def _attribute(attribute: SavedAttribute, function: NativeFunction) -> str:
    name, expression, kind, source = attribute
    return _ITEM.join([_check(name), _check(expression), kind.name, _source(source, function)])


def _forward(derivative: ForwardDerivative, function: NativeFunction, start: int) -> str:
    types = [result.type for result in function.schema.returns]
    if derivative.needs_original_self or derivative.from_functional:
        raise _NotKept
    fields = (
        _check(derivative.formula),
        _join(derivative.var_names),
        _join([str(types.index(type)) for type in derivative.var_types]),
        _join(derivative.tangents),
        _join(derivative.primals),
        _range(derivative.span, start),
    )
    return _FIELD.join(fields)


def _source(source: Argument | Return | None, function: NativeFunction) -> str:
    """Where an argument or a return of a function is; empty for neither."""
    if source is None:
        return ""
    if isinstance(source, Argument):
        return str(function.arguments.all.index(source))
    return f"{_RETURN}{function.schema.returns.index(source)}"


def _range(span: Span, start: int) -> str:
    return f"{span.start - start}{_ITEM}{span.end - start}"


def _join(texts: Sequence[str]) -> str:
    """A list of texts, which are not empty."""
    if "" in texts:
        raise _NotKept
    return _ITEM.join([_check(text) for text in texts])


def _check(text: str) -> str:
    """The text, if no separator is in it."""
    if any(separator in text for separator in _SEPARATORS):
        raise _NotKept
    return text


# Reading.

NodeName = Callable[[str, str], str]
"""Gives the name of the next autograd node of a function under a dispatch key."""


class DerivativeRows:
    """Reads rows of entries of one file. Rows of another form raise ValueError, KeyError or IndexError."""

    __slots__ = ("_file", "_functions", "_name_node")

    def __init__(self, file: SourceText, functions: FunctionIndex, name_node: NodeName) -> None:
        self._file: Final = file
        self._functions: Final = functions
        self._name_node: Final = name_node

    def infos(self, row: str, start: int) -> tuple[NativeFunction, InfoByKey]:
        """The function of an entry and its derivatives by dispatch key; `start` is where the entry stands.

        Raises KeyError if the function is not as it was.
        """
        schema, variant, *groups = row.split(_GROUP)
        function = self._functions.canonical_of_schema(schema)
        if function is None or variant != "01"[function.function]:
            raise KeyError(schema)
        infos = [self._group(group, function, start) for group in groups]
        return function, dict(infos)

    def _group(self, group: str, function: NativeFunction, start: int) -> tuple[str, DifferentiabilityInfo]:
        facts, *formulas = group.split(_RECORD)
        key, arguments, non_differentiable, gradients, outputs, condition, backward = facts.split(_FIELD)
        count = int(backward)
        every = function.arguments.all
        differentiable = tuple([every[int(index)] for index in arguments.split(_ITEM)]) if arguments else ()
        return key, DifferentiabilityInfo(
            name=function.name.name,
            function=function,
            node_name=self._name_node(function.name.name, key) if differentiable else None,
            derivatives=tuple([self._backward(text, function, start) for text in formulas[:count]]),
            forward_derivatives=tuple([self._forward(text, function, start) for text in formulas[count:]]),
            differentiable_arguments=differentiable,
            non_differentiable=_texts(non_differentiable),
            available_gradients=_texts(gradients),
            output_differentiability=None if outputs == "-" else tuple([text == "1" for text in _texts(outputs)]),
            output_condition=None if condition == "-" else condition[1:],
        )

    def _backward(self, text: str, function: NativeFunction, start: int) -> Derivative:
        formula, original, names, named, range, inputs, *attributes = text.split(_FIELD)
        saved = [_read_saved(attribute, function) for attribute in attributes]
        count = int(inputs)
        return Derivative(
            formula,
            original or formula,
            _texts(names),
            tuple(saved[:count]),
            tuple(saved[count:]),
            frozenset(_texts(named)),
            self._span(range, start),
        )

    def _forward(self, text: str, function: NativeFunction, start: int) -> ForwardDerivative:
        formula, names, types, tangents, primals, range = text.split(_FIELD)
        returns = function.schema.returns
        var_types = tuple([returns[int(index)].type for index in _texts(types)])
        return ForwardDerivative(
            formula, _texts(names), var_types, _texts(tangents), _texts(primals), False, False, self._span(range, start)
        )

    def _span(self, range: str, start: int) -> Span:
        first, end = range.split(_ITEM)
        return Span(self._file, start + int(first), start + int(end))


def _read_saved(text: str, function: NativeFunction) -> SavedAttribute:
    name, expression, kind, at = text.split(_ITEM)
    source: Argument | Return | None = None
    if at.startswith(_RETURN):
        source = function.schema.returns[int(at[1:])]
    elif at:
        source = function.arguments.all[int(at)]
    return SavedAttribute(name, expression, SavedKind[kind], source)


def _texts(joined: str) -> tuple[str, ...]:
    return tuple(joined.split(_ITEM)) if joined else ()
