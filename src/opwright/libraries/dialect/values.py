"""Loads `values` of an entry: which values tensors and other arguments may have.

What is said of texts and numbers becomes conditions like those of `requires`. What is said of the elements of tensors
becomes conditions over an element, which are checked where a program asks for it, since they read memory.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator, Mapping
from typing import Final

from opwright.libraries import library_codes
from opwright.libraries.declared_outputs import OutputExpression, OutputOperation, ValueKind, ValueType
from opwright.libraries.dialect.dims import PatternedTensor
from opwright.libraries.dialect.expression_types import ExpressionChecker, expression_of
from opwright.libraries.dialect.expressions import (
    ExpressionText,
    ParsedExpression,
    free_names,
    normal_expression,
    parse_expression,
)
from opwright.libraries.requirements import (
    ORDERS,
    Message,
    Requirement,
    ValueCondition,
    argument_names,
    element_name,
    place_name,
)
from opwright.source.diagnostic import Diagnostics, Fault, did_you_mean
from opwright.source.nodes import Node, Scalar, SequenceNode

#: The field.
VALUES: Final = "values"

#: What can be said of a number in a word.
POWER_OF_TWO: Final = "power_of_two"

_WORD: Final = re.compile(r"[a-z_]+")
_TENSORS: Final = (ValueKind.tensor, ValueKind.tensors)
_NUMBERS: Final = (ValueKind.integer, ValueKind.size, ValueKind.number)
_SHOWN: Final = (*_NUMBERS, ValueKind.sizes, ValueKind.integers)
#: No tensor has more elements.
_MOST_PLACES: Final = 1 << 62
#: What is named for its sizes, not for its values.
_OF_WHOLE: Final = ("len",)


class ValuesLoader:
    """Loads what an entry says of values. Faults go to the sink.

    `arguments` are the arguments by name, `texts` those that are texts, and `sizes` the sizes with names, of which the
    `optional` ones are those of tensors that may be None. `integers` are the tensors that have no other numbers.
    """

    def __init__(
        self,
        arguments: Mapping[str, OutputExpression],
        texts: frozenset[str],
        sizes: Mapping[str, OutputExpression],
        optional: Mapping[str, tuple[OutputExpression, ...]],
        integers: frozenset[str],
        sink: Diagnostics,
    ) -> None:
        self._arguments: Final = arguments
        self._texts: Final = texts
        self._sizes: Final = sizes
        self._optional: Final = optional
        self._integers: Final = integers
        self._sink: Final = sink
        #: Conditions on arguments that are no tensors, and those on the elements of tensors.
        self.checks: Final[list[Requirement]] = []
        self.conditions: Final[list[ValueCondition]] = []

    def load(self, tensor_of: dict[str, PatternedTensor], entries: list[tuple[Scalar, Node]]) -> None:
        """Load what is said of each argument; `tensor_of` has those that are tensors."""
        for key, node in entries:
            argument = self._arguments[key.value]
            try:
                if key.value in self._texts:
                    self._load_text(key.value, argument, node)
                elif argument.kind in _TENSORS:
                    for text in _conditions(node):
                        try:
                            self.conditions.append(self._of_tensor(tensor_of[key.value], text))
                        except Fault as fault:
                            self._sink.add(fault.diagnostic)
                elif argument.kind in _NUMBERS:
                    self._load_number(key.value, argument, node)
                else:
                    raise Fault.at(
                        library_codes.VALUES,
                        f"`{key.value}` is {argument.type}, of whose values nothing is said",
                        key.span,
                    )
            except Fault as fault:
                self._sink.add(fault.diagnostic)

    # Texts and numbers

    def _load_text(self, name: str, argument: OutputExpression, node: Node) -> None:
        """The texts that an argument may be."""
        choices = node.items if isinstance(node, SequenceNode) else [node]
        texts = []
        for choice in choices:
            if not isinstance(choice, Scalar) or choice.kind != "str":
                message = f"`{name}` is a text, and {choice.description} is none"
                raise Fault.at(
                    library_codes.VALUES, message, choice.span, help="write the texts that it may be: `[sum, mean]`"
                )
            if "\n" in choice.value:
                raise Fault.at(library_codes.VALUES, "a text that is chosen has one line", choice.span)
            texts.append(choice.value)
        if not texts:
            raise Fault.at(library_codes.VALUES, f"`{name}` may be no text at all", node.span)
        value, given = _given(argument)
        condition = expression_of(OutputOperation.text_in, ValueKind.boolean, value, text="\n".join(texts))
        shown = ", ".join([f'"{text}"' for text in texts[:-1]])
        wanted = f'{shown} or "{texts[-1]}"' if shown else f'"{texts[-1]}"'
        told: Message = (f'`{name}` is "', value, f'", and has to be {wanted}')
        self.checks.append(Requirement(condition, told, given, subject=f"`{name}`"))

    def _load_number(self, name: str, argument: OutputExpression, node: Node) -> None:
        """Conditions on a number, or the numbers that it may be."""
        value, given = _given(argument)
        message: Message
        if isinstance(node, SequenceNode) and node.items and all(map(_is_number, node.items)):
            numbers = [self._expression(item, name, value)[0] for item in node.items if isinstance(item, Scalar)]
            are = [expression_of(OutputOperation.equal, ValueKind.boolean, value, number) for number in numbers]
            condition = expression_of(OutputOperation.either, ValueKind.boolean, *are) if len(are) > 1 else are[0]
            texts = [item.value for item in node.items if isinstance(item, Scalar)]
            wanted = f"{', '.join(texts[:-1])} or {texts[-1]}" if len(texts) > 1 else texts[0]
            message = (f"`{name}` is ", value, f", and has to be {wanted}")
            self.checks.append(Requirement(condition, message, given, subject=f"`{name}`"))
            return
        for text in _conditions(node):
            if text.text.strip() == POWER_OF_TWO:
                if argument.kind is ValueKind.number:
                    raise Fault.at(library_codes.VALUES, f"`{name}` is no integer, and so no power of two", text.span)
                condition = expression_of(OutputOperation.power_of_two, ValueKind.boolean, value)
                message = (f"`{name}` is ", value, ", and has to be a power of two")
                self.checks.append(Requirement(condition, message, given, subject=f"`{name}`"))
                continue
            self._check_word(text, (POWER_OF_TWO,))
            condition, shown, also = self._condition(text, name, value)
            if name not in argument_names(condition):
                raise Fault.at(library_codes.VALUES, f"`{text.text}` says nothing of `{name}`", text.span)
            written = normal_expression(text.text)
            message = (f"`{written}` has to hold", f", and `{name}` is ", value, *shown)
            self.checks.append(
                Requirement(condition, message, (*given, *also), written=written, subject=f"`{written}`")
            )

    # Tensors

    def _of_tensor(self, tensor: PatternedTensor, text: ExpressionText) -> ValueCondition:
        """A condition on the values of a tensor."""
        name = tensor.name
        is_integer = name in self._integers
        word = text.text.strip()
        if word in ORDERS:
            if word == "finite" and is_integer:
                raise Fault.at(library_codes.VALUES, f"`{name}` has integers, which are finite", text.span)
            message: tuple[str | OutputExpression, ...] = (*tensor.shown, ORDERS[word])
            return ValueCondition(name, tensor.value, word, None, (), message, tensor.given, tensor.each, is_integer)
        self._check_word(text, tuple(ORDERS))
        kind = ValueKind.integer if is_integer else ValueKind.number
        element = OutputExpression(OutputOperation.argument, ValueType(kind), text=element_name(name))
        condition, shown, also = self._condition(text, name, element, tensor)
        read = argument_names(condition)
        places = tuple(sorted(_places(read, name), key=lambda place: (place < 0, place)))
        is_each = element.text in read
        if not is_each and not places:
            message_text = f"`{text.text}` says nothing of the values of `{name}`"
            help = f"`{name}` stands for each element, and `{name}[0]` for the first one"
            raise Fault.at(library_codes.VALUES, message_text, text.span, help=help)
        written = normal_expression(text.text)
        if is_each:
            message = (*tensor.shown, " has the value ", element, f", and `{written}` has to hold", *shown)
        else:
            ends: list[str | OutputExpression] = []
            for place in places:
                value = element._replace(text=place_name(name, place))
                ends += [f", and `{name}[{place}]` is ", value]
            message = (f"`{written}` has to hold", *ends, *shown)
        given = (*tensor.given, *[argument for argument in also if argument not in tensor.given])
        return ValueCondition(
            name, tensor.value, written, condition, places, message, given, tensor.each, is_integer, is_each
        )

    def _check_word(self, text: ExpressionText, words: tuple[str, ...]) -> None:
        """Raises Fault for a word that says nothing."""
        word = text.text.strip()
        if _WORD.fullmatch(word) and word not in self._arguments and word not in self._sizes:
            help = did_you_mean(word, words, f"the words are {', '.join([f'`{choice}`' for choice in words])}")
            raise Fault.at(library_codes.VALUES, f"`{word}` says nothing of values", text.span, help=help)

    def _condition(
        self, text: ExpressionText, name: str, value: OutputExpression, tensor: PatternedTensor | None = None
    ) -> tuple[OutputExpression, list[str | OutputExpression], tuple[OutputExpression, ...]]:
        """A condition over a value, what messages show besides it, and the optional arguments whose sizes it reads."""
        condition, parsed, own = self._parsed(text, name, value, tensor)
        checked = own.check_kind(condition, ValueKind.boolean)
        shown: list[str | OutputExpression] = []
        also: tuple[OutputExpression, ...] = ()
        for other in dict.fromkeys([node.id for node in free_names(parsed.tree)]):
            argument = self._arguments.get(other) or self._sizes.get(other)
            also += self._optional.get(other, ())
            if other != name and argument is not None and argument.kind in _SHOWN and not argument.type.is_optional:
                shown += [f", and `{other}` is ", argument]
        return checked, shown, tuple(dict.fromkeys(also))

    def _expression(
        self, node: Scalar, name: str, value: OutputExpression
    ) -> tuple[OutputExpression, ParsedExpression]:
        tree, parsed, checker = self._parsed(ExpressionText.of_scalar(node), name, value)
        return checker.check(tree), parsed

    def _parsed(
        self, text: ExpressionText, name: str, value: OutputExpression, tensor: PatternedTensor | None = None
    ) -> tuple[ast.expr, ParsedExpression, ExpressionChecker]:
        """The tree of a condition in which the argument is its value, and comparisons have two sides."""
        parsed = parse_expression(text)
        rewriter = _Rewriter(name)
        tree = rewriter.visit(copy.deepcopy(parsed.tree))
        for place in rewriter.places:
            if not -_MOST_PLACES <= place < _MOST_PLACES:
                raise Fault.at(library_codes.VALUES, f"`{name}` has no element {str(place)[:20]}", text.span)
        # Of a list, a condition is about each tensor.
        own = {name: tensor.value} if tensor is not None and tensor.each else {}
        names = {**self._sizes, **self._arguments, **own, rewriter.element: value}
        for place in rewriter.places:
            names[place_name(name, place)] = value._replace(text=place_name(name, place))
        if rewriter.places and value.operation is not OutputOperation.argument:
            raise Fault.at(library_codes.VALUES, f"`{name}` is a single value", text.span)
        return tree, parsed, ExpressionChecker(parsed, names)


class _Rewriter(ast.NodeTransformer):
    """Puts the element in the place of an argument, and splits comparisons with more than two sides."""

    def __init__(self, name: str) -> None:
        self.name: Final = name
        self.element: Final = element_name(name)
        self.places: Final[dict[int, None]] = {}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id != self.name:
            return node
        return ast.copy_location(ast.Name(self.element, ast.Load()), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Name) and node.func.id not in _OF_WHOLE:
            node.args = [self.visit(argument) for argument in node.args]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        place = _place(node.slice)
        if isinstance(node.value, ast.Name) and node.value.id == self.name and place is not None:
            self.places[place] = None
            return ast.copy_location(ast.Name(place_name(self.name, place), ast.Load()), node)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        sides = [node.left, *node.comparators]
        if len(sides) == 2:
            if not isinstance(node.ops[0], ast.Is | ast.IsNot):
                node.left, node.comparators = self.visit(node.left), [self.visit(node.comparators[0])]
            return node
        pairs: list[ast.expr] = []
        for operator, left, right in zip(node.ops, sides, sides[1:], strict=False):
            pair = ast.Compare(copy.deepcopy(left), [operator], [copy.deepcopy(right)])
            pair = ast.copy_location(pair, left)
            pair.end_lineno, pair.end_col_offset = right.end_lineno, right.end_col_offset
            pairs.append(self.visit(pair))
        return ast.copy_location(ast.BoolOp(ast.And(), pairs), node)


def _place(node: ast.expr) -> int | None:
    """The number of an index that is one."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        place = _place(node.operand)
        return None if place is None else -place
    value = node.value if isinstance(node, ast.Constant) else None
    return value if type(value) is int else None


def _places(names: frozenset[str], name: str) -> Iterator[int]:
    """The places of a tensor among the names that an expression reads."""
    for read in names:
        if read.startswith(place_name(name, 0)[:-1]):
            yield int(read.rpartition(" ")[2])


def _given(argument: OutputExpression) -> tuple[OutputExpression, tuple[OutputExpression, ...]]:
    """The value of an argument, and the argument itself if it may be None."""
    if not argument.type.is_optional:
        return argument, ()
    return expression_of(OutputOperation.value, argument.kind, argument), (argument,)


def _is_number(node: Node) -> bool:
    return isinstance(node, Scalar) and node.kind in ("int", "float")


def _conditions(node: Node) -> Iterator[ExpressionText]:
    """The conditions of a text, which commas part, or of a list of texts. Raises Fault."""
    items = node.items if isinstance(node, SequenceNode) else [node]
    if not items:
        raise Fault.at(library_codes.VALUES, "this says nothing of values", node.span)
    for item in items:
        if not isinstance(item, Scalar) or not item.value.strip():
            message = f"values are words and conditions, not {item.description}"
            raise Fault.at(library_codes.VALUES, message, item.span, help='write them like `"0 <= index < n"`')
        text, start, depth = item.value, 0, 0
        for end, character in enumerate(f"{text},"):
            depth += (character in "([") - (character in ")]")
            if character == "," and (depth <= 0 or end == len(text)):
                part = text[start:end]
                first = start + len(part) - len(part.lstrip())
                last = first + len(part.strip())
                if first < last:
                    yield _part(item, first, last)
                start = end + 1


def _part(scalar: Scalar, first: int, last: int) -> ExpressionText:
    return ExpressionText(
        scalar.value[first:last],
        scalar.span_of(first, last),
        lambda start, end: scalar.span_of(first + start, first + end),
    )
