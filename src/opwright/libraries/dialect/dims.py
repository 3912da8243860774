"""Loads `dims` of an entry: patterns of the sizes of tensors.

Sizes with names become expressions of declared outputs, such as `x.size(-1)`, so that conditions, results and messages
are expressions like any other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from opwright.dialects.native_functions.entry_builder import EntryBuilder
from opwright.libraries import library_codes
from opwright.libraries.declared_outputs import OutputExpression, OutputOperation, ValueKind
from opwright.libraries.dialect.expression_types import ExpressionChecker, expression_of
from opwright.libraries.dialect.expressions import ExpressionText, free_names, normal_expression, parse_expression
from opwright.libraries.dialect.outputs import Result, load_outputs
from opwright.libraries.dialect.sample_sizes import SizeValue, Unknown, chosen_sizes, value_of
from opwright.libraries.requirements import DimItem, DimKind, Message, Requirement, TensorDims, index_name, item_name
from opwright.schema.function import FunctionSchema
from opwright.source.diagnostic import Diagnostics, Fault, Suggestion, did_you_mean
from opwright.source.nodes import MappingNode, Node, Scalar
from opwright.source.records import NamedTuple

#: The field, and the key of a single result in it.
DIMS: Final = "dims"
RETURN: Final = "return"

#: The field that declares results by expressions.
OUTPUTS: Final = "outputs"

#: The items of a pattern: expressions in braces may have blanks.
_ITEM: Final = re.compile(r"(?:\{[^{}]*\}|[^\s{}])+|[{}]")
_NAMED: Final = re.compile(r"(\*?)(#?)([A-Za-z]\w*)")

#: A size and a number that is added to it.
_OFFSET: Final = re.compile(r"[A-Za-z]\w*([+-])(\d+)")

#: The most items of a pattern, and the most tensors that share a size which none of them determines: each of these is
#: compared with each.
_MOST_ITEMS: Final = 64
_MOST_USERS: Final = 32

#: The items whose sizes have names.
_NAMED_KINDS: Final = (DimKind.named, DimKind.pack)


class PatternedTensor(NamedTuple):
    """A tensor of a schema with its pattern: an argument, or an item of a list of tensors."""

    name: str
    value: OutputExpression
    dims: TensorDims
    nodes: tuple[Scalar, tuple[tuple[int, int], ...]]
    given: tuple[OutputExpression, ...] = ()
    each: str = ""

    @property
    def shown(self) -> Message:
        """The tensor in messages."""
        if not self.each:
            return (f"`{self.name}`",)
        return (f"`{self.name}[", argument_of(index_name(self.name), ValueKind.integer), "]`")

    def span(self, place: int) -> tuple[Scalar, int, int]:
        """Where an item of the pattern stands."""
        scalar, spans = self.nodes
        return (scalar, *spans[place])


def tensor_of(
    name: str, argument: OutputExpression, dims: TensorDims, nodes: tuple[Scalar, tuple[tuple[int, int], ...]]
) -> PatternedTensor:
    """An argument with its pattern: of a list its items, of an optional tensor its value."""
    if argument.kind is ValueKind.tensors:
        return PatternedTensor(name, argument_of(item_name(name), ValueKind.tensor), dims, nodes, each=name)
    if argument.type.is_optional:
        value = expression_of(OutputOperation.value, ValueKind.tensor, argument)
        return PatternedTensor(name, value, dims, nodes, given=(argument,))
    return PatternedTensor(name, argument, dims, nodes)


class DimsLoader:
    """Loads the patterns of one operator. Faults go to the sink.

    `arguments` are the arguments by name, and `results` the names of the results that can have patterns, of which a
    single one is also `return`. They are those of the schema `declaring`.
    """

    def __init__(
        self,
        declaring: FunctionSchema,
        arguments: Mapping[str, OutputExpression],
        results: tuple[str, ...],
        sink: Diagnostics,
    ) -> None:
        self._declaring: Final = declaring
        self._arguments: Final = arguments
        self._results: Final = results
        self._sink: Final = sink
        #: The sizes with names, and those that only optional tensors have.
        self.sizes: Final[dict[str, OutputExpression]] = {}
        self.optional: Final[dict[str, None]] = {}
        #: The tensor that determines a size, and the dimension.
        self.owners: Final[dict[str, tuple[str, int]]] = {}
        self.tensors: Final[dict[str, PatternedTensor]] = {}
        #: Conditions without which the sizes are not determined.
        self.checks: Final[list[Requirement]] = []
        self.result_sizes: Final[dict[str, OutputExpression]] = {}
        self.result_patterns: Final[dict[str, TensorDims]] = {}
        #: Conditions without which results would have negative sizes.
        self.result_checks: Final[list[Requirement]] = []
        #: Whether a name is that of one dimension or of any number.
        self._kinds: Final[dict[str, DimKind]] = {}

    def result_name(self, key: str) -> str | None:
        """The result of a key of the fields."""
        if key == RETURN and len(self._results) == 1:
            return self._results[0]
        return key if key in self._results else None

    def load(self, entries: list[tuple[Scalar, Node]]) -> None:
        """Load the patterns of tensors."""
        written: dict[str, tuple[Scalar, Scalar]] = {}
        for key, node in entries:
            if not isinstance(node, Scalar) or (node.kind == "null" and not node.style):
                message = f"the sizes of `{key.value}` are {node.description}"
                help = 'write a pattern, such as `"*b d"`'
                self._sink.error(library_codes.DIMS_PATTERN, message, node.span, help=help)
                continue
            written[key.value] = key, node
        # Sizes are those of the first tensor that is always there, in the order of the schema.
        for name, argument in self._arguments.items():
            if name in written:
                self._add_tensor(name, argument, written[name][1])
        ordered = sorted(
            self.tensors.values(),
            key=lambda tensor: (tensor.name in self._results, bool(tensor.given), bool(tensor.each)),
        )
        for tensor in ordered:
            self._add_names(tensor)
        for tensor in self.tensors.values():
            self.tensors[tensor.name] = self._resolved(tensor)
        self._check_users()
        for key_name, (_, pattern) in written.items():
            result = self.result_name(key_name)
            if result is not None:
                self._load_result(result, pattern)

    def _check_users(self) -> None:
        """Report sizes that no tensor determines and too many share."""
        users: dict[str, int] = {}
        for tensor in self.tensors.values():
            named = {item.text: place for place, item in enumerate(tensor.dims.items) if item.kind in _NAMED_KINDS}
            for name, place in named.items():
                if name in self.optional or (name in self.sizes and is_broadcast(self.sizes[name])):
                    users[name] = users.get(name, 0) + 1
                    if users[name] == _MOST_USERS + 1:
                        scalar, start, end = tensor.span(place)
                        message = f"more than {_MOST_USERS} tensors share `{name}`, and no tensor determines it"
                        help = f"write `{name}` at a tensor that every call has"
                        self._sink.error(library_codes.DIMS_PATTERN, message, scalar.span_of(start, end), help=help)

    def _add_tensor(self, name: str, argument: OutputExpression, node: Scalar) -> None:
        try:
            dims, spans = self._parse(node)
        except Fault as fault:
            self._sink.add(fault.diagnostic)
            return
        self.tensors[name] = tensor_of(name, argument, dims, (node, spans))

    def _parse(self, node: Scalar) -> tuple[TensorDims, tuple[tuple[int, int], ...]]:
        """A pattern, and where its items are. Raises Fault, also if a name stands for one dimension and for many."""
        dims, spans = _parse_dims(node)
        for item, span in zip(dims.items, spans, strict=True):
            if item.kind in _NAMED_KINDS and self._kinds.setdefault(item.text, item.kind) is not item.kind:
                message = f"`{item.text}` is one size at one place and any number of them at another (`*{item.text}`)"
                raise Fault.at(library_codes.DIMS_PATTERN, message, node.span_of(*span))
        return dims, spans

    def _add_names(self, tensor: PatternedTensor) -> None:
        """Sizes that a tensor determines, unless an earlier one does."""
        value = tensor.value
        if tensor.each:
            first = literal(0)
            value = expression_of(OutputOperation.item, ValueKind.tensor, self._arguments[tensor.name], first)
        is_definer = False
        for place, item in zip(tensor.dims.places(), tensor.dims.items, strict=True):
            if item.text in self._arguments and item.kind in _NAMED_KINDS:
                scalar, start, end = tensor.span(place if place >= 0 else place + len(tensor.dims.items))
                message = f"`{item.text}` is an argument, and here it would be a size"
                is_size = self._arguments[item.text].kind in (ValueKind.integer, ValueKind.size)
                help = f"write `{{{item.text}}}` for its value, or another name" if is_size else "choose another name"
                self._sink.error(library_codes.REQUIREMENT_NAME, message, scalar.span_of(start, end), help=help)
            elif item.text not in self.sizes and not item.broadcasts:
                if item.kind is DimKind.named:
                    self.sizes[item.text] = expression_of(OutputOperation.size, ValueKind.size, value, literal(place))
                elif item.kind is DimKind.pack:
                    self.sizes[item.text] = part_of(value, tensor.dims)
                else:
                    continue
                is_definer = True
                self.owners[item.text] = tensor.name, place
                if tensor.given:
                    self.optional[item.text] = None
        if is_definer and tensor.each:
            length = expression_of(OutputOperation.length, ValueKind.integer, self._arguments[tensor.name])
            condition = expression_of(OutputOperation.greater, ValueKind.boolean, length, literal(0))
            message = f"`{tensor.name}` is empty, and has to have a tensor"
            self.checks.append(Requirement(condition, (message,), subject=f"`{tensor.name}`"))

    def _resolved(self, tensor: PatternedTensor) -> PatternedTensor:
        """The tensor with the expressions of its sizes."""
        items = []
        for place, item in enumerate(tensor.dims.items):
            if item.kind is DimKind.size:
                try:
                    item = item._replace(size=self._size(*tensor.span(place)))
                except Fault as fault:
                    self._sink.add(fault.diagnostic)
            elif item.broadcasts and item.text not in self.sizes:
                item = self._broadcast_alone(tensor, place, item)
            items.append(item)
        return tensor._replace(dims=tensor.dims._replace(items=tuple(items)))

    def _broadcast_alone(self, tensor: PatternedTensor, place: int, item: DimItem) -> DimItem:
        """An item of which all occurrences broadcast: its size is that to which they do together."""
        users = [
            user
            for user in self.tensors.values()
            if not user.given and not user.each and any(other.text == item.text for other in user.dims.items)
        ]
        scalar, start, end = tensor.span(place)
        if item.kind is DimKind.named or not users:
            message = f"`{item.text}` broadcasts wherever it stands, so no argument determines it"
            at = scalar.span_of(start, end)
            self._sink.error(
                library_codes.UNDETERMINED_SIZE, message, at, help=f"write `{item.text}` at one of the tensors"
            )
            return item
        parts = [user.value if len(user.dims.items) == 1 else part_of(user.value, user.dims) for user in users]
        self.sizes[item.text] = expression_of(OutputOperation.broadcast, ValueKind.sizes, *parts)
        return item

    def _size(self, scalar: Scalar, start: int, end: int) -> OutputExpression:
        """The size that an item of a pattern computes. Raises Fault."""
        text = ExpressionText(
            scalar.value[start:end], scalar.span_of(start, end), lambda a, b: scalar.span_of(start + a, start + b)
        )
        parsed = parse_expression(text, allows_braces=True)
        checker = ExpressionChecker(parsed, self.sizes, braced=self._arguments)
        for node in free_names(parsed.tree):
            if node.id not in self.sizes or node.id in self.optional:
                raise checker.fault(library_codes.UNDETERMINED_SIZE, node, *self._undetermined(node.id, text.text))
        size = checker.check_kind(parsed.tree, ValueKind.size)
        with suppress(Unknown):
            if value_of(size, {}) < 0:
                raise Fault.at(library_codes.DIMS_PATTERN, f"`{text.text}` is negative, and so no size", text.span)
        return size

    def _undetermined(self, name: str, item: str = "") -> tuple[str, str | Suggestion]:
        offset = _OFFSET.fullmatch(item)
        help: str | Suggestion = ""
        if offset is not None:
            own = f"{name}{offset[2]}"
            name_of_own = f"give `{item}` a name of its own, such as `{own}`"
            help = f"{name_of_own}, and write `{own}{'-' if offset[1] == '+' else '+'}{offset[2]}` for `{name}`"
        if name in self.optional:
            return f"`{name}` is a size of `{self.owners[name][0]}`, which may be None", help
        message = f"no argument determines the size `{name}`"
        if name in self._arguments:
            return message, f"write `{{{name}}}` for the value of the argument"
        return message, help or did_you_mean(name, self.sizes, "a size is determined where its name stands alone")

    def _load_result(self, name: str, node: Scalar) -> None:
        """The pattern of a result, and its sizes as an expression, if the pattern says all of them."""
        try:
            dims, spans = self._parse(node)
            parts: list[OutputExpression] = []
            items: list[OutputExpression] = []
            for (start, end), place, item in zip(spans, dims.places(), dims.items, strict=True):
                at = node.span_of(start, end)
                if item.kind in (DimKind.any, DimKind.rest) or item.broadcasts:
                    raise Fault.at(
                        library_codes.DIMS_PATTERN, f"`{node.value[start:end]}` does not say a size of a result", at
                    )
                if item.kind is DimKind.size:
                    items.append(self._size(node, start, end))
                    self._check_result_size(name, place, item.text, items[-1])
                    continue
                size = self.sizes.get(item.text)
                is_own = self.owners.get(item.text, ("", 0))[0] == name
                if size is None or item.text in self.optional or is_own:
                    message, help = self._undetermined(item.text)
                    raise Fault.at(library_codes.UNDETERMINED_SIZE, message, at, help=help)
                if item.kind is DimKind.pack:
                    parts += [_list(items)] if items else []
                    parts.append(size)
                    items = []
                else:
                    items.append(size)
        except Fault as fault:
            self._sink.add(fault.diagnostic)
            return
        parts += [_list(items)] if items or not parts else []
        is_single = len(parts) == 1
        sizes = parts[0] if is_single else expression_of(OutputOperation.concatenate, ValueKind.sizes, *parts)
        self.result_patterns[name] = dims
        self.result_sizes[name] = self._sizes_of_argument(dims) or sizes

    def _sizes_of_argument(self, dims: TensorDims) -> OutputExpression | None:
        """The sizes of the argument with this pattern, if it determines all sizes that the pattern names."""
        owners = {self.owners.get(item.text, ("", 0))[0] for item in dims.items}
        tensor = self.tensors.get(owners.pop()) if len(owners) == 1 else None
        if tensor is None or tensor.each or tensor.dims.items != dims.items:
            return None
        return expression_of(OutputOperation.sizes, ValueKind.sizes, tensor.value)

    def _check_result_size(self, name: str, place: int, text: str, size: OutputExpression) -> None:
        if not is_always_a_size(size, frozenset(self.sizes.values())):
            condition = expression_of(OutputOperation.greater_equal, ValueKind.boolean, size, literal(0))
            result = "the result" if len(self._results) == 1 else f"`{name}`"
            message = (f"dimension {place} of {result} has size ", size, f", and has to have size 0 or more (`{text}`)")
            self.result_checks.append(Requirement(condition, message, subject=f"dimension {place} of {result}"))

    def agrees(self, entry: MappingNode, results: tuple[Result, ...], builder: EntryBuilder) -> bool:
        """Whether the field `outputs` gives results the sizes that their patterns give. Reports the first that differs.

        Both are computed for some sizes. What cannot be computed is taken to agree.
        """
        field = entry.entry("outputs")
        assert field is not None
        declared = load_outputs(*field, self._declaring, builder.tags, Diagnostics())
        for output, result in zip(declared or (), results, strict=False):
            for count in range(3):
                arguments = self._chosen_arguments(count)
                try:
                    wanted = tuple(value_of(self.result_sizes.get(result.key, output.size), arguments))
                    size = tuple(value_of(output.size, arguments))
                except Unknown:
                    continue
                if size != wanted:
                    shown = ", ".join(
                        [
                            f"`{name}` of size {list(sizes)}"
                            for name, sizes in arguments.items()
                            if isinstance(sizes, tuple) and name in self.tensors
                        ]
                    )
                    message = (
                        f"for {shown}, `{OUTPUTS}` says {list(size)} of `{result.key}`, and `{DIMS}` {list(wanted)}"
                    )
                    help = f"remove `{OUTPUTS}`, or `{RETURN}` from `{DIMS}`"
                    builder.fault(library_codes.CONTRADICTION, message, field[1].span, help=help)
                    return False
        return True

    def _chosen_arguments(self, count: int) -> dict[str, SizeValue]:
        """Arguments with different sizes, whose packs have some number of dimensions."""
        primes = iter((2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89))
        sizes: dict[str, int | tuple[int, ...]] = {}
        for tensor in self.tensors.values():
            for item in tensor.dims.items:
                if item.kind is DimKind.named and item.text not in sizes:
                    sizes[item.text] = 2 * next(primes, 97)
                elif item.kind is DimKind.pack and item.text not in sizes:
                    sizes[item.text] = tuple([2 * next(primes, 97) for _ in range(count)])
        arguments: dict[str, SizeValue] = {}
        for name, argument in self._arguments.items():
            if argument.kind in (ValueKind.integer, ValueKind.size):
                arguments[name] = 6
        for tensor in sorted(self.tensors.values(), key=lambda tensor: _has_expressions(tensor.dims)):
            try:
                own = chosen_sizes(tensor.name, tensor.dims, sizes, arguments)
            except Unknown:
                continue
            arguments[tensor.name] = (own, own) if tensor.each else own
        return arguments


def _has_expressions(dims: TensorDims) -> bool:
    return any(item.kind is DimKind.size for item in dims.items)


def is_broadcast(size: OutputExpression) -> bool:
    """Whether tensors have to broadcast for a size to exist."""
    return size.operation is OutputOperation.broadcast


def is_always_a_size(size: OutputExpression, named: frozenset[OutputExpression] = frozenset()) -> bool:
    """Whether a size can be computed and is 0 or more, whatever the arguments are; `named` are sizes with names.

    Sums and products may have more than 64 bits: a tensor without elements can have any sizes.

    >>> number = argument_of("n", ValueKind.integer)
    >>> def largest(*sizes: OutputExpression) -> OutputExpression:
    ...     return expression_of(OutputOperation.maximum, ValueKind.integer, *sizes)
    >>> is_always_a_size(number), is_always_a_size(largest(number, literal(0)))
    (False, True)
    """
    return _is_total(size, named) and _is_never_negative(size)


def _is_total(size: OutputExpression, named: frozenset[OutputExpression]) -> bool:
    """Whether a size can be computed, whatever the arguments are."""
    if size in named or size.operation in _READ:
        return True
    if size.operation in _DIVISIONS:
        divisor = size.operands[1]
        # A negative literal is a negation.
        if divisor is None or divisor.operation is not OutputOperation.literal:
            return False
    elif size.operation not in _CHOICES:
        return False
    return all(operand is not None and _is_total(operand, named) for operand in size.operands)


def _is_never_negative(size: OutputExpression) -> bool:
    parts = [operand is not None and _is_never_negative(operand) for operand in size.operands]
    if size.operation is OutputOperation.maximum:
        return any(parts)
    return size.operation in _NEVER_NEGATIVE or (size.operation in _NEVER_NEGATIVE_OF_SUCH and all(parts))


_DIVISIONS: Final = (OutputOperation.floor_divide, OutputOperation.modulo)
_CHOICES: Final = (OutputOperation.maximum, OutputOperation.minimum)
_NEVER_NEGATIVE: Final = (OutputOperation.literal, OutputOperation.size, OutputOperation.dim, OutputOperation.length)
_NEVER_NEGATIVE_OF_SUCH: Final = (*_DIVISIONS, OutputOperation.minimum)
#: What is read of arguments.
_READ: Final = (OutputOperation.literal, OutputOperation.dim, OutputOperation.length, OutputOperation.argument)


def argument_of(name: str, kind: ValueKind) -> OutputExpression:
    """The value of an argument."""
    return expression_of(OutputOperation.argument, kind, text=name)


def literal(value: int) -> OutputExpression:
    """A number."""
    if value < 0:
        return expression_of(OutputOperation.negate, ValueKind.integer, literal(-value))
    return expression_of(OutputOperation.literal, ValueKind.integer, text=str(value))


def _list(items: list[OutputExpression]) -> OutputExpression:
    return expression_of(OutputOperation.make_list, ValueKind.sizes, *items)


def margins(dims: TensorDims) -> tuple[OutputExpression, OutputExpression]:
    """How many dimensions are before and after those that an item stands for."""
    place = dims.open_place or 0
    return literal(place), literal(len(dims.items) - place - 1)


def part_of(value: OutputExpression, dims: TensorDims) -> OutputExpression:
    """The sizes of the dimensions that an item stands for."""
    place, count = dims.open_place or 0, len(dims.items)
    sizes = expression_of(OutputOperation.sizes, ValueKind.sizes, value)
    if count == 1:
        return sizes
    first = literal(place) if place else None
    last = literal(place - count + 1) if place < count - 1 else None
    return expression_of(OutputOperation.slice, ValueKind.sizes, sizes, first, last)


def _parse_dims(node: Scalar) -> tuple[TensorDims, tuple[tuple[int, int], ...]]:
    """The items of a pattern, and where they are in the text. Raises Fault (E1143)."""
    items: list[DimItem] = []
    spans: list[tuple[int, int]] = []
    for match in _ITEM.finditer(node.value):
        if len(items) == _MOST_ITEMS:
            message = f"a pattern has at most {_MOST_ITEMS} items"
            raise Fault.at(library_codes.DIMS_PATTERN, message, node.span_of(*match.span()))
        item = _parse_item(match[0], node, match.start())
        if item.kind in (DimKind.pack, DimKind.rest) and any(
            other.kind in (DimKind.pack, DimKind.rest) for other in items
        ):
            message = "only one item of a pattern can stand for any number of dimensions"
            raise Fault.at(library_codes.DIMS_PATTERN, message, node.span_of(*match.span()))
        items.append(item)
        spans.append(match.span())
    return TensorDims(tuple(items), normal_pattern(node.value)), tuple(spans)


def normal_pattern(text: str) -> str:
    """A pattern with one blank between items.

    >>> normal_pattern(" *b  {k[ 0 ]}  (h)*w")
    '*b {k[0]} h*w'
    >>> normal_pattern("{ 2 if flag else  -1 } (h)//2")
    '{2 if flag else -1} h//2'
    """
    return " ".join([_normal_item(item) for item in _ITEM.findall(text)])


def _normal_item(text: str) -> str:
    if text == "..." or text.startswith(("*", "#")):
        return text
    # Outside of braces, expressions have no blanks.
    return re.sub(r"(\{[^{}]*\})| *([-+*/%]+) *", r"\1\2", normal_expression(text))


def _parse_item(text: str, node: Scalar, start: int) -> DimItem:
    if text == "_":
        return DimItem(DimKind.any, text)
    if text == "...":
        return DimItem(DimKind.rest, text)
    named = _NAMED.fullmatch(text)
    if named is not None:
        return DimItem(DimKind.pack if named[1] else DimKind.named, named[3], bool(named[2]))
    if text in "{}" or text.startswith(("*", "#")):
        message = f"`{text}` is no item of a pattern"
        help = "names of sizes are `d`, `#d`, `*b` and `*#b`; expressions such as `h*w` have no blanks"
        raise Fault.at(library_codes.DIMS_PATTERN, message, node.span_of(start, start + len(text)), help=help)
    return DimItem(DimKind.size, _normal_item(text))
