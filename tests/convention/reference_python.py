"""Program for the reference's interpreter: the Python signatures of every overload, as JSON lines.

usage: reference_python.py SOURCE_PATH > signatures.jsonl
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from torchgen.api.python import arg_parser_output_exprs, dispatch_lambda_args, signature
from torchgen.context import native_function_manager
from torchgen.gen import parse_native_yaml
from torchgen.model import NativeFunction


def signatures_of(function: NativeFunction) -> dict[str, object]:
    """The texts of one overload as a function and as a method, with symbolic integers and without."""
    signatures: dict[str, object] = {"name": f"{function.namespace}::{function.func.name}"}
    for method in (False, True):
        made = signature(function, method=method)
        for symint in (True, False):
            key = f"{'method' if method else 'function'} {'symbolic' if symint else 'concrete'}"
            signatures[key] = made.signature_str(symint=symint)
            taken = dispatch_lambda_args(made, function, symint=symint)
            signatures[f"{key} lambda"] = ", ".join(f"{argument.type_str} {argument.name}" for argument in taken)
            try:
                read = arg_parser_output_exprs(made, function, symint=symint)
            except RuntimeError:
                # The reference too has no method of the parser for some types.
                continue
            signatures[f"{key} read"] = [expression.expr for expression in read.values()]
    return signatures


def main() -> None:
    """Print one line per overload."""
    source = Path(sys.argv[1]) / "native"
    parsed = parse_native_yaml(str(source / "native_functions.yaml"), str(source / "tags.yaml"))
    for function in parsed.native_functions:
        with native_function_manager(function):
            try:
                print(json.dumps(signatures_of(function)))
            except (RuntimeError, ValueError):
                # Nor names for some; and one has an argument that bindings have themselves.
                continue


if __name__ == "__main__":
    main()
