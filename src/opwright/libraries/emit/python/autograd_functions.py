"""The `torch.autograd.Function` of an operator with formulas: what it saves, and its gradients and tangents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from opwright.libraries.emit.python.registrations import passed_arguments
from opwright.libraries.operator_library import PythonGradient, SavedForm, SavedValue, gives_list, is_tensor_list
from opwright.model.derivatives import node_prefix
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument
from opwright.syntax.python import string_literal, variable_name


def redispatch(function: NativeFunction, arguments: Sequence[str]) -> str:
    """Call of what the operator of a function does below its kernel for Autograd."""
    passed = ", ".join(["_keyset & _after_autograd", *arguments])
    return f"_redispatch_{function.name.unambiguous}({passed})"


def divided(function: NativeFunction) -> tuple[list[Argument], list[Argument]]:
    """Arguments that are no lists of tensors, and those that are. The items of these are recorded one by one."""
    arguments = function.arguments.all
    plain = [argument for argument in arguments if not is_tensor_list(argument)]
    return plain, [argument for argument in arguments if is_tensor_list(argument)]


def _as_list(argument: Argument) -> str:
    """Variable of an argument as the operator takes it."""
    value = variable_name(argument.name)
    return f"list({value})" if is_tensor_list(argument) else value


class RecordedCall:
    """The `torch.autograd.Function` of an operator."""

    def __init__(self, gradient: PythonGradient) -> None:
        self._gradient: Final = gradient
        self._function: Final = gradient.function
        self._plain, self._lists = divided(gradient.function)
        saved: dict[str, SavedValue] = {}
        for formula in gradient.formulas:
            saved.update({value.name: value for value in formula.saved})
        order = {form: index for index, form in enumerate(SavedForm)}
        self._saved: Final = sorted(saved.values(), key=lambda value: (order[value.form], value.name))
        #: The gradients that PyTorch gives as None in place of zeros: a single one that formulas read, or all if each
        #: formula asks whether those that it reads are defined. Without any the pass ends.
        used = frozenset[int]().union(*[formula.gradients for formula in gradient.formulas])
        is_ready = len(used) == 1 or all(formula.gradients <= formula.asked for formula in gradient.formulas)
        #: Kept results that callers get, which have no gradient: the node has others with their memory.
        self._separate: Final = [result for result in gradient.kept if result.is_returned]
        self._zeros: Final = sorted(used) if gradient.kept and not is_ready else []
        self._undefined: Final = sorted(used) if is_ready and not gives_list(self._function) else []

    def lines(self) -> Iterator[str]:
        """Class, and the function that records calls with it."""
        name = self._function.name
        title = node_prefix(name.name).removesuffix("Backward") or "Operator"
        node = f"{title}_{name.overload}" if name.overload else title
        yield f"class {node}(_Function):"
        yield "    @staticmethod"
        yield from self._forward()
        yield ""
        yield "    @staticmethod"
        yield from self._backward()
        if self._gradient.forward:
            yield ""
            yield "    @staticmethod"
            yield from self._jvp()
        yield ""
        yield ""
        yield f"_record_{name.unambiguous} = _recorder({node})"

    def _forward(self) -> Iterator[str]:
        function = self._function
        parameters = ["_ctx", "_keyset", *[variable_name(argument.name) for argument in self._plain]]
        names = [variable_name(argument.name) for argument in self._lists]
        if len(names) == 1:
            parameters.append(f"*{names[0]}")
        elif names:
            parameters += ["_counts", "*_items"]
        yield f"    def forward({', '.join(parameters)}):"
        yield from self._unpacked(names, "_items", "_counts")
        if self._gradient.kept:
            yield "        _outer_calls, _keyset = _keyset, _keyset.keyset"
        yield "        with _below_record():"
        yield f"            _results = {redispatch(function, self._passed())}"
        if len(function.schema.returns) == 1:
            yield "        _results = (_results,)"
        # The gradient of a result that callers do not get comes to this node, which raises.
        hidden = [result.position for result in self._gradient.kept if not result.is_returned]
        others = [
            f"_results[{index}]"
            for index, (result, is_own) in enumerate(
                zip(function.schema.returns, self._gradient.differentiable, strict=True)
            )
            if not is_own and result.type.is_tensor_like and index not in hidden
        ]
        for result in self._separate:
            yield f"        _kept_{result.position} = _separate(_results[{result.position}])"
        if others:
            yield f"        _ctx.mark_non_differentiable({', '.join(others)})"
        if self._undefined or self._gradient.kept:
            yield "        _ctx.set_materialize_grads(False)"
        if self._zeros:
            places = ", ".join([f"_results[{position}]" for position in self._zeros])
            yield f"        _ctx.zeros = [_like(result) for result in ({places},)]"
        yield from self._saving()
        if self._gradient.forward:
            yield "        if _forward_mode._current_level >= 0:"
            yield f"            _ctx.primals = ({', '.join([*self._variables(), '_results'])})"
        if self._gradient.kept:
            listed = [
                ", ".join([f"_results[{result.position}]" for result in results])
                for results in (self._gradient.kept, self._separate)
            ]
            yield f"        _ctx.is_differentiated_again = _outer_calls.found([{listed[0]}], [{listed[1]}])"
        more = "".join([f", _kept_{result.position}" for result in self._separate])
        yield f"        return {f'(*_results{more})' if more else _returned(function)}"

    def _passed(self) -> list[str]:
        """Arguments of the call; lists have become tuples."""
        return passed_arguments(self._function, _as_list)

    def _unpacked(self, names: Sequence[str], items: str, counts: str) -> Iterator[str]:
        """Statements that give each of several lists its items."""
        for index, name in enumerate(names if len(names) > 1 else ()):
            start = " + ".join([f"{counts}[{earlier}]" for earlier in range(index)]) or "0"
            yield f"        {name} = {items}[{start}:{start} + {counts}[{index}]]"

    def _saving(self) -> Iterator[str]:
        """Statements that keep what the formulas read."""
        tensors = [value for value in self._saved if value.form is not SavedForm.FACT]
        facts = [value.expression for value in self._saved if value.form is SavedForm.FACT]
        facts += [f"len({expression})" for expression in self._counted().values()]
        texts = [self._kept(value) for value in tensors]
        if any("_needs[" in text for text in texts):
            yield "        _needs = _ctx.needs_input_grad"
        if tensors:
            yield f"        _ctx.save_for_backward({', '.join(texts)})"
        if facts:
            yield f"        _ctx.facts = ({', '.join(facts)},)"

    def _counted(self) -> dict[str, str]:
        """Lists whose lengths are kept, by name, each with its expression."""
        counted = {argument.name: variable_name(argument.name) for argument in self._lists}
        counted.update({value.name: value.expression for value in self._saved if value.form is SavedForm.TENSORS})
        return counted

    def _kept(self, value: SavedValue) -> str:
        """A tensor that is kept if a needed gradient reads it."""
        if value.form is SavedForm.TENSORS:
            return f"*{value.expression}"
        for result in self._separate:
            if value.expression == f"_results[{result.position}]":
                value = value._replace(expression=f"_kept_{result.position}")
        readers = [
            formula for formula in self._gradient.formulas if value.name in [read.name for read in formula.saved]
        ]
        if len(readers) == len(self._gradient.formulas):
            return value.expression
        needed = " or ".join([self._needed(name) for formula in readers for name in formula.arguments])
        return f"{value.expression} if {needed} else None"

    def _needed(self, name: str) -> str:
        """Whether the gradient of an argument is needed: the key set comes before all arguments."""
        for index, argument in enumerate(self._plain):
            if argument.name == name:
                return f"_needs[{index + 1}]"
        first = len(self._plain) + (2 if len(self._lists) > 1 else 1)
        return f"any(_needs[{first}:])"

    def _backward(self) -> Iterator[str]:
        count = len(self._function.schema.returns)
        gradients = ["*_grads"] if gives_list(self._function) else [f"_grad_{index}" for index in range(count)]
        gradients += [f"_grad_of_kept_{result.position}" for result in self._separate]
        yield f"    def backward(_ctx, {', '.join(gradients)}):"
        yield "        _needs = _ctx.needs_input_grad"
        for result in self._gradient.kept:
            gradient = f"_grad_of_kept_{result.position}" if result.is_returned else f"_grad_{result.position}"
            yield f"        if {gradient} is not None or _ctx.is_differentiated_again:"
            yield f"            raise NotImplementedError({string_literal(result.message)})"
        for place, position in enumerate(self._zeros):
            yield f"        _grad_{position} = _ctx.zeros[{place}]() if _grad_{position} is None else _grad_{position}"
        if self._undefined:
            yield f"        if {' and '.join([f'_grad_{position} is None' for position in self._undefined])}:"
            yield "            return (None,) * len(_needs)"
        if gives_list(self._function):
            yield "        _grads = list(_grads)"
        yield from self._restored()
        for formula in self._gradient.formulas:
            for name in formula.arguments:
                yield f"        _need_{name} = {self._needed(name)}"
        yield "        with _below_formulas():"
        for formula in self._gradient.formulas:
            targets = ", ".join([f"_gradient_of_{name}" for name in formula.arguments])
            needed = " or ".join([f"_need_{name}" for name in formula.arguments])
            nothing = "None" if len(formula.arguments) == 1 else f"({'None, ' * len(formula.arguments)})"
            yield f"            {targets} = {formula.text} if {needed} else {nothing}"
        yield f"        return {', '.join(['None', *self._returned_gradients()])}"

    def _variables(self) -> list[str]:
        """Variables with all arguments."""
        return [variable_name(argument.name) for argument in self._function.arguments.all]

    def _jvp(self) -> Iterator[str]:
        """Function that gives the tangents of the results."""
        yield "    def jvp(_ctx, *_tangents):"
        yield f"        ({', '.join([*self._variables(), '_results'])}) = _ctx.primals"
        yield "        del _ctx.primals"
        read = dict.fromkeys([name for formula in self._gradient.forward for name in formula.tangents])
        start = str(len(self._plain) + (2 if len(self._lists) > 1 else 1))
        for argument in self._lists:
            name = variable_name(argument.name)
            if argument.name in read:
                items = f"zip(_tangents[{start}:], {name})"
                yield f"        _tangent_of_{argument.name} = [_tangent(*pair) for pair in {items}]"
            start += f" + len({name})"
        for index, argument in enumerate(self._plain):
            if argument.name in read:
                name = variable_name(argument.name)
                yield f"        _tangent_of_{argument.name} = _tangent(_tangents[{index + 1}], {name})"
        for formula in self._gradient.forward:
            yield f"        {', '.join([f'_tangent_{index}' for index in formula.results])} = {formula.text}"
        if gives_list(self._function):
            yield "        return tuple(_tangent_0)"
            return
        has_tangent = {index for formula in self._gradient.forward for index in formula.results}
        count = len(self._function.schema.returns)
        returned = [f"_tangent_{index}" if index in has_tangent else "None" for index in range(count)]
        for result in self._gradient.kept:
            # The backward call refuses to run where this would be a tangent.
            zero = f"_torch.zeros_like(_results[{result.position}])"
            if result.is_returned:
                returned.append(zero)
            else:
                returned[result.position] = zero
        yield f"        return {', '.join(returned)}"

    def _restored(self) -> Iterator[str]:
        """Statements that read what is kept."""
        lists = [value.name for value in self._saved if value.form is SavedForm.TENSORS]
        facts = [value.name for value in self._saved if value.form is SavedForm.FACT]
        facts += [f"_{name}_count" for name in self._counted()]
        singles = [value.name for value in self._saved if value.form is SavedForm.TENSOR]
        if facts:
            yield f"        ({', '.join(facts)},) = _ctx.facts"
        if singles or lists:
            yield f"        ({', '.join([*singles, *(['*_saved'] if lists else [])])},) = _ctx.saved_tensors"
        for name in lists:
            yield f"        {name}, _saved = list(_saved[:_{name}_count]), _saved[_{name}_count:]"

    def _returned_gradients(self) -> Iterator[str]:
        derived = {name for formula in self._gradient.formulas for name in formula.arguments}
        for argument in self._plain:
            yield f"_gradient_of_{argument.name}" if argument.name in derived else "None"
        if len(self._lists) > 1:
            yield "None"
        for argument in self._lists:
            nothing = f"(None,) * _{argument.name}_count"
            name = f"_gradient_of_{argument.name}"
            yield f"*({name} if {name} is not None else {nothing})" if argument.name in derived else f"*({nothing})"


def _returned(function: NativeFunction) -> str:
    if gives_list(function):
        return "tuple(_results[0])"
    return "_results[0]" if len(function.schema.returns) == 1 else "_results"
