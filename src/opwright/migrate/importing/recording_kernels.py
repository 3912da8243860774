"""Which kernels give or write results of operators: PyTorch's fallback for Autograd lets these record gradients.

The fallback only warns in the backward pass, and gradients flow. A kernel that fills new memory through pointers
records none. What a function does that was not read is not known, and counts as nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from opwright.migrate.importing.operators import is_below_autograd
from opwright.migrate.importing.registration import RegistrationStatement
from opwright.syntax.cpp_functions import CppFunction, function_of, statements
from opwright.syntax.cpp_source import CppSource
from opwright.syntax.cpp_tokens import Token, arguments, closing_index

_TENSOR: Final = re.compile(r"\b(?:Tensor|TensorList)\b")
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


def with_recorded(
    read: Iterable[RegistrationStatement], sources: Iterable[CppSource]
) -> Iterator[RegistrationStatement]:
    """Registrations with the operators whose results kernels for devices give."""
    defined: dict[str, tuple[CppFunction, Sequence[Token]]] = {}
    for source in sources:
        for statement in statements(source):
            function = function_of(statement, source.path) if statement.body else None
            if function is not None:
                defined[function.name] = function, statement.body
    bodies = {name.rpartition("::")[2]: body for name, (_, body) in defined.items()}
    for row in read:
        is_below = row.keys and row.kernel in defined and is_below_autograd(row.keys)
        yield row._replace(gives=recorded_call(*defined[row.kernel], bodies)) if is_below else row


def recorded_call(function: CppFunction, body: Sequence[Token], bodies: Mapping[str, Sequence[Token]]) -> str:
    """The call whose result a kernel gives or writes, if it may record gradients; empty if none is known.

    `bodies` are those of functions by their names without namespaces.
    """
    if any(_GUARDS.fullmatch(token.text) for token in body):
        return ""
    parameters = zip(function.names, function.parameters, strict=False)
    results = _Results(body, {name for name, type in parameters if _TENSOR.search(type)}, bodies, 0)
    return (results.recorded() if _TENSOR.search(function.result) else "") or results.written()


class _Results:
    """The results of one function."""

    def __init__(
        self, body: Sequence[Token], tensors: set[str], bodies: Mapping[str, Sequence[Token]], depth: int
    ) -> None:
        self._body = body
        self._tensors = tensors
        self._bodies = bodies
        self._depth = depth
        self._seen: set[str] = set()

    def recorded(self) -> str:
        """The call, of the first result that has one."""
        for index, token in enumerate(self._body):
            if token.text == "return" and (call := self._in_expression(index + 1)):
                return call
        return ""

    def written(self) -> str:
        """The call that writes to a tensor of the function, of the first that gets what records."""
        for index, token in enumerate(self._body):
            method, opening = self._text(index + 2), index + 3
            is_written = self._text(index + 1) in (".", "->") and method.endswith("_") and self._text(opening) == "("
            if token.text in self._tensors and is_written:
                is_given = any(
                    len(part) == 1 and part[0].text in self._tensors for part in arguments(self._body, opening)
                )
                if is_given or self._in_expression(opening + 1):
                    return f"`{method}()` in `{token.text}`"
        return ""

    def _text(self, index: int) -> str:
        return self._body[index].text if 0 <= index < len(self._body) else ""

    def _in_expression(self, index: int) -> str:
        """The call of an operator in the expression that begins at an index."""
        while (index < len(self._body) and self._text(index) not in (";", "}")) or self._text(index) == "}":
            token = self._body[index]
            is_call = self._text(index + 1) == "("
            if token.kind == "name" and is_call and token.text not in _HOLDERS:
                if call := self._of_call(index):
                    return call
                index = closing_index(self._body, index + 1)
            elif token.kind == "name" and not is_call and self._text(index - 1) not in (".", "->", "::"):
                if self._text(index + 1) in ("+", "-", "*", "/") and token.text in self._tensors:
                    return f"`{token.text} {self._text(index + 1)} ...`"
                if call := self._of_variable(token.text):
                    return call
            index += 1
            if self._text(index) == "}" and self._text(index + 1) != ";" and self._text(index + 1) not in (",", ")"):
                break
        return ""

    def _of_call(self, index: int) -> str:
        name, before = self._text(index), self._text(index - 1)
        end = closing_index(self._body, index + 1)
        if _NEW.fullmatch(name) or name in _NO_TENSORS:
            return ""
        follows = self._text(end + 1) in (".", "->") and _NEW.fullmatch(self._text(end + 2))
        if follows or self._text(index + 1) != "(":
            return ""
        arguments = {token.text for token in self._body[index + 1 : end]}
        if before in (".", "->"):
            return f"`{name}()`"
        if before == "::" and self._text(index - 2) in ("at", "torch"):
            return f"`{name}()`" if arguments & self._tensors else ""
        body = self._bodies.get(name)
        if body is None and any(self._text(at) == name and self._text(at + 2) == "[" for at in range(index)):
            # A lambda.
            return self._of_variable(name)
        if body is None or self._depth >= _DEPTH or any(_GUARDS.fullmatch(token.text) for token in body):
            return ""
        return _Results(body, self._tensors, self._bodies, self._depth + 1).recorded()

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
        """The call that gives a variable its value, or changes it in place with a tensor of the function."""
        if name in self._seen or name in self._tensors or len(self._seen) > 99:
            return ""
        self._seen.add(name)
        for index, token in enumerate(self._body):
            if token.text != name:
                continue
            if (start := self._given_at(index)) and (call := self._in_expression(start)):
                return call
            following, method = self._text(index + 1), self._text(index + 2)
            if following in (".", "->") and method.endswith("_") and self._text(index + 3) == "(":
                given = self._body[index + 3 : closing_index(self._body, index + 3)]
                if any(token.text in self._tensors for token in given):
                    return f"`{method}()`"
        return ""
