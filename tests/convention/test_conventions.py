from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from opwright.convention import c_shim, dispatcher, native, public_api, structured
from opwright.cpp.signature import Signature
from opwright.dialects.native_functions.loader import load_catalog
from opwright.model.catalog import Catalog
from opwright.model.native_function import NativeFunction
from opwright.schema.function import FunctionSchema
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile

PROGRAM = Path(__file__).with_name("reference_signatures.py")


@pytest.fixture(scope="module")
def reference(reference_inputs: Path) -> list[dict[str, Any]]:
    """What the reference's program says: a record per overload, then one per structured group."""
    command = [sys.executable, str(PROGRAM), str(reference_inputs)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in printed.splitlines()]


@pytest.fixture(scope="module")
def catalog(reference_inputs: Path) -> Catalog:
    """PyTorch's operators."""
    sink = Diagnostics()
    native_folder = reference_inputs / "native"
    return load_catalog(
        SourceFile.read(str(native_folder / "native_functions.yaml")),
        SourceFile.read(str(native_folder / "tags.yaml")),
        sink,
    )


def printed(signature: Signature) -> list[str]:
    """Declaration, definition and pointer type."""
    return [signature.declaration(), signature.definition(), signature.pointer]


def signatures_of(function: NativeFunction) -> dict[str, object]:
    """The same record as the reference's program makes."""
    signatures: dict[str, object] = {
        "name": f"{function.namespace}::{function.name}",
        "cpp False": [printed(cpp_signature) for cpp_signature in public_api.function_signatures(function).all()],
    }
    if "self" in [argument.name for argument in function.arguments.non_out]:
        signatures["cpp True"] = [
            printed(cpp_signature) for cpp_signature in public_api.method_signatures(function).all()
        ]
    for symint, signature in ((False, dispatcher.concrete_signature(function)), (True, dispatcher.signature(function))):
        signatures[f"dispatcher {symint}"] = [*printed(signature), signature.type]
    for symint, signature in ((False, native.signature(function)), (True, native.symint_signature(function))):
        signatures[f"native {symint}"] = [signature.declaration(), signature.definition()]
    signatures["C shims"] = shims_of(function.schema)
    return signatures


def shims_of(schema: FunctionSchema) -> list[str] | None:
    """The same texts as the reference's program makes, without white space."""
    new = [argument.name for argument in schema.arguments.non_out if argument.default is not None]
    name = f"aoti_torch_cpu_{schema.name.unambiguous}"
    try:
        shims = [
            c_shim.shim_function(f"{name}_v2", "called", schema),
            c_shim.shim_function(name, "called", schema, new),
        ]
    except c_shim.NoCForm:
        return None
    declarations = "".join(f"AOTI_TORCH_EXPORT {shim.head};" for shim in shims)
    return ["".join(text.split()) for text in (declarations, "".join(map(shim_definition, shims)))]


def shim_definition(shim: c_shim.ShimFunction) -> str:
    """The definition of a C function, as PyTorch writes it."""
    result = "auto tmp_result = " if shim.results else ""
    statements = "".join(part.statement for part in shim.results)
    body = f"{result}{shim.called}({', '.join(shim.arguments)});{statements}"
    return f"{shim.head} {{ AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({{ {body} }}); }}"


def test_every_signature_of_every_operator_is_the_reference_s(
    catalog: Catalog, reference: list[dict[str, Any]]
) -> None:
    """Public API (up to four, functions and methods), dispatcher and native signatures print the same, and C shims."""
    records = [record for record in reference if "name" in record]
    assert len(records) == len(catalog) > 3000
    for function, record in zip(catalog, records, strict=True):
        assert signatures_of(function) == record


def test_structured_arguments_are_the_reference_s(catalog: Catalog, reference: list[dict[str, Any]]) -> None:
    """The parameters of `meta`, `impl` and the outs of every structured group print the same."""
    records = {record["group"]: record for record in reference if "group" in record}
    assert len(records) > 250
    for group in catalog.structured_groups:
        record = records[group.functional.name.text]
        assert [argument.declaration for argument in structured.meta_arguments(group)] == record["meta"]
        assert [argument.declaration for argument in structured.impl_arguments(group)] == record["impl"]
        assert [argument.declaration for argument in structured.out_arguments(group)] == record["out"]
