"""`deprecated.yaml`: the fields of an entry, and signatures that Python still accepts with the functions they call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from opwright.dialects.dialect import LoadContext
from opwright.dialects.field import TEXT, Field, dialect_schema, list_of_schema, mapping_schema
from opwright.dialects.table import DEPRECATED, dialect_help
from opwright.model.catalog import PartialCatalog
from opwright.model.more_inputs import DeprecatedSignature
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument, FunctionSchema
from opwright.schema.parser import expect_schema
from opwright.schema.types import SCALAR, Annotation, Type
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Fault, did_you_mean
from opwright.source.expect import check_unique_keys
from opwright.source.items import read_items
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode, did_you_mean_key
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml

#: Constants that a call may pass, with their types.
_CONSTANTS: Final[dict[str, Type]] = {"1": SCALAR}

_CALL: Final = re.compile(r"(\w+)(?:\.\w+)?\((.*)\)")


def load(files: Sequence[SourceFile], context: LoadContext) -> tuple[DeprecatedSignature, ...]:
    """Deprecated signatures of the functions that have a Python binding, which the context holds."""
    items, may_lack = context.chosen_items.get(DEPRECATED.name), context.operators.may_lack
    if items is None:
        return load_deprecated(files[0], context.functions, context.sink, may_lack=may_lack)
    nodes = read_items(items)
    if nodes is None:
        raise PartialCatalog
    return _load_entries(nodes, context.functions, context.sink, may_lack)


def load_deprecated(
    file: SourceFile,
    functions: Iterable[NativeFunction],
    sink: Diagnostics,
    *,
    may_lack: Callable[[str], bool] = lambda _: False,
) -> tuple[DeprecatedSignature, ...]:
    """Deprecated signatures of a file; `functions` are those that have a Python binding.

    All faults go to `sink`, and entries with faults are left out. `may_lack` says whether a function of a name may be
    missing because of another fault; entries that call it are left out without a report.
    """
    try:
        root = load_yaml(file)
    except Fault as fault:
        sink.add(fault.diagnostic)
        return ()
    if not isinstance(root, SequenceNode):
        message = f"the file is {root.description}, not a list of entries"
        sink.error(codes.DEPRECATED_FILE_SHAPE, message, root.span, help=dialect_help(DEPRECATED, file))
        return ()
    return _load_entries(root.items, functions, sink, may_lack)


def _load_entries(
    items: Iterable[Node], functions: Iterable[NativeFunction], sink: Diagnostics, may_lack: Callable[[str], bool]
) -> tuple[DeprecatedSignature, ...]:
    """Deprecated signatures of entries."""
    by_name: dict[str, list[NativeFunction]] = {}
    for function in functions:
        by_name.setdefault(function.name.name, []).append(function)
    known_functions = _Callees(by_name, may_lack)
    return tuple(signature for item in items for signature in _load_entry(item, known_functions, sink))


class _Callees(NamedTuple):
    """Functions that signatures can call, by name, and whether one may be missing."""

    by_name: dict[str, list[NativeFunction]]
    may_lack: Callable[[str], bool]


class _Call(NamedTuple):
    """A call: the function's name without `_out`, and the values with their offsets."""

    scalar: Scalar
    name: str
    is_out: bool
    values: tuple[str, ...]
    starts: tuple[int, ...]


class _PassedValue(NamedTuple):
    """One value that a call passes."""

    name: str
    type: Type
    annotation: Annotation | None

    def __str__(self) -> str:
        return f"{self.type.text}{'' if self.annotation is None else f'({self.annotation})'} {self.name}"


def _load_entry(node: Node, known_functions: _Callees, sink: Diagnostics) -> Iterator[DeprecatedSignature]:
    """Signatures of one entry: one for each overload that it may call."""
    if not isinstance(node, MappingNode):
        sink.error(codes.DEPRECATED_ENTRY_SHAPE, f"an entry is a mapping, not {node.description}", node.span)
        return
    check_unique_keys(node, sink)
    for key, _ in node.entries:
        if key.value not in (NAME, CALL):
            help = did_you_mean_key(key, node, (NAME, CALL))
            sink.warning(
                codes.DEPRECATED_UNKNOWN_FIELD, f"`{key.value}` is not a field of an entry", key.span, help=help
            )
    named, called = _text(node, NAME, sink), _text(node, CALL, sink)
    schema = None if named is None else expect_schema(named, sink)
    call = None if called is None else _call(called, sink)
    if named is None or schema is None or call is None:
        return
    passed = _passed_values(call, schema, sink)
    if passed is None:
        return
    for function in _callable(call, schema, passed, known_functions, sink):
        yield DeprecatedSignature(schema, function, call.values, named.span)


def _text(node: MappingNode, field: str, sink: Diagnostics) -> Scalar | None:
    value = node.get(field)
    if isinstance(value, Scalar) and value.kind == "str":
        return value
    if value is None:
        sink.error(codes.DEPRECATED_ENTRY_SHAPE, f"the entry has no `{field}`", node.span)
    else:
        sink.error(codes.DEPRECATED_ENTRY_SHAPE, f"`{field}` is {value.description}, not a text", value.span)
    return None


def _call(scalar: Scalar, sink: Diagnostics) -> _Call | None:
    match = _CALL.match(scalar.value)
    if match is None:
        sink.error(codes.CALL_SHAPE, f"`{scalar.value}` is not a function call", scalar.span)
        return None
    name, values = match.group(1), tuple(match.group(2).split(", "))
    starts = [match.start(2)]
    for value in values[:-1]:
        starts.append(starts[-1] + len(value) + 2)
    is_out = name.endswith("_out")
    return _Call(scalar, name.replace("_out", "") if is_out else name, is_out, values, tuple(starts))


def _passed_values(call: _Call, schema: FunctionSchema, sink: Diagnostics) -> list[_PassedValue] | None:
    """Values that the call passes, with their types from the signature."""
    by_name = {argument.name: argument for argument in schema.arguments.all}
    passed = []
    for value, start in zip(call.values, call.starts, strict=True):
        argument = by_name.get(value)
        if argument is not None:
            passed.append(_PassedValue(value, argument.type, argument.annotation))
        elif value in _CONSTANTS:
            passed.append(_PassedValue(value, _CONSTANTS[value], None))
        else:
            names = ", ".join([f"`{name}`" for name in by_name]) or "no arguments"
            help = did_you_mean(value, by_name, f"the signature has {names}; the constant `1` may be passed")
            at = call.scalar.span_of(start, start + len(value))
            sink.error(codes.UNKNOWN_VALUE, f"the signature has no argument `{value}`", at, help=help)
    return passed if len(passed) == len(call.values) else None


def _callable(
    call: _Call,
    schema: FunctionSchema,
    passed: list[_PassedValue],
    known_functions: _Callees,
    sink: Diagnostics,
) -> list[NativeFunction]:
    """Overloads that take what is passed and return what the signature promises."""
    at = call.scalar.span_of(0, len(call.name))
    candidates = known_functions.by_name.get(call.name, [])
    if not candidates and not known_functions.may_lack(call.name):
        help = did_you_mean(call.name, known_functions.by_name)
        sink.error(
            codes.DEPRECATED_UNKNOWN_OPERATOR, f"there is no Python function `{call.name}` to call", at, help=help
        )
        return []
    against = [(function, _objection(function, call, schema, passed)) for function in candidates]
    functions = [function for function, objection in against if objection is None]
    if not functions and not known_functions.may_lack(call.name):
        taken = ", ".join(map(str, passed))
        notes = tuple(f"`{function.name}` {objection}" for function, objection in against)
        sink.error(codes.NO_MATCH, f"no overload of `{call.name}` takes ({taken})", call.scalar.span, notes=notes)
    return functions


def _objection(function: NativeFunction, call: _Call, schema: FunctionSchema, passed: list[_PassedValue]) -> str | None:
    """Why an overload cannot be the one that is called, in words; None if it can."""
    arguments = function.arguments
    taken = arguments.out + arguments.non_out if call.is_out else arguments.all
    for argument, value in zip(taken, passed, strict=False):
        if argument.type is not value.type or argument.annotation is not value.annotation:
            return f"takes `{_plain(argument)}` where `{value}` is passed"
    if len(passed) > len(taken):
        return f"takes {len(taken)} arguments, and {len(passed)} are passed"
    for argument in taken[len(passed) :]:
        if argument.default is None:
            return f"needs `{_plain(argument)}` as well"
    if schema.returns != function.schema.returns:
        return f"returns `{_returns_text(function.schema)}`, and the signature `{_returns_text(schema)}`"
    return None


def _plain(argument: Argument) -> str:
    return str(_PassedValue(argument.name, argument.type, argument.annotation))


def _returns_text(schema: FunctionSchema) -> str:
    return ", ".join([result.text for result in schema.returns]) or "()"


NAME: Final = "name"
CALL: Final = "aten"

DEPRECATED_FIELDS: Final = (
    Field(
        NAME, "schema", TEXT, "The deprecated signature, such as `add(Tensor self, Scalar alpha, Tensor other)`.", True
    ),
    Field(CALL, "call", TEXT, "The call that it stands for, such as `add(self, other, alpha)`.", True),
)


def json_schema() -> dict[str, object]:
    """Schema: a list of deprecated signatures. Signatures and calls are texts for it; Opwright checks those."""
    entries = list_of_schema(mapping_schema(DEPRECATED_FIELDS))
    return dialect_schema("Deprecated Python signatures of operators of PyTorch", entries)


_CALLED: Final = re.compile(r"name: .*\n  aten: (\w+?)(?:_out)?\(")


def operator_of(item: str) -> str | None:
    """Operator that an item calls, told from its text; None if the item does not begin in the usual way.

    >>> operator_of("name: add(Tensor self, Scalar alpha, Tensor other) -> Tensor\\n  aten: add(self, other, alpha)")
    'add'
    """
    match = _CALLED.match(item)
    return None if match is None else match[1]
