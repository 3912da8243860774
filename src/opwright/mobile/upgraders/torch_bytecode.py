"""Bytecode of upgraders from an installed PyTorch, which another process imports."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Final

from opwright.mobile.mobile_codes import BYTECODE_NO_TORCH
from opwright.source.child import python_command
from opwright.source.diagnostic import Fault
from opwright.source.text import SourceFile

_ORIGIN: Final = "<bytecode of the installed PyTorch>"

#: Prints the bytecode file of the PyTorch that a Python imports, which need not have Opwright. Constants that JSON
#: lacks become mappings.
_SCRIPT: Final = """
import json
import sys

from torch import _C
from torch.jit.generate_bytecode import generate_upgraders_bytecode

tables = {
    "upgraders": {name: code for upgrader in generate_upgraders_bytecode() for name, code in upgrader.items()},
    "operators": {
        name: {
            "upgraders": [entry.upgrader_name for entry in entries],
            "ranges": [[bounds.min_version, bounds.max_version] for bounds in _C._get_upgrader_ranges(name)],
        }
        for name, entries in _C._get_operator_version_map().items()
    },
}
json.dump(tables, sys.stdout, default=lambda value: {type(value).__name__: str(value)})
"""


def torch_files() -> list[str]:
    """Files that tell one installed PyTorch from another. Raises Fault (E1731) if none can be imported."""
    from importlib.util import find_spec

    try:
        spec = find_spec("torch")
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None:
        raise Fault.at(
            BYTECODE_NO_TORCH, "this Python has no PyTorch to take bytecode from", help="name a file with `--bytecode`"
        )
    folder = os.path.dirname(spec.origin)
    return [os.path.join(folder, "version.py"), os.path.join(folder, "lib", "libtorch_cpu.so")]


def bytecode_of_torch(python: str) -> SourceFile:
    """Bytecode file of the PyTorch that a Python imports. Raises Fault (E1731) if it fails."""
    import subprocess

    command = python_command(python, _SCRIPT)
    done = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit status {done.returncode}"]
        raise Fault.at(
            BYTECODE_NO_TORCH,
            f"`{python}` cannot tell the bytecode of PyTorch: {lines[-1]}",
            help="name a file with `--bytecode`",
        )
    return SourceFile(_ORIGIN, bytecode_text(json.loads(done.stdout)))


def bytecode_text(tables: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """Text of a bytecode file, in the order of names, with a line for each field.

    >>> print(bytecode_text({"upgraders": {}, "operators": {"aten::f": {"upgraders": ["f_0_3"], "ranges": [[0, 3]]}}}))
    {
      "upgraders": {},
      "operators": {
        "aten::f": {
          "upgraders": ["f_0_3"],
          "ranges": [[0, 3]]
        }
      }
    }
    <BLANKLINE>
    """
    parts = []
    for table, entries in tables.items():
        blocks = {
            name: _block({field: json.dumps(value) for field, value in entries[name].items()}, 4)
            for name in sorted(entries)
        }
        parts.append(f"  {json.dumps(table)}: {_block(blocks, 2)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _block(texts: Mapping[str, str], indent: int) -> str:
    """A mapping with a line for each of its values."""
    space = " " * indent
    lines = [f"{space}  {json.dumps(name)}: {text}" for name, text in texts.items()]
    return "{\n" + ",\n".join(lines) + f"\n{space}}}" if lines else "{}"
