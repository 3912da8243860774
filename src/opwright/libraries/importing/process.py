"""Reads what modules register, from a process that imports them: the schemas, keys and tags of the dispatcher."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Final, TypeAlias, cast

from opwright.libraries.importing.registration import RegistrationStatement, SourcePlace
from opwright.model.dispatch_key import LIBRARY_KEYS
from opwright.source.child import python_program
from opwright.source.codes import MODULE_NOT_READ
from opwright.source.diagnostic import Fault

#: How many seconds the process may take.
_TIME_LIMIT: Final = 600
_LAST_LINES: Final = 6

#: What the process runs. It prints one line for each operator after a line that nothing else prints.
_PROGRAM: Final = """
import importlib, json, sys
import torch
before = {(schema.name, schema.overload_name) for schema in torch._C._jit_get_all_schemas()}
for name in sys.argv[2:]:
    importlib.import_module(name)
rows = []

def has_kernel(name, key):
    try:
        return torch._C._dispatch_has_kernel_for_dispatch_key(name, key)
    except RuntimeError:  # not a key of this release
        return False

for schema in torch._C._jit_get_all_schemas():
    if (schema.name, schema.overload_name) in before:
        continue
    name = schema.name + ("." + schema.overload_name if schema.overload_name else "")
    space, _, base = schema.name.partition("::")
    try:
        tags = getattr(getattr(getattr(torch.ops, space), base), schema.overload_name or "default").tags
    except AttributeError:
        continue
    keys = [key for key in json.loads(sys.argv[1]) if has_kernel(name, key)]
    rows.append([space, str(schema).partition("::")[2], keys, [str(tag).rpartition(".")[2] for tag in tags]])
print("\\nopwright import:", json.dumps(rows))
"""
_MARK: Final = "opwright import: "
#: The namespace of an operator, its schema, keys and tags.
_Row: TypeAlias = "tuple[str, str, list[str], list[str]]"


def read_modules(modules: Sequence[str]) -> list[RegistrationStatement]:
    """What modules register for keys that `dispatch` names. The names of kernels are not known, so they stay by hand.

    This runs the code of the modules, in a process of its own. Raises Fault if they cannot be imported.
    """
    answer = answer_of(_PROGRAM, json.dumps([key.name for key in LIBRARY_KEYS.values()]), modules)
    try:
        return list(map(_registration, cast("list[_Row]", answer)))
    except (TypeError, ValueError, AttributeError):
        raise _not_an_answer(modules) from None


def answer_of(program: str, argument: str, modules: Sequence[str]) -> object:
    """What a program prints behind the mark that runs with an argument and names of modules, in a process of its own.

    Raises Fault if it fails.
    """
    command = [sys.executable, "-c", python_program(program), argument, *modules]
    shown = ", ".join(f"`{module}`" for module in modules)
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False, timeout=_TIME_LIMIT
        )
    except subprocess.TimeoutExpired:
        raise Fault.at(MODULE_NOT_READ, f"importing {shown} took more than {_TIME_LIMIT} seconds") from None
    marked = [line for line in done.stdout.splitlines() if line.startswith(_MARK)]
    if done.returncode or not marked:
        lines = " ".join(done.stderr.strip().splitlines()[-_LAST_LINES:])
        raise Fault.at(MODULE_NOT_READ, f"importing {shown} failed: {lines or f'exit status {done.returncode}'}")
    try:
        answer: object = json.loads(marked[-1].removeprefix(_MARK))
    except (ValueError, RecursionError):
        raise _not_an_answer(modules) from None
    return answer


def _not_an_answer(modules: Sequence[str]) -> Fault:
    shown = ", ".join(f"`{module}`" for module in modules)
    return Fault.at(MODULE_NOT_READ, f"importing {shown} failed: something else printed the answer of the process")


def _registration(row: _Row) -> RegistrationStatement:
    namespace, schema, keys, tags = row
    if not all(isinstance(text, str) for text in (namespace, schema, *keys, *tags)):
        raise TypeError
    by_hand = f"the kernels for {', '.join(keys)}" if keys else ""
    name = schema.partition("(")[0]
    return RegistrationStatement(
        namespace, name, SourcePlace("<process>", 0, 0), schema, tuple(keys), by_hand=by_hand, tags=tuple(tags)
    )
