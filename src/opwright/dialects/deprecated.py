"""`deprecated.yaml`: the fields of an entry, and signatures that Python still accepts with the functions they call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from opwright.dialects.dialect import LoadContext
from opwright.dialects.field import TEXT, Field, dialect_schema, list_of_schema, mapping_schema
from opwright.dialects.listed_entries import read_chosen, read_entries
from opwright.dialects.table import DEPRECATED
from opwright.model.more_inputs import DeprecatedSignature
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument, FunctionSchema, make_argument
from opwright.schema.parser import expect_schema
from opwright.schema.types import SCALAR
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, did_you_mean
from opwright.source.expect import check_unique_keys
from opwright.source.nodes import MappingNode, Node, Scalar, did_you_mean_key
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile

#: Constants that a call may pass.
_CONSTANTS: Final = {"1": make_argument("1", SCALAR)}

_CALL: Final = re.compile(r"(\w+)(?:\.\w+)?\((.*)\)")


def load(files: Sequence[SourceFile], context: LoadContext) -> tuple[DeprecatedSignature, ...]:
    """Deprecated signatures of the functions that have a Python binding, which the context holds."""
    items, may_lack = context.chosen_items.get(DEPRECATED.name), context.operators.may_lack
    if items is None:
        return load_deprecated(files[0], context.functions, context.sink, may_lack=may_lack)
    return _load_entries(read_chosen(items), context.functions, context.sink, may_lack)


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
    nodes = read_entries(file, DEPRECATED, codes.DEPRECATED_FILE_SHAPE, sink)
    return _load_entries(nodes, functions, sink, may_lack)


def _load_entries(
    items: Iterable[Node], functions: Iterable[NativeFunction], sink: Diagnostics, may_lack: Callable[[str], bool]
) -> tuple[DeprecatedSignature, ...]:
    """Deprecated signatures of entries."""
    by_name: dict[str, list[NativeFunction]] = {}
    for function in functions:
        by_name.setdefault(function.name.name, []).append(function)
    callees = _Callees(by_name, may_lack)
    return tuple(signature for item in items for signature in _load_entry(item, callees, sink))


class _Callees(NamedTuple):
    """Functions that signatures can call, by name, and whether one may be missing."""

    by_name: dict[str, list[NativeFunction]]
    may_lack: Callable[[str], bool]


class _Call(NamedTuple):
    """A call: the function's name without `_out`, the values, and the offset of the first of them."""

    scalar: Scalar
    name: str
    is_out: bool
    values: tuple[str, ...]
    start: int


def _load_entry(node: Node, callees: _Callees, sink: Diagnostics) -> Iterator[DeprecatedSignature]:
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
    for function in _callable(call, schema, passed, callees, sink):
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
    is_out = name.endswith("_out")
    return _Call(scalar, name.replace("_out", "") if is_out else name, is_out, values, match.start(2))


def _passed_values(call: _Call, schema: FunctionSchema, sink: Diagnostics) -> list[Argument] | None:
    """Values that the call passes: arguments of the signature, and constants."""
    by_name = {argument.name: argument for argument in schema.arguments.all}
    passed, start = [], call.start
    for value in call.values:
        argument = by_name.get(value, _CONSTANTS.get(value))
        if argument is not None:
            passed.append(argument)
        else:
            names = ", ".join([f"`{name}`" for name in by_name]) or "no arguments"
            help = did_you_mean(value, by_name, f"the signature has {names}; the constant `1` may be passed")
            at = call.scalar.span_of(start, start + len(value))
            sink.error(codes.UNKNOWN_VALUE, f"the signature has no argument `{value}`", at, help=help)
        start += len(value) + 2
    return passed if len(passed) == len(call.values) else None


def _callable(
    call: _Call,
    schema: FunctionSchema,
    passed: list[Argument],
    callees: _Callees,
    sink: Diagnostics,
) -> list[NativeFunction]:
    """Overloads that take what is passed and return what the signature promises."""
    at = call.scalar.span_of(0, len(call.name))
    candidates = callees.by_name.get(call.name, [])
    if not candidates and not callees.may_lack(call.name):
        help = did_you_mean(call.name, callees.by_name)
        sink.error(
            codes.DEPRECATED_UNKNOWN_OPERATOR, f"there is no Python function `{call.name}` to call", at, help=help
        )
        return []
    against = [(function, _objection(function, call, schema, passed)) for function in candidates]
    functions = [function for function, objection in against if objection is None]
    if not functions and not callees.may_lack(call.name):
        taken = ", ".join(map(_plain, passed))
        notes = tuple(f"`{function.name}` {objection}" for function, objection in against)
        sink.error(codes.NO_MATCH, f"no overload of `{call.name}` takes ({taken})", call.scalar.span, notes=notes)
    return functions


def _objection(function: NativeFunction, call: _Call, schema: FunctionSchema, passed: list[Argument]) -> str | None:
    """Why an overload cannot be the one that is called, in words; None if it can."""
    arguments = function.arguments
    taken = arguments.out + arguments.non_out if call.is_out else arguments.all
    for argument, value in zip(taken, passed, strict=False):
        if argument.type is not value.type or argument.annotation is not value.annotation:
            return f"takes `{_plain(argument)}` where `{_plain(value)}` is passed"
    if len(passed) > len(taken):
        return f"takes {len(taken)} arguments, and {len(passed)} are passed"
    for argument in taken[len(passed) :]:
        if argument.default is None:
            return f"needs `{_plain(argument)}` as well"
    if schema.returns != function.schema.returns:
        return f"returns `{_returns_text(function.schema)}`, and the signature `{_returns_text(schema)}`"
    return None


def _plain(argument: Argument) -> str:
    """Argument without its default."""
    return make_argument(argument.name, argument.type, None, argument.annotation).text


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
