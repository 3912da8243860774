"""Where the entries of an operator name an argument: schemas, fields, declared outputs, samples, derivatives.

A place that is not understood is an error: a rename that left it out would break the entry.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from opwright.dialects.native_functions.fields import ENTRY_FIELDS
from opwright.libraries.dialect.samples import keyword_spans
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.tools.lsp.cursor import word_at
from opwright.tools.lsp.operators import entry_at

_QUOTED: Final = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_COMMENT: Final = re.compile(r"(?m)(?:^|(?<=\s))#.*")
#: The name of an argument or of a result in a schema, between its type and its default, a comma or the end of a list.
_NAME_IN_SCHEMA: Final = re.compile(r"[\w\])?!]\s+([A-Za-z_]\w*)(?=\s*[=,)])")


class UnknownPlace(Exception):
    """An entry has the name in a field that does not say what it means there. The argument is the field."""


def _without(pattern: re.Pattern[str], text: str) -> str:
    """A text whose matches of a pattern are blanks."""
    return pattern.sub(lambda match: " " * len(match[0]), text)


def schema_names(schema: str) -> list[tuple[str, int, bool]]:
    """The names in a schema, where each one starts, and whether it is a result's.

    >>> schema_names("f(Tensor(a -> *) x, *, str mode='x, y=', int[2] y=[1, 1]) -> (Tensor x, Tensor)")
    [('x', 17, False), ('mode', 27, False), ('y', 48, False), ('x', 69, True)]
    """
    text = _without(_QUOTED, schema)
    end = text.rfind(") -> ")
    return [(match[1], match.start(1), match.start(1) > end) for match in _NAME_IN_SCHEMA.finditer(text)]


def argument_at(file: SourceFile, offset: int) -> Span | None:
    """The name of an argument at an offset, in the schema of an entry or in its derivative; None for anything else."""
    word = word_at(file, offset)
    name = re.match(r"\w+?(?=(?:_[pt])?\b)", word.text)
    entry = entry_at(file, offset)
    if entry is None or name is None:
        return None
    names = [other for other, _, is_result in schema_names(entry.schema) if not is_result]
    if word.text in names:
        return word
    return word.part(0, len(name[0])) if name[0] in names else None


def entry_places(entry: MappingNode, name: str) -> Iterator[Span]:
    """Where an entry like those of `native_functions.yaml` names an argument. Raises UnknownPlace."""
    for key, value in entry.entries:
        find = _FINDERS.get(key.value)
        if find is not None:
            yield from find(value, name)
        elif key.value not in _WITHOUT_ARGUMENTS and re.search(rf"\b{name}\b", value.span.text):
            raise UnknownPlace(key.value)


def _func(value: Node, name: str) -> Iterator[Span]:
    if isinstance(value, Scalar):
        for other, start, is_result in schema_names(value.value):
            if other == name and not is_result:
                yield value.span_of(start, start + len(name))


def _scalars(value: Node) -> Iterator[Scalar]:
    """The scalars in a value, without keys."""
    if isinstance(value, Scalar):
        yield value
    elif isinstance(value, SequenceNode):
        for item in value.items:
            yield from _scalars(item)


def _names(value: Node, name: str) -> Iterator[Span]:
    """Places in a list of names."""
    for scalar in _scalars(value):
        if scalar.value == name:
            yield scalar.span_of(0, len(name))


def _precomputed_places(value: Node, name: str) -> Iterator[Span]:
    """Places in lines `argument -> type name, ...`: the argument, and values of the same name."""
    pattern = re.compile(rf"^{name}(?= -> )|(?<= ){name}(?=\s*(?:,|$))")
    for scalar in _scalars(value):
        for match in pattern.finditer(scalar.value):
            yield scalar.span_of(*match.span())


def _outputs(value: Node, name: str) -> Iterator[Span]:
    """Places in declared outputs: the values of expressions, and keys that are the names of out arguments.

    A list of sizes is not the YAML list that it looks like, so this reads the text.
    """
    text = _without(_COMMENT, value.span.text)
    for match in re.finditer(rf"(?<![\w.]){name}(?!\w|\s*\(|\s*=(?!=))", text):
        yield value.span.part(*match.span())


def _dims(value: Node, name: str) -> Iterator[Span]:
    """Places in patterns: keys, and expressions in braces. A size with the name of an argument is refused."""
    for key, pattern in value.entries if isinstance(value, MappingNode) else ():
        if key.value == name:
            yield key.span_of(0, len(name))
        if isinstance(pattern, Scalar):
            for braces in re.finditer(r"\{[^{}]*\}", pattern.value):
                for match in re.finditer(rf"(?<![\w.]){name}(?!\w|\s*\()", braces[0]):
                    yield pattern.span_of(braces.start() + match.start(), braces.start() + match.end())


def _conditions(value: Node, name: str) -> Iterator[Span]:
    """Places in the conditions `when` of kernels, which are expressions of C++."""
    pattern = _in_expression(name)
    for _, kernels in value.entries if isinstance(value, MappingNode) else ():
        for kernel in kernels.items if isinstance(kernels, SequenceNode) else (kernels,):
            when = kernel.get("when") if isinstance(kernel, MappingNode) else None
            if isinstance(when, Scalar):
                for match in pattern.finditer(_without(_QUOTED, when.value)):
                    yield when.span_of(*match.span(1))


def _in_expression(name: str, suffix: str = "") -> re.Pattern[str]:
    """An argument in an expression of C++: no member, no part of a name with a namespace, no function."""
    return re.compile(rf"(?<![\w.])(?<!->)(?<!::)({name}){suffix}(?!\w|\s*\()")


def _samples(value: Node, name: str) -> Iterator[Span]:
    for scalar in _scalars(value):
        yield from keyword_spans(scalar, name)


#: What finds an argument in the value of a field.
_FINDERS: Final[dict[str, Callable[[Node, str], Iterator[Span]]]] = {
    "func": _func,
    "cpp_no_default_args": _names,
    "precomputed": _precomputed_places,
    "dispatch": _conditions,
    "outputs": _outputs,
    "dims": _dims,
    "dtypes": _outputs,
    "layout": _outputs,
    "requires": _outputs,
    "linear": _names,
    "samples": _samples,
}
#: Fields with names of other things, which may be those of arguments, too.
_WITHOUT_ARGUMENTS: Final = frozenset(
    [*[field.name for field in ENTRY_FIELDS], "doc", "autocast", "batch_rule", "saved", "reduction", "reference"]
)


def derivative_places(entry: MappingNode, name: str, others: frozenset[str]) -> Iterator[Span]:
    """Where an entry like those of `derivatives.yaml` names an argument, whose operator has other arguments, too.

    Formulas call the values of an argument `x` in forward mode `x_p` and `x_t`.
    """
    endings = [f"{name}{ending}" for ending in ("_p", "_t")]
    suffix = "" if others.intersection(endings) else "(?:_[pt])?"
    formula = _in_expression(name, suffix)
    for key, value in entry.entries:
        if key.value == "name":
            yield from _func(value, name)
        else:
            yield from _formula_places(key, value, name, formula)


def _formula_places(key: Scalar, value: Node, name: str, formula: re.Pattern[str]) -> Iterator[Span]:
    """Places in a key, which lists arguments, and in its formula; in all of them if the key is for dispatch keys."""
    for match in re.finditer(rf"(?<!\w){name}(?!\w)", key.value):
        yield key.span_of(*match.span())
    if isinstance(value, MappingNode):
        for inner, part in value.entries:
            yield from _formula_places(inner, part, name, formula)
    for scalar in _scalars(value):
        for match in formula.finditer(_without(_QUOTED, scalar.value)):
            yield scalar.span_of(*match.span(1))
