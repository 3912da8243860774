"""The declarations of Python functions, methods and named results, as PyTorch's stub files have them."""

from __future__ import annotations

from collections.abc import Mapping

from opwright.convention.python.bound import TENSOR_METHODS, TORCH, PythonModule
from opwright.convention.python.overloads import Pair, sort_pairs
from opwright.emit.emitter import Job
from opwright.emit.python.units import bindings
from tests.emit.python_declarations import declaration, result_class, spread_declaration


def pair_declarations(pair: Pair) -> list[str]:
    """The declarations for one signature of the parser.

    A deprecated signature with `out` has one without beside it; sizes may be spread over positional arguments.
    """
    signature, with_out = pair.signature, pair.out is not None
    declarations = [declaration(signature, with_out=False)] if signature.deprecated and with_out else []
    declarations.append(declaration(signature, with_out=with_out))
    spread = spread_declaration(signature, with_out=with_out)
    return declarations if spread is None else [*declarations, spread]


def module_declarations(job: Job, module: PythonModule) -> Mapping[str, list[str]]:
    """The declarations of a module's functions, or of the methods, by name; those of one name are its overloads.

    Overloads stand in the order in which all signatures of the module are sorted together, which for a few names is
    not the parser's.
    """
    pairs: list[Pair] = []
    for binding in bindings(job, module):
        # Methods are declared without their deprecated signatures, functions with them.
        pairs += [pair for pair in binding.pairs if module is not TENSOR_METHODS or not pair.signature.deprecated]
    declarations: dict[str, list[str]] = {}
    for pair in sort_pairs(pairs):
        declarations.setdefault(pair.signature.name, []).extend(pair_declarations(pair))
    return dict(sorted(declarations.items()))


def result_classes(job: Job) -> Mapping[str, str]:
    """The classes of named results by the names of the functions of `torch` and the methods that give them."""
    classes: dict[str, str] = {}
    for module in (TORCH, TENSOR_METHODS):
        for binding in bindings(job, module):
            for overload in binding.overloads:
                text = result_class(overload.signature)
                if text is not None:
                    classes[overload.signature.name] = text
    return dict(sorted(classes.items()))
