"""Which kernels give or write results of operators: PyTorch's fallback for Autograd lets these record gradients.

The fallback only warns in the backward pass, and gradients flow. A kernel that fills new memory through pointers
records none. What a function does that was not read is not known, and counts as nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from opwright.migrate.importing.operators import is_below_autograd
from opwright.migrate.importing.registration import RegistrationStatement
from opwright.syntax.cpp_functions import CppFunction, functions
from opwright.syntax.cpp_source import CppSource
from opwright.syntax.cpp_tokens import Token, arguments, closing_index

_TENSOR: Final = re.compile(r"\b(?:Tensor|TensorList)\b")
_LIST: Final = re.compile(r"List|Ref\b|vector|array")
_OPERATORS: Final = ("+", "-", "*", "/")
#: Functions whose results record nothing, whatever their arguments are.
_NEW: Final = re.compile(
    r"(?:new_)?(?:empty|zeros|ones|full|tensor|arange|eye|linspace|rand\w*|from_blob)\w*|scalar_tensor|detach"
)
#: Functions that hand on what they get, and constructors of what holds results.
_HOLDERS: Final = frozenset(("make_tuple", "make_pair", "tie", "move", "forward", "Tensor", "tuple", "vector"))
#: What gives no tensor, or one that its object holds.
_NO_TENSORS: Final = frozenset((
    "size", "sizes", "dim", "numel", "options", "scalar_type", "dtype", "device", "stride", "strides", "item",
    "value", "value_or", "has_value", "defined", "get", "at", "front", "back", "begin", "end",
))  # fmt: skip
_GUARDS: Final = re.compile(r"NoGradGuard|InferenceMode|AutoDispatchBelow\w+|AutoNonVariableTypeMode|AutoGradMode")
#: How many functions and variables are followed.
_DEPTH: Final = 5


#: A function and its body.
_Function: TypeAlias = tuple[CppFunction, Sequence[Token]]


def with_recorded(
    read: Iterable[RegistrationStatement], sources: Iterable[CppSource]
) -> Iterator[RegistrationStatement]:
    """Registrations with the operators whose results kernels for devices give."""
    given = [row for source in sources for row in functions(source)]
    defined = {function.name: (function, statement.body) for function, statement in given if statement.body}
    bodies = {name.rpartition("::")[2]: function for name, function in defined.items()}
    for row in read:
        is_below = row.keys and row.kernel in defined and is_below_autograd(row.keys)
        yield row._replace(gives=recorded_call(*defined[row.kernel], bodies)) if is_below else row


def recorded_call(function: CppFunction, body: Sequence[Token], bodies: Mapping[str, _Function]) -> str:
    """The call whose result a kernel gives or writes, if it may record gradients; empty if none is known.

    `bodies` are functions by their names without namespaces.
    """
    if any(_GUARDS.fullmatch(token.text) for token in body):
        return ""
    results = _Results(function, body, bodies, 0)
    return (results.recorded() if _TENSOR.search(function.result) else "") or results.written()


class _Results:
    def __init__(
        self, function: CppFunction, body: Sequence[Token], bodies: Mapping[str, _Function], depth: int
    ) -> None:
        parameters = [*zip(function.names, function.parameters, strict=False)]
        self._body = body
        self._tensors = {name for name, type in parameters if _TENSOR.search(type)}
        self._lists = {name for name, type in parameters if _LIST.search(type)}
        self._bodies = bodies
        self._depth = depth
        self._seen: set[str] = set()

    def recorded(self) -> str:
        """The call, of the first result that has one."""
        for index, token in enumerate(self._body):
            if token.text == "return" and (call := self._in_expression(index + 1)):
                return call
        return ""

    def written(self, only: str = "") -> str:
        """The call that writes what records to a tensor of the function, or to this one, or to a part of it."""
        for index, token in enumerate(self._body):
            name = token.text
            if token.kind != "name" or not self._begins_name(index):
                continue
            is_tensor = name == only or (not only and (name in self._tensors or self._is_part(name)))
            if is_tensor and (call := self._changed(index)):
                return f"{call} in `{name}`"
        return ""

    def _begins_name(self, index: int) -> bool:
        return self._text(index - 1) not in (".", "->", "::")

    def _is_part(self, name: str) -> bool:
        """Whether a variable gets a tensor of the function, or what a method of one gives, which may be a part."""
        starts = [self._given_at(index) for index, token in enumerate(self._body) if token.text == name]
        return any(
            self._text(start) in self._tensors and self._text(start + 1) in (";", ".", "->", "[")
            for start in filter(None, starts)
        )

    def _changed(self, index: int) -> str:
        """What changes the tensor whose name is here in place, or a part of it, and gets what records."""
        at = index + 1
        while self._text(at) == "[" or (self._text(at) in (".", "->") and self._text(at + 2) == "("):
            opening = at if self._text(at) == "[" else at + 2
            if opening != at and self._text(at + 1).endswith("_"):
                parts = arguments(self._body, opening)
                is_given = any(len(part) == 1 and part[0].text in self._tensors for part in parts)
                return f"`{self._text(at + 1)}()`" if is_given or self._in_expression(opening + 1) else ""
            at = closing_index(self._body, opening) + 1
        sign = self._text(at) if self._text(at) in _OPERATORS else ""
        start = at + len(sign) + 1
        if self._text(start - 1) == "=" and self._text(start) != "=" and (sign or at > index + 1):
            is_given = self._text(start) in self._tensors and self._text(start + 1) == ";"
            return f"`{sign}=`" if is_given or self._in_expression(start) else ""
        return self._written_by_call(index)

    def _written_by_call(self, index: int) -> str:
        """What a function that gets the tensor whose name is here, and nothing of it, writes into it."""
        opening = next((at for at in range(index, -1, -1) if self._text(at) in ("(", ";", "{", "}")), 0)
        called = self._bodies.get(self._text(opening - 1)) if self._text(opening) == "(" else None
        if called is None or self._depth >= _DEPTH:
            return ""
        parts = arguments(self._body, opening)
        place = next((at for at, part in enumerate(parts) if len(part) == 1 and part[0] == self._body[index]), None)
        if place is None or place >= len(called[0].names) or not _TENSOR.search(called[0].parameters[place]):
            return ""
        written = _Results(*called, self._bodies, self._depth + 1).written(called[0].names[place])
        return written.partition(" in ")[0]

    def _text(self, index: int) -> str:
        return self._body[index].text if 0 <= index < len(self._body) else ""

    def _in_expression(self, index: int) -> str:
        """The call of an operator in the expression that begins at an index."""
        while (index < len(self._body) and self._text(index) not in (";", "}")) or self._text(index) == "}":
            token = self._body[index]
            is_call = self._text(index + 1) == "("
            call = ""
            if token.kind == "name" and is_call and token.text not in _HOLDERS:
                call = self._of_call(index)
                index = closing_index(self._body, index + 1)
            elif token.kind == "name" and not is_call and self._begins_name(index):
                call = self._of_operator(index) or self._of_variable(token.text)
            if call:
                return call
            index += 1
            if self._text(index) == "}" and self._text(index + 1) != ";" and self._text(index + 1) not in (",", ")"):
                break
        return ""

    def _of_operator(self, index: int) -> str:
        """The expression of a sign, or of an index, and the tensor whose name is here."""
        name = self._text(index)
        if name not in self._tensors:
            return ""
        if self._text(index + 1) in _OPERATORS:
            return f"`{name} {self._text(index + 1)} ...`"
        before = self._body[index - 2 : index]
        is_operand = len(before) == 2 and (before[0].kind in ("name", "number") or before[0].text in (")", "]"))
        if before and (before[-1].text == "-" or (before[-1].text in _OPERATORS and is_operand)):
            return f"`{'... ' if is_operand and before[0].text != 'return' else ''}{before[-1].text} {name}`"
        return f"`{name}[...]`" if self._text(index + 1) == "[" and name not in self._lists else ""

    def _of_call(self, index: int) -> str:
        name = self._text(index)
        end = closing_index(self._body, index + 1)
        is_new = self._text(end + 1) in (".", "->") and _NEW.fullmatch(self._text(end + 2))
        if is_new or _NEW.fullmatch(name) or name in _NO_TENSORS:
            return ""
        names = {token.text for token in self._body[index + 1 : end]}
        if self._text(index - 1) in (".", "->"):
            return f"`{name}()`"
        first = index
        while self._text(first - 1) == "::":
            first -= 2
        if {"at", "torch"}.intersection(self._text(at) for at in range(max(first, 0), index)):
            return f"`{name}()`" if names & self._tensors or self._in_expression(index + 2) else ""
        called = self._bodies.get(name)
        if called is None and any(self._text(at) == name and self._text(at + 2) == "[" for at in range(index)):
            # A lambda.
            return self._of_variable(name)
        if called is None or self._depth >= _DEPTH or any(_GUARDS.fullmatch(token.text) for token in called[1]):
            return ""
        return _Results(*called, self._bodies, self._depth + 1).recorded()

    def _given_at(self, index: int) -> int:
        """Where the expression begins that a variable, or a part of it, gets where it is named; 0 if it gets none."""
        if self._text(index - 1) in ("[", ",") and self._text(index + 1) in ("]", ","):
            # One of several that a declaration names.
            while index < len(self._body) and self._text(index) not in ("]", ";"):
                index += 1
            return index + 2 if self._text(index + 1) == "=" else 0
        following = self._text(index + 1)
        if following in (".", "->") and self._text(index + 2) in ("push_back", "emplace_back"):
            return index + 4
        if following in ("(", "{") and index:
            before = self._body[index - 1]
            is_declared = before.text in (">", "&") or (before.kind == "name" and before.text not in ("return", "else"))
            return index + 2 if is_declared else 0
        if following == "[":
            following, index = self._text(after := closing_index(self._body, index + 1) + 1), after - 1
        elif following in (".", "->") and self._text(index + 3) == "=":
            following, index = "=", index + 2
        return index + 2 if following == "=" and self._text(index + 2) != "=" else 0

    def _of_variable(self, name: str) -> str:
        """The call that gives a variable its value, or changes it in place with what records."""
        if name in self._seen or len(self._seen) > 99:
            return ""
        self._seen.add(name)
        for index, token in enumerate(self._body):
            if token.text != name or not self._begins_name(index):
                continue
            start = self._given_at(index)
            if call := (self._in_expression(start) if start else "") or self._changed(index):
                return call
        return ""
