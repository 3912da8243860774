"""Loads the field `outputs` of an entry: one declared output for each result of the operator."""

from __future__ import annotations

import ast
from typing import Final

from opwright.dialects.field import Field
from opwright.libraries import library_codes
from opwright.libraries.declared_outputs import (
    DeclaredOutput,
    DeclaredOutputs,
    OutputExpression,
    OutputOperation,
    ValueKind,
)
from opwright.libraries.dialect.expression_types import ExpressionChecker, argument_expression, expression_of
from opwright.libraries.dialect.expressions import (
    LIKE,
    ExpressionText,
    bracketed_text,
    joined_entries,
    parse_expression,
)
from opwright.model.native_function import is_view_schema
from opwright.schema.function import FunctionSchema
from opwright.schema.types import TENSOR, Type
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.expect import check_unique_keys
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode, did_you_mean_key
from opwright.source.records import NamedTuple
from opwright.source.span import Span

_EXPRESSION: Final = {"$ref": "#/$defs/expression"}

#: The fields of an output that is written as a mapping.
OUTPUT_FIELDS: Final = (
    Field("size", "list of sizes", _EXPRESSION, "The sizes: a list, or an expression that gives one."),
    Field("like", "tensor", _EXPRESSION, "The tensor whose size, dtype, device and memory format the result has."),
    Field(
        "dtype",
        "dtype",
        _EXPRESSION,
        "The dtype. Without it: the argument `dtype` if there is one, the dtype to which the tensors of `broadcast` "
        "promote, or the dtype of the first tensor.",
    ),
    Field(
        "device",
        "device",
        _EXPRESSION,
        "The device. Without it: the argument `device` if there is one, or the device of the first tensor.",
    ),
)
_FIELD_NAMES: Final = tuple([field.name for field in OUTPUT_FIELDS])


class Result(NamedTuple):
    """A new tensor of an operator: its name in declared outputs, its name in the schema if it has one, and its type."""

    key: str
    name: str | None
    type: Type


def load_outputs(
    key: Scalar, node: Node, schema: FunctionSchema, tags: frozenset[str], sink: Diagnostics
) -> DeclaredOutputs | None:
    """Declared outputs of an operator; None if there are faults, which go to `sink`.

    `key` and `node` are the field `outputs` and its value.

    >>> from opwright.schema import parse_schema
    >>> from opwright.source.text import SourceFile
    >>> field = Scalar(SourceFile("ops.yaml", "outputs: like(self)"), 0, 7, "outputs")
    >>> value = Scalar(field.file, 9, 19, "like(self)")
    >>> schema = parse_schema("twice(Tensor self) -> Tensor")
    >>> [output] = load_outputs(field, value, schema, frozenset(), Diagnostics())
    >>> output.dtype.operation.name, output.dtype.operands[0].text
    ('dtype_of', 'self')
    """
    before = len(sink)
    results = _results(schema)
    fault = _schema_fault(schema, tags, results)
    if fault is not None:
        message, help = fault
        sink.error(library_codes.OUTPUT_SCHEMA, message, key.span, help=help)
        return None
    loader = _OutputLoader(schema, _arguments(schema), sink)
    try:
        outputs = loader.load(node, results)
    except Fault as error:
        sink.add(error.diagnostic)
        return None
    return outputs if len(sink) == before else None


def _results(schema: FunctionSchema) -> tuple[Result, ...]:
    """Results that outputs are declared for: the out arguments, or the returns that alias no argument."""
    if schema.is_out:
        return tuple(Result(out.name, out.name, out.type) for out in schema.arguments.out)
    returns = [result for result in schema.returns if result.annotation is None]
    return tuple(
        Result(result.name or ("result" if len(returns) == 1 else f"result{index}"), result.name, result.type)
        for index, result in enumerate(returns)
    )


def _schema_fault(schema: FunctionSchema, tags: frozenset[str], results: tuple[Result, ...]) -> tuple[str, str] | None:
    """Why an operator cannot have declared outputs, with a help; None if it can."""
    name = schema.name
    if name.inplace:
        return f"`{name}` writes to its argument and makes no new tensor", (
            "declare the outputs at the functional or the out overload"
        )
    if is_view_schema(schema, tags):
        return f"`{name}` is a view, so its result shares the memory of an argument", "remove `outputs`"
    if not results:
        return f"`{name}` has no result that is a new tensor", "remove `outputs`"
    for result in results:
        if result.type is not TENSOR:
            return (
                f"`{name}` returns `{result.type}`, and outputs describe results of type `Tensor`",
                "remove `outputs`",
            )
    return None


def results_of(schema: FunctionSchema, tags: frozenset[str]) -> tuple[Result, ...]:
    """Results of an operator that can have declared outputs; none if it cannot have any."""
    results = _results(schema)
    return () if _schema_fault(schema, tags, results) is not None else results


def completed_output(
    schema: FunctionSchema,
    result: Result,
    size: OutputExpression,
    like: OutputExpression | None,
    dtype: OutputExpression | None,
    span: Span,
) -> DeclaredOutput:
    """Output of a known size with its defaults, or one like a tensor. A list of tensors may be empty, so it is last."""
    arguments = sorted(_arguments(schema).items(), key=lambda argument: argument[1].kind is ValueKind.tensors)
    loader = _OutputLoader(schema, dict(arguments), Diagnostics())
    fields = {} if dtype is None else {"dtype": dtype}
    return loader._complete(None if like is not None else size, like, fields, result, span)


def _arguments(schema: FunctionSchema) -> dict[str, OutputExpression]:
    names = [argument.name for argument in schema.arguments.non_out]
    arguments = {name: argument_expression(schema, name) for name in names}
    return {name: argument for name, argument in arguments.items() if argument is not None}


class _OutputLoader(NamedTuple):
    """Loads the outputs of one operator. Faults of single expressions go to the sink; others are raised."""

    schema: FunctionSchema
    arguments: dict[str, OutputExpression]
    sink: Diagnostics

    def load(self, node: Node, results: tuple[Result, ...]) -> DeclaredOutputs:
        """Outputs that the node declares, in the order of the results."""
        if isinstance(node, MappingNode):
            node = joined_entries(node)
            name = results[0].key
            if len(results) > 1 or (name not in _FIELD_NAMES and node.entry(name) is not None):
                return self._load_named(node, results)
            return self._each([node], results)
        text = bracketed_text(node) if isinstance(node, SequenceNode) else None
        if text is not None:
            return self._expressions(text, results)
        if isinstance(node, SequenceNode):
            _check_count(len(node), results, node.span)
            return self._each(node.items, results)
        if node.kind == "null":
            raise Fault.at(
                library_codes.OUTPUT_SYNTAX, "`outputs` is empty", node.span, help="write for instance `like(self)`"
            )
        return self._expressions(ExpressionText.of_scalar(node), results)

    def _load_named(self, node: MappingNode, results: tuple[Result, ...]) -> DeclaredOutputs:
        """Outputs of a mapping from the names of results."""
        check_unique_keys(node, self.sink)
        nodes = {key.value: value for key, value in node.entries}
        names = [result.key for result in results]
        for key, _ in node.entries:
            if key.value not in names:
                message = f"`{self.schema.name}` has no result `{key.value}`"
                help = did_you_mean_key(key, node, names, f"its results are {_name_list(names)}")
                self.sink.error(library_codes.OUTPUT_COUNT, message, key.span, help=help)
        missing = [name for name in names if name not in nodes]
        if missing:
            raise Fault.at(library_codes.OUTPUT_COUNT, f"no output is declared for {_name_list(missing)}", node.span)
        return self._each([nodes[name] for name in names], results)

    def _each(self, nodes: list[Node], results: tuple[Result, ...]) -> DeclaredOutputs:
        outputs = []
        for node, result in zip(nodes, results, strict=True):
            try:
                outputs.append(self._output(node, result))
            except Fault as fault:
                self.sink.add(fault.diagnostic)
        return tuple(outputs)

    def _expressions(self, source: ExpressionText, results: tuple[Result, ...]) -> DeclaredOutputs:
        """Outputs that an expression gives: a list has one for each result, unless its items are sizes."""
        parsed = parse_expression(source)
        checker = ExpressionChecker(parsed, self.arguments)
        tree = parsed.tree
        forms = tree.elts if isinstance(tree, ast.List) and _lists_outputs(tree, checker) else [tree]
        _check_count(len(forms), results, source.span)
        outputs = []
        for form, result in zip(forms, results, strict=True):
            try:
                outputs.append(self._expression(checker, form, result))
            except Fault as fault:
                self.sink.add(fault.diagnostic)
        return tuple(outputs)

    def _output(self, node: Node, result: Result) -> DeclaredOutput:
        """Output that a node declares: an expression, a list of sizes, or a mapping."""
        if isinstance(node, MappingNode):
            return self._form(joined_entries(node), result)
        checker = self._checker(node)
        return self._expression(checker, checker.parsed.tree, result)

    def _checker(self, node: Node) -> ExpressionChecker:
        text = None
        if isinstance(node, SequenceNode):
            text = bracketed_text(node)
        elif isinstance(node, Scalar) and node.kind != "null":
            text = ExpressionText.of_scalar(node)
        if text is None:
            message = f"an output is an expression, not {node.description}"
            raise Fault.at(library_codes.OUTPUT_SYNTAX, message, node.span, help="write a list of sizes in brackets")
        return ExpressionChecker(parse_expression(text), self.arguments)

    def _expression(self, checker: ExpressionChecker, node: ast.expr, result: Result) -> DeclaredOutput:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == LIKE:
            if len(node.args) != 1 or node.keywords:
                raise checker.fault(library_codes.OUTPUT_CALL, node, "`like` takes one tensor")
            size, like = None, checker.check_kind(node.args[0], ValueKind.tensor)
        else:
            size, like = checker.check_kind(node, ValueKind.sizes), None
        return self._complete(size, like, {}, result, checker.parsed.span(node))

    def _form(self, node: MappingNode, result: Result) -> DeclaredOutput:
        check_unique_keys(node, self.sink)
        fields: dict[str, OutputExpression] = {}
        for key, value in node.entries:
            if key.value not in _FIELD_NAMES:
                message = f"an output has no field `{key.value}`"
                raise Fault.at(
                    library_codes.OUTPUT_FIELD, message, key.span, help=did_you_mean_key(key, node, _FIELD_NAMES)
                )
            checker = self._checker(value)
            fields[key.value] = checker.check_kind(checker.parsed.tree, _FIELD_KINDS[key.value])
        size, like = fields.pop("size", None), fields.pop("like", None)
        if (size is None) == (like is None):
            message = "an output has `size` or `like`" + (", not both" if size is not None else "")
            raise Fault.at(library_codes.OUTPUT_FIELD, message, node.span)
        return self._complete(size, like, fields, result, node.span)

    def _complete(
        self,
        size: OutputExpression | None,
        like: OutputExpression | None,
        fields: dict[str, OutputExpression],
        result: Result,
        span: Span,
    ) -> DeclaredOutput:
        """Output with its defaults."""
        if like is not None:
            size = expression_of(OutputOperation.sizes, ValueKind.sizes, like)
        assert size is not None
        tensor = like or self._first_tensor()
        dtype = fields.get("dtype") or self._option("dtype", ValueKind.dtype, _default_dtype(size, tensor))
        device = fields.get("device") or self._option("device", ValueKind.device, _default_device(tensor))
        return DeclaredOutput(size, dtype, device, like, result.name, span)

    def _first_tensor(self) -> OutputExpression | None:
        """The first argument that is a tensor, or the first item of a list of tensors."""
        for argument in self.arguments.values():
            if argument.type.is_optional:
                continue
            if argument.kind is ValueKind.tensor:
                return argument
            if argument.kind is ValueKind.tensors:
                first = expression_of(OutputOperation.literal, ValueKind.integer, text="0")
                return expression_of(OutputOperation.item, ValueKind.tensor, argument, first)
        return None

    def _option(self, name: str, kind: ValueKind, otherwise: OutputExpression) -> OutputExpression:
        """Argument of that name and kind if the operator takes one, else the other expression."""
        argument = self.arguments.get(name)
        if argument is None or argument.kind is not kind:
            return otherwise
        if not argument.type.is_optional:
            return argument
        return expression_of(OutputOperation.value_or, kind, argument, otherwise)


_FIELD_KINDS: Final = {
    "size": ValueKind.sizes,
    "like": ValueKind.tensor,
    "dtype": ValueKind.dtype,
    "device": ValueKind.device,
}


def _lists_outputs(tree: ast.List, checker: ExpressionChecker) -> bool:
    """Whether the items of a list are outputs; otherwise they are sizes, or the items of other lists."""
    first = tree.elts[0] if tree.elts else None
    if first is None or isinstance(first, ast.Starred):
        return False
    if isinstance(first, ast.Call) and isinstance(first.func, ast.Name) and first.func.id == LIKE:
        return True
    return checker.check(first).kind not in (ValueKind.integer, ValueKind.size)


def _check_count(count: int, results: tuple[Result, ...], at: Span) -> None:
    if count != len(results):
        outputs = "1 output" if count == 1 else f"{count} outputs"
        wanted = "1 result" if len(results) == 1 else f"{len(results)} results"
        raise Fault.at(library_codes.OUTPUT_COUNT, f"{outputs} for {wanted}", at)


def _name_list(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _default_dtype(size: OutputExpression, tensor: OutputExpression | None) -> OutputExpression:
    operands = [operand for operand in size.operands if operand is not None]
    if size.operation is OutputOperation.broadcast and all(operand.kind is ValueKind.tensor for operand in operands):
        return expression_of(OutputOperation.promote, ValueKind.dtype, *operands)
    if tensor is None:
        return expression_of(OutputOperation.default_dtype, ValueKind.dtype)
    return expression_of(OutputOperation.dtype_of, ValueKind.dtype, tensor)


def _default_device(tensor: OutputExpression | None) -> OutputExpression:
    if tensor is None:
        return expression_of(OutputOperation.cpu, ValueKind.device)
    return expression_of(OutputOperation.device_of, ValueKind.device, tensor)
