"""Loads `dims`, `dtypes`, `layout` and `requires` of an entry: what an operator needs of its arguments.

Sizes with names become expressions of declared outputs, such as `x.size(-1)`, so that conditions, results and messages
are expressions like any other.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import combinations
from typing import Final

from opwright.dialects.library.contracts import FIELD as CONTRACTS_FIELD
from opwright.dialects.library.contracts import result_schema
from opwright.dialects.library.expression_types import ExpressionChecker, argument_expression, expression_of
from opwright.dialects.library.expressions import ExpressionText, parse_expression
from opwright.dialects.library.outputs import Result, completed_output, load_outputs, results_of
from opwright.dialects.library.sample_sizes import SizeValue, Unknown, chosen_sizes, value_of
from opwright.dialects.native_functions.entry_builder import EntryBuilder
from opwright.model.declared_outputs import (
    DTYPE_CLASSES,
    DTYPES,
    OutputExpression,
    OutputOperation,
    ValueKind,
)
from opwright.model.dispatch_key import COMPOSITE_IMPLICIT
from opwright.model.requirements import (
    DimItem,
    DimKind,
    Message,
    Requirement,
    Requirements,
    TensorDims,
    index_name,
    item_name,
)
from opwright.schema.function import FunctionSchema
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Fault, Suggestion, did_you_mean
from opwright.source.expect import check_unique_keys, expect_mapping
from opwright.source.nodes import Mapping, Node, Scalar, Sequence
from opwright.source.records import NamedTuple

#: The fields, and the key of the result in the first three.
DIMS: Final = "dims"
DTYPES_FIELD: Final = "dtypes"
LAYOUT: Final = "layout"
REQUIRES: Final = "requires"
FIELDS: Final = (DIMS, DTYPES_FIELD, LAYOUT, REQUIRES)
RETURN: Final = "return"

#: The field that declares results by expressions.
OUTPUTS: Final = "outputs"

#: The layouts; a mark after one refuses other layouts instead of copying.
LAYOUTS: Final = ("contiguous", "channels_last", "last_contiguous")
_REFUSED: Final = "!"
_ANY: Final = "any"

#: The items of a pattern: expressions in braces may have blanks.
_ITEM: Final = re.compile(r"(?:\{[^{}]*\}|[^\s{}])+|[{}]")
_NAMED: Final = re.compile(r"(\*?)(#?)([A-Za-z]\w*)")
_KINDS: Final = (ValueKind.tensor, ValueKind.tensors)


class _Tensor(NamedTuple):
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
        return (f"`{self.name}[", _argument(index_name(self.name), ValueKind.integer), "]`")

    def span(self, place: int) -> tuple[Scalar, int, int]:
        """Where an item of the pattern stands."""
        scalar, spans = self.nodes
        return (scalar, *spans[place])


def _tensor_of(
    name: str, argument: OutputExpression, dims: TensorDims, nodes: tuple[Scalar, tuple[tuple[int, int], ...]]
) -> _Tensor:
    """An argument with its pattern: of a list its items, of an optional tensor its value."""
    if argument.kind is ValueKind.tensors:
        return _Tensor(name, _argument(item_name(name), ValueKind.tensor), dims, nodes, each=name)
    if argument.type.is_optional:
        value = expression_of(OutputOperation.value, ValueKind.tensor, argument)
        return _Tensor(name, value, dims, nodes, given=(argument,))
    return _Tensor(name, argument, dims, nodes)


class RequirementsLoader:
    """Loads the requirements of one operator. Faults go to the sink.

    `results` are the names of the results that can have patterns, of which a single one is also `return`. They are
    those of the schema `declaring`.
    """

    def __init__(
        self, schema: FunctionSchema, declaring: FunctionSchema, results: tuple[str, ...], sink: Diagnostics
    ) -> None:
        self._declaring: Final = declaring
        self._results: Final = results
        self._sink: Final = sink
        self._schema: Final = schema
        arguments = {argument.name: argument_expression(schema, argument.name) for argument in schema.arguments.non_out}
        self._arguments: Final = {name: value for name, value in arguments.items() if value is not None}
        self._sizes: Final[dict[str, OutputExpression]] = {}
        self._optional: Final[dict[str, None]] = {}
        self._owners: Final[dict[str, tuple[str, int]]] = {}
        self._tensors: Final[dict[str, _Tensor]] = {}
        self._checks: Final[list[Requirement]] = []
        self.result_dims: dict[str, OutputExpression] = {}
        self.result_dtypes: dict[str, OutputExpression] = {}
        self.result_likes: dict[str, OutputExpression] = {}
        self._result_patterns: dict[str, TensorDims] = {}

    def load(self, entry: Mapping) -> Requirements:
        """What the fields of an entry say."""
        dims = self._mapping(entry, DIMS)
        self._load_dims(dims)
        for tensor in self._tensors.values():
            self._check_rank(tensor)
        dtypes = self._mapping(entry, DTYPES_FIELD)
        self._load_dtypes(dtypes)
        for tensor in self._tensors.values():
            self._check_sizes(tensor)
        self._check_optional_sizes()
        self._check_devices()
        copied = self._load_layouts(self._mapping(entry, LAYOUT))
        self._load_requires(entry.get(REQUIRES))
        patterns = tuple([(tensor.name, tensor.dims) for tensor in self._tensors.values()])
        results = tuple([self._result_patterns.get(name) for name in self._results])
        return Requirements(tuple(self._checks), copied, patterns, results)

    def _mapping(self, entry: Mapping, field: str) -> list[tuple[Scalar, Node]]:
        """The entries of a field that maps arguments and results, by their names."""
        node = entry.get(field)
        mapping = None if node is None else expect_mapping(node, f"`{field}`", self._sink)
        if mapping is None:
            return []
        check_unique_keys(mapping, self._sink)
        return [(key, value) for key, value in mapping.entries if self._is_known(key, field)]

    def _is_known(self, key: Scalar, field: str) -> bool:
        name = key.value
        argument = self._arguments.get(name)
        if (argument is not None and argument.kind in _KINDS) or self._result_name(name) is not None:
            return True
        if argument is not None:
            message, help = f"`{name}` is {argument.type}, and `{field}` describes tensors", ""
            help = f"write a condition of `{REQUIRES}`"
            self._sink.error(codes.REQUIREMENT_NAME, message, key.span, help=help)
            return False
        names = [name for name, value in self._arguments.items() if value.kind in _KINDS]
        message = f"`{self._schema.name}` has no argument `{name}`"
        if name == RETURN:
            message = f"`{self._schema.name}` has no single result that is a new tensor"
        names += [*self._results, RETURN] if self._results else []
        suggestion = did_you_mean(name, names, f"it has {', '.join([f'`{tensor}`' for tensor in names])}")
        self._sink.error(codes.REQUIREMENT_NAME, message, key.span, help=suggestion)
        return False

    def _result_name(self, key: str) -> str | None:
        if key == RETURN and len(self._results) == 1:
            return self._results[0]
        return key if key in self._results else None

    # Patterns

    def _load_dims(self, entries: list[tuple[Scalar, Node]]) -> None:
        written: dict[str, tuple[Scalar, Scalar]] = {}
        for key, node in entries:
            if not isinstance(node, Scalar) or (node.kind == "null" and not node.style):
                message = f"the sizes of `{key.value}` are {node.description}"
                help = 'write a pattern, such as `"*b d"`'
                self._sink.error(codes.DIMS_PATTERN, message, node.span, help=help)
                continue
            written[key.value] = key, node
        # Sizes are those of the first tensor that is always there, in the order of the schema.
        for name, argument in self._arguments.items():
            if name in written:
                self._add_tensor(name, argument, written[name][1])
        ordered = sorted(
            self._tensors.values(),
            key=lambda tensor: (tensor.name in self._results, bool(tensor.given), bool(tensor.each)),
        )
        for tensor in ordered:
            self._add_names(tensor)
        for tensor in self._tensors.values():
            self._tensors[tensor.name] = self._resolved(tensor)
        for key_name, (_, pattern) in written.items():
            result = self._result_name(key_name)
            if result is not None:
                self._load_result(result, pattern)

    def _add_tensor(self, name: str, argument: OutputExpression, node: Scalar) -> None:
        try:
            dims, spans = _parse_dims(node)
        except Fault as fault:
            self._sink.add(fault.diagnostic)
            return
        self._tensors[name] = _tensor_of(name, argument, dims, (node, spans))

    def _add_names(self, tensor: _Tensor) -> None:
        """Sizes that a tensor determines, unless an earlier one does."""
        value = tensor.value
        if tensor.each:
            first = _literal(0)
            value = expression_of(OutputOperation.item, ValueKind.tensor, self._arguments[tensor.name], first)
        is_definer = False
        for place, item in zip(tensor.dims.places(), tensor.dims.items, strict=True):
            if item.text in self._arguments and item.kind in (DimKind.named, DimKind.pack):
                scalar, start, end = tensor.span(place if place >= 0 else place + len(tensor.dims.items))
                message = f"`{item.text}` is an argument, and here it would be a size"
                is_size = self._arguments[item.text].kind in (ValueKind.integer, ValueKind.size)
                help = f"write `{{{item.text}}}` for its value, or another name" if is_size else "choose another name"
                self._sink.error(codes.REQUIREMENT_NAME, message, scalar.span_of(start, end), help=help)
            elif item.text not in self._sizes and not item.broadcasts:
                if item.kind is DimKind.named:
                    self._sizes[item.text] = expression_of(OutputOperation.size, ValueKind.size, value, _literal(place))
                elif item.kind is DimKind.pack:
                    self._sizes[item.text] = _part(value, tensor.dims)
                else:
                    continue
                is_definer = True
                self._owners[item.text] = tensor.name, place
                if tensor.given:
                    self._optional[item.text] = None
        if is_definer and tensor.each:
            length = expression_of(OutputOperation.length, ValueKind.integer, self._arguments[tensor.name])
            condition = expression_of(OutputOperation.greater, ValueKind.boolean, length, _literal(0))
            self._checks.append(Requirement(condition, (f"`{tensor.name}` is empty, and has to have a tensor",)))

    def _resolved(self, tensor: _Tensor) -> _Tensor:
        """The tensor with the expressions of its sizes."""
        items = []
        for place, item in enumerate(tensor.dims.items):
            if item.kind is DimKind.size:
                try:
                    item = item._replace(size=self._size(*tensor.span(place)))
                except Fault as fault:
                    self._sink.add(fault.diagnostic)
            elif item.broadcasts and item.text not in self._sizes:
                item = self._broadcast_alone(tensor, place, item)
            items.append(item)
        return tensor._replace(dims=tensor.dims._replace(items=tuple(items)))

    def _broadcast_alone(self, tensor: _Tensor, place: int, item: DimItem) -> DimItem:
        """An item of which all occurrences broadcast: its size is that to which they do together."""
        users = [
            user
            for user in self._tensors.values()
            if not user.given and not user.each and any(other.text == item.text for other in user.dims.items)
        ]
        scalar, start, end = tensor.span(place)
        if item.kind is DimKind.named or not users:
            message = f"`{item.text}` broadcasts wherever it stands, so no argument determines it"
            at = scalar.span_of(start, end)
            self._sink.error(codes.UNDETERMINED_SIZE, message, at, help=f"write `{item.text}` at one of the tensors")
            return item
        parts = [user.value if len(user.dims.items) == 1 else _part(user.value, user.dims) for user in users]
        self._sizes[item.text] = expression_of(OutputOperation.broadcast, ValueKind.sizes, *parts)
        return item

    def _size(self, scalar: Scalar, start: int, end: int) -> OutputExpression:
        """The size that an item of a pattern computes. Raises Fault."""
        text = ExpressionText(
            scalar.value[start:end], scalar.span_of(start, end), lambda a, b: scalar.span_of(start + a, start + b)
        )
        parsed = parse_expression(text, allows_braces=True)
        checker = ExpressionChecker(parsed, self._sizes, braced=self._arguments)
        for node in _free_names(parsed.tree):
            if node.id not in self._sizes or node.id in self._optional:
                raise checker.fault(codes.UNDETERMINED_SIZE, node, *self._undetermined(node.id))
        return checker.check_kind(parsed.tree, ValueKind.size)

    def _undetermined(self, name: str) -> tuple[str, str | Suggestion]:
        if name in self._optional:
            return f"`{name}` is a size of `{self._owners[name][0]}`, which may be None", ""
        message = f"no argument determines the size `{name}`"
        if name in self._arguments:
            return message, f"write `{{{name}}}` for the value of the argument"
        return message, did_you_mean(name, self._sizes, "a size is determined where its name stands alone")

    def _load_result(self, name: str, node: Scalar) -> None:
        """The pattern of a result, and its sizes as an expression, if the pattern says all of them."""
        try:
            dims, spans = _parse_dims(node)
            parts: list[OutputExpression] = []
            items: list[OutputExpression] = []
            for (start, end), item in zip(spans, dims.items, strict=True):
                at = node.span_of(start, end)
                if item.kind in (DimKind.any, DimKind.rest) or item.broadcasts:
                    raise Fault.at(codes.DIMS_PATTERN, f"`{node.value[start:end]}` does not say a size of a result", at)
                if item.kind is DimKind.size:
                    items.append(self._size(node, start, end))
                    continue
                size = self._sizes.get(item.text)
                is_own = self._owners.get(item.text, ("", 0))[0] == name
                if size is None or item.text in self._optional or is_own:
                    message, help = self._undetermined(item.text)
                    raise Fault.at(codes.UNDETERMINED_SIZE, message, at, help=help)
                if (size.kind is ValueKind.sizes) != (item.kind is DimKind.pack):
                    raise Fault.at(codes.DIMS_PATTERN, _kind_message(item), at)
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
        self._result_patterns[name] = dims
        self.result_dims[name] = sizes

    def agrees(self, entry: Mapping, results: tuple[Result, ...], builder: EntryBuilder) -> bool:
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
                    wanted = tuple(value_of(self.result_dims.get(result.key, output.size), arguments))
                    size = tuple(value_of(output.size, arguments))
                except Unknown:
                    continue
                if size != wanted:
                    shown = ", ".join(
                        [
                            f"`{name}` of size {list(sizes)}"
                            for name, sizes in arguments.items()
                            if isinstance(sizes, tuple) and name in self._tensors
                        ]
                    )
                    message = (
                        f"for {shown}, `{OUTPUTS}` says {list(size)} of `{result.key}`, and `{DIMS}` {list(wanted)}"
                    )
                    help = f"remove `{OUTPUTS}`, or `{RETURN}` from `{DIMS}`"
                    builder.fault(codes.CONTRADICTION, message, field[1].span, help=help)
                    return False
        return True

    def _chosen_arguments(self, count: int) -> dict[str, SizeValue]:
        """Arguments with different sizes, whose packs have some number of dimensions."""
        primes = iter((2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89))
        sizes: dict[str, int | tuple[int, ...]] = {}
        for tensor in self._tensors.values():
            for item in tensor.dims.items:
                if item.kind is DimKind.named and item.text not in sizes:
                    sizes[item.text] = 2 * next(primes, 97)
                elif item.kind is DimKind.pack and item.text not in sizes:
                    sizes[item.text] = tuple([2 * next(primes, 97) for _ in range(count)])
        arguments: dict[str, SizeValue] = {}
        for name, argument in self._arguments.items():
            if argument.kind in (ValueKind.integer, ValueKind.size):
                arguments[name] = 6
        for tensor in sorted(self._tensors.values(), key=lambda tensor: _has_expressions(tensor.dims)):
            try:
                own = chosen_sizes(tensor.name, tensor.dims, sizes, arguments)
            except Unknown:
                continue
            arguments[tensor.name] = (own, own) if tensor.each else own
        return arguments

    # Conditions

    def _require(
        self, tensor: _Tensor, condition: OutputExpression, *message: str | OutputExpression, also: str = ""
    ) -> None:
        given = tensor.given + (self._tensors[also].given if also and also != tensor.name else ())
        self._checks.append(Requirement(condition, message, given, tensor.each))

    def _check_rank(self, tensor: _Tensor) -> None:
        count = len(tensor.dims.items)
        rank = expression_of(OutputOperation.dim, ValueKind.integer, tensor.value)
        is_open = tensor.dims.open_place is not None
        least = count - 1 if is_open else count
        if is_open and least == 0:
            return
        operation = OutputOperation.greater_equal if is_open else OutputOperation.equal
        condition = expression_of(operation, ValueKind.boolean, rank, _literal(least))
        more = " or more" if is_open else ""
        pattern = f" (`{tensor.dims.text}`)" if tensor.dims.items else ""
        wanted = f", and has to have rank {least}{more}{pattern}"
        self._require(tensor, condition, *tensor.shown, " has rank ", rank, wanted)

    def _check_sizes(self, tensor: _Tensor) -> None:
        for place, item in zip(tensor.dims.places(), tensor.dims.items, strict=True):
            if item.kind is DimKind.pack:
                self._check_pack(tensor, item)
            elif item.kind in (DimKind.named, DimKind.size):
                self._check_size(tensor, place, item)

    def _check_size(self, tensor: _Tensor, place: int, item: DimItem) -> None:
        owner = self._owners.get(item.text) if item.kind is DimKind.named else None
        if (owner == (tensor.name, place) and not tensor.each) or item.text in self._optional:
            return
        wanted = item.size if item.kind is DimKind.size else self._sizes.get(item.text)
        if wanted is None:
            return
        if wanted.kind is ValueKind.sizes:
            self._sink.error(codes.DIMS_PATTERN, _kind_message(item), tensor.nodes[0].span)
            return
        size = expression_of(OutputOperation.size, ValueKind.size, tensor.value, _literal(place))
        condition = expression_of(OutputOperation.equal, ValueKind.boolean, size, wanted)
        reason = f" (`{item.text}` of `{owner[0]}`)" if owner else f" (`{item.text}`)"
        if wanted.operation is OutputOperation.literal:
            reason = ""
        also = " or 1" if item.broadcasts else ""
        if item.broadcasts:
            is_one = expression_of(OutputOperation.equal, ValueKind.boolean, size, _literal(1))
            condition = expression_of(OutputOperation.either, ValueKind.boolean, is_one, condition)
        message = (f"dimension {place} of ", *tensor.shown, " has size ", size, ", and has to have size ", wanted)
        self._require(tensor, condition, *message, f"{also}{reason}")

    def _check_pack(self, tensor: _Tensor, item: DimItem) -> None:
        owner = self._owners.get(item.text)
        size = self._sizes.get(item.text)
        if size is None or (owner is not None and owner[0] == tensor.name and not tensor.each):
            return
        if size.kind is not ValueKind.sizes:
            self._sink.error(codes.DIMS_PATTERN, _kind_message(item), tensor.nodes[0].span)
            return
        own = _part(tensor.value, tensor.dims)
        if owner is None:
            before = [*self._tensors.values()]
            for other in before[: before.index(tensor)]:
                if any(part.text == item.text for part in other.dims.items):
                    self._check_parts(tensor, other, OutputOperation.broadcasts_together, own, "broadcast to")
            return
        if item.text in self._optional:
            return
        other = self._tensors[owner[0]]
        operation = OutputOperation.broadcasts if item.broadcasts else OutputOperation.same_sizes
        self._check_parts(tensor, other, operation, own, "broadcast to" if item.broadcasts else "be")

    def _check_parts(
        self, tensor: _Tensor, other: _Tensor, operation: OutputOperation, own: OutputExpression, verb: str
    ) -> None:
        other_value = other.value
        if other.each:
            other_value = expression_of(
                OutputOperation.item, ValueKind.tensor, self._arguments[other.name], _literal(0)
            )
        condition = expression_of(
            operation,
            ValueKind.boolean,
            *(tensor.value, *_margins(tensor.dims), other_value, *_margins(other.dims)),
        )
        pack = next(item.text for item in other.dims.items if item.kind is DimKind.pack)
        message = ("the sizes `*", pack, "` of ", *tensor.shown, " are ", own, f", and have to {verb} ")
        wanted = _part(other_value, other.dims)
        self._require(tensor, condition, *message, wanted, f" (those of `{other.name}`)", also=other.name)

    def _check_optional_sizes(self) -> None:
        """Sizes that only optional tensors have: those that are given agree."""
        for name in self._optional:
            users = [
                (tensor, place, item)
                for tensor in self._tensors.values()
                for place, item in zip(tensor.dims.places(), tensor.dims.items, strict=True)
                if item.text == name and item.kind in (DimKind.named, DimKind.pack)
            ]
            for (first, first_place, item), (second, place, _) in combinations(users, 2):
                if item.kind is DimKind.pack:
                    own = _part(second.value, second.dims)
                    self._check_parts(second, first, OutputOperation.same_sizes, own, "be")
                    continue
                wanted = expression_of(OutputOperation.size, ValueKind.size, first.value, _literal(first_place))
                size = expression_of(OutputOperation.size, ValueKind.size, second.value, _literal(place))
                condition = expression_of(OutputOperation.equal, ValueKind.boolean, size, wanted)
                message = (f"dimension {place} of ", *second.shown, " has size ", size, ", and has to have size ")
                reason = f" (`{name}` of `{first.name}`)"
                self._require(second, condition, *message, wanted, reason, also=first.name)

    def _check_devices(self) -> None:
        """All tensors are on the device of the first one; one without dimensions may be on the CPU."""
        tensors = [tensor for tensor in self._tensors.values() if not tensor.given]
        tensors.sort(key=lambda tensor: (not tensor.dims.items, tensor.name in self._results, bool(tensor.each)))
        if not tensors:
            return
        first, name, value = tensors[0], f"`{tensors[0].name}`", tensors[0].value
        if first.each:
            value = expression_of(OutputOperation.item, ValueKind.tensor, self._arguments[first.name], _literal(0))
            name = f"`{first.name}[0]`"
        wanted = expression_of(OutputOperation.device_of, ValueKind.device, value)
        for tensor in self._tensors.values():
            if tensor is first and not tensor.each:
                continue
            device = expression_of(OutputOperation.device_of, ValueKind.device, tensor.value)
            condition = expression_of(OutputOperation.equal, ValueKind.boolean, device, wanted)
            also = ""
            if not tensor.dims.items:
                is_on_cpu = expression_of(OutputOperation.is_on_cpu, ValueKind.boolean, tensor.value)
                condition = expression_of(OutputOperation.either, ValueKind.boolean, condition, is_on_cpu)
                also = " or the CPU"
            message = (" is on ", device, ", and has to be on ", wanted, f"{also} (the device of {name})")
            self._require(tensor, condition, *tensor.shown, *message)

    # Dtypes

    def _load_dtypes(self, entries: list[tuple[Scalar, Node]]) -> None:
        for key, node in entries:
            try:
                if self._result_name(key.value) is not None and key.value not in self._arguments:
                    self._load_result_dtype(key, node)
                else:
                    self._load_dtype(key, node)
            except Fault as fault:
                self._sink.add(fault.diagnostic)

    def _tensor(self, key: Scalar) -> _Tensor:
        """An argument, which need not have a pattern."""
        name, dims = key.value, TensorDims((DimItem(DimKind.rest, "..."),), "...")
        return self._tensors.get(name) or _tensor_of(name, self._arguments[name], dims, (key, ()))

    def _load_dtype(self, key: Scalar, node: Node) -> None:
        tensor = self._tensor(key)
        dtype = expression_of(OutputOperation.dtype_of, ValueKind.dtype, tensor.value)
        scalars = _words(node)
        if len(scalars) == 1 and scalars[0][0] == _ANY:
            return
        if len(scalars) == 1 and self._is_tensor(scalars[0][0]):
            other = self._arguments[scalars[0][0]]
            value = other
            given = tensor.given
            if other.kind is ValueKind.tensors:
                value = expression_of(OutputOperation.item, ValueKind.tensor, other, _literal(0))
            elif other.type.is_optional:
                value = expression_of(OutputOperation.value, ValueKind.tensor, other)
                given += (other,) if other not in given else ()
            wanted = expression_of(OutputOperation.dtype_of, ValueKind.dtype, value)
            condition = expression_of(OutputOperation.equal, ValueKind.boolean, dtype, wanted)
            message = (*tensor.shown, " has dtype ", dtype, ", and has to have dtype ", wanted)
            reason = f" (that of `{scalars[0][0]}`)"
            self._checks.append(Requirement(condition, (*message, reason), given, tensor.each))
            return
        names = [self._dtype_name(word, scalar, start) for word, scalar, start in scalars]
        condition = expression_of(OutputOperation.dtype_in, ValueKind.boolean, dtype, text=" ".join(names))
        words = [word for word, _, _ in scalars]
        wanted_text = f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]
        self._require(tensor, condition, *tensor.shown, " has dtype ", dtype, f", and has to have dtype {wanted_text}")

    def _is_tensor(self, name: str) -> bool:
        argument = self._arguments.get(name)
        return argument is not None and argument.kind in _KINDS

    def _dtype_name(self, word: str, scalar: Scalar, start: int) -> str:
        if word in DTYPE_CLASSES:
            return word
        if word in DTYPES:
            return DTYPES[word]
        tensors = [name for name in self._arguments if self._is_tensor(name)]
        words = [*DTYPE_CLASSES, _ANY, *DTYPES, *tensors]
        help = did_you_mean(word, words, f"the classes are {', '.join([f'`{name}`' for name in DTYPE_CLASSES])}")
        at = scalar.span_of(start, start + len(word))
        raise Fault.at(codes.REQUIRED_DTYPE, f"there is no class of dtypes, dtype or tensor `{word}`", at, help=help)

    def _load_result_dtype(self, key: Scalar, node: Node) -> None:
        """The dtype of a result: that of an argument, or an expression."""
        name = self._result_name(key.value)
        assert name is not None
        if not isinstance(node, Scalar):
            message = f"the dtype of a result is an expression, not {node.description}"
            raise Fault.at(codes.REQUIRED_DTYPE, message, node.span)
        argument = self._arguments.get(node.value)
        if argument is not None and argument.kind is ValueKind.tensor and not argument.type.is_optional:
            self.result_dtypes[name] = expression_of(OutputOperation.dtype_of, ValueKind.dtype, argument)
            return
        checker = ExpressionChecker(parse_expression(ExpressionText.of_scalar(node)), self._arguments)
        self.result_dtypes[name] = checker.check_kind(checker.parsed.tree, ValueKind.dtype)

    # Layouts

    def _load_layouts(self, entries: list[tuple[Scalar, Node]]) -> tuple[tuple[str, str], ...]:
        copied = []
        for key, node in entries:
            word = node.value if isinstance(node, Scalar) else ""
            if key.value not in self._arguments:
                self._load_result_layout(key, node, word)
                continue
            layout = word.removesuffix(_REFUSED)
            if layout not in LAYOUTS and word != _ANY:
                layouts = [_ANY, *LAYOUTS]
                help = did_you_mean(layout, layouts, f"the layouts are {', '.join([f'`{name}`' for name in layouts])}")
                self._sink.error(codes.REQUIRED_LAYOUT, f"there is no layout `{word}`", node.span, help=help)
            elif word.endswith(_REFUSED):
                tensor = self._tensor(key)
                condition = expression_of(OutputOperation.has_layout, ValueKind.boolean, tensor.value, text=layout)
                wanted = f" is not {_LAYOUT_WORDS[layout]}, and has to be"
                self._require(tensor, condition, *tensor.shown, wanted)
            elif word != _ANY:
                self._check_copied(key, node)
                copied.append((key.value, layout))
        return tuple(copied)

    def _check_copied(self, key: Scalar, node: Node) -> None:
        """Report an argument that the kernel would not get itself, though it needs it."""
        argument = next(argument for argument in self._schema.arguments.all if argument.name == key.value)
        if argument.annotation is not None:
            what = "is written" if argument.is_write else "shares memory with a result"
            message = f"`{argument.name}` {what}, so the kernel cannot get a copy"
            help = f"write `{_scalar_text(node)}{_REFUSED}`, which refuses other layouts"
            self._sink.error(codes.REQUIRED_LAYOUT, message, node.span, help=help)

    def _load_result_layout(self, key: Scalar, node: Node, word: str) -> None:
        """The layout of a result: contiguous, or that of a tensor."""
        name = self._result_name(key.value)
        assert name is not None
        argument = self._arguments.get(word)
        if word == "contiguous":
            return
        if argument is None or argument.kind is not ValueKind.tensor or argument.type.is_optional:
            message = f"a result cannot have the layout `{word}`"
            help = "write `contiguous`, or the name of the tensor whose memory format it has"
            self._sink.error(codes.REQUIRED_LAYOUT, message, node.span, help=help)
            return
        pattern, own = self._result_patterns.get(name), self._tensors.get(word)
        if (
            pattern is None
            or own is None
            or [(item.kind, item.text) for item in pattern.items] != [(item.kind, item.text) for item in own.dims.items]
        ):
            message = f"the result has not the sizes of `{word}`, so it cannot have its memory format"
            self._sink.error(codes.REQUIRED_LAYOUT, message, node.span)
            return
        self.result_likes[name] = argument

    # Conditions of the author's

    def _load_requires(self, node: Node | None) -> None:
        if node is None:
            return
        items = node.items if isinstance(node, Sequence) else [node]
        for item in items:
            pairs: list[tuple[Node, str]] = []
            if isinstance(item, Mapping):
                for key, value in item.entries:
                    if isinstance(value, Scalar) and value.kind == "str":
                        pairs.append((key, value.value))
                    else:
                        message = f"the message of a condition is a text, not {value.description}"
                        self._sink.error(codes.WRONG_SHAPE, message, value.span)
            else:
                pairs.append((item, ""))
            for condition, message in pairs:
                try:
                    self._load_condition(condition, message)
                except Fault as fault:
                    self._sink.add(fault.diagnostic)

    def _load_condition(self, node: Node, message: str) -> None:
        if not isinstance(node, Scalar) or not node.value:
            raise Fault.at(codes.WRONG_SHAPE, f"a condition is an expression, not {node.description}", node.span)
        parsed = parse_expression(ExpressionText.of_scalar(node))
        arguments = {**self._sizes, **self._arguments}
        checker = ExpressionChecker(parsed, arguments)
        names = list(dict.fromkeys([name.id for name in _free_names(parsed.tree)]))
        given: tuple[OutputExpression, ...] = ()
        for name in names:
            if name in self._optional:
                given += self._tensors[self._owners[name][0]].given
        condition = checker.check_kind(parsed.tree, ValueKind.boolean)
        if condition.operation is OutputOperation.literal:
            raise Fault.at(codes.CONTRADICTION, f"`{node.value}` does not depend on a call", node.span)
        text: list[str | OutputExpression] = [message or f"`{' '.join(node.value.split())}` has to hold"]
        shown = [(name, arguments[name]) for name in names if name in arguments]
        shown = [(name, value) for name, value in shown if value.kind in _SHOWN and not value.type.is_optional]
        for number, (name, value) in enumerate(shown):
            text += [f"{' and' if number else ', and'} `{name}` is ", value]
        self._checks.append(Requirement(condition, tuple(text), tuple(dict.fromkeys(given))))


_SHOWN: Final = (ValueKind.integer, ValueKind.size, ValueKind.number, ValueKind.sizes, ValueKind.integers)
_LAYOUT_WORDS: Final = {
    "contiguous": "contiguous",
    "channels_last": "contiguous in the memory format channels_last",
    "last_contiguous": "contiguous in its last dimension",
}


def _has_expressions(dims: TensorDims) -> bool:
    return any(item.kind is DimKind.size for item in dims.items)


def _scalar_text(node: Node) -> str:
    return node.value if isinstance(node, Scalar) else ""


def _argument(name: str, kind: ValueKind) -> OutputExpression:
    return expression_of(OutputOperation.argument, kind, text=name)


def _literal(value: int) -> OutputExpression:
    if value < 0:
        return expression_of(OutputOperation.negate, ValueKind.integer, _literal(-value))
    return expression_of(OutputOperation.literal, ValueKind.integer, text=str(value))


def _list(items: list[OutputExpression]) -> OutputExpression:
    return expression_of(OutputOperation.make_list, ValueKind.sizes, *items)


def _margins(dims: TensorDims) -> tuple[OutputExpression, OutputExpression]:
    """How many dimensions are before and after those that an item stands for."""
    place = dims.open_place or 0
    return _literal(place), _literal(len(dims.items) - place - 1)


def _part(value: OutputExpression, dims: TensorDims) -> OutputExpression:
    """The sizes of the dimensions that an item stands for."""
    place, count = dims.open_place or 0, len(dims.items)
    sizes = expression_of(OutputOperation.sizes, ValueKind.sizes, value)
    if count == 1:
        return sizes
    first = _literal(place) if place else None
    last = _literal(place - count + 1) if place < count - 1 else None
    return expression_of(OutputOperation.slice, ValueKind.sizes, sizes, first, last)


def _kind_message(item: DimItem) -> str:
    return f"`{item.text}` is one size at one place and any number of them at another (`*{item.text}`)"


def _parse_dims(node: Scalar) -> tuple[TensorDims, tuple[tuple[int, int], ...]]:
    """The items of a pattern, and where they are in the text. Raises Fault (E1143)."""
    items: list[DimItem] = []
    spans: list[tuple[int, int]] = []
    for match in _ITEM.finditer(node.value):
        item = _parse_item(match[0], node, match.start())
        if item.kind in (DimKind.pack, DimKind.rest) and any(
            other.kind in (DimKind.pack, DimKind.rest) for other in items
        ):
            message = "only one item of a pattern can stand for any number of dimensions"
            raise Fault.at(codes.DIMS_PATTERN, message, node.span_of(*match.span()))
        items.append(item)
        spans.append(match.span())
    return TensorDims(tuple(items), " ".join(node.value.split())), tuple(spans)


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
        raise Fault.at(codes.DIMS_PATTERN, message, node.span_of(start, start + len(text)), help=help)
    return DimItem(DimKind.size, text)


def _words(node: Node) -> list[tuple[str, Scalar, int]]:
    """The words of a text or of a list of texts, and where they start."""
    scalars = node.items if isinstance(node, Sequence) else [node]
    words = []
    for scalar in scalars:
        if not isinstance(scalar, Scalar) or not scalar.value.strip():
            message = f"dtypes are names, not {scalar.description}"
            raise Fault.at(codes.REQUIRED_DTYPE, message, scalar.span)
        words += [(match[0], scalar, match.start()) for match in re.finditer(r"[^\s|,]+", scalar.value)]
    return words


def _free_names(tree: ast.expr) -> Iterator[ast.Name]:
    """Names that are no arguments in braces and no functions."""
    if isinstance(tree, ast.Set):
        return
    if isinstance(tree, ast.Name):
        yield tree
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.expr) and not (isinstance(tree, ast.Call) and child is tree.func):
            yield from _free_names(child)
        elif isinstance(tree, ast.Call) and isinstance(child, ast.Attribute):
            yield from _free_names(child.value)


def read_requirements(field: str, builder: EntryBuilder) -> Requirements | None:
    """Read all of the fields at the first of them. Results whose sizes `dims` says are declared outputs.

    The results of an operator with contracts are the arguments that it writes.
    """
    entry, schema = builder.node, builder.schema
    if schema is None or field != next(name for name in FIELDS if entry.get(name) is not None):
        return None
    before = len(builder.context.sink)
    declaring = result_schema(schema) if entry.get(CONTRACTS_FIELD) is not None else schema
    results = results_of(declaring, builder.tags)
    loader = RequirementsLoader(schema, declaring, tuple([result.key for result in results]), builder.context.sink)
    requirements = loader.load(entry)
    if len(builder.context.sink) > before:
        builder.failed = True
        return None
    # The kernels may be read after this field.
    dispatch = entry.get("dispatch")
    keys = [key.value for key, _ in dispatch.entries] if isinstance(dispatch, Mapping) else []
    is_composite = dispatch is None or any(COMPOSITE_IMPLICIT.name in key.split(", ") for key in keys)
    if is_composite and entry.get("structured_delegate") is None:
        # The operators that it calls say what it returns.
        return requirements
    if entry.get("outputs") is not None:
        builder.failed |= not loader.agrees(entry, results, builder)
    elif results and len(loader.result_dims) == len(results):
        span = builder.value_span(DIMS)
        builder.set_field(
            "outputs",
            tuple(
                [
                    completed_output(
                        declaring,
                        result,
                        loader.result_dims[result.key],
                        loader.result_likes.get(result.key),
                        loader.result_dtypes.get(result.key),
                        span,
                    )
                    for result in results
                ]
            ),
        )
    return requirements
