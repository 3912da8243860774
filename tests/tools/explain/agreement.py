"""Compares the dispatch tables of `opwright explain` with those of the installed PyTorch's dispatcher.

    python -m tests.tools.explain.agreement [OPERATOR ...]

compares every dispatch key of these operators, by default of all that PyTorch registers from its YAML. It prints how
many rows agree, and lists those with a kernel that PyTorch registers by hand, with the reason.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple

from opwright.backends.dispatch.device_kernels import Serving, TableRow, dispatch_table
from opwright.backends.dispatch.registrations import RegistrationKind, registrations
from opwright.backends.dispatch.runtime_keys import KeyKind, RuntimeKey, runtime_keys
from opwright.emit.emitter import Job
from opwright.model.dispatch_key import device_flags
from opwright.release.inputs import open_inputs
from opwright.release.rules import Rules
from opwright.release.version import version_of
from opwright.run.loading import load_job
from opwright.run.request import Request
from opwright.source.diagnostic import Diagnostics

RUNTIME = Path(__file__).with_name("torch_tables.py")

#: What PyTorch calls the kernels of aliases.
KINDS = {
    "CompositeExplicitAutogradNonFunctional": "default backend kernel",
    "CompositeExplicitAutograd": "default backend kernel",
    "CompositeImplicitAutograd": "math kernel",
    "CompositeImplicitAutogradNestedTensor": "nested kernel",
    "Autograd": "autograd kernel",
}
WITHOUT_KERNEL = {
    Serving.fallback: "backend fallback",
    Serving.error: "backend fallback",
    Serving.fallthrough: "backend fallback, fallthrough",
    Serving.missing: "",
}
#: The generated files that register kernels which no key of tensors has.
FILES = {
    RegistrationKind.autograd: "VariableType",
    RegistrationKind.not_implemented: "VariableType",
    RegistrationKind.refuses_gradients: "VariableType",
    RegistrationKind.not_differentiable: "VariableType",
    RegistrationKind.view: "ADInplaceOrViewType",
    RegistrationKind.tracer: "TraceType",
    RegistrationKind.functionalization: "RegisterFunctionalization",
    RegistrationKind.backend_select: "RegisterBackendSelect",
}

TorchRow = Sequence[str]


class Agreement(NamedTuple):
    """The result: how many rows agree, the exceptions by key and source, and what disagrees."""

    operators: int
    rows: int
    agreeing: int
    by_hand: Counter[tuple[RuntimeKey, str]]
    disagreements: list[str]


@cache
def torch_tables(*names: str) -> dict[str, dict[str, TorchRow]]:
    """The dispatcher's tables of operators, all without names."""
    command = [sys.executable, str(RUNTIME), *names]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    tables: dict[str, dict[str, TorchRow]] = json.loads(text.splitlines()[-1])
    return tables


@cache
def installed_job() -> Job:
    """The operators of the installed release, with the kernels of all devices."""
    inputs = open_inputs("auto")
    request = Request(inputs, {}, families=("autograd",), devices=frozenset(device_flags()))
    return load_job(request, Rules(version_of(inputs)), Diagnostics(), {})


def built_keys(job: Job) -> frozenset[str]:
    """The keys whose kernels the installed build has, which is without most devices: all but those of tensors."""
    backends = {key.name for key in runtime_keys() if key.kind is KeyKind.backend}
    sources = {
        source
        for rows in torch_tables("add.Tensor", "empty.memory_format", *PROBES).values()
        for source, _ in rows.values()
    }
    registering = {match[1] for source in sources if (match := re.search(r"/Register(\w+?)_\d+\.cpp", source))}
    return frozenset(key for key in _registered_keys(job) if key not in backends or key in registering)


#: Operators that together have a kernel for each key of tensors that a build for the CPU has.
PROBES = ("_nested_tensor_storage_offsets", "add.Tensor", "clone", "empty.memory_format", "mul.Tensor", "relu", "view")


def _registered_keys(job: Job) -> frozenset[str]:
    return frozenset(key for function in job.catalog.functions for key in registrations(job, function))


def compare(names: Sequence[str] = ()) -> Agreement:
    """Compare the tables of these operators, by default of all."""
    job = installed_job()
    tables = torch_tables(*names)
    built = built_keys(job)
    functions = [function for function in job.catalog.functions if function.name.text in tables]
    agreeing = count = 0
    by_hand: Counter[tuple[RuntimeKey, str]] = Counter()
    disagreements = []
    for function in functions:
        rows = list(dispatch_table(function, registrations(job, function), built))
        strange = tables[function.name.text].keys() - {row.key.name for row in rows}
        disagreements += [f"{function.name} under {key}: unknown key" for key in sorted(strange)]
        for row in rows:
            count += 1
            torch_row = tables[function.name.text].get(row.key.name, ("", ""))
            if agrees(row, torch_row):
                agreeing += 1
            elif pattern := hand_written(row.key, torch_row[0]):
                by_hand[row.key, pattern] += 1
            else:
                disagreements.append(f"{function.name} under {row.key.name}: {row.serving.name}, PyTorch {torch_row}")
    return Agreement(len(functions), count, agreeing, by_hand, disagreements)


def agrees(row: TableRow, torch_row: TorchRow) -> bool:
    """Whether a row says what PyTorch does: the same kind of kernel, which the same file registers."""
    source, kind = torch_row
    if row.registration is None:
        return kind == WITHOUT_KERNEL[row.serving]
    if row.registration.kind is RegistrationKind.by_hand:
        return hand_written(row.key, source) != ""
    expected = "kernel" if row.serving is Serving.kernel else KINDS[row.registered_for]
    stem = FILES.get(row.registration.kind, f"Register{row.registered_for}")
    if row.key.name == "Functionalize":
        stem = FILES[RegistrationKind.functionalization]
    return kind == expected and re.search(rf"/{stem}(_\d+)?\.cpp$", source) is not None


def hand_written(key: RuntimeKey, source: str) -> str:
    """The pattern of hand-written sources of a key that a source matches; empty if there is none."""
    return next((pattern for pattern in key.by_hand if fnmatchcase(source, f"*/{pattern}")), "")


def report(agreement: Agreement) -> str:
    """The result as text."""
    hand = sum(agreement.by_hand.values())
    lines = [
        f"{agreement.operators:,} operators under {len(runtime_keys())} dispatch keys: {agreement.rows:,} rows",
        f"{agreement.agreeing:>9,} agree with PyTorch's dispatcher",
        f"{hand:>9,} have a kernel that PyTorch registers by hand",
        f"{len(agreement.disagreements):>9,} disagree",
    ]
    for (key, pattern), number in agreement.by_hand.items():
        lines += [f"{number:>9,}  {key.name}: {pattern}", f"           {key.reason}"]
    return "\n".join([*lines, *agreement.disagreements]) + "\n"


if __name__ == "__main__":
    RESULT = compare(sys.argv[1:])
    sys.stdout.write(report(RESULT))
    sys.exit(bool(RESULT.disagreements))
