"""Checks sample inputs: the Python text of a call's arguments, against the schema of the operator."""

from __future__ import annotations

import ast
import warnings

from opwright.dialects.python_source import node_span
from opwright.libraries import library_codes
from opwright.schema.function import FunctionSchema
from opwright.source.diagnostic import Diagnostics, did_you_mean
from opwright.source.nodes import Scalar
from opwright.source.span import Span
from opwright.source.text import SourceFile

# Arguments become the expression of a call. A line break after the parenthesis keeps the columns of the text.
_BEFORE = "f(\n"
_LONGEST = 10_000


def check_sample(scalar: Scalar, schema: FunctionSchema, sink: Diagnostics) -> bool:
    """Whether a text has the arguments of a call of an operator, which generated tests make. Faults go to `sink`."""
    before = len(sink)
    call = _parse_call(scalar, sink)
    if call is not None:
        _check_arguments(call, scalar, schema, sink)
    return len(sink) == before


def keyword_spans(scalar: Scalar, name: str) -> list[Span]:
    """Where a text of arguments, which may be wrong, passes one by its name.

    >>> text = "torch.ones(2, dim=1), dim=3"
    >>> [span.start for span in keyword_spans(Scalar(SourceFile("x.yaml", text), 0, len(text), text), "dim")]
    [22]
    """
    call = _parse_call(scalar, Diagnostics())
    keywords = () if call is None else call.keywords
    return [_keyword_span(keyword, name, scalar) for keyword in keywords if keyword.arg == name]


def _parse_call(scalar: Scalar, sink: Diagnostics) -> ast.Call | None:
    text = scalar.value
    at = scalar.span
    try:
        if len(text) > _LONGEST:
            raise ValueError
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call = ast.parse(f"{_BEFORE}{text}\n)", mode="eval").body
        # A text such as `1) + f(2` is no list of arguments, although it makes an expression.
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.end_lineno == text.count("\n") + 3:
            return call
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        start = _error_offset(text, error)
        if start is not None:
            at = scalar.span_of(start, start + 1)
    sink.error(library_codes.SAMPLE_SYNTAX, "this is not a list of Python arguments", at)
    return None


def _error_offset(text: str, error: BaseException) -> int | None:
    """Offset in the text at which Python found an error; None if it is outside."""
    if not isinstance(error, SyntaxError) or error.lineno is None or error.offset is None:
        return None
    wrapped = SourceFile("sample", f"{_BEFORE}{text}\n)")
    start = wrapped.offset(min(error.lineno, wrapped.line_count), max(error.offset, 1)) - len(_BEFORE)
    return start if 0 <= start < len(text) else None


def _check_arguments(call: ast.Call, scalar: Scalar, schema: FunctionSchema, sink: Diagnostics) -> None:
    """Report arguments that the operator does not take, and those that are missing."""
    positional, arguments = schema.arguments.positional, schema.arguments.all
    names = [argument.name for argument in arguments]
    given = [argument.name for argument in positional[: len(call.args)]]
    has_star = any(isinstance(value, ast.Starred) for value in call.args)
    for value in call.args[len(positional) :] if not has_star else ():
        count = "1 positional argument" if len(positional) == 1 else f"{len(positional)} positional arguments"
        sink.error(library_codes.SAMPLE_ARGUMENTS, f"`{schema.name}` takes {count}", _span(value, scalar))
    for keyword in call.keywords:
        if keyword.arg is None:
            has_star = True
        elif keyword.arg not in names:
            help = did_you_mean(keyword.arg, names)
            message = f"`{schema.name}` has no argument `{keyword.arg}`"
            sink.error(library_codes.SAMPLE_ARGUMENTS, message, _keyword_span(keyword, keyword.arg, scalar), help=help)
        elif keyword.arg in given:
            message = f"`{keyword.arg}` is given twice"
            sink.error(library_codes.SAMPLE_ARGUMENTS, message, _keyword_span(keyword, keyword.arg, scalar))
        else:
            given.append(keyword.arg)
    # Tests make the out arguments.
    required = [argument.name for argument in schema.arguments.non_out if argument.default is None]
    missing = [name for name in required if name not in given]
    if missing and not has_star:
        shown = ", ".join(f"`{name}`" for name in missing)
        sink.error(library_codes.SAMPLE_ARGUMENTS, f"the call lacks {shown}", scalar.span)


def _span(node: ast.expr | ast.keyword, scalar: Scalar) -> Span:
    part = node_span(SourceFile("sample", f"{_BEFORE}{scalar.value}\n)"), node)
    return scalar.span_of(part.start - len(_BEFORE), part.end - len(_BEFORE))


def _keyword_span(keyword: ast.keyword, name: str, scalar: Scalar) -> Span:
    """Span of the name of a keyword argument."""
    return _span(keyword, scalar).part(0, len(name))
