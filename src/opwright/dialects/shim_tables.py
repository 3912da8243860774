"""Tables of operators with a C shim, read from `torchgen/aoti/fallback_ops.py`.

PyTorch's developers add operators to this Python module. It is parsed and not run: the tables are dictionaries of
constants.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from opwright.dialects.dialect import LoadContext
from opwright.dialects.python_source import first_line, literal, node_span, parse_module
from opwright.release.tables import ShimOperator, ShimTables, ShimVersion
from opwright.source.codes import SHIM_TABLE
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.text import SourceFile

_DEVICE: Final = "inductor_fallback_ops"
_ATEN: Final = "aten_shimified_ops"
_GUARD: Final = re.compile(r"TORCH_VERSION_[0-9]+_[0-9]+_[0-9]+")
_VERSION: Final = re.compile(r"v0*([2-9]|[1-9][0-9]{1,5})")

#: The rows of a dictionary by key: the nodes of key and value. Keys that are not constant are nodes themselves.
_Rows = dict[object, tuple[ast.expr, ast.expr]]


def load(files: Sequence[SourceFile], context: LoadContext) -> ShimTables:
    """Tables of a release."""
    rules = context.rules
    wanted = (_DEVICE, _ATEN) if rules.shims_through_dispatcher else (_DEVICE,)
    return load_shim_tables(files[0], context.sink, guarded=rules.shims_are_guarded, wanted=wanted)


def load_shim_tables(
    file: SourceFile, sink: Diagnostics, *, guarded: bool, wanted: Sequence[str] = (_DEVICE, _ATEN)
) -> ShimTables:
    """Tables in a file; faults go to `sink`. `guarded` says that rows name the release that introduced them.

    The file must have the `wanted` tables.
    """
    try:
        rows = _tables(file, wanted)
        device, aten = (_table(file, rows.get(name, {}), sink, guarded=guarded) for name in (_DEVICE, _ATEN))
    except Fault as fault:
        sink.add(fault.diagnostic)
        return ShimTables({}, {}, {})
    operators = [row for name in (_DEVICE, _ATEN) for row in rows.get(name, {}).items()]
    return ShimTables(
        device, aten, {key: node_span(file, node) for key, (node, _) in operators if isinstance(key, str)}
    )


def _tables(file: SourceFile, wanted: Sequence[str]) -> Mapping[str, _Rows]:
    """Rows of each dictionary that the module assigns to a name, after all statements."""
    tables: dict[str, _Rows] = {}
    for statement in parse_module(file, SHIM_TABLE).body:
        name, value, grows = _assignment(statement)
        if value is None or (grows and name not in tables):
            _check_is_unrelated(file, statement)
            continue
        try:
            rows = _rows(value, tables)
        except RecursionError:
            rows = None
        if rows is None:
            if name in (_DEVICE, _ATEN):
                raise Fault.at(SHIM_TABLE, f"`{name}` is not a dictionary of constants", node_span(file, value))
            tables.pop(name, None)
        elif grows:
            # Other names of the same dictionary see the rows too, as in Python.
            tables[name].update(rows)
        else:
            tables[name] = rows
    for name in wanted:
        if name not in tables:
            raise Fault.at(SHIM_TABLE, f"there is no table `{name}`", first_line(file))
    return tables


def _assignment(statement: ast.stmt) -> tuple[str, ast.expr | None, bool]:
    """Name that a statement assigns to, the dictionary, and whether its rows join those that the name has.

    The dictionary is None for other statements.
    """
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name, value, False
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            return name, value, False
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name), slice=key)], value=value):
            return name, ast.copy_location(ast.Dict([key], [value]), value), True
        case ast.AugAssign(target=ast.Name(id=name), op=ast.BitOr(), value=value):
            return name, value, True
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="update"), args=[value], keywords=[])
        ):
            return name, value, True
    return "", None, False


def _check_is_unrelated(file: SourceFile, statement: ast.stmt) -> None:
    """Raises Fault if a statement of another form names a table, which it may change."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and node.id in (_DEVICE, _ATEN):
            message = f"only running this statement would tell what it does to `{node.id}`"
            raise Fault.at(SHIM_TABLE, message, node_span(file, statement))


def _rows(value: ast.expr, tables: Mapping[str, _Rows]) -> _Rows | None:
    """Rows of a dictionary, each once; None if only running the module would tell them."""
    match value:
        case ast.Name(id=name):
            return tables.get(name)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            parts = [_rows(left, tables), _rows(right, tables)]
        case ast.Dict(keys=keys, values=values):
            parts = [
                _rows(item, tables) if key is None else {_text(key) or key: (key, item)}
                for key, item in zip(keys, values, strict=True)
            ]
        case ast.Set(elts=keys):
            # Releases whose shims have no further versions list names only.
            parts = [{_text(key) or key: (key, ast.copy_location(ast.Dict([], []), key))} for key in keys]
        case _:
            return None
    rows: _Rows = {}
    for part in parts:
        if part is None:
            return None
        rows.update(part)
    return rows


def _text(node: ast.expr) -> str | None:
    """Value of an expression if it is a text."""
    text = literal(node)
    return text if isinstance(text, str) else None


def _table(file: SourceFile, rows: _Rows, sink: Diagnostics, *, guarded: bool) -> Mapping[str, ShimOperator]:
    table = {}
    for key, value in rows.values():
        try:
            name = _text(key)
            if name is None or name.count(".") != 2:
                message = "the name of an operator with a C shim is a text `namespace.name.overload`"
                raise Fault.at(SHIM_TABLE, message, node_span(file, key))
            table[name] = _operator(file, name, value, guarded=guarded)
        except Fault as fault:
            sink.add(fault.diagnostic)
    return table


def _operator(file: SourceFile, name: str, value: ast.expr, *, guarded: bool) -> ShimOperator:
    """One row of a table. Raises Fault at what is wrong with it."""
    guard = None
    versions: dict[int, ShimVersion] = {}
    for key, key_node, item in _items(file, f"the row of `{name}`", value):
        numbered = _VERSION.fullmatch(key)
        if guarded and key == "since":
            guard = _guard(file, name, item)
        elif numbered is None or int(numbered[1]) in versions:
            message = f"`{key}` of `{name}` is not a new version of the shim"
            raise Fault.at(SHIM_TABLE, message, node_span(file, key_node), help="versions are `v2`, `v3` and so on")
        else:
            added, since = _version(file, name, key, item) if guarded else (item, None)
            arguments = _argument_names(file, name, added)
            versions[int(numbered[1])] = ShimVersion(f"v{numbered[1]}", arguments, since)
    return ShimOperator(guard, tuple(versions.values()))


def _version(file: SourceFile, name: str, version: str, value: ast.expr) -> tuple[ast.expr | None, str | None]:
    """A further version of a shim: the node with its new arguments, and its guard."""
    added, guard = None, None
    for key, key_node, item in _items(file, f"`{version}` of `{name}`", value):
        if key == "new_args":
            added = item
        elif key == "since":
            guard = _guard(file, name, item)
        else:
            message = f"`{version}` of `{name}` has an unknown key `{key}`"
            raise Fault.at(SHIM_TABLE, message, node_span(file, key_node), help="the keys are `new_args` and `since`")
    return added, guard


def _items(file: SourceFile, what: str, value: ast.expr) -> Iterator[tuple[str, ast.expr, ast.expr]]:
    """Keys of a dictionary, as texts and nodes, with the nodes of their values."""
    if not isinstance(value, ast.Dict):
        raise Fault.at(SHIM_TABLE, f"{what} is not a dictionary", node_span(file, value))
    for key, item in zip(value.keys, value.values, strict=True):
        text = None if key is None else _text(key)
        if key is None or text is None:
            raise Fault.at(SHIM_TABLE, f"{what} has a key that is not a text", node_span(file, key or item))
        yield text, key, item


def _guard(file: SourceFile, name: str, value: ast.expr) -> str:
    guard = _text(value)
    if guard is None or not _GUARD.fullmatch(guard):
        message = f"`since` of `{name}` is not the version macro of a release"
        raise Fault.at(SHIM_TABLE, message, node_span(file, value), help="write it like `TORCH_VERSION_2_15_0`")
    return guard


def _argument_names(file: SourceFile, name: str, value: ast.expr | None) -> tuple[str, ...]:
    names = [] if value is None else literal(value)
    if not isinstance(names, list) or not all(isinstance(item, str) for item in names):
        assert value is not None
        message = f"`new_args` of `{name}` is not a list of argument names"
        raise Fault.at(SHIM_TABLE, message, node_span(file, value))
    return tuple(names)
