"""Writes a backend file with all operators that a backend may have kernels for: `write_large.py NATIVE_FUNCTIONS OUT`.

It needs only PyYAML. The operators are those of `native_functions.yaml` that a device of PyTorch has a kernel for, or
that are registered by hand, without the groups whose out or in-place overloads PyTorch's program cannot make.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml

HEAD = """\
backend: PrivateUse1
cpp_namespace: acme::native
class_name: AcmeKernels
device_guard: true
"""
#: Operators without returns, or with lists of results, from whose functional overload no other can be made.
UNMAKEABLE = re.compile(r"_foreach_|_fused_(adam|adamw|sgd|adagrad)|_amp_foreach|\w+_rnn_backward|lstm_mps_backward")
#: Every so many composite operators, one has a kernel for autograd.
AUTOGRAD_STEP = 20

Entry = Mapping[str, object]


def write_large(native: Path, target: Path) -> None:
    """Write the file for the operators of a `native_functions.yaml`."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    entries: list[Entry] = yaml.load(native.read_text(encoding="utf-8"), loader)
    kernels = [entry for entry in entries if has_kernel(entry)]
    symint = [name_of(entry) for entry in kernels if "SymInt" in str(entry["func"]).partition("->")[0]]
    roots = {root_of(entry) for entry in kernels}
    composite = [entry for entry in entries if "dispatch" not in entry and root_of(entry) not in roots]
    autograd = [name_of(entry) for entry in composite[::AUTOGRAD_STEP] if "structured_delegate" not in entry]
    supported = [name for entry in kernels for name in (name_of(entry), *synthesized(entry))]
    sections = {"symint": symint, "supported": supported, "autograd": autograd}
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(HEAD + "".join(section(name, names) for name, names in sections.items()), encoding="utf-8")


def has_kernel(entry: Entry) -> bool:
    """Whether a device has a kernel for an operator, which a backend may then have too."""
    if UNMAKEABLE.match(name_of(entry)) or "::" in name_of(entry):
        return False
    dispatch = entry.get("dispatch")
    keys = " ".join(dispatch) if isinstance(dispatch, dict) else ""
    if "structured_delegate" in entry or "manual_kernel_registration" in entry:
        return True
    return re.search(r"\bCPU\b|CompositeExplicit", keys) is not None


def synthesized(entry: Entry) -> list[str]:
    """The names of the overloads that PyTorch makes from an operator."""
    return re.findall(r"[^\s,]+", str(entry.get("autogen", "")))


def name_of(entry: Entry) -> str:
    """The name of an operator, with its overload."""
    return str(entry["func"]).partition("(")[0]


def root_of(entry: Entry) -> str:
    """The name that the overloads of a group share."""
    return name_of(entry).partition(".")[0].rstrip("_")


def section(name: str, operators: Iterable[str]) -> str:
    """A section with its entries."""
    return f"{name}:\n" + "".join(f"- {operator}\n" for operator in operators)


if __name__ == "__main__":
    write_large(Path(sys.argv[1]), Path(sys.argv[2]))
