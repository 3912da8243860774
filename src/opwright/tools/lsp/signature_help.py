"""The signatures of the function whose call in a formula a position is in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsprotocol import types as lsp

from opwright.convention import public_api
from opwright.release.inputs import Inputs
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile
from opwright.syntax.cpp_expressions import split_cpp
from opwright.tools.lsp.formulas import call_at, declarations_of, formula_at
from opwright.tools.lsp.operators import load_operation
from opwright.tools.lsp.project import Project
from opwright.tools.lsp.server import OperatorServer


class CallSignature(NamedTuple):
    """A function as C++ declares it, and the ranges of its parameters in the text."""

    text: str
    parameters: tuple[tuple[int, int], ...]


def answer(server: OperatorServer, params: lsp.SignatureHelpParams) -> lsp.SignatureHelp | None:
    """The signatures of the call around a position."""
    place = server.place(params.text_document.uri, params.position)
    signatures, argument = ([], 0) if place is None else signatures_at(server.project, *place)
    if not signatures:
        return None
    shown = [
        lsp.SignatureInformation(text, parameters=[lsp.ParameterInformation(part) for part in parameters])
        for text, parameters in signatures
    ]
    fitting = [index for index, signature in enumerate(signatures) if argument < len(signature.parameters)]
    return lsp.SignatureHelp(shown, active_signature=fitting[0] if fitting else 0, active_parameter=argument)


def signatures_at(project: Project, file: SourceFile, offset: int) -> tuple[list[CallSignature], int]:
    """The declarations of the function that is called around an offset, and the number of the argument there."""
    call, inputs = call_at(file, offset), project.inputs_of(file)
    if call is None or inputs is None or formula_at(file, offset) is None:
        return [], 0
    declared = [(call.function, declaration.parameters) for declaration in declarations_of(inputs, call.function)]
    return [_signature(*pair) for pair in declared or _operators(inputs, call.function)], call.argument


def _operators(inputs: Inputs, name: str) -> Iterator[tuple[str, str]]:
    """The C++ functions of operators that have a name, as formulas call them."""
    for function in load_operation(inputs, name) or load_operation(inputs, name.removesuffix("_out")):
        for signature in public_api.function_signatures(function).all() if function.function else ():
            if signature.name == name:
                yield f"at::{name}", signature.parameters


def _signature(name: str, parameters: str) -> CallSignature:
    start = len(name) + 1
    # A comma between the angle brackets of a type divides no parameters.
    plain = re.sub(r"<[^<>()]*>", lambda match: "_" * len(match[0]), parameters)
    ranges = [(start + first, start + last) for first, last in split_cpp(plain)] if parameters else []
    return CallSignature(f"{name}({parameters})", tuple(ranges))
