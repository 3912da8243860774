"""Translates formulas of C++ into expressions of Python that call operators through the dispatcher."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from tree_sitter import Node

from opwright.dialects.derivatives.formula_shapes import LEAD, formula_parser, range_of, source_of, text_of, walk
from opwright.libraries.dialect.callable_operators import NONE, OPTIONS, CallableOperators, PythonValue, choose
from opwright.libraries.dialect.formula_names import (
    CASTS,
    CONSTANTS,
    FACTS,
    NUMBER_FUNCTIONS,
    NUMBER_METHODS,
    OPTION_FACTS,
    FormulaNames,
    ForwardNames,
)
from opwright.syntax.cpp_expressions import split_cpp
from opwright.syntax.python import string_literal

_PREFIX: Final = re.compile(r"^(?:::)?(?:(?:at|c10|std|torch|headeronly)::)+")
#: The call of an operator by its class, which an overload of a library needs.
_CALL_OF_CLASS: Final = re.compile(r"^(.*)::_ops::(\w+)::call$")
_NUMBERS: Final = ("bool", "int", "float", "complex", "Scalar")
_COMPARISONS: Final = ("<", ">", "<=", ">=", "==", "!=")
_LOGIC: Final = {"&&": "and", "||": "or", "and": "and", "or": "or"}
_ARITHMETIC: Final = ("+", "-", "*", "/", *_COMPARISONS)
_WHAT_SERVES: Final = "write it with operators, or make it an operator of the library, with derivatives of its own"


class NoPython(Exception):
    """A part of a formula that has no form in Python: its characters, what is wrong, and what would serve."""

    def __init__(self, at: tuple[int, int], message: str, help: str) -> None:
        super().__init__(message)
        self.at: Final = at
        self.message: Final = message
        self.help: Final = help


def _has_value_for_type(node: Node) -> bool:
    """Whether a node is a cast to a type that is a product or a reference to something in parentheses."""
    return node.type == "cast_expression" and _field(node, "type").child_by_field_name("declarator") is not None


class PythonTranslator:
    """Translates one formula. `namespaces` are the C++ namespaces of libraries, each with that of its operators."""

    def __init__(
        self,
        formula: str,
        names: FormulaNames | ForwardNames,
        operators: CallableOperators,
        namespaces: Mapping[str, str],
    ) -> None:
        self._source: Final = source_of(formula)
        self._names: Final = names
        self._operators: Final = operators
        self._namespaces: Final = namespaces
        #: The values that names of ours stand for in the parsed text, each with its place.
        self._values: Final[dict[str, tuple[bytes, int]]] = {}
        self._visitors: Final[dict[str, Callable[[Node], PythonValue]]] = {
            "identifier": self._name,
            "qualified_identifier": self._name,
            "true": self._name,
            "false": self._name,
            "number_literal": self._number,
            "string_literal": self._string,
            "parenthesized_expression": lambda node: self._value(node.named_children[0]),
            "binary_expression": self._binary,
            "unary_expression": self._unary,
            "pointer_expression": lambda node: self._given(self._value(_field(node, "argument"))),
            "conditional_expression": self._conditional,
            "subscript_expression": self._subscript,
            "initializer_list": self._list,
            "compound_literal_expression": self._compound,
            "call_expression": self._call,
        }

    def translate(self) -> PythonValue:
        """Formula in Python. Raises NoPython."""
        return self._value(self._parsed(self._source))

    def _parsed(self, source: bytes) -> Node:
        """Value of a statement, in which names stand for values that the parser takes for types.

        `(a * (b)) * c` is a product, or `*c` as what `(a * (b))` is a type of: only the meaning of the names tells.
        """
        while True:
            root = formula_parser().parse(source).root_node
            cast = next(filter(_has_value_for_type, walk(root)), None)
            if cast is None:
                return _field(_field(root.children[0], "declarator"), "value")
            start, inner = cast.start_byte, _field(cast, "type")
            end = source.index(b")", inner.end_byte) + 1
            name = f"_{len(self._values)}".ljust(end - start, "_").encode()
            self._values[name.decode()] = source[inner.start_byte : inner.end_byte], inner.start_byte
            source = source[:start] + name + source[end:]

    def _fault(self, node: Node, message: str, help: str = _WHAT_SERVES) -> NoPython:
        return NoPython(range_of(node, self._source), message, help)

    def _value(self, node: Node) -> PythonValue:
        visitor = self._visitors.get(node.type)
        if visitor is None:
            raise self._fault(node, "Python has no form of this part of the formula")
        return visitor(node)

    def _name(self, node: Node) -> PythonValue:
        text = text_of(node)
        if text in self._values:
            inner, start = self._values[text]
            # Spaces keep the place of the value.
            return self._value(self._parsed(LEAD.ljust(start) + inner + b";"))
        value = self._names.value(text) or CONSTANTS.get(_PREFIX.sub("", text))
        if value is None:
            raise self._fault(node, f"the formula reads `{text}`, which no name in Python stands for")
        return value

    def _number(self, node: Node) -> PythonValue:
        text = text_of(node).replace("'", "").lower()
        # The parser takes the sign in front of an argument for a part of its number.
        digits = text.lstrip("+-")
        sign = text.removesuffix(digits)
        if digits.startswith(("0x", "0b")):
            return PythonValue(text.rstrip("ul"), "int")
        digits = digits.rstrip("flu")
        if digits.isdigit():
            # A zero in front makes a number of C++ octal.
            is_octal = digits[0] == "0" and len(digits) > 1
            return PythonValue(f"{sign}0o{digits[1:]}" if is_octal else f"{sign}{digits}", "int")
        return PythonValue(f"{sign}{digits}", "float")

    def _string(self, node: Node) -> PythonValue:
        return PythonValue(string_literal(text_of(node)[1:-1]), "str")

    def _binary(self, node: Node) -> PythonValue:
        operator = text_of(_field(node, "operator"))
        left, right = self._value(_field(node, "left")), self._value(_field(node, "right"))
        if operator in _LOGIC and (left.type, right.type) == ("bool", "bool"):
            return PythonValue(f"({left.text} {_LOGIC[operator]} {right.text})", "bool")
        if operator in ("==", "!=") and left.type == right.type and not left.is_tensor:
            return PythonValue(f"({left.text} {operator} {right.text})", "bool")
        is_tensor = left.is_tensor or right.is_tensor
        operators = (*_ARITHMETIC, "&", "|", "^") if is_tensor else _ARITHMETIC
        if operator not in operators or not all(side.is_tensor or side.type in _NUMBERS for side in (left, right)):
            raise self._fault(node, f"Python has no `{operator}` of `{left.type}` and `{right.type}` like that of C++")
        text = f"({left.text} {operator} {right.text})"
        if is_tensor:
            return PythonValue(text, "Tensor")
        if operator in _COMPARISONS:
            return PythonValue(text, "bool")
        types = (left.type, right.type)
        if operator == "/" and all(type in ("bool", "int") for type in types):
            return PythonValue(f"_quotient({left.text}, {right.text})", "int")
        return PythonValue(text, max(types, key=_NUMBERS.index) if types != ("bool", "bool") else "int")

    def _unary(self, node: Node) -> PythonValue:
        operator, value = text_of(_field(node, "operator")), self._value(_field(node, "argument"))
        if operator in ("!", "not") and value.type == "bool":
            return PythonValue(f"(not {value.text})", "bool")
        if (operator in ("-", "+") and value.type in _NUMBERS) or (operator in ("-", "~") and value.is_tensor):
            return PythonValue(f"({operator}{value.text})", value.type)
        raise self._fault(node, f"Python has no `{operator}` of `{value.type}` like that of C++")

    def _conditional(self, node: Node) -> PythonValue:
        condition = self._value(_field(node, "condition"))
        yes, no = self._value(_field(node, "consequence")), self._value(_field(node, "alternative"))
        if condition.type != "bool":
            raise self._fault(_field(node, "condition"), f"the condition is `{condition.type}`, not `bool`")
        types = _common_types(_item_types(yes.type), _item_types(no.type))
        if types is None:
            raise self._fault(node, f"one value is `{yes.type}`, the other is `{no.type}`")
        type = f"({', '.join(types)})" if yes.type.startswith("(") else types[0]
        return PythonValue(f"({yes.text} if {condition.text} else {no.text})", type)

    def _subscript(self, node: Node) -> PythonValue:
        owner, index = _field(node, "argument"), _field(node, "indices").named_children[0]
        if text_of(owner) == "grads" and text_of(index).isdigit():
            gradient = self._names.gradient_at(int(text_of(index)))
            if gradient is not None:
                return gradient
        value = self._value(owner)
        if not value.type.endswith("[]"):
            raise self._fault(node, f"`{value.type}` has no items in Python")
        return PythonValue(f"{value.text}[{self._value(index).text}]", value.type[:-2])

    def _list(self, node: Node) -> PythonValue:
        values = [self._value(item) for item in node.named_children]
        types = {value.type for value in values if value.type != NONE}
        if len(types) > 1 and types <= set(_NUMBERS):
            types = {max(types, key=_NUMBERS.index)}
        if len(types) > 1 and types != {"Tensor", "Tensor?"}:
            raise self._fault(node, "the items of the list have different types")
        is_optional = len(types) > 1 or any(value.type == NONE for value in values)
        type = "Tensor?" if is_optional else next(iter(types), "")
        return PythonValue(f"[{', '.join([value.text for value in values])}]", f"{type}[]")

    def _compound(self, node: Node) -> PythonValue:
        return self._made(node, text_of(_field(node, "type")), _field(node, "value").named_children)

    def _made(self, node: Node, type: str, arguments: list[Node]) -> PythonValue:
        """An object that C++ makes: an undefined tensor, a list, a tuple, or a number."""
        plain = _PREFIX.sub("", type).partition("<")[0]
        if plain == "Tensor" and not arguments:
            return PythonValue("None", NONE)
        if plain in ("tuple", "make_tuple"):
            values = [self._value(argument) for argument in arguments] or self._initial_values(node, type)
            types = ["Tensor?" if value.type == NONE else value.type for value in values]
            return PythonValue(f"({', '.join([value.text for value in values])},)", f"({', '.join(types)})")
        if plain in ("vector", "optional", "IntArrayRef", "SymIntArrayRef", "TensorList") and len(arguments) == 1:
            value = self._value(arguments[0])
            if plain != "vector" or node.type != "call_expression" or value.type != "int":
                return value
            if "Tensor>" not in type:
                raise self._fault(node, f"`{type}` of a length has no form in Python")
            return PythonValue(f"([None] * {value.text})", "Tensor?[]")
        if plain == "vector":
            values = [self._value(argument) for argument in arguments]
            return PythonValue(f"[{', '.join([value.text for value in values])}]", "Tensor[]")
        cast = CASTS.get(type) or CASTS.get(plain)
        if cast is not None and len(arguments) == 1:
            return self._cast(self._value(arguments[0]), cast, node)
        raise self._fault(node, f"`{type}` has no form in Python")

    def _initial_values(self, node: Node, type: str) -> list[PythonValue]:
        """The values with which C++ makes `std::tuple<...>()`: undefined tensors, and numbers that are zero."""
        items = type[type.find("<") + 1 : type.rfind(">")] if "<" in type else ""
        types = [_PREFIX.sub("", items[start:end].strip()) for start, end in split_cpp(items)]
        values = [_INITIAL.get(CASTS.get(item, item)) for item in types]
        if None in values or not items:
            raise self._fault(node, f"`{type}()` has no form in Python")
        return [value for value in values if value is not None]

    def _cast(self, value: PythonValue, type: str, node: Node) -> PythonValue:
        if value.type not in _NUMBERS:
            raise self._fault(node, f"Python cannot convert `{value.type}` to `{type}`")
        if type in ("Scalar", value.type):
            return PythonValue(value.text, type)
        # These keep symbolic numbers symbolic.
        function = {"float": "_torch.sym_float", "int": "_torch.sym_int"}.get(type, type)
        return PythonValue(f"{function}({value.text})", type)

    def _given(self, value: PythonValue) -> PythonValue:
        """Value of an optional."""
        return value._replace(type=value.type.removesuffix("?")) if not value.is_tensor else value

    def _call(self, node: Node) -> PythonValue:
        function = _field(node, "function")
        arguments = [child for child in _field(node, "arguments").named_children if child.type != "comment"]
        if function.type == "field_expression":
            return self._method(function, arguments)
        name = text_of(function)
        plain = _PREFIX.sub("", name)
        if plain == "not_implemented":
            return PythonValue(
                f"_not_implemented({', '.join([self._value(item).text for item in arguments])})", "Tensor"
            )
        if plain == "move" and len(arguments) == 1:
            return self._value(arguments[0])
        if plain == "GradMode::is_enabled":
            return PythonValue("_torch.is_grad_enabled()", "bool")
        if plain.startswith("static_cast<"):
            return self._made(node, plain[len("static_cast<") : -1].strip(), arguments)
        if plain.startswith("get<"):
            return self._item_of_tuple(node, int(re.sub(r"\D", "", plain)), self._value(arguments[0]))
        if function.type == "primitive_type" or plain.partition("<")[0] in _MADE or name in CASTS:
            return self._made(node, name, arguments)
        values = [self._value(argument) for argument in arguments]
        if plain in NUMBER_FUNCTIONS and all(value.type in _NUMBERS for value in values):
            return PythonValue(f"_math.{plain}({', '.join([value.text for value in values])})", "float")
        return self._function(function, values)

    def _item_of_tuple(self, node: Node, index: int, value: PythonValue) -> PythonValue:
        types = _item_types(value.type)
        if not value.type.startswith("(") or index >= len(types):
            raise self._fault(node, f"`{value.type}` has no result {index}")
        return PythonValue(f"{value.text}[{index}]", types[index])

    def _function(self, function: Node, values: list[PythonValue]) -> PythonValue:
        """Call of a function, which is an operator."""
        space, _, name = _CALL_OF_CLASS.sub(r"\1::\2", text_of(function)).rpartition("::")
        candidates: tuple[str, ...] = (
            ("aten",) if space in ("at", "::at", "torch", "aten") else (self._namespaces.get(space, ""),)
        )
        if not space:
            candidates = (*self._namespaces.values(), "aten")
        for namespace in candidates:
            overloads = self._operators.named(namespace, name)
            if overloads:
                return self._operator(function, namespace, name, values)
        raise self._fault(function, f"`{text_of(function)}` is no operator, so Python cannot call it")

    def _operator(
        self, at: Node, namespace: str, name: str, values: list[PythonValue], *, is_method: bool = False
    ) -> PythonValue:
        choice = choose(self._operators.named(namespace, name), values, is_method=is_method)
        if choice is None:
            types = ", ".join([value.type for value in values])
            overloads = self._operators.named(namespace, name)
            help = " or ".join([f"`{schema.name.text}({schema.arguments})`" for schema in overloads[:3]])
            raise self._fault(at, f"no overload of `{namespace}::{name}` takes ({types})", f"it has {help}")
        since = self._operators.missing_until(choice) if namespace == "aten" else None
        if since is not None:
            message = "PyTorch {}.{} has no operator `{}`".format(*self._operators.oldest, choice.schema.name.text)
            message += f" that takes ({', '.join([value.type for value in values])})"
            raise self._fault(at, message, 'write `torch: ">={}.{}"` in the head'.format(*since))
        overload = choice.schema.name.overload or "default"
        called = f"_torch.ops.{namespace}.{choice.schema.name.name}.{overload}"
        return PythonValue(f"{called}({', '.join(choice.arguments)})", choice.result)

    def _method(self, function: Node, arguments: list[Node]) -> PythonValue:
        owner, method = _field(function, "argument"), text_of(_field(function, "field"))
        values = [self._value(argument) for argument in arguments]
        is_size = method in ("size", "sym_size") and len(values) == 1
        asked = "sizes" if is_size else method
        if owner.type == "identifier" and (is_size or not values):
            fact = self._names.fact(text_of(owner), asked)
            if fact is not None:
                return PythonValue(f"{fact.text}[{values[0].text}]", "int") if is_size else fact
        value = self._value(owner)
        if value.is_tensor:
            return self._tensor_method(function, value, asked, values)
        result = self._other_method(value, method, values)
        if result is None:
            raise self._fault(_field(function, "field"), f"`{value.type}` has no method `{method}` in Python")
        return result

    def _tensor_method(self, function: Node, value: PythonValue, method: str, values: list[PythonValue]) -> PythonValue:
        if method in FACTS and (method == "sizes" or not values):
            text = FACTS[method].expression.format(value.text)
            return PythonValue(f"{text}[{values[0].text}]", "int") if values else PythonValue(text, FACTS[method].type)
        if method in ("defined", "has_value"):
            self._names.ask(value.text)
            return PythonValue(f"({value.text} is not None)", "bool")
        if method == "value":
            return value
        if method == "options":
            return PythonValue(", ".join([f"{fact}={value.text}.{fact}" for fact in OPTION_FACTS]), OPTIONS)
        field = _field(function, "field")
        if not self._operators.named("aten", method):
            raise self._fault(field, f"`{method}` is no operator, so Python cannot call it")
        return self._operator(field, "aten", method, [value, *values], is_method=True)

    def _other_method(self, value: PythonValue, method: str, values: list[PythonValue]) -> PythonValue | None:
        """A method of a list, an optional, a number, or options; None if there is none."""
        if method == "dtype" and value.type == OPTIONS and len(values) == 1:
            return PythonValue(re.sub(r"dtype=[^,]*", f"dtype={values[0].text}", value.text), OPTIONS)
        if value.type.endswith("[]"):
            methods = {"size": (f"len({value.text})", "int"), "empty": (f"(not {value.text})", "bool")}
            methods |= {"vec": value, "back": (f"{value.text}[-1]", value.type[:-2])}
            methods |= {"front": (f"{value.text}[0]", value.type[:-2])}
            return PythonValue(*methods[method]) if method in methods else None
        if value.type.endswith("?"):
            if method == "value_or" and len(values) == 1:
                return PythonValue(f"({value.text} if {value.text} is not None else {values[0].text})", value.type[:-1])
            methods = {"has_value": (f"({value.text} is not None)", "bool"), "value": (value.text, value.type[:-1])}
            return PythonValue(*methods[method]) if method in methods else None
        if value.type in _NUMBERS and method in NUMBER_METHODS:
            return PythonValue(f"{NUMBER_METHODS[method]}({value.text})", NUMBER_METHODS[method])
        return None


#: What is made by a call that looks like that of a function.
_MADE: Final = ("Tensor", "tuple", "make_tuple", "vector", "optional", "IntArrayRef", "SymIntArrayRef", "TensorList")

#: Values of the types of a tuple that C++ makes without arguments.
_INITIAL: Final[Mapping[str, PythonValue]] = {
    "Tensor": PythonValue("None", NONE),
    "bool": PythonValue("False", "bool"),
    "int": PythonValue("0", "int"),
    "float": PythonValue("0.0", "float"),
    "vector<Tensor>": PythonValue("[]", "Tensor[]"),
    "vector<at::Tensor>": PythonValue("[]", "Tensor[]"),
}


def _item_types(type: str) -> list[str]:
    """Types of the items of a tuple; the type itself if it is none."""
    return type.strip("()").split(", ") if type.startswith("(") else [type]


def _common_types(left: list[str], right: list[str]) -> list[str] | None:
    """The types of either of two values; None if C++ converts neither to the other."""
    if len(left) != len(right):
        return None
    types = []
    for pair in zip(left, right, strict=True):
        plain = {"Tensor[]" if type == "Tensor?[]" else type.removesuffix("?") for type in pair if type != NONE}
        if len(plain) > 1 and not plain <= set(_NUMBERS):
            return None
        is_optional = NONE in pair or any(type.endswith("?") for type in pair)
        common = max(plain, key=_NUMBERS.index) if len(plain) > 1 else next(iter(plain), "")
        types.append((f"{common}?" if is_optional else common) if common else NONE)
    return types


def _field(node: Node, name: str) -> Node:
    child = node.child_by_field_name(name)
    assert child is not None, "the grammar has this field"
    return child
