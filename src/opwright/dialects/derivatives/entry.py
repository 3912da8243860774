"""Formulas of one function under one dispatch key, and which of its outputs are differentiable."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from opwright.dialects.derivatives.fields import DERIVATIVE_FIELDS
from opwright.dialects.derivatives.formula_checks import FormulaChecker, FormulaScope
from opwright.dialects.derivatives.formulas import (
    Savable,
    check_fixed_sizes,
    gradient_indices,
    occurrences,
    part_span,
    saved_by,
    substitute_word,
)
from opwright.model.derivatives import Derivative, DifferentiabilityInfo, ForwardDerivative, only_first, words_of
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument
from opwright.schema.types import ListType, Type
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Suggestion, did_you_mean
from opwright.source.lazy import lazy_pattern
from opwright.source.nodes import Node, Scalar, SequenceNode
from opwright.source.records import NamedTuple


class Differentiability(NamedTuple):
    """What an entry says of the outputs: whether each is differentiable, or a condition for the only one."""

    of_outputs: tuple[bool, ...] | None
    condition: str | None


NOTHING_SAID: Final = Differentiability(None, None)


def read_differentiability(
    node: Node, function: NativeFunction, report: Diagnostics, checker: FormulaChecker
) -> Differentiability:
    """What the field says of the outputs of a function."""
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
_ELEMENT_WISE: Final = "auto_element_wise"
_LINEAR: Final = "auto_linear"
#: The words that ask for a derived forward formula.
_AUTOMATIC: Final = (_ELEMENT_WISE, _LINEAR)


class _WrittenForward(NamedTuple):
    """A forward formula in an entry: the outputs, their types, and the scalar with the formula."""

    names: tuple[str, ...]
    types: tuple[Type, ...]
    scalar: Scalar


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


def load_info(
    function: NativeFunction,
    entries: Iterable[tuple[Scalar, Node]],
    outputs: Differentiability,
    report: Diagnostics,
    checker: FormulaChecker,
    node_name: Callable[[], str],
) -> DifferentiabilityInfo | None:
    """Derivatives that keys and values of an entry give; None if one of them is at fault, or another part of the entry.

    `node_name` names the autograd node, if there is one.
    """
    reader = _Reader(scope_of(function), outputs, report, checker)
    formulas: dict[str, tuple[Scalar, Node]] = {}
    for key, value in entries:
        # A repeated key is reported where keys are read.
        formulas.setdefault(key.value, (key, value))
    for _, formula in sorted(formulas.items()):
        reader.read(*formula)
    return None if report.has_errors else reader.build(node_name)


class _Reader:
    """Reads the formulas of an entry, then derives what depends on all of them."""

    def __init__(self, scope: Scope, outputs: Differentiability, report: Diagnostics, checker: FormulaChecker) -> None:
        self._checker: Final = checker
        self._scope: Final = scope
        self._outputs: Final = outputs
        self._report: Final = report
        self._gradients: Final = _gradients_by_name(scope.function, outputs)
        self._backward: Final[list[tuple[Derivative, Scalar]]] = []
        self._forward: Final[list[_WrittenForward]] = []
        self._not_differentiable: Final[list[str]] = []
        self._taken: Final[set[str]] = set()
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
        return self._names._replace(names=names, instead=_AUTOMATIC)

    def read(self, key: Scalar, value: Node) -> None:
        """Reads the formula of a key, which lists arguments or results."""
        names = tuple([name.strip() for name in key.value.split(",")])
        is_backward = names[0] in self._scope.argument_names
        types = None if is_backward else self._result_types(key, names)
        if (is_backward and self._is_result_too(key, names)) or (types is None and not is_backward):
            return
        if not isinstance(value, Scalar) or value.kind != "str":
            self._report.error(codes.FORMULA_SHAPE, f"a formula is text, not {value.description}", value.span)
        elif types is None:
            self._read_backward(key, names, value)
        else:
            self._report_twice(key, names, {name for other in self._forward for name in other.names})
            self._forward.append(_WrittenForward(names, types, value))
            if value.value not in _AUTOMATIC:
                self._checker.check(value, words_of(value.value), self._forward_names())

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
                self._checker.doubt(codes.IGNORED_NAME, message, part_span(key, name), help=help)

    def _report_twice(self, key: Scalar, names: tuple[str, ...], taken: set[str]) -> None:
        """Report names that have a formula already: the generated code would compute both, and keep the last one."""
        for name in sorted({name for name in names if name in taken or names.count(name) > 1}):
            message = f"`{name}` has two formulas"
            help = "keep one formula for each name"
            self._report.error(codes.DERIVATIVES_OVERLAP, message, part_span(key, name), help=help)

    def _check_mask(self, scalar: Scalar, formula: str, names: tuple[str, ...]) -> None:
        """Report a mask where there is none, or an item that it lacks."""
        for match in _MASK.finditer(formula):
            if len(names) == 1:
                message = "`grad_input_mask` exists only in the formula of several arguments"
                help = "delete it: the formula of one argument is computed if its gradient is needed"
            elif match[1] is not None and not 0 <= int(match[1].replace(" ", "")) < len(names):
                message = f"`grad_input_mask` has an item for each of {len(names)} arguments"
                help = f"the last one is `grad_input_mask[{len(names) - 1}]`"
            else:
                continue
            self._report.error(codes.GRADIENT_INDEX, message, part_span(scalar, match.group()), help=help)

    def _derivative(self, names: tuple[str, ...], scalar: Scalar) -> Derivative:
        text, function = scalar.value, self._scope.function
        check_fixed_sizes(scalar, self._report)
        words = words_of(text)
        self._checker.check(scalar, words, self._names)
        inputs = saved_by(scalar, text, words, self._scope.arguments, names, self._report)
        formula, words, saved_outputs = saved_by(
            scalar, inputs.formula, inputs.words, self._scope.results, names, self._report
        )
        outputs = len(function.schema.returns)
        for index in gradient_indices(formula):
            if index >= outputs:
                message = f"`{function.name}` has only {count_in_words(outputs, 'output')}"
                at, help = part_span(scalar, f"grads[{index}]"), f"the last one is `grads[{outputs - 1}]`"
                self._report.error(codes.GRADIENT_INDEX, message, at, help=help)
        if "grad_input_mask" in words:
            self._check_mask(scalar, formula, names)
        named = words.intersection(self._gradients)
        return Derivative(formula, text, names, inputs.saved, saved_outputs, named, scalar.span)

    def _result_types(self, key: Scalar, names: tuple[str, ...]) -> tuple[Type, ...] | None:
        """Types of the results that a key names; None if one does not exist, which is reported."""
        returns = self._scope.function.schema.returns
        types = [result.type for result in returns if result.name in names]
        if types:
            return tuple(types)
        if names == ("result",) and len(returns) == 1:
            return (returns[0].type,)
        numbers = {name: int(match[1]) for name in names if (match := _NUMBERED_RESULT.fullmatch(name)) is not None}
        missing = next((name for name, number in numbers.items() if number >= len(returns)), "")
        if missing or names == ("result",):
            self._report_no_output(key, missing or "result")
        elif numbers:
            return tuple([returns[number].type for number in numbers.values()])
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

    def build(self, node_name: Callable[[], str]) -> DifferentiabilityInfo | None:
        """All formulas; None if there is a fault.

        Forward formulas are built last because they depend on all differentiable arguments.
        """
        sources = [argument.source for argument in self._scope.arguments if argument.name in self._taken]
        arguments = tuple([source for source in sources if isinstance(source, Argument)])
        self._check_gradients()
        forward = tuple([self._forward_derivative(written, arguments) for written in self._forward])
        if self._report.has_errors:
            return None
        function, derivatives = self._scope.function, tuple([derivative for derivative, _ in self._backward])
        of_outputs = self._outputs.of_outputs
        if of_outputs and function.library.takes_any_schema and any("grad" in each.words for each in derivatives):
            # Gradients of further outputs would come to a node that ignores them.
            of_outputs = only_first(of_outputs)
        return DifferentiabilityInfo(
            name=function.name.name,
            function=function,
            node_name=node_name() if arguments else None,
            derivatives=derivatives,
            forward_derivatives=forward,
            differentiable_arguments=arguments,
            non_differentiable=tuple(self._not_differentiable),
            available_gradients=self._gradients,
            output_differentiability=of_outputs,
            output_condition=self._outputs.condition,
        )

    def _check_gradients(self) -> None:
        """Reports gradients that are used in more than one way, and `grads[0]` if it is the only one.

        Such formulas compile, but their own derivatives are wrong.
        """
        single = [scalar for derivative, scalar in self._backward if "grad" in derivative.words]
        by_number = [
            (derivative.formula, scalar) for derivative, scalar in self._backward if "grads" in derivative.words
        ]
        by_name = [(scalar, each.named_gradients) for each, scalar in self._backward if each.named_gradients]
        uses = sum(len(occurrences(formula, "grads")) for formula, _ in by_number)
        indices = [index for formula, _ in by_number for index in gradient_indices(formula)]
        if single and by_number:
            at, help = part_span(single[0], "grad"), "write `grads[0]` for `grad`"
            self._report.error(codes.MIXED_GRADIENTS, "`grad` and `grads` are mixed", at, help=help)
        if by_number and uses == len(indices) and set(indices) == {0}:
            at = part_span(by_number[0][1], "grads[0]")
            help = "write `grad` if the first output is the only differentiable one"
            self._report.error(codes.ONLY_FIRST_GRADIENT, "`grads[0]` is the only gradient in use", at, help=help)
        if by_name and (single or by_number):
            scalar, name = by_name[0][0], min(by_name[0][1])
            message = f"`{name}` is mixed with `{'grad' if single else 'grads'}`"
            self._report.error(codes.MIXED_NAMED_GRADIENTS, message, part_span(scalar, name))

    def _forward_derivative(self, written: _WrittenForward, differentiable: tuple[Argument, ...]) -> ForwardDerivative:
        """Forward derivative; a formula that follows from the function or its backward formula is written out.

        `differentiable` are the arguments that have a backward formula.
        """
        formula = written.scalar.value
        if formula == _ELEMENT_WISE:
            formula = self._element_wise(written, differentiable)
            tangents = self._scope.argument_names
        elif formula == _LINEAR:
            formula = self._linear(written, differentiable)
            tangents = tuple([argument.name for argument in differentiable])
        else:
            tangents = self._inputs_read(written.scalar, formula, "_t", differentiable)
        primals = self._inputs_read(written.scalar, formula, "_p", differentiable)
        return ForwardDerivative(
            formula, written.names, written.types, tangents, primals, False, False, written.scalar.span
        )

    def _inputs_read(
        self, scalar: Scalar, formula: str, ending: str, differentiable: tuple[Argument, ...]
    ) -> tuple[str, ...]:
        """Differentiable inputs that a formula reads with the suffix `_p` or `_t`."""
        words, over_lists = words_of(formula), self._scope.function.name.is_foreach
        read: list[str] = []
        for argument in differentiable:
            if isinstance(argument.type, ListType) and argument.type.elem.text == "Tensor" and not over_lists:
                # A function that takes a list of tensors handles the tangents of its items itself.
                continue
            if argument.name in words:
                message = f"`{argument.name}` alone is ambiguous in a forward formula"
                help = f"write `{argument.name}_p` for the value, `{argument.name}_t` for the tangent"
                self._report.error(codes.FORWARD_BASE_NAME, message, part_span(scalar, argument.name), help=help)
            if argument.name + ending in words:
                read.append(argument.name)
        return tuple(read)

    def _has_one_output(self) -> bool:
        """Whether a single output has a forward formula."""
        return len(self._forward) == 1 and len(self._forward[0].names) == 1

    def _element_wise(self, written: _WrittenForward, differentiable: tuple[Argument, ...]) -> str:
        """Backward formula with the tangent for the gradient.

        The Jacobian of such a function is diagonal, so it equals its transpose. For complex values, the tangent and the
        result are conjugated.
        """
        fault = None
        if self._scope.function.name.inplace:
            fault = codes.ELEMENT_WISE_INPLACE, f"`{self._scope.function.name}` is an in-place function"
        elif len(differentiable) != 1 or not self._has_one_output():
            fault = codes.ELEMENT_WISE_SHAPE, f"`{_ELEMENT_WISE}` is for one differentiable input and one output"
        if fault is not None:
            self._report.error(*fault, written.scalar.span)
            return ""
        name, (derivative, _) = differentiable[0].name, self._backward[0]
        formula = substitute_word(derivative.original_formula, "grad", f"{name}_t.conj()")
        return f"({substitute_word(formula, name, name + '_p')}).conj()"

    def _linear(self, written: _WrittenForward, differentiable: tuple[Argument, ...]) -> str:
        """Call of the function itself with the tangents of its differentiable inputs."""
        function, library = self._scope.function, self._scope.function.library
        if not self._has_one_output():
            message = f"`{_LINEAR}` is for functions with one differentiable output"
            self._report.error(codes.LINEAR_SHAPE, message, written.scalar.span)
        if not differentiable:
            message = f"`{_LINEAR}` needs an argument that has a backward formula"
            self._report.error(codes.LINEAR_ALONE, message, written.scalar.span)
        tangents = {argument.name for argument in differentiable}
        arguments = [f"{name}_t" if name in tangents else name for name in self._scope.argument_names]
        if not library.in_libtorch:
            # Libraries add no methods to tensors, and have no function for an overload with `manual_cpp_binding`.
            return f"{library.operators}::{function.name.unambiguous}::call({', '.join(arguments)})"
        called = f"{function.name.name}_symint" if function.schema.has_symint else function.name.name
        if function.function:
            return f"{library.api}::{called}({', '.join(arguments)})"
        return f"{arguments[0]}.{called}({', '.join(arguments[1:])})"


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
