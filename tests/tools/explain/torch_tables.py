"""Runs beside PyTorch: prints the dispatcher's tables of operators as JSON.

The names of operators without `aten::` are the arguments; without any, all operators are printed. Each row has the
source that registered the kernel, the line, and the kind of the kernel.
"""

from __future__ import annotations

import json
import re
import sys

import torch

ROW = re.compile(r"(\w+): (fallthrough )?registered at (.*?):(\d+) \[(.*)\]")
NAMESPACE = "aten::"


def tables(names: list[str]) -> dict[str, dict[str, list[str]]]:
    """For each operator and dispatch key the source and the kind of what runs."""
    chosen = names or [
        name.removeprefix(NAMESPACE) for name in torch._C._dispatch_get_all_op_names() if name.startswith(NAMESPACE)
    ]
    return {name: table(torch._C._dispatch_dump_table(NAMESPACE + name)) for name in chosen}


def table(text: str) -> dict[str, list[str]]:
    """The rows of one operator."""
    rows = {}
    for line in text.splitlines():
        match = ROW.fullmatch(line)
        assert match is not None, line
        key, fallthrough, source, _, kind = match.groups()
        rows[key] = [source, f"{kind}, fallthrough" if fallthrough else kind]
    return rows


if __name__ == "__main__":
    print(json.dumps(tables(sys.argv[1:])))
