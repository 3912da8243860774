"""Python signatures, the reading of their values, and the lambdas' parameters are those of the reference."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from opwright.convention.python.call import dispatch_lambda
from opwright.convention.python.parameter import NoPythonType
from opwright.convention.python.signature import function_signature
from opwright.dialects.native_functions.loader import load_catalog
from opwright.model.catalog import Catalog
from opwright.model.native_function import NativeFunction
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from opwright.torchgen.interface.plain_integers import with_plain_integers, with_plain_types

PROGRAM = Path(__file__).with_name("reference_python.py")


@pytest.fixture(scope="module")
def reference(reference_inputs: Path) -> list[dict[str, Any]]:
    """What the reference's program says: a record per overload that has a Python form."""
    command = [sys.executable, str(PROGRAM), str(reference_inputs)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in printed.splitlines()]


@pytest.fixture(scope="module")
def catalog(reference_inputs: Path) -> Catalog:
    """PyTorch's operators."""
    native = reference_inputs / "native"
    texts = [SourceFile.read(str(native / name)) for name in ("native_functions.yaml", "tags.yaml")]
    return load_catalog(texts[0], texts[1], Diagnostics())


def signatures_of(function: NativeFunction) -> dict[str, object]:
    """The same record as the reference's program makes."""
    signatures: dict[str, object] = {"name": f"{function.namespace}::{function.name}"}
    for method in (False, True):
        made = function_signature(function, method=method)
        for symint in (True, False):
            key = f"{'method' if method else 'function'} {'symbolic' if symint else 'concrete'}"
            signatures[key] = made.text if symint else with_plain_integers(made.text)
            parameters = dispatch_lambda(made, function).parameters
            signatures[f"{key} lambda"] = ", ".join(parameters if symint else map(with_plain_types, parameters))
            with contextlib.suppress(NoPythonType):
                signatures[f"{key} read"] = [
                    parameter.read(place) if symint else with_plain_integers(parameter.read(place))
                    for place, parameter in enumerate(made.parameters)
                ]
    return signatures


def test_signatures_are_those_of_the_reference(reference: list[dict[str, Any]], catalog: Catalog) -> None:
    """For every overload, as function and as method, with symbolic integers and without."""
    ours = {}
    for function in catalog.functions:
        with contextlib.suppress(NoPythonType):
            record = signatures_of(function)
            ours[record["name"]] = record
    assert len(reference) > 3000
    # The reference refuses an argument of that name; here it is refused where the binding is made.
    assert ours.keys() - {record["name"] for record in reference} == {"aten::requires_grad_"}
    for record in reference:
        assert ours[record["name"]] == record
