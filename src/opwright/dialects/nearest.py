"""Finds overloads that almost belong to one operation, and where their schemas first differ.

The overloads of an operation share their arguments and results. If only one of them is edited, they become two
operations, each of which lacks a member. The diagnostic then shows the user the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from opwright.model.native_function import UnlinkedFunction
from opwright.schema.function import Argument, FunctionSchema
from opwright.schema.signature import plain_argument, signature
from opwright.source.diagnostic import Label, did_you_mean
from opwright.source.records import NamedTuple
from opwright.source.span import Span

SAME_ARGUMENTS: Final = "the functional, in-place and out overloads of an operation have the same arguments and results"
"""The help for overloads that do not match."""

_RETURNS: Final = ") -> "


class Difference(NamedTuple):
    """The first difference between two overloads: the argument of each, or None if only the other has one.

    Both are None if the arguments agree and the results differ. `edits` is the number of arguments that differ.
    """

    function: UnlinkedFunction
    other: UnlinkedFunction
    argument: Argument | None
    other_argument: Argument | None
    edits: int

    @property
    def reversed(self) -> Difference:
        """The difference as seen from the other overload."""
        return Difference(self.other, self.function, self.other_argument, self.argument, self.edits)

    @property
    def words(self) -> str:
        """Difference in words, as a clause that starts with the name of the overload."""
        name, other = f"`{self.function.name}`", f"`{self.other.name}`"
        if self.argument is not None and self.other_argument is not None:
            if self.argument.text == self.other_argument.text:
                return f"{name} takes `{self.argument.text}` at another position than {other}"
            return f"{name} takes `{self.argument.text}` where {other} takes `{self.other_argument.text}`"
        if self.argument is not None:
            return f"{name} takes `{self.argument.text}`, which {other} does not"
        if self.other_argument is not None:
            return f"{name} does not take `{self.other_argument.text}`, as {other} does"
        return f"{name} returns `{_results(self.function.schema)}`, and {other} `{_results(self.other.schema)}`"

    @property
    def span(self) -> Span:
        """Span of the argument or the results that differ; the overload's name if it lacks an argument."""
        return _part_span(self.function, self.argument, self.other_argument)

    @property
    def other_label(self) -> Label:
        """A secondary label at the span in the other overload."""
        return Label(_part_span(self.other, self.other_argument, self.argument), f"`{self.other.name}`", primary=False)


def first_difference(function: UnlinkedFunction, other: UnlinkedFunction) -> Difference | None:
    """The first difference between two overloads of one operation; None if they match."""
    from difflib import SequenceMatcher  # Only a run that has a fault needs it.

    ours, theirs = _shared_arguments(function), _shared_arguments(other)
    keys = [[key for key, _ in listed] for listed in (ours, theirs)]
    changes = [
        code for code in SequenceMatcher(a=keys[0], b=keys[1], autojunk=False).get_opcodes() if code[0] != "equal"
    ]
    if not changes:
        same = _results(signature(function.schema)) == _results(signature(other.schema))
        return None if same else Difference(function, other, None, None, 1)
    _, start, end, other_start, other_end = changes[0]
    return Difference(
        function,
        other,
        ours[start][1] if end > start else None,
        theirs[other_start][1] if other_end > other_start else None,
        sum(max(end - start, other_end - other_start) for _, start, end, other_start, other_end in changes),
    )


class OverloadIndex:
    """Written overloads by name, and by the arguments and results that forms of an operation share."""

    def __init__(self, functions: Sequence[UnlinkedFunction]) -> None:
        self._functions: Final = functions

    @cached_property
    def _by_operator(self) -> Mapping[object, Sequence[UnlinkedFunction]]:
        by_operator: dict[object, list[UnlinkedFunction]] = {}
        for overload in self._written():
            by_operator.setdefault(_operator(overload), []).append(overload)
        return by_operator

    @cached_property
    def _by_form(self) -> Mapping[object, Mapping[str, UnlinkedFunction]]:
        """The first overload of each base name, by what functions have in common that differ in the name alone."""
        by_form: dict[object, dict[str, UnlinkedFunction]] = {}
        for overload in self._written():
            by_form.setdefault(_shared_form(overload), {}).setdefault(overload.name.base, overload)
        return by_form

    @cached_property
    def _bases(self) -> frozenset[object]:
        """Base names with the namespaces and the kinds of their overloads."""
        return frozenset([(overload.name.base, overload.namespace, overload.kind) for overload in self._written()])

    def of_name(self, function: UnlinkedFunction) -> Sequence[UnlinkedFunction]:
        """Overloads with the operator name of a function."""
        return self._by_operator.get(_operator(function), ())

    def lacking(self, function: UnlinkedFunction) -> Mapping[str, UnlinkedFunction]:
        """By base name, the first overload that differs from a function in the name alone.

        Left out are operators with an overload of the function's kind.
        """
        alike = self._by_form.get(_shared_form(function), {})
        own = function.namespace, function.kind
        return {base: overload for base, overload in alike.items() if (base, *own) not in self._bases}

    def _written(self) -> Iterator[UnlinkedFunction]:
        return (overload for overload in self._functions if not overload.is_synthesized)


def nearest_overload(
    function: UnlinkedFunction,
    index: OverloadIndex,
    is_wanted: Callable[[UnlinkedFunction], bool] | None = None,
) -> Difference | None:
    """Difference to the most similar wanted overload of the same name; None if none is similar."""
    same_name = [overload for overload in index.of_name(function) if overload is not function]
    wanted = same_name if is_wanted is None else filter(is_wanted, same_name)
    differences = [first_difference(function, other) for other in wanted]
    # Overloads that differ in more than two arguments are different operations.
    most = 1 + len(function.arguments.non_out) // 3
    near = [difference for difference in differences if difference is not None and difference.edits <= most]
    return min(near, key=_distance, default=None)


def renamed_overload(function: UnlinkedFunction, index: OverloadIndex) -> UnlinkedFunction | None:
    """An overload that matches except for a similar operator name; None if there is none.

    An operator with an overload of this kind of its own, such as `asin` beside `sin`, is not a misspelling.
    """
    fitting = index.lacking(function)
    hint = str(did_you_mean(function.name.base, fitting))
    return next((function for base, function in fitting.items() if f"`{base}`" in hint), None)


def _operator(function: UnlinkedFunction) -> object:
    """What the overloads of an operator's name have in common."""
    return function.name.base, function.name.dunder, function.namespace


def _shared_form(function: UnlinkedFunction) -> object:
    """What functions have in common that differ in the name alone."""
    keys = tuple([key for key, _ in _shared_arguments(function)])
    return function.namespace, keys, _results(signature(function.schema))


def _distance(difference: Difference) -> tuple[int, bool, int, int]:
    """Order of differences: of two with as many edits, the one between overloads that have more in common."""
    ours, theirs = ([key for key, _ in _shared_arguments(each)] for each in (difference.function, difference.other))
    common = sum(key in theirs for key in ours)
    other_name = difference.function.name.overload != difference.other.name.overload
    return difference.edits, other_name, -common, abs(len(ours) - len(theirs))


def _shared_arguments(function: UnlinkedFunction) -> list[tuple[tuple[Argument, bool], Argument]]:
    """Arguments that all forms of an operation share, as pairs of the part that must agree and the argument."""
    arguments = function.arguments
    keywords = arguments.pre_options + arguments.post_options
    positional = [((plain_argument(argument), False), argument) for argument in arguments.positional]
    return positional + [((plain_argument(keyword), True), keyword) for keyword in keywords]


def _results(schema: FunctionSchema) -> str:
    return str(schema).rpartition(_RETURNS)[2]


def _part_span(function: UnlinkedFunction, argument: Argument | None, other: Argument | None) -> Span:
    if argument is not None:
        return _argument_span(function, argument.text)
    whole = schema_span(function)
    text = str(function.schema)
    if whole.end - whole.start != len(text):
        return whole
    if other is not None:
        return Span(whole.file, whole.start, whole.start + text.index("("))
    return Span(whole.file, whole.start + text.rindex(_RETURNS) + len(_RETURNS), whole.end)


def schema_span(function: UnlinkedFunction) -> Span:
    """Span of the schema in a function's entry; the whole entry if the schema is not there as text."""
    entry = function.entry
    start = entry.file.text.find(str(function.schema), entry.start, entry.end)
    return entry if start < 0 else Span(entry.file, start, start + len(str(function.schema)))


def word_span(function: UnlinkedFunction, word: str) -> Span:
    """Span of a word of an entry; that of the entry if it does not occur."""
    entry = function.entry
    start = entry.text.find(word)
    return entry if start < 0 else Span(entry.file, entry.start + start, entry.start + start + len(word))


def _argument_span(function: UnlinkedFunction, text: str) -> Span:
    """Span of an argument in a function's entry; its schema if the argument is not there as text."""
    whole = schema_span(function)
    for before in ("(", " "):
        start = whole.file.text.find(before + text, whole.start, whole.end)
        end = start + len(before) + len(text)
        if start >= 0 and whole.file.text[end : end + 1] in (",", ")"):
            return Span(whole.file, start + len(before), end)
    return whole
