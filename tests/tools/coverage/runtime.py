"""Runs beside PyTorch: prints what its dispatcher runs for each operator, as JSON.

For each dispatch key named on the command line, the kind of kernel that serves it: the composite key, `kernel`, or
nothing. `Meta` is 1 if a kernel serves it. With `--override`, a kernel for PrivateUse1 is registered first for each
operator that is made of others.
"""

from __future__ import annotations

import json
import re
import sys

import torch

COMPOSITES = re.compile(r"Register(Composite\w+?)_\d+\.cpp")


def tables(keys: list[str]) -> dict[str, dict[str, str]]:
    """For each operator of ATen, what runs under each key."""
    names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
    return {name.removeprefix("aten::"): {key: runs(name, key) for key in keys} for name in names}


def runs(name: str, key: str) -> str:
    """What runs for an operator under a key."""
    for line in torch._C._dispatch_dump_table(name).splitlines():
        found, _, text = line.partition(": ")
        if found == key:
            composite = COMPOSITES.search(text)
            kind = text.rpartition("[")[2].rstrip("]")
            return composite[1] if composite else kind
    return ""


def override() -> torch.library.Library:
    """Register a kernel for PrivateUse1 for each operator with a kernel for CompositeImplicitAutograd."""
    library = torch.library.Library("aten", "IMPL")
    for name in torch._C._dispatch_get_all_op_names():
        implicit = torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd")
        if name.startswith("aten::") and implicit:
            library.impl(name.removeprefix("aten::"), unused, "PrivateUse1")
    return library


def unused(*_: object) -> None:
    """A kernel that is never called."""


if __name__ == "__main__":
    KEYS = [word for word in sys.argv[1:] if word != "--override"]
    KEPT = override() if "--override" in sys.argv else None
    print(json.dumps(tables(KEYS)))
