"""Declared outputs as C++: the results of a Meta kernel, the shape function of a structured kernel, checks of outs.

The text calls the functions of `opwright/outputs.h`. It names the arguments of the operator, which are in scope with
the types of any calling convention.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import Final

from opwright.cpp.text import string_literal
from opwright.libraries.declared_outputs import (
    LEAST_INTEGER,
    DeclaredOutput,
    DeclaredOutputs,
    OutputExpression,
    OutputOperation,
    ValueKind,
    dtype_codes,
)
from opwright.libraries.requirements import argument_names
from opwright.source.records import NamedTuple

#: The header with the functions that the text calls.
OUTPUTS_HEADER: Final = "opwright/outputs.h"

_META: Final = "at::Device(at::kMeta)"


def bound_variable(name: str) -> str:
    """The variable of an argument. The names of variables that generated code adds have blanks, as no argument has.

    >>> bound_variable("scale"), bound_variable("opwright 0")
    ('scale', 'opwright_0')
    """
    return name.replace(" ", "_")


class OutputText(NamedTuple):
    """The C++ expressions of one result. `like` is the tensor whose memory format it has; empty if it has none."""

    size: str
    dtype: str
    device: str
    like: str


def output_subject(output: DeclaredOutput, operator: str) -> str:
    """What errors say of a result whose size cannot be computed.

    >>> from opwright.libraries.declared_outputs import OutputExpression, ValueType
    >>> cpu = OutputExpression(OutputOperation.cpu, ValueType(ValueKind.device))
    >>> span: Any = None
    >>> output_subject(DeclaredOutput(cpu, cpu, cpu, None, None, span), "acme::scale")
    'acme::scale: the size of the result'
    """
    return f"{operator}: the size of {'the result' if output.name is None else f'`{output.name}`'}"


def output_text(output: DeclaredOutput, operator: str, *, symbolic: bool) -> OutputText:
    """The C++ expressions of a declared output of an operator.

    They compute with `c10::SymInt` if `symbolic`, as the parameters of dispatcher functions do, otherwise with
    `int64_t`.
    """
    printer = (_SYMBOLIC if symbolic else _CONCRETE).about(output_subject(output, operator))
    like = "" if output.like is None else printer.text(output.like)
    return OutputText(
        printer.sizes(output.size), printer.text(output.dtype), f"at::Device({printer.text(output.device)})", like
    )


def allocation(output: DeclaredOutput, operator: str, *, meta: bool = False) -> str:
    """Expression that makes a result of an operator, on the declared device or as a meta tensor."""
    text = output_text(output, operator, symbolic=True)
    device = _META if meta else text.device
    if text.like:
        return f"::opwright::empty_like({text.like}, {text.dtype}, {device})"
    return f"::opwright::empty({text.size}, {text.dtype}, {device})"


def shape_function(outputs: DeclaredOutputs, operator: str) -> str:
    """Body of the shape function `meta` of a structured kernel."""
    statements = []
    for index, output in enumerate(outputs):
        text = output_text(output, operator, symbolic=False)
        strides = f"::opwright::strides_like({text.like})" if text.like else "{}"
        options = f"at::TensorOptions().dtype({text.dtype}).device({text.device})"
        statements.append(f"set_output_raw_strided({index}, {text.size}, {strides}, {options});")
    return "\n".join(statements)


def out_resize(output: DeclaredOutput, out: str, operator: str, *, meta: bool = False) -> str:
    """Statement that checks dtype and device of an out argument, and resizes it if it has other sizes."""
    return f"::opwright::resize_out({out}, {_expected(output, operator, meta=meta)});"


def inplace_check(output: DeclaredOutput, operator: str, *, meta: bool = False) -> str:
    """Statement that checks that `self` can take the place of a result."""
    return f"::opwright::check_inplace<c10::SymInt>(self, {_expected(output, operator, meta=meta)});"


def _expected(output: DeclaredOutput, operator: str, *, meta: bool) -> str:
    text = output_text(output, operator, symbolic=True)
    # Kernels for Meta get tensors that are elsewhere too: written ones have to be where the others are.
    is_meta = meta and output.device.operation is not OutputOperation.device_of
    return f"{text.size}, {text.dtype}, {_META if is_meta else text.device}"


#: Operations whose text only has the texts of the operands, one by one or `{all}`, and that of the expression.
#: `{shapes}` are the functions for integers of the result's kind: with symbols or with numbers. `{where}` is what an
#: error says that cannot be computed.
_TEMPLATES: Final[Mapping[OutputOperation, str]] = {
    **{
        operation: f"{{shapes}}::{operation.name}({{0}}, {{1}}, {{where}})"
        for operation in (
            OutputOperation.add,
            OutputOperation.subtract,
            OutputOperation.multiply,
            OutputOperation.floor_divide,
            OutputOperation.modulo,
        )
    },
    OutputOperation.value: "::opwright::value({0})",
    OutputOperation.negation: "!{0}",
    OutputOperation.is_given: "::opwright::has({0})",
    OutputOperation.size: "{shapes}::size({0}, {1}, {where})",
    OutputOperation.sizes: "{shapes}::sizes({0})",
    OutputOperation.dim: "{0}.dim()",
    OutputOperation.numel: "{shapes}::numel({0})",
    OutputOperation.dtype_of: "{0}.scalar_type()",
    OutputOperation.device_of: "{0}.device()",
    OutputOperation.length: "::opwright::length({0})",
    OutputOperation.reduce: "{shapes}::reduce({0}, ::opwright::dim_list({1}), {2}, {where})",
    OutputOperation.cat: "{shapes}::cat({0}, {1}, {where})",
    OutputOperation.is_on_cpu: "::opwright::is_on_cpu({0})",
    OutputOperation.power_of_two: "::opwright::is_power_of_two({0})",
    OutputOperation.default_dtype: "{shapes}::default_dtype()",
    OutputOperation.cpu: "{shapes}::cpu()",
    OutputOperation.dtype: "{dtypes}::{text}",
    OutputOperation.has_layout: "{shapes}::{text}({0})",
    OutputOperation.same_sizes: "{shapes}::same_sizes({all})",
    OutputOperation.broadcasts: "{shapes}::broadcasts({all})",
    OutputOperation.broadcasts_together: "{shapes}::broadcasts_together({all})",
    OutputOperation.slice: "{shapes}::slice({all})",
    OutputOperation.maximum: "{shapes}::max({{{all}}})",
    OutputOperation.minimum: "{shapes}::min({{{all}}})",
    OutputOperation.make_list: "{shapes}::list({{{all}}})",
    OutputOperation.promote: "::opwright::promote({where}, {all})",
}
#: Comparisons: the operator for values that are no numbers.
COMPARISONS: Final[Mapping[OutputOperation, str]] = {
    OutputOperation.equal: "==",
    OutputOperation.unequal: "!=",
    OutputOperation.less: "<",
    OutputOperation.less_equal: "<=",
    OutputOperation.greater: ">",
    OutputOperation.greater_equal: ">=",
}
#: Operations that cannot be computed of some operands, and those that compute their operands in order in C++ too.
_FALLIBLE: Final = frozenset(
    (
        *(OutputOperation.add, OutputOperation.subtract, OutputOperation.multiply, OutputOperation.floor_divide),
        *(OutputOperation.modulo, OutputOperation.negate, OutputOperation.size, OutputOperation.item),
        *(OutputOperation.reduce, OutputOperation.cat, OutputOperation.broadcast, OutputOperation.promote),
    )
)
_ORDERED: Final = frozenset(
    (
        *(OutputOperation.maximum, OutputOperation.minimum, OutputOperation.make_list, OutputOperation.concatenate),
        *(OutputOperation.broadcast, OutputOperation.both, OutputOperation.either, OutputOperation.conditional),
        OutputOperation.value_or,
    )
)
INTEGERS: Final = (ValueKind.integer, ValueKind.size)
_KNOWN: Final = (ValueKind.integer, ValueKind.integers, ValueKind.tensor)
_NOT_COPIED: Final = (OutputOperation.argument, OutputOperation.value)
_LISTS: Final = (ValueKind.integers, ValueKind.sizes)


def is_fallible(expression: OutputExpression) -> bool:
    """Whether the value of an expression, or of a part of it, cannot be computed of some arguments."""
    operands = [operand for operand in expression.operands if operand is not None]
    if not operands:
        return expression.operation in _FALLIBLE
    if expression.operation is OutputOperation.negate and operands[0].operation is OutputOperation.literal:
        return False
    is_own = expression.operation in _FALLIBLE or compares_numbers(expression)
    return is_own or any(map(is_fallible, operands))


def compares_numbers(expression: OutputExpression) -> bool:
    """Whether an expression compares numbers of which one may be no integer."""
    if expression.operation not in COMPARISONS:
        return False
    return any(operand is not None and operand.kind is ValueKind.number for operand in expression.operands)


def integer_sides(expression: OutputExpression) -> tuple[OutputExpression, OutputExpression] | None:
    """The sides of a comparison of integers; None for other expressions."""
    if expression.operation not in COMPARISONS:
        return None
    left, right = expression.operands
    assert left is not None
    assert right is not None
    return (left, right) if {left.kind, right.kind} <= set(INTEGERS) else None


class ExpressionPrinter:
    """Prints expressions; `shapes` are the functions for sizes. Integers that are no sizes are always numbers.

    `dtypes` is the enumeration with the names of dtypes, and `types` is what stands before the names of types.
    `variable` gives the variable of an argument. `where` is what an error says that cannot be computed.
    """

    _integers: Final = "::opwright::Concrete"

    def __init__(
        self,
        shapes: str,
        integer: str,
        *,
        dtypes: str = "at::ScalarType",
        types: str = "at::",
        variable: Callable[[str], str] = bound_variable,
    ) -> None:
        self._shapes: Final = shapes
        self.dtypes: Final = dtypes
        self.variable: Final = variable
        self.where = '""'
        self.expects = False
        # The C++ type to which both values of a conditional expression are converted.
        self._casts: Final = {
            ValueKind.integer: "int64_t({})",
            ValueKind.size: f"{integer}({{}})",
            ValueKind.tensor: f"{types}Tensor({{}})",
            ValueKind.dtype: f"{types}ScalarType({{}})",
            ValueKind.device: f"{types}Device({{}})",
            ValueKind.boolean: "bool({})",
            ValueKind.number: f"{types}Scalar({{}})",
            ValueKind.integers: f"{self._integers}::sizes({{}})",
            ValueKind.sizes: f"{shapes}::sizes({{}})",
        }

    def about(self, subject: str) -> ExpressionPrinter:
        """The printer of what errors call by this text."""
        printer = copy(self)
        printer.where = string_literal(subject)
        return printer

    def expecting(self, expects: bool = True) -> ExpressionPrinter:
        """The printer of a comparison that a trace can expect of unknown sizes."""
        if expects is self.expects:
            return self
        printer = copy(self)
        printer.expects = expects
        return printer

    def text(self, expression: OutputExpression) -> str:
        """The C++ text of an expression."""
        if len(expression.operands) > 1 and expression.operation not in _ORDERED:
            places = [place for place, operand in enumerate(expression.operands) if operand and is_fallible(operand)]
            if len(places) > 1:
                return self._in_order(expression, places)
        template = _TEMPLATES.get(expression.operation)
        if template is None:
            return _PRINTERS[expression.operation](self, expression)
        texts = self.texts(expression)
        return template.format(
            *texts,
            all=", ".join(texts),
            text=expression.text,
            dtypes=self.dtypes,
            shapes=self.shapes(expression),
            where=self.where,
        )

    def _in_order(self, expression: OutputExpression, places: list[int]) -> str:
        """Text of a function that computes operands from left to right, so that errors are those of traces."""
        operands = list(expression.operands)
        taken = set(map(self.variable, argument_names(expression)))
        lines = []
        for place in places:
            operand = operands[place]
            assert operand is not None
            name = f"opwright {place}"
            while self.variable(name) in taken:
                name += "_"
            variable = OutputExpression(OutputOperation.argument, operand.type, text=name)
            lines.append(f"auto&& {self.variable(variable.text)} = {self.expecting(False).text(operand)};")
            operands[place] = variable
        value = self.text(expression._replace(operands=tuple(operands)))
        return f"[&]() -> decltype(auto) {{ {' '.join(lines)} return {value}; }}()"

    def texts(self, expression: OutputExpression) -> list[str]:
        """Texts of the operands; `std::nullopt` for a missing one."""
        return ["std::nullopt" if operand is None else self.text(operand) for operand in expression.operands]

    def shapes(self, expression: OutputExpression) -> str:
        """Functions for integers of the kind of an expression."""
        return self._integers if expression.kind in _KNOWN else self._shapes

    def comparisons(self, expression: OutputExpression) -> str:
        """Functions that compare integers."""
        are_known = all(operand is not None and operand.kind in _KNOWN for operand in expression.operands)
        return self._integers if are_known else self._shapes

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


def _print_argument(printer: ExpressionPrinter, expression: OutputExpression) -> str:
    return printer.variable(expression.text)


def _print_literal(printer: ExpressionPrinter, expression: OutputExpression) -> str:
    return "std::nullopt" if expression.kind is ValueKind.none else expression.text


def _print_negation(printer: ExpressionPrinter, expression: OutputExpression) -> str:
    operand = expression.operands[0]
    assert operand is not None
    if operand.operation is OutputOperation.literal:
        # C++ has no literal of the least integer.
        return "INT64_MIN" if operand.text == LEAST_INTEGER.removeprefix("-") else f"(-{operand.text})"
    function = "negate_number" if expression.kind is ValueKind.number else "negate"
    return f"{printer.shapes(expression)}::{function}({printer.text(operand)}, {printer.where})"


def _print_comparison(printer: ExpressionPrinter, expression: OutputExpression) -> str:
    sides = printer.expecting(False).texts(expression)
    if integer_sides(expression) is not None:
        function = f"{'expect_' if printer.expects else ''}{expression.operation.name}"
        return f"{printer.comparisons(expression)}::{function}({', '.join(sides)})"
    if compares_numbers(expression):
        function = f"{printer.shapes(expression)}::{expression.operation.name}_numbers"
        return f"{function}({', '.join(sides)}, {printer.where})"
    return f"({f' {COMPARISONS[expression.operation]} '.join(sides)})"


def _print_dtype_in(printer: ExpressionPrinter, expression: OutputExpression) -> str:
    codes = sum(1 << code for code in dtype_codes(expression.text))
    return f"::opwright::is_one_of({printer.texts(expression)[0]}, {codes:#x}ULL)"


def _print_text_in(printer: ExpressionPrinter, expression: OutputExpression) -> str:
    texts = ", ".join(map(string_literal, expression.text.split("\n")))
    return f"::opwright::is_text_of({printer.texts(expression)[0]}, {{{texts}}})"


def _print_item(printer: ExpressionPrinter, expression: OutputExpression) -> str:
    values, index = printer.texts(expression)
    if expression.kind is ValueKind.tensor:
        return f"::opwright::tensor_at({values}, {index}, {printer.where})"
    return f"{printer.shapes(expression)}::item({values}, {index}, {printer.where})"


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


def _print_concatenation(printer: ExpressionPrinter, expression: OutputExpression) -> str:
    return f"{printer.shapes(expression)}::concatenate({{{printer.lists(expression)}}})"


def _print_broadcast(printer: ExpressionPrinter, expression: OutputExpression) -> str:
    return f"{printer.shapes(expression)}::broadcast({{{printer.lists(expression)}}}, {printer.where})"


def _print_same_lists(printer: ExpressionPrinter, expression: OutputExpression) -> str:
    return f"{printer.shapes(expression)}::same_list({printer.lists(expression)})"


_PRINTERS: Final[Mapping[OutputOperation, Callable[[ExpressionPrinter, OutputExpression], str]]] = {
    OutputOperation.argument: _print_argument,
    OutputOperation.literal: _print_literal,
    OutputOperation.negate: _print_negation,
    **dict.fromkeys(COMPARISONS, _print_comparison),
    OutputOperation.dtype_in: _print_dtype_in,
    OutputOperation.text_in: _print_text_in,
    OutputOperation.item: _print_item,
    OutputOperation.value_or: _print_value_or,
    OutputOperation.conditional: _print_conditional,
    OutputOperation.both: _operator_printer(" && "),
    OutputOperation.either: _operator_printer(" || "),
    OutputOperation.concatenate: _print_concatenation,
    OutputOperation.broadcast: _print_broadcast,
    OutputOperation.same_lists: _print_same_lists,
}
_SYMBOLIC: Final = ExpressionPrinter("::opwright::Symbolic", "c10::SymInt")
_CONCRETE: Final = ExpressionPrinter("::opwright::Concrete", "int64_t")
