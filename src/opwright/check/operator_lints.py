"""Lints of operators (their schemas, groups, kernels and tags) and of what a backend does to their gradients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from opwright.check.lint import Operators
from opwright.check.places import name_span, schema_part_span
from opwright.coverage.records import MetaSupport
from opwright.coverage.report import NO_META_KERNELS, meta_support
from opwright.dialects.names import CPP_WORDS
from opwright.schema.function import Argument, Arguments, FunctionSchema, SchemaKind
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.nodes import Mapping, Scalar, Sequence
from opwright.source.yaml import load_yaml

if TYPE_CHECKING:
    from opwright.coverage.records import OperatorRecord

__all__ = [
    "check_alias_annotations",
    "check_backward",
    "check_composites",
    "check_cpp_keywords",
    "check_functional_forms",
    "check_meta_kernels",
    "check_tags",
]


def check_composites(records: Iterable[OperatorRecord], sink: Diagnostics) -> None:
    """Report kernels that take the gradients of composite operators away (W2212)."""
    _report(records, "composite_override", codes.GRADIENT_TAKEN_AWAY, sink)


def check_backward(records: Iterable[OperatorRecord], sink: Diagnostics) -> None:
    """Report operators whose backward formulas need operators that the backend lacks (W2213)."""
    _report(records, "backward", codes.BACKWARD_LACKS, sink)


def _report(records: Iterable[OperatorRecord], kind: str, code: str, sink: Diagnostics) -> None:
    for record in records:
        for trap in record.traps:
            if trap.kind.name == kind:
                sink.warning(code, trap.message, trap.span, help=trap.help)


def check_cpp_keywords(operators: Operators, sink: Diagnostics) -> None:
    """Report arguments named like C++ keywords (W2211), apart from those of libraries, where they are errors."""
    if operators.in_library:
        return
    for function in operators.functions:
        for argument in _cpp_keywords(function.arguments):
            message = f"argument name `{argument.name}` is a C++ keyword"
            sink.warning(codes.CPP_KEYWORD, message, schema_part_span(function, argument.text))


@cache
def _cpp_keywords(arguments: Arguments) -> tuple[Argument, ...]:
    return tuple([argument for argument in arguments.all if argument.name in CPP_WORDS])


def check_alias_annotations(operators: Operators, sink: Diagnostics) -> None:
    """Report annotations that alias nothing, and those that several written arguments share (W2217)."""
    for function in operators.functions:
        if function.arguments.has_annotations:
            for argument, message in _suspicious_annotations(function.schema):
                sink.warning(codes.SUSPICIOUS_ALIAS, message, schema_part_span(function, argument.text))


def _suspicious_annotations(schema: FunctionSchema) -> Iterator[tuple[Argument, str]]:
    """The arguments whose annotations are suspicious, each with a message."""
    annotations = [result.annotation for result in schema.returns if result.annotation is not None]
    returned = {name for annotation in annotations for name in (*annotation.before, *annotation.after)}
    uses = Counter(
        name
        for argument in schema.arguments.all
        if argument.annotation is not None
        for name in argument.annotation.before
    )
    for argument in schema.arguments.all:
        annotation = argument.annotation
        if annotation is None:
            continue
        if not annotation.is_write and not annotation.after and not returned.intersection(annotation.before):
            yield argument, f"no result aliases `{argument.text}`, and the call does not write it"
        shared = [name for name in annotation.before if uses[name] > 1]
        if annotation.is_write and shared:
            yield argument, f"`{argument.text}` is written, and another argument has the annotation `{shared[0]}` too"


def check_functional_forms(operators: Operators, sink: Diagnostics) -> None:
    """Report operators that write their arguments and have no functional form (W2218)."""
    for function in operators.functions:
        writes = function.kind in (SchemaKind.inplace, SchemaKind.mutable)
        if writes and function.group is None and function.view_group is None and not function.has_composite_implicit:
            message = f"`{function.name}` writes its arguments, and has no functional form"
            sink.warning(codes.ONLY_WRITES, message, name_span(function))


def check_meta_kernels(operators: Operators, sink: Diagnostics) -> None:
    """Report operators whose results have no known shape while PyTorch traces (W2214)."""
    if operators.in_library:
        # The loader of library files knows their declared outputs, and reports this itself.
        return
    # Few runs select this lint, and the modules are large.

    in_python = operators.has_meta_kernel
    for function in operators.functions:
        if meta_support(function, NO_META_KERNELS) is not MetaSupport.missing:
            continue
        if not (in_python is not None and in_python(function)):
            message = f"`{function.name}` has no kernel for Meta"
            sink.warning(codes.MISSING_META, message, name_span(function), help="add a kernel for `Meta`")


def check_tags(operators: Operators, sink: Diagnostics) -> None:
    """Report tags that no operator has (W2215)."""
    used = {tag for function in (*operators.functions, *operators.synthesized) for tag in function.tags}
    unused = operators.tag_names - used
    if operators.tags is None or not unused:
        return
    try:
        root = load_yaml(operators.tags)
    except Fault:
        return
    for item in root.items if isinstance(root, Sequence) else ():
        name = item.get("tag") if isinstance(item, Mapping) else None
        if isinstance(name, Scalar) and name.value in unused:
            sink.warning(codes.UNUSED_TAG, f"no operator has the tag `{name.value}`", name.span)
