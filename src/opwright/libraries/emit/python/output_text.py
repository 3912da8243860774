"""Declared outputs as Python, for libraries whose C++ interface has no symbolic sizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from opwright.libraries.declared_outputs import (
    TORCH_DTYPES,
    DeclaredOutput,
    OutputExpression,
    OutputOperation,
    ValueKind,
)
from opwright.libraries.emit.declared_outputs import COMPARISONS, compares_numbers, output_subject
from opwright.libraries.emit.requirements import has_checks, message_parts, operator_name
from opwright.libraries.entry_fields import requirements_of
from opwright.libraries.requirements import index_name, item_name
from opwright.model.native_function import NativeFunction
from opwright.schema.function import SchemaKind
from opwright.source.records import NamedTuple
from opwright.syntax.python import string_literal, variable_name

#: The text of operations that only has the texts of the operands, one by one or `{all}`, and that of the expression.
#: `{where}` is what errors say that cannot be computed.
_TEMPLATES: Final[Mapping[OutputOperation, str]] = {
    OutputOperation.add: "_added({0}, {1}, {where})",
    OutputOperation.subtract: "_subtracted({0}, {1}, {where})",
    OutputOperation.multiply: "_multiplied({0}, {1}, {where})",
    OutputOperation.value: "{0}",
    OutputOperation.floor_divide: "_divided({0}, {1}, {where})",
    OutputOperation.modulo: "_remainder({0}, {1}, {where})",
    OutputOperation.negation: "(not {0})",
    OutputOperation.is_given: "({0} is not None)",
    OutputOperation.value_or: "({0} if {0} is not None else {1})",
    OutputOperation.conditional: "({1} if {0} else {2})",
    OutputOperation.size: "_size({0}, {1}, {where})",
    OutputOperation.sizes: "_sizes({0})",
    OutputOperation.dim: "{0}.dim()",
    OutputOperation.numel: "{0}.numel()",
    OutputOperation.dtype_of: "{0}.dtype",
    OutputOperation.device_of: "{0}.device",
    OutputOperation.length: "len({0})",
    OutputOperation.item: "_item({0}, {1}, {where})",
    OutputOperation.reduce: "_reduced({0}, {1}, {2}, {where})",
    OutputOperation.cat: "_joined({0}, {1}, {where})",
    OutputOperation.dynamic: "_dynamic({0}, {1})",
    OutputOperation.same_lists: "_same_list({0}, {1})",
    OutputOperation.same_sizes: "_same_sizes({0}, {1}, {2}, {3}, {4}, {5})",
    OutputOperation.broadcasts: "_broadcasts({0}, {1}, {2}, {3}, {4}, {5})",
    OutputOperation.broadcasts_together: "_broadcasts_together({0}, {1}, {2}, {3}, {4}, {5})",
    OutputOperation.is_on_cpu: '({0}.device.type == "cpu")',
    OutputOperation.power_of_two: "_is_power_of_two({0})",
    OutputOperation.default_dtype: "_torch.get_default_dtype()",
    OutputOperation.cpu: '_torch.device("cpu")',
    OutputOperation.has_layout: "_has_layout({0}, '{text}')",
    OutputOperation.maximum: "_folded(_torch.sym_max, {all})",
    OutputOperation.minimum: "_folded(_torch.sym_min, {all})",
    OutputOperation.make_list: "[{all}]",
    OutputOperation.promote: "_promoted({where}, {all})",
}

#: The same in documentation, which says nothing of errors.
_DESCRIBED_TEMPLATES: Final[Mapping[OutputOperation, str]] = {
    **_TEMPLATES,
    OutputOperation.add: "({0} + {1})",
    OutputOperation.subtract: "({0} - {1})",
    OutputOperation.multiply: "({0} * {1})",
    OutputOperation.floor_divide: "({0} // {1})",
    OutputOperation.modulo: "({0} % {1})",
    OutputOperation.negate: "(-{0})",
    OutputOperation.power_of_two: "power_of_two({0})",
    OutputOperation.size: "{0}.shape[{1}]",
    OutputOperation.item: "{0}[{1}]",
    OutputOperation.reduce: "reduce({0}, {1}, {2})",
    OutputOperation.cat: "cat({0}, {1})",
    OutputOperation.maximum: "max({all})",
    OutputOperation.minimum: "min({all})",
    OutputOperation.promote: "promote({all})",
    **{operation: f"({{0}} {sign} {{1}})" for operation, sign in COMPARISONS.items()},
}

_WORDS: Final = {"true": "True", "false": "False"}


def allocation(output: DeclaredOutput, operator: str) -> str:
    """Expression that makes a result of an operator."""
    printer = _Printer(output_subject(output, operator))
    options = f"dtype={printer.text(output.dtype)}, device={printer.text(output.device)}"
    if output.like is not None:
        return f"_torch.empty_like({printer.text(output.like)}, {options})"
    return f"_torch.empty({printer.text(output.size)}, {options})"


def written_check(function: NativeFunction, output: DeclaredOutput, name: str) -> str:
    """Statement that checks that an argument can hold a result, and resizes it if it is an out argument."""
    check = "_in_place" if function.kind is SchemaKind.inplace else "_resized"
    printer = _Printer(output_subject(output, operator_name(function)))
    wanted = ", ".join(map(printer.text, (output.size, output.dtype, output.device)))
    return f"{check}({variable_name(name)}, {wanted})"


#: The names of helpers, which documentation writes without the underscore.
_HELPER: Final = re.compile(r"\b_(torch|sizes|dynamic)\b")
_SIZES: Final = re.compile(r"\b_sizes\((\w+)\)")
_NEGATIVE: Final = re.compile(r"\((-\d+)\)")


def described_output(output: DeclaredOutput, pattern: str = "") -> str:
    """What documentation says of a result: its size, as a pattern if there is one, and its dtype, as expressions."""
    size, dtype = map(described_expression, (output.size, output.dtype))
    return f"a tensor of size `{pattern or size}` and dtype `{dtype}`"


def described_expression(expression: OutputExpression) -> str:
    """What documentation says of an expression."""
    text = _NEGATIVE.sub(r"\1", _SIZES.sub(r"\1.shape", _Printer().text(expression)))
    return _HELPER.sub(r"\1", text)


class _Printer(NamedTuple):
    """Prints expressions, of which an error says by what text it calls them. Without a text it is for documentation."""

    subject: str = ""

    def text(self, expression: OutputExpression) -> str:
        """The Python text of an expression."""
        template = (_TEMPLATES if self.subject else _DESCRIBED_TEMPLATES).get(expression.operation)
        if template is not None:
            texts = self.texts(expression)
            return template.format(*texts, all=", ".join(texts), text=expression.text, where=self.where)
        return _PRINTERS[expression.operation](self, expression)

    def texts(self, expression: OutputExpression) -> list[str]:
        """Texts of the operands."""
        return ["None" if operand is None else self.text(operand) for operand in expression.operands]

    @property
    def where(self) -> str:
        """The text of the subject."""
        return string_literal(self.subject)


def _print_argument(printer: _Printer, expression: OutputExpression) -> str:
    return "None" if expression.kind is ValueKind.none else variable_name(expression.text)


def _print_literal(printer: _Printer, expression: OutputExpression) -> str:
    return _WORDS.get(expression.text, expression.text)


def _print_negation(printer: _Printer, expression: OutputExpression) -> str:
    [operand], [text] = expression.operands, printer.texts(expression)
    is_literal = operand is not None and operand.operation is OutputOperation.literal
    return f"(-{text})" if is_literal else f"_negated({text}, {printer.where})"


def _print_comparison(printer: _Printer, expression: OutputExpression) -> str:
    left, right = printer.texts(expression)
    if compares_numbers(expression):
        return f"_compared(_operator.{_OPERATORS[expression.operation]}, {left}, {right}, {printer.where})"
    if printer.subject and all(side is not None and side.kind is ValueKind.boolean for side in expression.operands):
        # PyTorch cannot decide whether two conditions of symbols are equal; `not` decides each.
        return f"((not {left}) {COMPARISONS[expression.operation]} (not {right}))"
    return f"({left} {COMPARISONS[expression.operation]} {right})"


def _print_dtype(printer: _Printer, expression: OutputExpression) -> str:
    return f"_torch.{TORCH_DTYPES[expression.text]}"


def _print_dtype_in(printer: _Printer, expression: OutputExpression) -> str:
    names = tuple([TORCH_DTYPES.get(name, name) for name in expression.text.split()])
    return f"_is_one_of({printer.texts(expression)[0]}, {names!r})"


def _print_text_in(printer: _Printer, expression: OutputExpression) -> str:
    return f"({printer.texts(expression)[0]} in {tuple(expression.text.split(chr(10)))!r})"


def _print_slice(printer: _Printer, expression: OutputExpression) -> str:
    values, *limits = expression.operands
    assert values is not None
    first, last = ["" if limit is None else printer.text(limit) for limit in limits]
    return f"{printer.text(values)}[{first}:{last}]"


def _print_operator(word: str) -> Callable[[_Printer, OutputExpression], str]:
    return lambda printer, expression: f"({f' {word} '.join(printer.texts(expression))})"


def _print_concatenation(printer: _Printer, expression: OutputExpression) -> str:
    return f"[{', '.join([f'*{text}' for text in printer.texts(expression)])}]"


def _print_broadcast(printer: _Printer, expression: OutputExpression) -> str:
    shapes = printer.texts(expression)
    if printer.subject:
        return f"_broadcast({', '.join([printer.where, *shapes])})"
    return f"broadcast({', '.join([f'_sizes({text})' for text in shapes])})"


#: The functions of the module `operator` for comparisons.
_OPERATORS: Final = {
    OutputOperation.equal: "eq",
    OutputOperation.unequal: "ne",
    OutputOperation.less: "lt",
    OutputOperation.less_equal: "le",
    OutputOperation.greater: "gt",
    OutputOperation.greater_equal: "ge",
}

_PRINTERS: Final[Mapping[OutputOperation, Callable[[_Printer, OutputExpression], str]]] = {
    OutputOperation.argument: _print_argument,
    OutputOperation.literal: _print_literal,
    OutputOperation.negate: _print_negation,
    **dict.fromkeys(COMPARISONS, _print_comparison),
    OutputOperation.dtype: _print_dtype,
    OutputOperation.dtype_in: _print_dtype_in,
    OutputOperation.text_in: _print_text_in,
    OutputOperation.slice: _print_slice,
    OutputOperation.both: _print_operator("and"),
    OutputOperation.either: _print_operator("or"),
    OutputOperation.concatenate: _print_concatenation,
    OutputOperation.broadcast: _print_broadcast,
}


def check_statements(function: NativeFunction) -> list[str]:
    """Statements that check the arguments of a call, in the order and with the messages of those in C++."""
    requirements = requirements_of(function)
    if requirements is None or not has_checks(function):
        return []
    operator = operator_name(function)
    statements = []
    for requirement in requirements.checks:
        printer = _Printer(f"{operator}: {requirement.subject}")
        parts = [
            repr(part) if isinstance(part, str) else printer.text(part) for part in message_parts(operator, requirement)
        ]
        text = f"_torch._check({printer.text(requirement.condition)}, lambda: _text({', '.join(parts)}))"
        given = " and ".join([f"{printer.text(argument)} is not None" for argument in requirement.given])
        if requirement.each:
            item, index = map(variable_name, (item_name(requirement.each), index_name(requirement.each)))
            tensors = variable_name(requirement.each)
            text = f"for {index}, {item} in enumerate({f'{tensors} if {given} else ()' if given else tensors}): {text}"
        elif given:
            text = f"if {given}: {text}"
        statements.append(text)
    return statements
