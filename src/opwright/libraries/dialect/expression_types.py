"""Checks the expressions of declared outputs against the schema of their operator, and gives them types."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import Final

from opwright.libraries import library_codes
from opwright.libraries.declared_outputs import (
    DTYPES,
    LEAST_INTEGER,
    OutputExpression,
    OutputOperation,
    ValueKind,
    ValueType,
)
from opwright.libraries.dialect.expressions import (
    ACCEPTED_KINDS,
    DEEPEST,
    FUNCTIONS,
    LIKE,
    MEMBERS,
    Function,
    FunctionParameter,
    ParsedExpression,
)
from opwright.schema.base_types import forms_of
from opwright.schema.function import FunctionSchema
from opwright.schema.types import ListType, OptionalType, Type
from opwright.source.diagnostic import Fault, Suggestion, did_you_mean
from opwright.source.records import NamedTuple

_ARITHMETIC: Final = {
    ast.Add: OutputOperation.add,
    ast.Sub: OutputOperation.subtract,
    ast.Mult: OutputOperation.multiply,
    ast.FloorDiv: OutputOperation.floor_divide,
    ast.Mod: OutputOperation.modulo,
}
_COMPARISONS: Final = {
    ast.Eq: OutputOperation.equal,
    ast.NotEq: OutputOperation.unequal,
    ast.Lt: OutputOperation.less,
    ast.LtE: OutputOperation.less_equal,
    ast.Gt: OutputOperation.greater,
    ast.GtE: OutputOperation.greater_equal,
}
_EQUALITIES: Final = (OutputOperation.equal, OutputOperation.unequal)
_BASE_KINDS: Final = forms_of(lambda row: ValueKind[row.expression] if row.expression else None)
_LIST_KINDS: Final = {"int": ValueKind.integers, "SymInt": ValueKind.sizes, "Tensor": ValueKind.tensors}
_LISTS_OF_SIZES: Final = (ValueKind.integers, ValueKind.sizes)
_INTEGERS: Final = (ValueKind.integer, ValueKind.size)


def value_type(type: Type) -> ValueType:
    """Type of an argument of a schema type in expressions.

    >>> from opwright.schema import parse_type
    >>> str(value_type(parse_type("SymInt[2]?")))
    'a list of sizes or None'
    """
    if isinstance(type, OptionalType):
        return ValueType(value_type(type.elem).kind, is_optional=True)
    if isinstance(type, ListType):
        return ValueType(_LIST_KINDS.get(type.elem.text, ValueKind.items))
    return ValueType(_BASE_KINDS.get(type.text, ValueKind.other))


def argument_expression(schema: FunctionSchema, name: str) -> OutputExpression | None:
    """An argument of the schema as an expression; None if it has no such argument."""
    for argument in schema.arguments.non_out:
        if argument.name == name:
            return OutputExpression(OutputOperation.argument, value_type(argument.type), text=name)
    return None


def expression_of(
    operation: OutputOperation, kind: ValueKind, *operands: OutputExpression | None, text: str = ""
) -> OutputExpression:
    """An expression whose value is never None."""
    return OutputExpression(operation, ValueType(kind), operands, text)


class ExpressionChecker(NamedTuple):
    """Checks the parts of an expression.

    `arguments` are the values that it may name. Of the optional ones, `given` are known not to be None. An expression
    in braces may name those of `braced`.
    """

    parsed: ParsedExpression
    arguments: Mapping[str, OutputExpression]
    given: frozenset[str] = frozenset()
    braced: Mapping[str, OutputExpression] | None = None

    def check_kind(self, node: ast.expr, kind: ValueKind) -> OutputExpression:
        """Typed expression of a part whose value has this kind. Raises Fault otherwise."""
        return self._check_one_of(node, ACCEPTED_KINDS.get(kind, (kind,)))

    def check(self, node: ast.expr) -> OutputExpression:
        """Typed expression of a part. Raises Fault (E1150 to E1155) at the first mistake."""
        match node:
            case ast.Constant():
                return self._constant(node)
            case ast.Name():
                return self._name(node)
            case ast.BinOp():
                return self._arithmetic(node)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.Compare():
                return self._comparison(node)
            case ast.BoolOp():
                return self._either(node) if isinstance(node.op, ast.Or) else self._both(node)
            case ast.IfExp():
                return self._conditional(node)
            case ast.List() | ast.Tuple():
                return self._list(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Call():
                return self._call(node)
            case ast.Set(elts=[item]) if self.braced is not None:
                return self._replace(arguments=self.braced, braced=None).check(item)
        raise self.fault(library_codes.OUTPUT_SYNTAX, node, f"`{self.parsed.text(node)}` is not part of the language")

    def fault(self, code: str, node: ast.expr, message: str, help: str | Suggestion = "") -> Fault:
        """A fault at a part of the expression."""
        return Fault.at(code, message, self.parsed.span(node), help=help)

    def _expect(
        self,
        node: ast.expr,
        expression: OutputExpression,
        kinds: tuple[ValueKind, ...],
        help: str = "",
        *,
        takes_none: bool = False,
    ) -> None:
        """Raises Fault unless the value has one of the kinds, and cannot be None unless that is allowed."""
        text, type = self.parsed.text(node), expression.type
        if type.kind not in kinds:
            wanted = " or ".join(kind.value for kind in kinds)
            message = f"`{text}` is {type}, where {wanted} is needed"
            raise self.fault(library_codes.OUTPUT_TYPE, node, message, help or _type_help(text, type.kind, kinds))
        if type.is_optional and not takes_none:
            help = f"give another value with `or`, or decide with `... if {text} is not None else ...`"
            raise self.fault(library_codes.OUTPUT_OPTIONAL, node, f"`{text}` may be None", help)

    def _check_one_of(self, node: ast.expr, kinds: tuple[ValueKind, ...]) -> OutputExpression:
        expression = self.check(node)
        self._expect(node, expression, kinds)
        return expression

    def _constant(self, node: ast.Constant) -> OutputExpression:
        value, text = node.value, self.parsed.text(node)
        if isinstance(value, bool):
            return expression_of(OutputOperation.literal, ValueKind.boolean, text="true" if value else "false")
        if isinstance(value, int):
            if value >= 1 << 63:
                raise self.fault(library_codes.OUTPUT_TYPE, node, f"`{_shortened(text)}` has more than 64 bits")
            return expression_of(OutputOperation.literal, ValueKind.integer, text=str(value))
        if isinstance(value, float):
            if math.isinf(value):
                message = f"`{_shortened(text)}` is greater than every finite number of type float"
                raise self.fault(library_codes.OUTPUT_TYPE, node, message, "compare with a finite number")
            return expression_of(OutputOperation.literal, ValueKind.number, text=repr(value))
        if value is None:
            return OutputExpression(OutputOperation.literal, ValueType(ValueKind.none, True), text="None")
        raise self.fault(library_codes.OUTPUT_SYNTAX, node, f"`{text}` is not part of the language")

    def _name(self, node: ast.Name) -> OutputExpression:
        argument = self.arguments.get(node.id)
        if argument is not None:
            if node.id in self.given:
                return expression_of(OutputOperation.value, argument.kind, argument)
            return argument
        if node.id in DTYPES:
            return expression_of(OutputOperation.dtype, ValueKind.dtype, text=DTYPES[node.id])
        if node.id in FUNCTIONS or node.id == LIKE:
            help: str | Suggestion = f"call it: `{node.id}(...)`"
        elif node.id in _DEVICES:
            help = "a result is on the device of an argument, such as `self.device`"
        else:
            help = did_you_mean(node.id, [*self.arguments, *DTYPES])
        raise self.fault(library_codes.OUTPUT_NAME, node, f"there is no argument `{node.id}`", help)

    def _arithmetic(self, node: ast.BinOp) -> OutputExpression:
        operation = _ARITHMETIC.get(type(node.op))
        if operation is None:
            message = "sizes are computed with `+`, `-`, `*`, `//` and `%`"
            help = "write `//`" if isinstance(node.op, ast.Div) else ""
            raise self.fault(library_codes.OUTPUT_SYNTAX, node, message, help)
        left, right = self.check(node.left), self.check(node.right)
        if operation is OutputOperation.add and {left.kind, right.kind} & set(_LISTS_OF_SIZES):
            self._expect(node.left, left, _LISTS_OF_SIZES, _ITEM_HELP)
            self._expect(node.right, right, _LISTS_OF_SIZES, _ITEM_HELP)
            return expression_of(OutputOperation.concatenate, _list_kind(left, right), left, right)
        self._expect(node.left, left, _INTEGERS)
        self._expect(node.right, right, _INTEGERS)
        divides = operation in (OutputOperation.floor_divide, OutputOperation.modulo)
        if divides and right.operation is OutputOperation.literal and right.text == "0":
            message = f"`{self.parsed.text(node)}` divides by zero"
            raise self.fault(library_codes.OUTPUT_TYPE, node.right, message, "divide by another number")
        return expression_of(operation, _number_kind(left, right), left, right)

    def _unary(self, node: ast.UnaryOp) -> OutputExpression:
        if isinstance(node.op, ast.Not):
            operand = self.check_kind(node.operand, ValueKind.boolean)
            return expression_of(OutputOperation.negation, ValueKind.boolean, operand)
        if not isinstance(node.op, ast.USub):
            raise self.fault(
                library_codes.OUTPUT_SYNTAX, node, f"`{self.parsed.text(node)}` is not part of the language"
            )
        value = node.operand.value if isinstance(node.operand, ast.Constant) else None
        if type(value) is int and value == -int(LEAST_INTEGER):
            operand = expression_of(OutputOperation.literal, ValueKind.integer, text=LEAST_INTEGER.removeprefix("-"))
        else:
            operand = self._check_one_of(node.operand, (*_INTEGERS, ValueKind.number))
        return expression_of(OutputOperation.negate, operand.kind, operand)

    def _comparison(self, node: ast.Compare) -> OutputExpression:
        if len(node.ops) > 1:
            raise self.fault(
                library_codes.OUTPUT_SYNTAX, node, "a comparison has two sides", "join comparisons with `and`"
            )
        operator, right_node = node.ops[0], node.comparators[0]
        if isinstance(operator, ast.Is | ast.IsNot):
            return self._none_test(node)
        operation = _COMPARISONS.get(type(operator))
        if operation is None:
            help = "compare with each value, and join the comparisons with `or`" if isinstance(operator, ast.In) else ""
            raise self.fault(
                library_codes.OUTPUT_SYNTAX, node, f"`{self.parsed.text(node)}` is not part of the language", help
            )
        left = self.check(node.left)
        if left.kind is ValueKind.dtype and operation in _EQUALITIES:
            self._expect(node.left, left, (ValueKind.dtype,))
            right = self.check_kind(right_node, ValueKind.dtype)
        elif left.kind is ValueKind.boolean and operation in _EQUALITIES:
            self._expect(node.left, left, (ValueKind.boolean,))
            right = self.check_kind(right_node, ValueKind.boolean)
        elif left.kind in _LISTS_OF_SIZES and operation is OutputOperation.equal:
            self._expect(node.left, left, _LISTS_OF_SIZES)
            right = self._check_one_of(right_node, _LISTS_OF_SIZES)
            operation = OutputOperation.same_lists
        else:
            self._expect(node.left, left, (*_INTEGERS, ValueKind.number))
            right = self._check_one_of(right_node, (*_INTEGERS, ValueKind.number))
        return expression_of(operation, ValueKind.boolean, left, right)

    def _none_test(self, node: ast.Compare) -> OutputExpression:
        right = node.comparators[0]
        if not isinstance(node.left, ast.Name) or not isinstance(right, ast.Constant) or right.value is not None:
            message = "`is` compares an argument with None"
            raise self.fault(library_codes.OUTPUT_SYNTAX, node, message, "compare values with `==`")
        argument = self._name(node.left)
        if not argument.type.is_optional:
            raise self.fault(library_codes.OUTPUT_TYPE, node.left, f"`{node.left.id}` is never None")
        test = expression_of(OutputOperation.is_given, ValueKind.boolean, argument)
        if isinstance(node.ops[0], ast.IsNot):
            return test
        return expression_of(OutputOperation.negation, ValueKind.boolean, test)

    def _both(self, node: ast.BoolOp) -> OutputExpression:
        operands, checker = [], self
        for value in node.values:
            operands.append(checker.check_kind(value, ValueKind.boolean))
            checker = checker._knowing(operands[-1], outcome=True)
        return expression_of(OutputOperation.both, ValueKind.boolean, *operands)

    def _either(self, node: ast.BoolOp) -> OutputExpression:
        """`a or b`: whether one of them is true, or the first that is not None."""
        operands = [self.check(node.values[0])]
        if operands[0].kind is ValueKind.boolean and not operands[0].type.is_optional:
            checker = self
            for value in node.values[1:]:
                checker = checker._knowing(operands[-1], outcome=False)
                operands.append(checker.check_kind(value, ValueKind.boolean))
            return expression_of(OutputOperation.either, ValueKind.boolean, *operands)
        if len(node.values) > DEEPEST:
            raise self.fault(library_codes.OUTPUT_SYNTAX, node, "the expression nests too deeply")
        operands += [self.check(value) for value in node.values[1:]]
        for value, operand in zip(node.values[:-1], operands, strict=False):
            if not operand.type.is_optional:
                message = f"`{self.parsed.text(value)}` is never None, so `or` has no effect"
                raise self.fault(library_codes.OUTPUT_TYPE, value, message)
        result, result_node = operands[-1], node.values[-1]
        self._expect(result_node, result, (result.kind,))
        for value, operand in zip(reversed(node.values[:-1]), reversed(operands[:-1]), strict=True):
            kind = self._common_kind(value, operand, result_node, result)
            result = expression_of(OutputOperation.value_or, kind, operand, result)
        return result

    def _conditional(self, node: ast.IfExp) -> OutputExpression:
        test = self.check_kind(node.test, ValueKind.boolean)
        body = self._knowing(test, outcome=True).check(node.body)
        orelse = self._knowing(test, outcome=False).check(node.orelse)
        for value, branch in ((node.body, body), (node.orelse, orelse)):
            self._expect(value, branch, (branch.kind,))
        kind = self._common_kind(node.body, body, node.orelse, orelse)
        return expression_of(OutputOperation.conditional, kind, test, body, orelse)

    def _knowing(self, test: OutputExpression, *, outcome: bool) -> ExpressionChecker:
        """Checker for what is evaluated only if the test has this outcome."""
        if test.operation is OutputOperation.negation and test.operands[0] is not None:
            return self._knowing(test.operands[0], outcome=not outcome)
        argument = test.operands[0] if test.operation is OutputOperation.is_given and outcome else None
        return self if argument is None else self._replace(given=self.given | {argument.text})

    def _common_kind(
        self, left_node: ast.expr, left: OutputExpression, right_node: ast.expr, right: OutputExpression
    ) -> ValueKind:
        """Kind of a value that is one of two. Raises Fault if they have different ones."""
        for kind in (left.kind, right.kind):
            if {left.kind, right.kind} <= set(ACCEPTED_KINDS.get(kind, (kind,))) and kind is not ValueKind.none:
                return kind
        message = (
            f"`{self.parsed.text(left_node)}` is {left.type}, but `{self.parsed.text(right_node)}` is {right.type}"
        )
        raise self.fault(library_codes.OUTPUT_TYPE, right_node, message)

    def _list(self, node: ast.List | ast.Tuple) -> OutputExpression:
        """A list of sizes; a star joins the items of another list to it."""
        parts: list[OutputExpression] = []
        items: list[OutputExpression] = []
        for item in node.elts:
            if isinstance(item, ast.Starred):
                parts += [_make_list(items)] if items else []
                parts.append(self._check_one_of(item.value, _LISTS_OF_SIZES))
                items = []
            else:
                items.append(self._check_one_of(item, _INTEGERS))
        if not parts:
            return _make_list(items)
        parts += [_make_list(items)] if items else []
        return expression_of(OutputOperation.concatenate, _list_kind(*parts), *parts)

    def _subscript(self, node: ast.Subscript) -> OutputExpression:
        kinds = (*_LISTS_OF_SIZES, ValueKind.tensors)
        values = self._check_one_of(node.value, kinds)
        if isinstance(node.slice, ast.Slice):
            self._expect(node.value, values, _LISTS_OF_SIZES)
            if node.slice.step is not None:
                raise self.fault(library_codes.OUTPUT_SYNTAX, node, "a slice has no step")
            limits = [None if limit is None else self._index(limit) for limit in (node.slice.lower, node.slice.upper)]
            return expression_of(OutputOperation.slice, values.kind, values, *limits)
        item_kinds = {ValueKind.tensors: ValueKind.tensor, ValueKind.integers: ValueKind.integer}
        kind = item_kinds.get(values.kind, ValueKind.size)
        return expression_of(OutputOperation.item, kind, values, self._index(node.slice))

    def _index(self, node: ast.expr) -> OutputExpression:
        return self.check_kind(node, ValueKind.integer)

    def _attribute(self, node: ast.Attribute) -> OutputExpression:
        member = MEMBERS.get(node.attr)
        owner = self._owner(node)
        if member is None:
            help = did_you_mean(node.attr, MEMBERS, prefix=f"{self.parsed.text(node.value)}.")
            raise self.fault(library_codes.OUTPUT_FUNCTION, node, f"a tensor has no member `{node.attr}`", help)
        if member.is_called:
            message = f"`{node.attr}` is called"
            raise self.fault(library_codes.OUTPUT_CALL, node, message, f"write `{self.parsed.text(node)}()`")
        return expression_of(member.operation, member.result, owner)

    def _owner(self, node: ast.Attribute) -> OutputExpression:
        """Tensor of a member. Raises Fault if the value is none; names such as `torch.float32` get a help."""
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        if name == "torch" and name not in self.arguments and node.attr in DTYPES:
            raise self.fault(library_codes.OUTPUT_NAME, node, "there is no argument `torch`", f"write `{node.attr}`")
        return self.check_kind(node.value, ValueKind.tensor)

    def _call(self, node: ast.Call) -> OutputExpression:
        if isinstance(node.func, ast.Attribute):
            return self._method(node, node.func)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        function = FUNCTIONS.get(name)
        if function is not None:
            return self._function(node, function)
        if name == LIKE:
            message, help = f"`{LIKE}` stands for a whole output", "write `dtype`, `sizes()` or `device` of the tensor"
            raise self.fault(library_codes.OUTPUT_TYPE, node, message, help)
        text = self.parsed.text(node.func)
        suggestion = did_you_mean(text, [*FUNCTIONS, LIKE])
        raise self.fault(library_codes.OUTPUT_FUNCTION, node.func, f"there is no function `{text}`", suggestion)

    def _method(self, node: ast.Call, method: ast.Attribute) -> OutputExpression:
        owner = self._owner(method)
        member = MEMBERS.get(method.attr)
        if member is None:
            help = did_you_mean(method.attr, MEMBERS, prefix=f"{self.parsed.text(method.value)}.")
            raise self.fault(library_codes.OUTPUT_FUNCTION, method, f"a tensor has no member `{method.attr}`", help)
        if not member.is_called:
            message = f"`{method.attr}` is not called"
            raise self.fault(library_codes.OUTPUT_CALL, node, message, f"write `{self.parsed.text(method)}`")
        has_dim = member.operation is OutputOperation.size
        if node.keywords or len(node.args) != has_dim:
            message = f"`{method.attr}` takes {'one dimension' if has_dim else 'no arguments'}"
            raise self.fault(library_codes.OUTPUT_CALL, node, message, "all sizes are `sizes()`" if has_dim else "")
        return expression_of(member.operation, member.result, owner, *map(self._index, node.args))

    def _function(self, node: ast.Call, function: Function) -> OutputExpression:
        operands = [
            self._argument(value, parameter) if value is not None else _default(parameter)
            for parameter, value in self._match_arguments(node, function)
        ]
        if function.operation is OutputOperation.dynamic and operands[1].operation is OutputOperation.negate:
            raise self.fault(library_codes.OUTPUT_CALL, node, f"`{self.parsed.text(node)}` has a limit below 0")
        kind = function.result or _number_kind(*operands)
        return expression_of(function.operation, kind, *operands)

    def _argument(self, node: ast.expr, parameter: FunctionParameter) -> OutputExpression:
        expression = self.check(node)
        if parameter.takes_none and expression.kind is ValueKind.none:
            return expression
        self._expect(node, expression, parameter.kinds, takes_none=parameter.takes_none)
        return expression

    def _match_arguments(self, node: ast.Call, function: Function) -> list[tuple[FunctionParameter, ast.expr | None]]:
        """Parameters with their arguments; None stands for the default. Raises Fault if they do not fit."""
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        arguments = [argument for argument in node.args if not isinstance(argument, ast.Starred)]
        parameters = function.parameters
        if parameters[0].is_repeated:
            if arguments and not keywords and len(arguments) == len(node.args):
                return [(parameters[0], argument) for argument in arguments]
            raise self._call_fault(node, function)
        names = [parameter.name for parameter in parameters[len(arguments) :]]
        if len(arguments) > len(parameters) or len(arguments) < len(node.args) or not set(keywords) <= set(names):
            raise self._call_fault(node, function)
        bound: list[tuple[FunctionParameter, ast.expr | None]] = list(zip(parameters, arguments, strict=False))
        for parameter in parameters[len(arguments) :]:
            value = keywords.get(parameter.name)
            if value is None and parameter.default is None:
                raise self._call_fault(node, function)
            bound.append((parameter, value))
        return bound

    def _call_fault(self, node: ast.Call, function: Function) -> Fault:
        return self.fault(library_codes.OUTPUT_CALL, node, f"`{function.name}` takes {function.signature}")


_DEVICES: Final = frozenset(("cpu", "cuda", "meta", "mps", "xpu"))
_ITEM_HELP: Final = "put a single size in brackets to join it to a list"


def _shortened(text: str) -> str:
    """The text of a literal, of which messages show the first digits."""
    return text if len(text) <= 40 else f"{text[:36]}..."


def _type_help(text: str, kind: ValueKind, wanted: tuple[ValueKind, ...]) -> str:
    """What to write instead of a value of a wrong kind, if that can be guessed."""
    if kind is ValueKind.size and ValueKind.integer in wanted:
        return "a size may be unknown while PyTorch traces; use an `int` argument or a number"
    if kind is ValueKind.tensor and ValueKind.sizes in wanted:
        return f"write `{text}.sizes()`, or `like({text})` for a result like it"
    if kind is ValueKind.tensor and wanted in ((ValueKind.dtype,), (ValueKind.device,)):
        return f"write `{text}.{wanted[0].name}`"
    if kind in _INTEGERS and ValueKind.sizes in wanted:
        return f"write `[{text}]`"
    return ""


def _default(parameter: FunctionParameter) -> OutputExpression:
    text = parameter.default or ""
    if text == "None":
        return OutputExpression(OutputOperation.literal, ValueType(ValueKind.none, True), text=text)
    if text == "False":
        return expression_of(OutputOperation.literal, ValueKind.boolean, text="false")
    return expression_of(OutputOperation.literal, ValueKind.integer, text=text)


def _make_list(items: list[OutputExpression]) -> OutputExpression:
    are_integers = all(item.kind is ValueKind.integer for item in items)
    return expression_of(OutputOperation.make_list, ValueKind.integers if are_integers else ValueKind.sizes, *items)


def _number_kind(*operands: OutputExpression) -> ValueKind:
    are_integers = all(operand.kind is ValueKind.integer for operand in operands)
    return ValueKind.integer if are_integers else ValueKind.size


def _list_kind(*parts: OutputExpression) -> ValueKind:
    are_integers = all(part.kind is ValueKind.integers for part in parts)
    return ValueKind.integers if are_integers else ValueKind.sizes
