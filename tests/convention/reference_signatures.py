"""Program for the reference's interpreter: the signatures of every operator under each convention, as JSON lines.

usage: reference_signatures.py SOURCE_PATH > signatures.jsonl
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from torchgen.api import structured
from torchgen.api.types import CppSignatureGroup, DispatcherSignature, NativeSignature
from torchgen.context import native_function_manager
from torchgen.gen import get_grouped_native_functions, parse_native_yaml
from torchgen.gen_aoti_c_shim import gen_declaration_and_definition
from torchgen.model import FunctionSchema, NativeFunction, NativeFunctionsGroup


def signatures_of(function: NativeFunction) -> dict[str, object]:
    """The texts of one overload's signatures."""
    signatures: dict[str, object] = {"name": f"{function.namespace}::{function.func.name}"}
    for method in (False, True):
        if method and "self" not in [argument.name for argument in function.func.arguments.flat_non_out]:
            continue
        group = CppSignatureGroup.from_native_function(
            function, method=method, fallback_binding=function.manual_cpp_binding
        )
        signatures[f"cpp {method}"] = [
            [signature.decl(), signature.defn(), signature.ptr_type()] for signature in group.signatures()
        ]
    for symint in (False, True):
        dispatcher_signature = DispatcherSignature.from_schema(function.func, symint=symint)
        signatures[f"dispatcher {symint}"] = [
            dispatcher_signature.decl(),
            dispatcher_signature.defn(),
            dispatcher_signature.ptr_type(),
            dispatcher_signature.type(),
        ]
        two = NativeSignature(function.func, symint=symint)
        signatures[f"native {symint}"] = [two.decl(), two.defn()]
    signatures["C shims"] = shims_of(function.func)
    return signatures


def shims_of(schema: FunctionSchema) -> list[str] | None:
    """The texts of two versions of the C shim, the older one without arguments that have defaults; None for no shim."""
    new = [argument.name for argument in schema.arguments.flat_non_out if argument.default is not None]
    try:
        texts = gen_declaration_and_definition(schema, "cpu", "called", {"v2": {"new_args": new}})
    except NotImplementedError:
        return None
    return ["".join(text.split()) for text in texts]


def main() -> None:
    """Print one line per overload, then one per structured group."""
    source = Path(sys.argv[1]) / "native"
    parsed = parse_native_yaml(str(source / "native_functions.yaml"), str(source / "tags.yaml"))
    for function in parsed.native_functions:
        with native_function_manager(function):
            print(json.dumps(signatures_of(function)))
    for group in get_grouped_native_functions(parsed.native_functions):
        if isinstance(group, NativeFunctionsGroup) and group.structured:
            with native_function_manager(group.functional):
                meta = [argument.decl() for argument in structured.meta_arguments(group)]
                impl = [argument.decl() for argument in structured.impl_arguments(group)]
                outs = [argument.decl() for argument in structured.out_arguments(group)]
            print(json.dumps({"group": str(group.functional.func.name), "meta": meta, "impl": impl, "out": outs}))


if __name__ == "__main__":
    main()
