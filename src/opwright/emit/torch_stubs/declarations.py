"""The hints that follow from operators: their Python functions, methods of tensors, and classes of named results."""

from __future__ import annotations

from collections.abc import Mapping

from opwright.convention.python.bound import TENSOR_METHODS, TORCH, PythonModule
from opwright.convention.python.hints import Hints
from opwright.convention.python.overloads import Pair, sort_pairs
from opwright.emit.emitter import Job, per_job
from opwright.emit.python.units import bindings
from opwright.model.native_function import NativeFunction

__all__ = ["classes_by_name", "generated_hints", "hints_of", "result_classes"]


@per_job
def hints_of(job: Job) -> Hints:
    """The hints of the release, which keep those that they made."""
    return Hints(job.rules)


def pair_hints(pair: Pair, hints: Hints) -> list[str]:
    """The hints of one signature of the parser.

    A deprecated signature with `out` has one without beside it; sizes may be spread over positional arguments.
    """
    signature, with_out = pair.signature, pair.out is not None
    texts = [hints.declaration(signature, with_out=False)] if signature.deprecated and with_out else []
    texts.append(hints.declaration(signature, with_out=with_out))
    spread = hints.spread_declaration(signature, with_out=with_out)
    return texts if spread is None else [*texts, spread]


def generated_hints(job: Job, module: PythonModule, left_out: frozenset[str]) -> Mapping[str, list[str]]:
    """The hints of a module's functions, or of the methods, by name; those of one name are its overloads.

    Overloads stand in the order in which all signatures of the module are sorted together, which for a few names is
    not the parser's. Functions that are `left_out` keep the hints of their deprecated signatures.
    """
    pairs: list[Pair] = []
    for binding in bindings(job, module):
        # Methods have no hints of their deprecated signatures, functions have them.
        pairs += [pair for pair in binding.pairs if module is not TENSOR_METHODS or not pair.signature.deprecated]
    hints = hints_of(job)
    texts: dict[str, list[str]] = {}
    for pair in sort_pairs(pairs):
        signature = pair.signature
        if signature.deprecated or signature.name not in left_out:
            texts.setdefault(signature.name, []).extend(pair_hints(pair, hints))
    return texts


@per_job
def classes_by_name(job: Job) -> Mapping[str, Mapping[str, NativeFunction]]:
    """The classes of named results by the name of the function: each text with the first overload that has it."""
    hints = hints_of(job)
    classes: dict[str, dict[str, NativeFunction]] = {}
    for module in (TORCH, TENSOR_METHODS):
        for binding in bindings(job, module):
            for signature, function in binding.overloads:
                # Deprecated signatures return the class of the others.
                text = None if signature.deprecated else hints.result_class(signature)
                if text is not None:
                    classes.setdefault(signature.name, {}).setdefault(text, function)
    return classes


def result_classes(job: Job) -> Mapping[str, str]:
    """The classes of named results by the names of the functions of `torch` and the methods that give them, sorted."""
    return {name: next(iter(texts)) for name, texts in sorted(classes_by_name(job).items())}
