"""Runs the reference's generator of upgraders on bytecode: `python -m tests.upgraders.sides FILE FOLDER ...`.

The file has a list of bytecode files in JSON; the outputs go into the folders, one for each. A line of JSON on the
output tells why a run failed, or null. PyTorch is replaced, because its tables are compiled into it.
"""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

Tables = dict[str, Any]


def torch_with(tables: Tables) -> ModuleType:
    """A module with the functions of PyTorch that the reference asks."""
    operators, torch = tables["operators"], ModuleType("torch")
    functions = SimpleNamespace(
        _get_operator_version_map=lambda: {
            name: [SimpleNamespace(upgrader_name=upgrader) for upgrader in fields["upgraders"]]
            for name, fields in operators.items()
        },
        _get_upgrader_ranges=lambda name: [
            SimpleNamespace(min_version=bounds[0], max_version=bounds[1]) for bounds in operators[name]["ranges"]
        ],
    )
    setattr(torch, "_C", functions)  # noqa: B010
    return torch


def write_reference(tables: Tables, folder: str) -> None:
    """Write the reference's file for bytecode."""
    from torchgen.operator_versions import gen_mobile_upgraders as program

    setattr(program, "torch", torch_with(tables))  # noqa: B010
    upgraders = [{name: code} for name, code in tables["upgraders"].items()]
    with redirect_stdout(StringIO()):
        program.write_cpp(folder, program.sort_upgrader(upgraders))


def main() -> None:
    """Run the generator on each bytecode file."""
    for name in ("torch", "torch.jit", "torch.jit.generate_bytecode"):
        sys.modules[name] = ModuleType(name)
    setattr(sys.modules["torch.jit.generate_bytecode"], "generate_upgraders_bytecode", None)  # noqa: B010
    for tables, folder in zip(json.loads(Path(sys.argv[1]).read_text()), sys.argv[2:], strict=True):
        failure = None
        try:
            write_reference(tables, folder)
        except Exception as error:
            failure = f"{type(error).__name__}: {error}"
        print(json.dumps(failure), flush=True)


if __name__ == "__main__":
    main()
