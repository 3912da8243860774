"""Formulas of one function under one dispatch key, and which of its outputs are differentiable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opwright.dialects.derivatives.fields import DERIVATIVE_FIELDS
from opwright.dialects.derivatives.formula_checks import FormulaChecker, FormulaScope
from opwright.dialects.derivatives.formulas import Savable, check_fixed_sizes, gradient_indices, occurrences, saved_by
from opwright.dialects.derivatives.forward_formulas import AUTOMATIC, ForwardSources, WrittenForward, build_forward
from opwright.dialects.derivatives.functions import EntryReport, FormulaReport, part_span
from opwright.model.derivatives import Derivative, ForwardDerivative, words_of
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument
from opwright.schema.types import Type
from opwright.source import codes
from opwright.source.diagnostic import Suggestion, did_you_mean
from opwright.source.lazy import lazy_pattern
from opwright.source.nodes import Node, Scalar, SequenceNode
from opwright.source.records import NamedTuple


class Differentiability(NamedTuple):
    """What an entry says of the outputs: whether each is differentiable, or a condition for the only one."""

    of_outputs: tuple[bool, ...] | None
    condition: str | None

    def of_single_gradient(self) -> tuple[bool, ...] | None:
        """Whether each output is differentiable if formulas read `grad`, which is the gradient of the first one."""
        if self.of_outputs is None or True not in self.of_outputs:
            return self.of_outputs
        first = self.of_outputs.index(True)
        return tuple([position == first for position in range(len(self.of_outputs))])


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
    if not isinstance(node, SequenceNode):
        message = f"`output_differentiability` is {node.description}, not a list"
        help = f"write a list: `[{node.value}]`" if isinstance(node, Scalar) else ""
        report.error(codes.DIFFERENTIABILITY_SHAPE, message, node.span, help=help)
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


_NUMBERED_RESULT: Final = lazy_pattern(r"result(\d{1,6})")
_MASK: Final = lazy_pattern(r"\bgrad_input_mask\b(?:\s*\[\s*(-?[ ]*\d+)\s*\])?")
_NOT_DIFFERENTIABLE: Final = "non_differentiable"


class Formulas(NamedTuple):
    """Formulas of an entry for one dispatch key."""

    derivatives: tuple[Derivative, ...]
    forward_derivatives: tuple[ForwardDerivative, ...]
    differentiable_arguments: tuple[Argument, ...]
    non_differentiable: tuple[str, ...]
    available_gradients: tuple[str, ...]


#: The fields of an entry that are not formulas.
FIELDS: Final = tuple([field.name for field in DERIVATIVE_FIELDS])


class Scope(NamedTuple):
    """Names that the formulas of a function can use.

    `arguments` are in the order of the C++ function: outs first, tensor options packed as `options`. `results` are
    the outputs by the names that formulas use, which can differ from those in C++.
    """

    function: NativeFunction
    arguments: tuple[Savable, ...]
    results: tuple[Savable, ...]
    argument_names: tuple[str, ...]


def scope_of(function: NativeFunction) -> Scope:
    """Names that the formulas of a function can use."""
    parts = function.arguments
    plain = [Savable(argument.name, argument) for argument in parts.out + parts.positional + parts.pre_options]
    if parts.options is not None:
        plain.append(Savable("options", None))
        plain += [Savable(option.name, option) for option in parts.post_options]
    return Scope(function, tuple(plain), _results(function), tuple([savable.name for savable in plain]))


def _results(function: NativeFunction) -> tuple[Savable, ...]:
    returns = function.schema.returns
    if function.name.inplace:
        return tuple([Savable("result", result) for result in returns])
    taken = {argument.name for argument in function.arguments.all}
    numbered = len(returns) > 1
    return tuple(
        [
            Savable(
                (f"result{index}" if numbered else "result")
                if result.name is None
                else result.name + ("_return" if result.name in taken else ""),
                result,
            )
            for index, result in enumerate(returns)
        ]
    )


def load_formulas(
    function: NativeFunction,
    entries: Sequence[tuple[Scalar, Node]],
    outputs: Differentiability,
    report: EntryReport,
    checker: FormulaChecker,
) -> Formulas | None:
    """Formulas that keys and values of an entry give; None if one of them is at fault."""
    reader = _Reader(scope_of(function), outputs, report, checker)
    for key, value in sorted(entries, key=lambda entry: entry[0].value):
        reader.read(key, value)
    if report.failed:
        return None
    formulas = reader.build()
    return None if report.failed else formulas


class _Reader:
    """Reads the formulas of an entry, then derives what depends on all of them."""

    __slots__ = (
        "_backward", "_checker", "_forward", "_gradients", "_keys", "_names", "_not_differentiable", "_report",
        "_scope", "_taken",
    )  # fmt: skip

    def __init__(
        self,
        scope: Scope,
        outputs: Differentiability,
        report: EntryReport,
        checker: FormulaChecker,
    ) -> None:
        self._checker: Final = checker
        self._scope: Final = scope
        self._report: Final = report
        self._gradients: Final = _gradients_by_name(scope.function, outputs)
        self._backward: Final[list[tuple[Derivative, Scalar]]] = []
        self._forward: Final[list[WrittenForward]] = []
        self._not_differentiable: Final[list[str]] = []
        self._taken: Final[set[str]] = set()
        self._keys: Final[set[str]] = set()
        arguments = [argument.name for argument in scope.function.arguments.all]
        shared = [*arguments, *scope.argument_names, *[result.name for result in scope.results]]
        if scope.function.name.is_foreach:
            # Formulas over lists compute the item with index `i`.
            shared.append("i")
        self._names: Final = FormulaScope(
            scope.function.name.text,
            frozenset([*shared, "grad", "grads", *self._gradients]),
            instead=(_NOT_DIFFERENTIABLE,),
        )

    def _forward_names(self) -> FormulaScope:
        """Names that forward formulas use: those of arguments with a suffix for value or tangent."""
        arguments = [*self._scope.argument_names, "original_self"]
        endings = [f"{name}{ending}" for name in arguments for ending in ("_p", "_t")]
        gradients = {"grad", "grads", *self._gradients}.difference(self._scope.argument_names)
        names = self._names.names.difference(gradients).union(endings)
        return self._names._replace(names=names, instead=AUTOMATIC)

    def read(self, key: Scalar, value: Node) -> None:
        """Reads the formula of a key, which lists arguments or results."""
        names = tuple([name.strip() for name in key.value.split(",")]) if "," in key.value else (key.value.strip(),)
        if key.value in self._keys:
            # A repeated key is reported where keys are read.
            return
        self._keys.add(key.value)
        if names[0] in self._scope.argument_names:
            if self._is_result_too(key, names):
                return
            formula = self._formula(value)
            if formula is not None:
                self._read_backward(key, names, formula)
            return
        types = self._result_types(key, names)
        if types is not None:
            formula = self._formula(value)
            if formula is not None:
                self._report_twice(key, names, {name for other in self._forward for name in other.names})
                self._forward.append(WrittenForward(names, types, formula))
                if formula.value not in AUTOMATIC:
                    self._checker.check(formula, words_of(formula.value), self._forward_names())

    def _formula(self, value: Node) -> Scalar | None:
        if isinstance(value, Scalar) and value.kind == "str":
            return value
        self._report.error(codes.FORMULA_SHAPE, f"a formula is text, not {value.description}", value.span)
        return None

    def _is_result_too(self, key: Scalar, names: tuple[str, ...]) -> bool:
        results = {result.name for result in self._scope.function.schema.returns}
        both = [name for name in names if name in results and name in self._scope.argument_names]
        for name in both:
            message = f"`{name}` is both an argument and a result of `{self._scope.function.name}`"
            self._report.error(codes.BOTH_ARGUMENT_AND_RESULT, message, part_span(key, name))
        return bool(both)

    def _read_backward(self, key: Scalar, names: tuple[str, ...], scalar: Scalar) -> None:
        text = scalar.value
        is_formula = len(text) >= 40 or text.lower().strip() != _NOT_DIFFERENTIABLE
        if not is_formula:
            self._not_differentiable.extend(names)
            again = self._taken.intersection(names)
        else:
            self._report_twice(key, names, self._taken)
            self._backward.append((self._derivative(names, scalar), scalar))
            self._taken.update(names)
            again = set(self._not_differentiable).intersection(names)
        for name in sorted(again):
            message = f"`{name}` has a formula and is `{_NOT_DIFFERENTIABLE}` too"
            self._report.error(codes.DERIVATIVES_OVERLAP, message, part_span(key, name))
        for name in names[1:]:
            if name in self._scope.argument_names:
                continue
            if is_formula:
                self._report_unknown(key, name)
            else:
                message = f"`{name}` is not an argument of `{self._scope.function.name}`, so this has no effect"
                help = did_you_mean(name, self._scope.argument_names, f"delete `{name}`")
                self._report.doubt(codes.IGNORED_NAME, message, part_span(key, name), help=help)

    def _report_twice(self, key: Scalar, names: tuple[str, ...], taken: set[str]) -> None:
        """Report names that have a formula already: the generated code would compute both, and keep the last one."""
        for name in sorted({name for name in names if name in taken or names.count(name) > 1}):
            message = f"`{name}` has two formulas"
            help = "keep one formula for each name"
            self._report.error(codes.DERIVATIVES_OVERLAP, message, part_span(key, name), help=help)

    def _check_mask(self, formula: str, names: tuple[str, ...], report: FormulaReport) -> None:
        """Report a mask where there is none, or an item that it lacks."""
        for match in _MASK.finditer(formula):
            if len(names) == 1:
                message = "`grad_input_mask` exists only in the formula of several arguments"
                help = "delete it: the formula of one argument is computed if its gradient is needed"
                report.error(codes.GRADIENT_INDEX, message, match.group(), help=help)
            elif match.group(1) is not None and not 0 <= int(match.group(1).replace(" ", "")) < len(names):
                message = f"`grad_input_mask` has an item for each of {len(names)} arguments"
                help = f"the last one is `grad_input_mask[{len(names) - 1}]`"
                report.error(codes.GRADIENT_INDEX, message, match.group(), help=help)

    def _derivative(self, names: tuple[str, ...], scalar: Scalar) -> Derivative:
        text = scalar.value
        report = self._report.formula(scalar)
        check_fixed_sizes(text, report)
        words = words_of(text)
        self._checker.check(scalar, words, self._names)
        inputs = saved_by(text, words, self._scope.arguments, names, report)
        formula, words, saved_outputs = saved_by(inputs.formula, inputs.words, self._scope.results, names, report)
        outputs = len(self._scope.function.schema.returns)
        for index in gradient_indices(formula):
            if index >= outputs:
                message = f"`{self._scope.function.name}` has only {count_in_words(outputs, 'output')}"
                report.error(
                    codes.GRADIENT_INDEX, message, f"grads[{index}]", help=f"the last one is `grads[{outputs - 1}]`"
                )
        if "grad_input_mask" in words:
            self._check_mask(formula, names, report)
        self._report.failed |= report.failed
        named = words.intersection(self._gradients) if self._gradients else frozenset()
        return Derivative(formula, text, names, inputs.saved, saved_outputs, frozenset(named), scalar.span)

    def _result_types(self, key: Scalar, names: tuple[str, ...]) -> tuple[Type, ...] | None:
        """Types of the results that a key names; None if one does not exist, which is reported."""
        returns = self._scope.function.schema.returns
        types = [result.type for result in returns if result.name in names]
        if types:
            return tuple(types)
        if names == ("result",) and len(returns) == 1:
            return (returns[0].type,)
        numbers = [match for match in map(_NUMBERED_RESULT.fullmatch, names) if match is not None]
        for match in numbers:
            if int(match.group(1)) >= len(returns):
                self._report_no_output(key, match.group())
                return None
        if numbers:
            return tuple([returns[int(match.group(1))].type for match in numbers])
        if names == ("result",):
            self._report_no_output(key, "result")
        else:
            self._report_unknown(key, names[0])
        return None

    def _report_no_output(self, key: Scalar, name: str) -> None:
        count = len(self._scope.function.schema.returns)
        results = ", ".join([f"`{result.name}`" for result in self._scope.results])
        message = f"`{self._scope.function.name}` has {count_in_words(count, 'output')}, and none is called `{name}`"
        self._report.error(codes.FORWARD_OUTPUT, message, part_span(key, name), help=results and f"write {results}")

    def _report_unknown(self, key: Scalar, name: str) -> None:
        names = [*self._scope.argument_names, *[result.name for result in self._scope.results]]
        help: str | Suggestion
        help = did_you_mean(name, names, f"it has {', '.join([f'`{candidate}`' for candidate in names])}")
        field = did_you_mean(name, FIELDS)
        if field and not did_you_mean(name, names):
            self._report.error(
                codes.DERIVATIVES_UNKNOWN_FIELD, f"unknown field `{name}`", part_span(key, name), help=field
            )
            return
        if did_you_mean(name, (_NOT_DIFFERENTIABLE,)) or name == _NOT_DIFFERENTIABLE:
            help = f"write `{next(iter(self._scope.argument_names), 'self')}: {_NOT_DIFFERENTIABLE}`"
        message = f"`{name}` is neither an argument nor a result of `{self._scope.function.name}`"
        self._report.error(codes.DERIVATIVES_UNKNOWN_ARGUMENT, message, part_span(key, name), help=help)

    def build(self) -> Formulas:
        """All formulas. Forward formulas are built last because they depend on all differentiable arguments."""
        arguments = tuple(
            [
                argument.source
                for argument in self._scope.arguments
                if isinstance(argument.source, Argument) and argument.name in self._taken
            ]
        )
        self._check_gradients()
        derivatives = tuple([derivative for derivative, _ in self._backward])
        scope = self._scope
        sources = ForwardSources(
            scope.function, scope.argument_names, arguments, derivatives, self._forward, self._report
        )
        return Formulas(
            derivatives, build_forward(sources), arguments, tuple(self._not_differentiable), self._gradients
        )

    def _check_gradients(self) -> None:
        """Reports gradients that are used in more than one way, and `grads[0]` if it is the only one.

        Such formulas compile, but their own derivatives are wrong.
        """
        single = by_number = by_name = None
        uses = 0
        indices: list[int] = []
        for derivative, scalar in self._backward:
            words = derivative.words
            if "grad" in words:
                single = single or scalar
            if "grads" in words:
                by_number = by_number or scalar
                uses += len(occurrences(derivative.formula, "grads"))
                indices += gradient_indices(derivative.formula)
            if derivative.named_gradients:
                by_name = by_name or (scalar, min(derivative.named_gradients))
        if single is not None and by_number is not None:
            at = part_span(single, "grad")
            message = "`grad` and `grads` are mixed"
            self._report.error(codes.MIXED_GRADIENTS, message, at, help="write `grads[0]` for `grad`")
        if by_number is not None and uses == len(indices) and set(indices) == {0}:
            at = part_span(by_number, "grads[0]")
            help = "write `grad` if the first output is the only differentiable one"
            self._report.error(codes.ONLY_FIRST_GRADIENT, "`grads[0]` is the only gradient in use", at, help=help)
        if by_name is not None and (single is not None or by_number is not None):
            message = f"`{by_name[1]}` is mixed with `{'grad' if single else 'grads'}`"
            self._report.error(codes.MIXED_NAMED_GRADIENTS, message, part_span(*by_name))


def _gradients_by_name(function: NativeFunction, outputs: Differentiability) -> tuple[str, ...]:
    """Names of the gradients of named outputs, in the order of the outputs."""
    returns = function.schema.returns
    differentiable = outputs.of_outputs or (True,) * len(returns)
    return tuple(
        [
            f"grad_{result.name}"
            for result, is_differentiable in zip(returns, differentiable, strict=False)
            if is_differentiable and result.name is not None and result.type.is_tensor_like
        ]
    )
