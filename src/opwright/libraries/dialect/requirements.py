"""Loads `dims`, `dtypes`, `layout` and `requires` of an entry: what an operator needs of its arguments.

Each becomes conditions with messages, which are expressions over the arguments and the sizes with names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Final

from opwright.dialects.native_functions.entry_builder import EntryBuilder, value_span
from opwright.libraries import library_codes
from opwright.libraries.declared_outputs import (
    DTYPE_CLASSES,
    DTYPES,
    OutputExpression,
    OutputOperation,
    ValueKind,
    dtype_codes,
)
from opwright.libraries.dialect.contracts import FIELD as CONTRACTS_FIELD
from opwright.libraries.dialect.contracts import result_schema
from opwright.libraries.dialect.dims import (
    DIMS,
    RETURN,
    DimsLoader,
    PatternedTensor,
    argument_of,
    is_broadcast,
    literal,
    margins,
    part_of,
    tensor_of,
)
from opwright.libraries.dialect.expression_types import ExpressionChecker, argument_expression, expression_of
from opwright.libraries.dialect.expressions import (
    ExpressionText,
    ParsedExpression,
    free_names,
    normal_expression,
    parse_expression,
)
from opwright.libraries.dialect.outputs import completed_output, results_of
from opwright.libraries.dialect.values import VALUES, ValuesLoader
from opwright.libraries.entry_fields import library_fields
from opwright.libraries.kernels import behind_checks
from opwright.libraries.requirements import (
    CopiedArgument,
    DimItem,
    DimKind,
    Requirement,
    Requirements,
    TensorDims,
    ValueCondition,
    index_name,
)
from opwright.model.dispatch_key import COMPOSITE_IMPLICIT
from opwright.model.native_function import UnlinkedFunction
from opwright.schema.function import FunctionSchema, SchemaKind
from opwright.source.codes import WRONG_SHAPE
from opwright.source.diagnostic import Diagnostics, Fault, did_you_mean
from opwright.source.expect import check_unique_keys, expect_mapping, expect_strings
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode, text_of

#: The fields beside the one with patterns.
DTYPES_FIELD: Final = "dtypes"
LAYOUT: Final = "layout"
REQUIRES: Final = "requires"
LINEAR: Final = "linear"
REDUCTION: Final = "reduction"
FIELDS: Final = (DIMS, DTYPES_FIELD, LAYOUT, VALUES, REQUIRES, LINEAR, REDUCTION)

#: The layouts, in words; a mark after one refuses other layouts instead of copying.
LAYOUT_WORDS: Final = {
    "contiguous": "contiguous",
    "channels_last": "contiguous in the memory format channels_last",
    "last_contiguous": "contiguous in its last dimension",
    "aligned": "contiguous at an address that is a multiple of 16",
}
_REFUSED: Final = "!"
ANY: Final = "any"
_ALIGNED: Final = "aligned"

#: Arguments that the fields describe.
_TENSOR_KINDS: Final = (ValueKind.tensor, ValueKind.tensors)


class RequirementsLoader:
    """Loads the requirements of one operator. Faults go to the sink.

    `results` are the names of the results that can have patterns, of which a single one is also `return`. They are
    those of the schema `declaring`.
    """

    def __init__(
        self, schema: FunctionSchema, declaring: FunctionSchema, results: tuple[str, ...], sink: Diagnostics
    ) -> None:
        self._results: Final = results
        self._sink: Final = sink
        self._schema: Final = schema
        arguments = {argument.name: argument_expression(schema, argument.name) for argument in schema.arguments.non_out}
        self._arguments: Final = {name: value for name, value in arguments.items() if value is not None}
        self._checks: Final[list[Requirement]] = []
        self.dims: Final = DimsLoader(declaring, self._arguments, results, sink)
        #: The tensors that have integers alone.
        self._integers: Final[set[str]] = set()
        self._same_dtypes: Final[list[tuple[str, str]]] = []
        self.result_dtypes: Final[dict[str, OutputExpression]] = {}
        self.result_likes: Final[dict[str, OutputExpression]] = {}

    def load(self, entry: MappingNode) -> Requirements:
        """What the fields of an entry say."""
        self.dims.load(self._mapping(entry, DIMS))
        self._checks.extend(self.dims.checks)
        for tensor in self.dims.tensors.values():
            self._check_rank(tensor)
        # What ranks make known may be what other sizes are computed from, such as a divisor.
        conditions = self._load_requires(entry.get(REQUIRES))
        self._checks.extend([requirement for requirement, is_late in conditions if not is_late])
        dtypes = self._mapping(entry, DTYPES_FIELD)
        self._load_dtypes(dtypes)
        for tensor in self.dims.tensors.values():
            self._check_sizes(tensor)
        self._check_optional_sizes()
        self._check_devices()
        copied = self._load_layouts(self._mapping(entry, LAYOUT))
        values = self._load_values(entry)
        self._checks.extend([requirement for requirement, is_late in conditions if is_late])
        self._checks.extend(self.dims.result_checks)
        patterns = tuple([(tensor.name, tensor.dims) for tensor in self.dims.tensors.values()])
        results = tuple([self.dims.result_patterns.get(name) for name in self._results])
        linear = tuple(self._names(entry, LINEAR))
        sums = {name for key in self._names(entry, REDUCTION) if (name := self.dims.result_name(key)) is not None}
        are_sums = tuple([name in sums for name in self._results]) if sums else ()
        return Requirements(tuple(self._checks), copied, patterns, results, linear, are_sums, values)

    def _names(self, entry: MappingNode, field: str) -> list[str]:
        """The arguments, or for sums the results, that a field names."""
        node = entry.get(field)
        scalars = [] if node is None else expect_strings(node, f"`{field}`", self._sink) or []
        names = []
        for scalar in scalars:
            result = self.dims.result_name(scalar.value)
            is_result = scalar.value not in self._arguments and result is not None
            if not self._is_known(scalar, field):
                continue
            if is_result != (field == REDUCTION):
                message = f"`{field}` is about {'results' if field == REDUCTION else 'arguments'}"
                self._sink.error(library_codes.REQUIREMENT_NAME, message, scalar.span)
            elif is_result and (result not in self.dims.result_patterns or self.dims.result_patterns[result].has_pack):
                message = f"`{scalar.value}` is a sum over dimensions, so `{DIMS}` says its sizes without them"
                self._sink.error(library_codes.CONTRADICTION, message, scalar.span)
            else:
                names.append(scalar.value)
        return names

    def _load_values(self, entry: MappingNode) -> tuple[ValueCondition, ...]:
        """Conditions on the values of tensors; those on others join the checks."""
        node = entry.get(VALUES)
        mapping = None if node is None else expect_mapping(node, f"`{VALUES}`", self._sink)
        if mapping is None:
            return ()
        check_unique_keys(mapping, self._sink)
        entries = []
        for key, value in mapping.entries:
            if key.value in self._arguments:
                entries.append((key, value))
            else:
                message = f"`{self._schema.name}` has no argument `{key.value}`"
                self._sink.error(
                    library_codes.REQUIREMENT_NAME, message, key.span, help=did_you_mean(key.value, self._arguments)
                )
        for _ in self._same_dtypes:
            self._integers.update([name for name, other in self._same_dtypes if other in self._integers])
        texts = [argument.name for argument in self._schema.arguments.all if argument.type.text in ("str", "str?")]
        optional = {name: self.dims.tensors[self.dims.owners[name][0]].given for name in self.dims.optional}
        loader = ValuesLoader(
            self._arguments, frozenset(texts), self.dims.sizes, optional, frozenset(self._integers), self._sink
        )
        tensors = {key.value: self._tensor(key) for key, _ in entries if self._is_tensor(key.value)}
        loader.load(tensors, entries)
        self._checks.extend(loader.checks)
        return tuple(loader.conditions)

    def _mapping(self, entry: MappingNode, field: str) -> list[tuple[Scalar, Node]]:
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
        if (argument is not None and argument.kind in _TENSOR_KINDS) or self.dims.result_name(name) is not None:
            return True
        if argument is not None:
            message, help = f"`{name}` is {argument.type}, and `{field}` describes tensors", ""
            help = f"write a condition of `{REQUIRES}`"
            self._sink.error(library_codes.REQUIREMENT_NAME, message, key.span, help=help)
            return False
        names = [name for name, value in self._arguments.items() if value.kind in _TENSOR_KINDS]
        message = f"`{self._schema.name}` has no argument `{name}`"
        if name == RETURN:
            message = f"`{self._schema.name}` has no single result that is a new tensor"
        names += [*self._results, RETURN] if self._results else []
        suggestion = did_you_mean(name, names, f"it has {', '.join([f'`{tensor}`' for tensor in names])}")
        self._sink.error(library_codes.REQUIREMENT_NAME, message, key.span, help=suggestion)
        return False

    # Conditions

    def _require(
        self,
        tensor: PatternedTensor,
        condition: OutputExpression,
        *message: str | OutputExpression,
        also: str = "",
        part: str = "",
    ) -> None:
        """Add a condition about a tensor, or about a part of it."""
        given = tensor.given + (self.dims.tensors[also].given if also and also != tensor.name else ())
        subject = f"{part}{' of ' if part else ''}`{tensor.name}`"
        self._checks.append(Requirement(condition, message, given, tensor.each, subject=subject))

    def _check_rank(self, tensor: PatternedTensor) -> None:
        count = len(tensor.dims.items)
        rank = expression_of(OutputOperation.dim, ValueKind.integer, tensor.value)
        is_open = tensor.dims.open_place is not None
        least = count - 1 if is_open else count
        if is_open and least == 0:
            return
        operation = OutputOperation.greater_equal if is_open else OutputOperation.equal
        condition = expression_of(operation, ValueKind.boolean, rank, literal(least))
        more = " or more" if is_open else ""
        pattern = f" (`{tensor.dims.text}`)" if tensor.dims.items else ""
        wanted = f", and has to have rank {least}{more}{pattern}"
        self._require(tensor, condition, *tensor.shown, " has rank ", rank, wanted)

    def _check_sizes(self, tensor: PatternedTensor) -> None:
        for place, item in zip(tensor.dims.places(), tensor.dims.items, strict=True):
            if item.kind is DimKind.pack:
                self._check_pack(tensor, item)
            elif item.kind in (DimKind.named, DimKind.size):
                self._check_size(tensor, place, item)

    def _check_size(self, tensor: PatternedTensor, place: int, item: DimItem) -> None:
        owner = self.dims.owners.get(item.text) if item.kind is DimKind.named else None
        if (owner == (tensor.name, place) and not tensor.each) or item.text in self.dims.optional:
            return
        wanted = item.size if item.kind is DimKind.size else self.dims.sizes.get(item.text)
        if wanted is None:
            return
        size = expression_of(OutputOperation.size, ValueKind.size, tensor.value, literal(place))
        condition = expression_of(OutputOperation.equal, ValueKind.boolean, size, wanted)
        reason = f" (`{item.text}` of `{owner[0]}`)" if owner else f" (`{item.text}`)"
        if wanted.operation is OutputOperation.literal:
            reason = ""
        also = " or 1" if item.broadcasts else ""
        if item.broadcasts:
            is_one = expression_of(OutputOperation.equal, ValueKind.boolean, size, literal(1))
            condition = expression_of(OutputOperation.either, ValueKind.boolean, is_one, condition)
        message = (f"dimension {place} of ", *tensor.shown, " has size ", size, ", and has to have size ", wanted)
        self._require(tensor, condition, *message, f"{also}{reason}", part=f"dimension {place}")

    def _check_pack(self, tensor: PatternedTensor, item: DimItem) -> None:
        owner = self.dims.owners.get(item.text)
        size = self.dims.sizes.get(item.text)
        if size is None or (owner is not None and owner[0] == tensor.name and not tensor.each):
            return
        own = part_of(tensor.value, tensor.dims)
        if owner is None:
            before = [*self.dims.tensors.values()]
            for other in before[: before.index(tensor)]:
                if any(part.text == item.text for part in other.dims.items):
                    self._check_parts(tensor, other, OutputOperation.broadcasts_together, own, "broadcast to")
            return
        if item.text in self.dims.optional:
            return
        other = self.dims.tensors[owner[0]]
        operation = OutputOperation.broadcasts if item.broadcasts else OutputOperation.same_sizes
        self._check_parts(tensor, other, operation, own, "broadcast to" if item.broadcasts else "be")

    def _check_parts(
        self,
        tensor: PatternedTensor,
        other: PatternedTensor,
        operation: OutputOperation,
        own: OutputExpression,
        verb: str,
    ) -> None:
        other_value = other.value
        if other.each:
            other_value = expression_of(OutputOperation.item, ValueKind.tensor, self._arguments[other.name], literal(0))
        condition = expression_of(
            operation,
            ValueKind.boolean,
            *(tensor.value, *margins(tensor.dims), other_value, *margins(other.dims)),
        )
        pack = next(item.text for item in other.dims.items if item.kind is DimKind.pack)
        message = ("the sizes `*", pack, "` of ", *tensor.shown, " are ", own, f", and have to {verb} ")
        wanted = part_of(other_value, other.dims)
        reason = f" (those of `{other.name}`)"
        self._require(tensor, condition, *message, wanted, reason, also=other.name, part=f"the sizes `*{pack}`")

    def _check_optional_sizes(self) -> None:
        """Sizes that only optional tensors have: those that are given agree."""
        for name in self.dims.optional:
            users = [
                (tensor, place, item)
                for tensor in self.dims.tensors.values()
                for place, item in zip(tensor.dims.places(), tensor.dims.items, strict=True)
                if item.text == name and item.kind in (DimKind.named, DimKind.pack)
            ]
            firsts: dict[str, tuple[PatternedTensor, int]] = {}
            for tensor, place, item in users:
                # One place of each tensor is compared with those of others, and with its own other places.
                own = firsts.get(tensor.name)
                for first, first_place in [own] if own is not None else [*firsts.values()]:
                    if item.kind is DimKind.pack:
                        sizes = part_of(tensor.value, tensor.dims)
                        self._check_parts(tensor, first, OutputOperation.same_sizes, sizes, "be")
                    else:
                        self._check_places((tensor, place), (first, first_place), name)
                firsts.setdefault(tensor.name, (tensor, place))

    def _check_places(self, user: tuple[PatternedTensor, int], first: tuple[PatternedTensor, int], name: str) -> None:
        """Two dimensions of optional tensors have the same size."""
        (tensor, place), (other, other_place) = user, first
        wanted = expression_of(OutputOperation.size, ValueKind.size, other.value, literal(other_place))
        size = expression_of(OutputOperation.size, ValueKind.size, tensor.value, literal(place))
        condition = expression_of(OutputOperation.equal, ValueKind.boolean, size, wanted)
        message = (f"dimension {place} of ", *tensor.shown, " has size ", size, ", and has to have size ")
        reason = f" (`{name}` of `{other.name}`)"
        self._require(tensor, condition, *message, wanted, reason, also=other.name, part=f"dimension {place}")

    def _check_devices(self) -> None:
        """All tensors are on the device of the first one; one without dimensions may be on the CPU."""
        tensors = [tensor for tensor in self.dims.tensors.values() if not tensor.given]
        tensors.sort(key=lambda tensor: (not tensor.dims.items, tensor.name in self._results, bool(tensor.each)))
        if not tensors:
            return
        first, name, value = tensors[0], f"`{tensors[0].name}`", tensors[0].value
        if first.each:
            value = expression_of(OutputOperation.item, ValueKind.tensor, self._arguments[first.name], literal(0))
            name = f"`{first.name}[0]`"
        wanted = expression_of(OutputOperation.device_of, ValueKind.device, value)
        for tensor in self.dims.tensors.values():
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
            self._require(tensor, condition, *tensor.shown, *message, part="the device")

    # Dtypes

    def _load_dtypes(self, entries: list[tuple[Scalar, Node]]) -> None:
        for key, node in entries:
            try:
                if self.dims.result_name(key.value) is not None and key.value not in self._arguments:
                    self._load_result_dtype(key, node)
                else:
                    self._load_dtype(key, node)
            except Fault as fault:
                self._sink.add(fault.diagnostic)

    def _tensor(self, key: Scalar) -> PatternedTensor:
        """An argument, which need not have a pattern."""
        name, dims = key.value, TensorDims((DimItem(DimKind.rest, "..."),), "...")
        return self.dims.tensors.get(name) or tensor_of(name, self._arguments[name], dims, (key, ()))

    def _load_dtype(self, key: Scalar, node: Node) -> None:
        tensor = self._tensor(key)
        dtype = expression_of(OutputOperation.dtype_of, ValueKind.dtype, tensor.value)
        scalars = _words(node)
        if len(scalars) == 1 and scalars[0][0] == ANY:
            return
        if len(scalars) == 1 and self._is_tensor(scalars[0][0]):
            other = self._arguments[scalars[0][0]]
            value = other
            given = tensor.given
            if other.kind is ValueKind.tensors:
                value = expression_of(OutputOperation.item, ValueKind.tensor, other, literal(0))
            elif other.type.is_optional:
                value = expression_of(OutputOperation.value, ValueKind.tensor, other)
                given += (other,) if other not in given else ()
            wanted = expression_of(OutputOperation.dtype_of, ValueKind.dtype, value)
            condition = expression_of(OutputOperation.equal, ValueKind.boolean, dtype, wanted)
            message = (*tensor.shown, " has dtype ", dtype, ", and has to have dtype ", wanted)
            reason = f" (that of `{scalars[0][0]}`)"
            subject = f"the dtype of `{tensor.name}`"
            self._checks.append(Requirement(condition, (*message, reason), given, tensor.each, subject=subject))
            self._same_dtypes.append((tensor.name, other.text))
            return
        names = [self._dtype_name(word, scalar, start) for word, scalar, start in scalars]
        if set(dtype_codes(" ".join(names))) <= {*DTYPE_CLASSES["integral"], *dtype_codes("Bool")}:
            self._integers.add(tensor.name)
        condition = expression_of(OutputOperation.dtype_in, ValueKind.boolean, dtype, text=" ".join(names))
        words = [word for word, _, _ in scalars]
        wanted_text = f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]
        self._require(tensor, condition, *tensor.shown, " has dtype ", dtype, f", and has to have dtype {wanted_text}")

    def _is_tensor(self, name: str) -> bool:
        argument = self._arguments.get(name)
        return argument is not None and argument.kind in _TENSOR_KINDS

    def _dtype_name(self, word: str, scalar: Scalar, start: int) -> str:
        if word in DTYPE_CLASSES:
            return word
        if word in DTYPES:
            return DTYPES[word]
        tensors = [name for name in self._arguments if self._is_tensor(name)]
        words = [*DTYPE_CLASSES, ANY, *DTYPES, *tensors]
        help = did_you_mean(word, words, f"the classes are {', '.join([f'`{name}`' for name in DTYPE_CLASSES])}")
        at = scalar.span_of(start, start + len(word))
        raise Fault.at(
            library_codes.REQUIRED_DTYPE, f"there is no class of dtypes, dtype or tensor `{word}`", at, help=help
        )

    def _load_result_dtype(self, key: Scalar, node: Node) -> None:
        """The dtype of a result: that of an argument, or an expression."""
        name = self.dims.result_name(key.value)
        assert name is not None
        if not isinstance(node, Scalar):
            message = f"the dtype of a result is an expression, not {node.description}"
            raise Fault.at(library_codes.REQUIRED_DTYPE, message, node.span)
        argument = self._arguments.get(node.value)
        if argument is not None and argument.kind is ValueKind.tensor and not argument.type.is_optional:
            self.result_dtypes[name] = expression_of(OutputOperation.dtype_of, ValueKind.dtype, argument)
            return
        checker = ExpressionChecker(parse_expression(ExpressionText.of_scalar(node)), self._arguments)
        self.result_dtypes[name] = checker.check_kind(checker.parsed.tree, ValueKind.dtype)

    # Layouts

    def _load_layouts(self, entries: list[tuple[Scalar, Node]]) -> tuple[CopiedArgument, ...]:
        copied = []
        for key, node in entries:
            if key.value not in self._arguments:
                self._load_result_layout(key, node, node.value if isinstance(node, Scalar) else "")
                continue
            words = node.items if isinstance(node, SequenceNode) else [node]
            layouts = [layout for word in words if (layout := self._layout(key, word)) is not None]
            if len(layouts) < len(words):
                continue
            if not words:
                self._sink.error(
                    library_codes.REQUIRED_LAYOUT, f"the list of layouts of `{key.value}` is empty", node.span
                )
                continue
            marks = {word.endswith(_REFUSED) for word in layouts}
            if ANY in layouts:
                continue
            if len(marks) > 1:
                message = f"some layouts of `{key.value}` have a mark and others have none"
                help = "mark all of them, which refuses others, or none, which copies tensors to the first one"
                self._sink.error(library_codes.REQUIRED_LAYOUT, message, node.span, help=help)
                continue
            names = [word.removesuffix(_REFUSED) for word in layouts]
            if len(names) > 1 and _ALIGNED in names:
                message = f"`{_ALIGNED}` is no layout beside others"
                self._sink.error(library_codes.REQUIRED_LAYOUT, message, node.span, help=f"write `{_ALIGNED}` alone")
                continue
            tensor = self._tensor(key)
            held = [
                expression_of(OutputOperation.has_layout, ValueKind.boolean, tensor.value, text=name) for name in names
            ]
            condition = expression_of(OutputOperation.either, ValueKind.boolean, *held) if len(held) > 1 else held[0]
            wanted = " or ".join([LAYOUT_WORDS[name] for name in names])
            refusal = Requirement(
                condition,
                (*tensor.shown, f" is not {wanted}, and has to be"),
                tensor.given,
                tensor.each,
                subject=f"`{tensor.name}`",
            )
            if True in marks:
                self._checks.append(refusal)
            else:
                self._check_copied(key, node)
                copied.append(CopiedArgument(key.value, tuple(names), refusal))
        return tuple(copied)

    def _layout(self, key: Scalar, node: Node) -> str | None:
        """A layout of a tensor; None if there is a fault."""
        layouts = [ANY, *LAYOUT_WORDS]
        choices = f"the layouts are {', '.join([f'`{name}`' for name in layouts])}"
        if not isinstance(node, Scalar):
            message = f"the layout of `{key.value}` is a word or a list of words, not {node.description}"
            self._sink.error(library_codes.REQUIRED_LAYOUT, message, node.span, help=choices)
            return None
        name = node.value.removesuffix(_REFUSED)
        if name not in LAYOUT_WORDS and node.value != ANY:
            help = did_you_mean(name, layouts, choices)
            self._sink.error(library_codes.REQUIRED_LAYOUT, f"there is no layout `{node.value}`", node.span, help=help)
            return None
        return node.value

    def _check_copied(self, key: Scalar, node: Node) -> None:
        """Report an argument that the kernel would not get itself, though it needs it."""
        argument = next(argument for argument in self._schema.arguments.all if argument.name == key.value)
        if argument.annotation is not None:
            what = "is written" if argument.is_write else "shares memory with a result"
            message = f"`{argument.name}` {what}, so the kernel cannot get a copy"
            help = f"write `{text_of(node)}{_REFUSED}`, which refuses other layouts"
            self._sink.error(library_codes.REQUIRED_LAYOUT, message, node.span, help=help)

    def _load_result_layout(self, key: Scalar, node: Node, word: str) -> None:
        """The layout of a result: contiguous, or that of a tensor."""
        name = self.dims.result_name(key.value)
        assert name is not None
        argument = self._arguments.get(word)
        if word == "contiguous":
            return
        if argument is None or argument.kind is not ValueKind.tensor or argument.type.is_optional:
            message = f"a result cannot have the layout `{word}`"
            help = "write `contiguous`, or the name of the tensor whose memory format it has"
            self._sink.error(library_codes.REQUIRED_LAYOUT, message, node.span, help=help)
            return
        pattern, own = self.dims.result_patterns.get(name), self.dims.tensors.get(word)
        if (
            pattern is None
            or own is None
            or [(item.kind, item.text) for item in pattern.items] != [(item.kind, item.text) for item in own.dims.items]
        ):
            message = f"the result has not the sizes of `{word}`, so it cannot have its memory format"
            self._sink.error(library_codes.REQUIRED_LAYOUT, message, node.span)
            return
        self.result_likes[name] = argument

    # Conditions of the author's

    def _load_requires(self, node: Node | None) -> list[tuple[Requirement, bool]]:
        """The conditions, each with whether it reads sizes that are not known before other checks."""
        conditions: list[tuple[Requirement, bool]] = []
        if node is None:
            return conditions
        items = node.items if isinstance(node, SequenceNode) else [node]
        for item in items:
            pairs: list[tuple[Node, str]] = []
            if isinstance(item, MappingNode):
                for key, value in item.entries:
                    if isinstance(value, Scalar) and value.kind == "str":
                        pairs.append((key, value.value))
                    else:
                        message = f"the message of a condition is a text, not {value.description}"
                        self._sink.error(WRONG_SHAPE, message, value.span)
            else:
                pairs.append((item, ""))
            for condition, message in pairs:
                try:
                    conditions.append(self._condition(condition, message))
                except Fault as fault:
                    self._sink.add(fault.diagnostic)
        return conditions

    def _condition(self, node: Node, message: str) -> tuple[Requirement, bool]:
        if not isinstance(node, Scalar) or not node.value:
            raise Fault.at(WRONG_SHAPE, f"a condition is an expression, not {node.description}", node.span)
        parsed = parse_expression(ExpressionText.of_scalar(node))
        arguments = {**self.dims.sizes, **self._arguments}
        each, index = self._list_walked(parsed, arguments)
        if each:
            arguments[index] = argument_of(index_name(each), ValueKind.integer)
        checker = ExpressionChecker(parsed, arguments)
        names = list(dict.fromkeys([name.id for name in free_names(parsed.tree)]))
        given: tuple[OutputExpression, ...] = ()
        for name in names:
            if name in self.dims.optional:
                given += self.dims.tensors[self.dims.owners[name][0]].given
        condition = checker.check_kind(parsed.tree, ValueKind.boolean)
        if not any(name in arguments for name in names):
            raise Fault.at(library_codes.CONTRADICTION, f"`{node.value}` does not depend on a call", node.span)
        written = normal_expression(" ".join(node.value.split()))
        text: list[str | OutputExpression] = [message or f"`{written}` has to hold"]
        shown = [(name, arguments[name]) for name in names if name in arguments]
        shown = [(name, value) for name, value in shown if value.kind in _SHOWN and not value.type.is_optional]
        for number, (name, value) in enumerate(shown):
            text += [f"{' and' if number else ', and'} `{name}` is ", value]
        given = tuple(dict.fromkeys(given))
        # Sizes to which tensors broadcast are known after the check that they do.
        is_late = any(name in self.dims.sizes and is_broadcast(self.dims.sizes[name]) for name in names)
        requirement = Requirement(condition, tuple(text), given, each, written=written, subject=f"`{written}`")
        return requirement, is_late

    def _list_walked(self, parsed: ParsedExpression, names: Mapping[str, OutputExpression]) -> tuple[str, str]:
        """The first list of tensors of which a condition speaks for all places, and the name of a place: `a[i]`."""
        for node in ast.walk(parsed.tree):
            if (
                isinstance(node, ast.Subscript)
                and isinstance(node.value, ast.Name)
                and isinstance(node.slice, ast.Name)
                and node.slice.id not in names
                and (tensors := names.get(node.value.id)) is not None
                and tensors.kind is ValueKind.tensors
            ):
                return node.value.id, node.slice.id
        return "", ""


_SHOWN: Final = (ValueKind.integer, ValueKind.size, ValueKind.number, ValueKind.sizes, ValueKind.integers)


def _words(node: Node) -> list[tuple[str, Scalar, int]]:
    """The words of a text or of a list of texts, and where they start."""
    scalars = node.items if isinstance(node, SequenceNode) else [node]
    words = []
    for scalar in scalars:
        if not isinstance(scalar, Scalar) or not scalar.value.strip():
            message = f"dtypes are names, not {scalar.description}"
            raise Fault.at(library_codes.REQUIRED_DTYPE, message, scalar.span)
        words += [(match[0], scalar, match.start()) for match in re.finditer(r"[^\s|,]+", scalar.value)]
    return words


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
    keys = [key.value for key, _ in dispatch.entries] if isinstance(dispatch, MappingNode) else []
    is_composite = dispatch is None or any(COMPOSITE_IMPLICIT.name in key.split(", ") for key in keys)
    if is_composite and entry.get("structured_delegate") is None:
        # The operators that it calls say what it returns.
        return requirements
    if entry.get("outputs") is not None:
        builder.failed |= not loader.dims.agrees(entry, results, builder)
    elif results and len(loader.dims.result_sizes) == len(results):
        span = value_span(builder.node, DIMS)
        builder.set_field(
            "outputs",
            tuple(
                [
                    completed_output(
                        declaring,
                        result,
                        loader.dims.result_sizes[result.key],
                        loader.result_likes.get(result.key),
                        loader.result_dtypes.get(result.key),
                        span,
                    )
                    for result in results
                ]
            ),
        )
    return requirements


def share_requirements(functions: list[UnlinkedFunction]) -> None:
    """Give in-place overloads the requirements of functional ones: without an out overload, nothing links the two."""
    required = {
        (function.name.base, function.name.overload): library_fields(function).requirements
        for function in functions
        if function.kind is SchemaKind.functional
    }
    for function in functions:
        shared = required.get((function.name.base, function.name.overload))
        if function.kind is SchemaKind.inplace and library_fields(function).requirements is None and shared is not None:
            annotated = frozenset([argument.name for argument in function.arguments.all if argument.annotation])
            names = frozenset([argument.name for argument in function.arguments.all])
            if shared.arguments() <= names:
                fields = library_fields(function)
                function.guest_fields = fields._replace(requirements=shared.refusing(annotated))


def put_behind_checks(functions: list[UnlinkedFunction]) -> None:
    """Let C++ check the calls of kernels in Python: those of operations that require something of their arguments."""
    required = {function.name.base for function in functions if library_fields(function).requirements is not None}
    for function in functions:
        if function.name.base in required:
            function.kernels.update({key: behind_checks(kernel) for key, kernel in function.kernels.items()})
