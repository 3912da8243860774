"""Declared outputs as C++: the results of a Meta kernel, the shape function of a structured kernel, checks of outs.

The text calls the functions of `opwright/outputs.h`. It names the arguments of the operator, which are in scope with
the types of any calling convention.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from opwright.model.declared_outputs import (
    DeclaredOutput,
    DeclaredOutputs,
    OutputExpression,
    OutputOperation,
    ValueKind,
    dtype_codes,
)
from opwright.source.records import NamedTuple

#: Operation -> its text, with the texts of the operands in place of `{0}` and `{1}`.
SHARED_OPERATORS: Final[Mapping[OutputOperation, str]] = {
    OutputOperation.add: "({0} + {1})",
    OutputOperation.subtract: "({0} - {1})",
    OutputOperation.multiply: "({0} * {1})",
    OutputOperation.negate: "(-{0})",
    OutputOperation.equal: "({0} == {1})",
    OutputOperation.unequal: "({0} != {1})",
    OutputOperation.less: "({0} < {1})",
    OutputOperation.less_equal: "({0} <= {1})",
    OutputOperation.greater: "({0} > {1})",
    OutputOperation.greater_equal: "({0} >= {1})",
}


#: The header with the functions that the text calls.
OUTPUTS_HEADER: Final = "opwright/outputs.h"

_META: Final = "at::Device(at::kMeta)"


class OutputText(NamedTuple):
    """The C++ expressions of one result. `like` is the tensor whose memory format it has; empty if it has none."""

    size: str
    dtype: str
    device: str
    like: str


def output_text(output: DeclaredOutput, *, symbolic: bool) -> OutputText:
    """The C++ expressions of a declared output.

    They compute with `c10::SymInt` if `symbolic`, as the parameters of dispatcher functions do, otherwise with
    `int64_t`.
    """
    printer = _SYMBOLIC if symbolic else _CONCRETE
    like = "" if output.like is None else printer.text(output.like)
    return OutputText(
        printer.sizes(output.size), printer.text(output.dtype), f"at::Device({printer.text(output.device)})", like
    )


def allocation(output: DeclaredOutput, *, meta: bool = False) -> str:
    """Expression that makes a result, on the declared device or as a meta tensor."""
    text = output_text(output, symbolic=True)
    device = _META if meta else text.device
    if text.like:
        return f"::opwright::empty_like({text.like}, {text.dtype}, {device})"
    return f"::opwright::empty({text.size}, {text.dtype}, {device})"


def shape_function(outputs: DeclaredOutputs) -> str:
    """Body of the shape function `meta` of a structured kernel."""
    statements = []
    for index, output in enumerate(outputs):
        text = output_text(output, symbolic=False)
        strides = f"::opwright::strides_like({text.like})" if text.like else "{}"
        options = f"at::TensorOptions().dtype({text.dtype}).device({text.device})"
        statements.append(f"set_output_raw_strided({index}, {text.size}, {strides}, {options});")
    return "\n".join(statements)


def out_resize(output: DeclaredOutput, out: str, *, meta: bool = False) -> str:
    """Statement that checks dtype and device of an out argument, and resizes it if it has other sizes."""
    return f"::opwright::resize_out({out}, {_expected(output, meta=meta)});"


def inplace_check(output: DeclaredOutput, *, meta: bool = False) -> str:
    """Statement that checks that `self` can take the place of a result."""
    return f"::opwright::check_inplace<c10::SymInt>(self, {_expected(output, meta=meta)});"


def _expected(output: DeclaredOutput, *, meta: bool) -> str:
    text = output_text(output, symbolic=True)
    return f"{text.size}, {text.dtype}, {_META if meta else text.device}"


#: Operations whose text only has the texts of the operands. `{shapes}` are the functions for integers of the result's
#: kind: with symbols or with numbers.
_TEMPLATES: Final[Mapping[OutputOperation, str]] = {
    **SHARED_OPERATORS,
    OutputOperation.value: "::opwright::value({0})",
    OutputOperation.floor_divide: "{shapes}::floor_divide({0}, {1})",
    OutputOperation.modulo: "{shapes}::modulo({0}, {1})",
    OutputOperation.negation: "!{0}",
    OutputOperation.is_given: "::opwright::has({0})",
    OutputOperation.size: "{shapes}::size({0}, {1})",
    OutputOperation.sizes: "{shapes}::sizes({0})",
    OutputOperation.dim: "{0}.dim()",
    OutputOperation.numel: "{shapes}::numel({0})",
    OutputOperation.dtype_of: "{0}.scalar_type()",
    OutputOperation.device_of: "{0}.device()",
    OutputOperation.length: "::opwright::length({0})",
    OutputOperation.reduce: "{shapes}::reduce({0}, ::opwright::dim_list({1}), {2})",
    OutputOperation.cat: "{shapes}::cat({0}, {1})",
    OutputOperation.is_on_cpu: "::opwright::is_on_cpu({0})",
    OutputOperation.default_dtype: "{shapes}::default_dtype()",
    OutputOperation.cpu: "{shapes}::cpu()",
}
_ARITHMETIC: Final = (OutputOperation.add, OutputOperation.subtract, OutputOperation.multiply)
_KNOWN: Final = (ValueKind.integer, ValueKind.integers, ValueKind.tensor)
_NOT_COPIED: Final = (OutputOperation.argument, OutputOperation.value)
_LISTS: Final = (ValueKind.integers, ValueKind.sizes)


class ExpressionPrinter:
    """Prints expressions; `shapes` are the functions for sizes. Integers that are no sizes are always numbers.

    `integers` are the functions for those, and `dtypes` is the enumeration with the names of dtypes. `types` is what
    stands before the names of types.
    """

    def __init__(
        self,
        shapes: str,
        integer: str,
        *,
        integers: str = "::opwright::Concrete",
        dtypes: str = "at::ScalarType",
        types: str = "at::",
    ) -> None:
        self._shapes: Final = shapes
        self._integers: Final = integers
        self.dtypes: Final = dtypes
        # The C++ type to which both values of a conditional expression are converted.
        self._casts: Final = {
            ValueKind.integer: "int64_t({})",
            ValueKind.size: f"{integer}({{}})",
            ValueKind.tensor: f"{types}Tensor({{}})",
            ValueKind.dtype: f"{types}ScalarType({{}})",
            ValueKind.device: f"{types}Device({{}})",
            ValueKind.boolean: "bool({})",
            ValueKind.number: f"{types}Scalar({{}})",
            ValueKind.integers: f"{integers}::sizes({{}})",
            ValueKind.sizes: f"{shapes}::sizes({{}})",
        }

    def text(self, expression: OutputExpression) -> str:
        """The C++ text of an expression."""
        template = _TEMPLATES.get(expression.operation)
        if template is None:
            return _PRINTERS[expression.operation](self, expression)
        operands = self.texts(expression)
        if expression.operation in _ARITHMETIC and all(_is_literal(operand) for operand in expression.operands):
            # The type of a literal has 32 bits.
            operands[0] = f"int64_t({operands[0]})"
        return template.format(*operands, shapes=self.shapes(expression))

    def texts(self, expression: OutputExpression) -> list[str]:
        """Texts of the operands; `std::nullopt` for a missing one."""
        return ["std::nullopt" if operand is None else self.text(operand) for operand in expression.operands]

    def shapes(self, expression: OutputExpression) -> str:
        """Functions for integers of the kind of an expression."""
        return self._integers if expression.kind in _KNOWN else self._shapes

    def sizes(self, expression: OutputExpression) -> str:
        """Text of a list as a list of sizes."""
        return self._list(expression, self._shapes)

    def lists(self, expression: OutputExpression) -> str:
        """Texts of the operands, each as a list of the kind of the expression."""
        shapes = self.shapes(expression)
        return ", ".join([self._list(operand, shapes) for operand in expression.operands if operand is not None])

    def _list(self, expression: OutputExpression, shapes: str) -> str:
        if expression.operation is OutputOperation.make_list:
            return f"{shapes}::list({{{', '.join(self.texts(expression))}}})"
        text = self.text(expression)
        is_view = expression.operation in _NOT_COPIED or expression.kind is ValueKind.tensor
        if is_view or self.shapes(expression) != shapes:
            return f"{shapes}::sizes({text})"
        return text

    def value(self, text: str, kind: ValueKind) -> str:
        """A text converted to the type of values of a kind."""
        return self._casts[kind].format(text)

    def branch(self, expression: OutputExpression, kind: ValueKind) -> str:
        """Text of one of several values of a kind, which all have the same type in C++."""
        if kind in _LISTS:
            return self._list(expression, self._shapes if kind is ValueKind.sizes else self._integers)
        return self.value(self.text(expression), kind)


def _is_literal(expression: OutputExpression | None) -> bool:
    while expression is not None and expression.operation is OutputOperation.negate:
        expression = expression.operands[0]
    return expression is not None and expression.operation is OutputOperation.literal


def _print_leaf(printer: ExpressionPrinter, expression: OutputExpression) -> str:
    return "std::nullopt" if expression.kind is ValueKind.none else expression.text


def _print_dtype(printer: ExpressionPrinter, expression: OutputExpression) -> str:
    return f"{printer.dtypes}::{expression.text}"


def _print_dtype_in(printer: ExpressionPrinter, expression: OutputExpression) -> str:
    codes = sum(1 << code for code in dtype_codes(expression.text))
    return f"::opwright::is_one_of({printer.texts(expression)[0]}, {codes:#x}ULL)"


def _print_has_layout(printer: ExpressionPrinter, expression: OutputExpression) -> str:
    return f"{printer.shapes(expression)}::{expression.text}({printer.texts(expression)[0]})"


def _print_item(printer: ExpressionPrinter, expression: OutputExpression) -> str:
    values, index = printer.texts(expression)
    if expression.kind is ValueKind.tensor:
        return f"::opwright::tensor_at({values}, {index})"
    return f"{printer.shapes(expression)}::item({values}, {index})"


def _print_slice(printer: ExpressionPrinter, expression: OutputExpression) -> str:
    return f"{printer.shapes(expression)}::slice({', '.join(printer.texts(expression))})"


def _print_value_or(printer: ExpressionPrinter, expression: OutputExpression) -> str:
    first, otherwise = expression.operands
    assert first is not None
    assert otherwise is not None
    argument = printer.text(first)
    value = printer.value(f"::opwright::value({argument})", expression.kind)
    return f"(::opwright::has({argument}) ? {value} : {printer.branch(otherwise, expression.kind)})"


def _print_conditional(printer: ExpressionPrinter, expression: OutputExpression) -> str:
    test, first, second = expression.operands
    assert test is not None
    assert first is not None
    assert second is not None
    branches = f"{printer.branch(first, expression.kind)} : {printer.branch(second, expression.kind)}"
    return f"({printer.text(test)} ? {branches})"


def _operator_printer(operator: str) -> Callable[[ExpressionPrinter, OutputExpression], str]:
    return lambda printer, expression: f"({operator.join(printer.texts(expression))})"


def _call_printer(function: str) -> Callable[[ExpressionPrinter, OutputExpression], str]:
    return lambda printer, expression: (
        f"{printer.shapes(expression)}::{function}({', '.join(printer.texts(expression))})"
    )


def _items_printer(function: str) -> Callable[[ExpressionPrinter, OutputExpression], str]:
    """Printer of a call with a list of the operands."""
    return lambda printer, expression: (
        f"{printer.shapes(expression)}::{function}({{{', '.join(printer.texts(expression))}}})"
    )


def _lists_printer(function: str) -> Callable[[ExpressionPrinter, OutputExpression], str]:
    """Printer of a call with a list of the operands, which are lists themselves."""
    return lambda printer, expression: f"{printer.shapes(expression)}::{function}({{{printer.lists(expression)}}})"


def _print_same_lists(printer: ExpressionPrinter, expression: OutputExpression) -> str:
    return f"{printer.shapes(expression)}::same_list({printer.lists(expression)})"


def _print_promote(printer: ExpressionPrinter, expression: OutputExpression) -> str:
    return f"::opwright::promote({', '.join(printer.texts(expression))})"


_PRINTERS: Final[Mapping[OutputOperation, Callable[[ExpressionPrinter, OutputExpression], str]]] = {
    OutputOperation.argument: _print_leaf,
    OutputOperation.literal: _print_leaf,
    OutputOperation.dtype: _print_dtype,
    OutputOperation.dtype_in: _print_dtype_in,
    OutputOperation.has_layout: _print_has_layout,
    **{
        operation: _call_printer(operation.name)
        for operation in (
            OutputOperation.same_sizes,
            OutputOperation.broadcasts,
            OutputOperation.broadcasts_together,
        )
    },
    OutputOperation.item: _print_item,
    OutputOperation.slice: _print_slice,
    OutputOperation.value_or: _print_value_or,
    OutputOperation.conditional: _print_conditional,
    OutputOperation.both: _operator_printer(" && "),
    OutputOperation.either: _operator_printer(" || "),
    OutputOperation.maximum: _items_printer("max"),
    OutputOperation.minimum: _items_printer("min"),
    OutputOperation.make_list: _items_printer("list"),
    OutputOperation.concatenate: _lists_printer("concatenate"),
    OutputOperation.broadcast: _lists_printer("broadcast"),
    OutputOperation.promote: _print_promote,
    OutputOperation.same_lists: _print_same_lists,
}
_SYMBOLIC: Final = ExpressionPrinter("::opwright::Symbolic", "c10::SymInt")
_CONCRETE: Final = ExpressionPrinter("::opwright::Concrete", "int64_t")
