"""Which outputs of a function are differentiable: the field `output_differentiability`."""

from __future__ import annotations

from typing import Final

from opwright.dialects.derivatives.formula_checks import FormulaChecker
from opwright.dialects.derivatives.report import EntryReport
from opwright.model.native_function import NativeFunction
from opwright.source import codes
from opwright.source.named_tuple import NamedTuple
from opwright.source.nodes import Node, Scalar, Sequence


class Differentiability(NamedTuple):
    """What an entry says of the outputs: whether each is differentiable, or a condition for the only one."""

    of_outputs: tuple[bool, ...] | None
    condition: str | None


NOTHING_SAID: Final = Differentiability(None, None)


def read_differentiability(
    node: Node | None, function: NativeFunction, report: EntryReport, checker: FormulaChecker
) -> Differentiability:
    """What the field says of the outputs of a function. What an operator saves and does not return gets no gradient."""
    saved = function.library_fields.saved
    if node is None and saved:
        return Differentiability(tuple([result.name not in saved for result in function.schema.returns]), None)
    if node is None:
        return NOTHING_SAID
    if not isinstance(node, Sequence):
        message = f"`output_differentiability` is {node.description}, not a list"
        report.error(codes.DIFFERENTIABILITY_SHAPE, message, node.span)
        return NOTHING_SAID
    flags: list[bool] = []
    condition: str | None = None
    for item in node.items:
        kind = item.kind if isinstance(item, Scalar) else ""
        if not isinstance(item, Scalar) or kind not in ("bool", "str"):
            message = f"a value is `True`, `False` or a condition, not {item.description}"
            report.error(codes.DIFFERENTIABILITY_SHAPE, message, item.span)
            return NOTHING_SAID
        if kind == "str":
            condition = item.value
            checker.check_expression(item)
        flags.append(kind == "str" or item.python_value() is True)
    if condition is not None and len(flags) != 1:
        message = "a condition is supported only for a function with one output"
        report.error(codes.DIFFERENTIABILITY_SHAPE, message, node.span)
        return NOTHING_SAID
    outputs = len(function.schema.returns)
    if flags and len(flags) != outputs:
        message = f"{count_in_words(len(flags), 'value')} for {count_in_words(outputs, 'output')} of `{function.name}`"
        report.error(codes.DIFFERENTIABILITY_LENGTH, message, node.span, label=f"expected {outputs}")
        return NOTHING_SAID
    if False in flags and function.name.inplace:
        message = f"the output of `{function.name}` is its `self`, which must count as written"
        report.error(codes.DIFFERENTIABILITY_INPLACE, message, node.span)
    return Differentiability(tuple(flags), condition) if flags else NOTHING_SAID


def count_in_words(count: int, noun: str) -> str:
    """A number with its noun, in words.

    >>> count_in_words(1, "output"), count_in_words(2, "output")
    ('1 output', '2 outputs')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
