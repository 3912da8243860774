"""Calls of PyTorch's operators, functions and methods, with the stable headers or through the dispatcher."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from opwright.libraries import stable_convention as stable
from opwright.libraries.dialect.callable_operators import (
    OPTIONS,
    ChosenOverload,
    choose,
    plain_type,
)
from opwright.migrate.porting.stable_api import FUNCTIONS, HELPERS, POWERS, StableFunction, StableName
from opwright.migrate.porting.state import NO_OPTIONS, FileState
from opwright.migrate.porting.values import CppValue, OptionTexts, cpp_cost
from opwright.migrate.porting.wrappers import NAMESPACE, argument_text, text_of_number
from opwright.schema.function import Argument, FunctionSchema

if TYPE_CHECKING:
    from tree_sitter import Node

_OPS: Final = "torch/csrc/stable/ops.h"
#: A negative integer wraps around in a tensor without signs, and a real one does not.
_LITERAL: Final = re.compile(r"\d[\w.]*|-\d*\.\d\w*")
_OF_OPTIONS: Final = ("dtype", "layout", "device", "pin_memory")
#: Operators of C++ on tensors, with the operators of PyTorch; with a number on the left, those of the swapped operands.
BINARY: Final[Mapping[str, tuple[str, str]]] = {
    "+": ("add", "add"),
    "*": ("mul", "mul"),
    "-": ("sub", ""),
    "/": ("div", ""),
    "%": ("remainder", ""),
    "&": ("bitwise_and", "bitwise_and"),
    "|": ("bitwise_or", "bitwise_or"),
    "^": ("bitwise_xor", "bitwise_xor"),
    "<": ("lt", "gt"),
    "<=": ("le", "ge"),
    ">": ("gt", "lt"),
    ">=": ("ge", "le"),
    "==": ("eq", "eq"),
    "!=": ("ne", "ne"),
}
UNARY: Final[Mapping[str, str]] = {"-": "neg", "~": "bitwise_not"}


class CallPorter:
    """Writes the calls of operators in one file."""

    def __init__(self, state: FileState) -> None:
        self._state: Final = state

    def is_operator(self, name: str) -> bool:
        """Whether PyTorch has an operator of this name."""
        return bool(self._state.operators.named("aten", name))

    def gives_tensor(self, name: str) -> bool:
        """Whether an operator of this name gives one tensor."""
        schemas = self._state.operators.named("aten", name)
        return bool(schemas) and all(
            [result.type.text for result in schema.returns] == ["Tensor"] for schema in schemas
        )

    def operator(
        self, node: Node, name: str, values: Sequence[CppValue], *, is_method: bool = False, inner: str | None = None
    ) -> CppValue | None:
        """The call of an operator; None if it stays, which is noted.

        `inner` is the text of the arguments as they are written; that of a method has no object.
        """
        if any(value.type == OPTIONS and value.options is None for value in values):
            self._state.leave(node, NO_OPTIONS)
            return None
        written = None if inner is None else (inner, is_method)
        power = POWERS.get(values[-1].text) if name in ("pow", "pow_") and len(values) == 2 else None
        if power is not None and values[0].is_tensor:
            return self.operator(node, name.replace("pow", power), values[:1])
        overloads = sorted(self._state.operators.named("aten", name), key=lambda schema: len(schema.arguments.all))
        if name in ("empty", "zeros") and not is_method:
            like_other = self._of_other(node, f"new_{name}", values)
            if like_other is not None:
                return like_other
        chosen = choose(overloads, values, is_method=is_method, cost=cpp_cost)
        if chosen is None:
            types = ", ".join([value.type or "?" for value in values])
            self._state.leave(node, f"no overload of `{name}` takes ({types})")
            return None
        since = self._state.operators.missing_until(chosen)
        if since is not None:
            release = "{}.{}".format(*self._state.target)
            self._state.leave(node, f"PyTorch {release} has no operator `{name}`", since)
            return None
        return _Call(self._state, node, chosen, written).value()

    def _of_other(self, node: Node, name: str, values: Sequence[CppValue]) -> CppValue | None:
        """A new tensor with the options of another one, as the other one makes it."""
        options = values[1].options if len(values) == 2 else None
        if options is None or not options.tensor:
            return None
        function = FUNCTIONS[name]
        if not self._state.take(StableName(function.name, _OPS, function.since), node):
            return None
        return CppValue(f"{function.name}({options.tensor}, {values[0].text})", "Tensor")

    def binary(self, node: Node, operator: str, left: CppValue, right: CppValue) -> CppValue | None:
        """An operator of C++ with a tensor; None if it stays."""
        name, swapped = BINARY[operator]
        if left.is_tensor:
            return self.operator(node, name, [left, right])
        if swapped:
            return self.operator(node, swapped, [right, left])
        if not right.is_plain:
            self._state.leave(node, "the tensor on the right has no name")
            return None
        # What PyTorch does: a tensor like the one on the right, filled with the number, and changed in place.
        like = self.operator(node, "empty_like", [right])
        filled = None if like is None else self.operator(node, "fill_", [like, left])
        return None if filled is None else self.operator(node, f"{name}_", [filled, right])


class _Call:
    def __init__(
        self, state: FileState, node: Node, chosen: ChosenOverload[CppValue], inner: tuple[str, bool] | None
    ) -> None:
        self._state: Final = state
        self._node: Final = node
        self._chosen: Final = chosen
        self._schema: Final = chosen.schema
        self._inner: Final = inner
        self._texts: Final = _argument_texts(chosen)
        self._values: Final = {argument.parameter.name: argument.value for argument in chosen.given}

    def value(self) -> CppValue | None:
        overload = self._schema.name.text
        function = FUNCTIONS.get(overload)
        if function is not None and self._can_take(function):
            self._state.take(StableName(function.name, _OPS, function.since), self._node)
            return self._written(function.name, function.parameters)
        if (literal := self._literal_fill()) is not None:
            return literal
        helper = HELPERS.get(overload)
        if helper is not None and self._can_help(helper):
            if not self._state.take(StableName(helper.name, since=helper.since), self._node):
                return None
            return self._written(helper.name, helper.parameters)
        return self._through_dispatcher()

    def _can_take(self, function: StableFunction) -> bool:
        if not self._state.has(function.since) or not set(self._texts) <= set(function.parameters):
            return False
        return not function.needs_variable or self._values["self"].is_variable

    def _can_help(self, helper: StableFunction) -> bool:
        numbers = [value.type for value in self._values.values() if value.options is None]
        is_right = not helper.integers or set(numbers) <= {"int", "ScalarType", "Device", "None"}
        return is_right and set(self._texts) <= set(helper.parameters)

    def _literal_fill(self) -> CppValue | None:
        """A fill with a number that is written out, which `ops.h` takes as a floating-point number."""
        overload = self._schema.name.text
        parameters: tuple[str, ...]
        if overload == "fill_.Scalar":
            name, since, parameters = "torch::stable::fill_", (2, 9), ("self", "value")
        elif overload == "full" and "dtype" in self._texts:
            name, since, parameters = "torch::stable::full", (2, 10), ("size", "fill_value", *_OF_OPTIONS)
        else:
            return None
        text = self._texts.get(parameters[1], "")
        is_taken = _LITERAL.fullmatch(text) and len(text) <= 15
        if not is_taken or not self._state.take(StableName(name, _OPS, since), self._node):
            return None
        return self._written(name, parameters)

    def _through_dispatcher(self) -> CppValue | None:
        schema = self._schema
        refused = [argument for argument in schema.arguments.all if not self._is_passed(argument)]
        if refused:
            sibling = _with_tensors(self._state.operators.named("aten", schema.name.name), schema)
            if sibling is None or not all(self._is_passed(argument) for argument in sibling.arguments.all):
                types = " and ".join(dict.fromkeys([f"`{argument.type}`" for argument in refused]))
                self._state.leave(self._node, f"the dispatcher takes no {types} from stable code")
                return None
            self._state.wrappers.need_operator(sibling)
        name = f"{NAMESPACE}::{schema.name.name}"
        if not self._state.take(StableName(name, since=(2, 10)), self._node):
            return None
        self._state.wrappers.need_operator(schema)
        parameters = [
            argument.name for argument in schema.arguments.all if argument in refused or argument_text(argument)
        ]
        return self._written(name, parameters)

    def _is_passed(self, argument: Argument) -> bool:
        """Whether the dispatcher takes a parameter of a call from stable code."""
        if argument_text(argument) is not None:
            return True
        return argument.name not in self._texts and argument.default == "None"

    def _written(self, name: str, parameters: Sequence[str]) -> CppValue:
        """The call of a function, with the arguments as they are written where they are the same."""
        given = self._texts
        type = self._chosen.result
        order = [parameter for parameter in given if parameter in parameters]
        is_same = all(self._texts.get(key) == value.text for key, value in self._values.items())
        if self._inner is not None and is_same and order == list(parameters[: len(order)]):
            inner, is_method = self._inner
            if not is_method:
                return CppValue(f"{name}({inner})", type)
            if order[:1] == ["self"]:
                return CppValue(f"{name}({given['self']}{', ' if inner.strip() else ''}{inner})", type)
        last = max([parameters.index(parameter) for parameter in order], default=-1)
        defaults = {argument.name: stable.default_text(argument) for argument in self._schema.arguments.all}
        shown = [given.get(parameter) or defaults.get(parameter, "") for parameter in parameters[: last + 1]]
        return CppValue(f"{name}({', '.join(shown)})", type)


def _argument_texts(chosen: ChosenOverload[CppValue]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for argument in chosen.given:
        value = argument.value
        if value.type == OPTIONS:
            options = value.options or OptionTexts()
            texts |= {name: getattr(options, name) for name in _OF_OPTIONS if getattr(options, name)}
        elif plain_type(argument.parameter.type.text) == "int[]?":
            texts[argument.parameter.name] = _optional_list(value)
        else:
            texts[argument.parameter.name] = value.text
    return texts


def _optional_list(value: CppValue) -> str:
    """A list of integers for an optional one, which would refer to a number that is gone if it were made of one."""
    if value.type in ("int", "Scalar"):
        return f"torch::headeronly::IntHeaderOnlyArrayRef({{{value.text}}})"
    return f"torch::headeronly::IntHeaderOnlyArrayRef({value.text})" if value.text.startswith("{") else value.text


def _with_tensors(overloads: Sequence[FunctionSchema], schema: FunctionSchema) -> FunctionSchema | None:
    """The overload that takes tensors in place of the numbers of another one; None if there is none that does that."""
    if not text_of_number(schema):
        return None
    wanted = [
        (argument.name, plain_type(argument.type.text).replace("Scalar", "Tensor")) for argument in schema.arguments.all
    ]
    for overload in overloads:
        if [(argument.name, plain_type(argument.type.text)) for argument in overload.arguments.all] == wanted:
            return overload
    return None
