"""Reads `torch::autograd::Function` classes of C++ sources: what forward saves, and what backward returns.

A formula is an expression. Where the body of `backward` is declarations and a `return`, its values become one; where it
has loops, conditions or changes of values, the class stays by hand, and the reason says at what.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from opwright.libraries.importing.registration import SourcePlace
from opwright.source.record_fields import NamedTuple
from opwright.syntax.cpp_functions import parameters_of, statements
from opwright.syntax.cpp_source import CppSource
from opwright.syntax.cpp_tokens import Token, arguments, closing_index, text_of

#: Words that a gradient has which is none.
_UNDEFINED: Final = re.compile(r"(?:(?:torch|at|autograd)::)*(?:Variable|Tensor)(?:\(\)|\{\})|\{\}|undefined")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_SIMPLE: Final = re.compile(r"[\w.]*(?:::[\w.]+)*")
_VALUE: Final = re.compile(r"to[A-Z]\w*")


class AutogradClass(NamedTuple):
    """A class: the parameters of `forward` behind the context, and the bodies of both functions.

    `context` and `gradients` are the names of the parameters of `backward`.
    """

    name: str
    place: SourcePlace
    parameters: tuple[str, ...]
    forward: Sequence[Token]
    forward_context: str
    backward: Sequence[Token]
    context: str
    gradients: str


class AppliedClass(NamedTuple):
    """A function that applies a class: its name without namespaces, its parameters, and what it hands on."""

    function: str
    parameters: tuple[str, ...]
    given: tuple[str, ...]
    place: SourcePlace


class Gradients(NamedTuple):
    """The formula for each parameter of `forward`, and which results are differentiable; or why there are none."""

    formulas: Mapping[str, str]
    differentiable: tuple[bool, ...]
    reason: str = ""


def autograd_classes(source: CppSource) -> Iterator[AutogradClass]:
    """The classes of a source that have both functions."""
    for statement in statements(source):
        texts = [token.text for token in statement.head]
        if not {"class", "struct"}.intersection(texts) or "Function" not in texts[2:] or not statement.body:
            continue
        methods = {}
        for method in statements(source._replace(tokens=statement.body)):
            opening = next((index for index, token in enumerate(method.head) if token.text == "("), 0)
            if opening and method.body:
                named = [_declared_name(part) for part in parameters_of(method.head, opening)]
                methods[method.head[opening - 1].text] = (named, method.body)
        name = texts[max(index for index, text in enumerate(texts[:-1]) if text in ("class", "struct")) + 1]
        forward, backward = methods.get("forward"), methods.get("backward")
        if forward is not None and backward is not None and forward[0] and len(backward[0]) == 2:
            place = SourcePlace(source.path, statement.head[0].line, statement.last_line)
            (context, *parameters), body = forward
            yield AutogradClass(name, place, tuple(parameters), body, context, backward[1], *backward[0])


def applied_classes(source: CppSource, names: Mapping[str, AutogradClass]) -> Iterator[tuple[str, AppliedClass]]:
    """The functions of a source that apply one of these classes, with the name of the class."""
    for statement in statements(source):
        opening = next((index for index, token in enumerate(statement.head) if token.text == "("), 0)
        body = statement.body
        applied = [
            index
            for index in range(3, len(body))
            if body[index].text == "("
            and [token.text for token in body[index - 2 : index]] == ["::", "apply"]
            and body[index - 3].text in names
        ]
        if opening and len(applied) == 1:
            named = tuple(map(_declared_name, parameters_of(statement.head, opening)))
            given = tuple(map(text_of, arguments(body, applied[0])))
            place = SourcePlace(source.path, statement.head[0].line, statement.last_line)
            function = AppliedClass(statement.head[opening - 1].text, named, given, place)
            yield body[applied[0] - 3].text, function


def _declared_name(parameter: Sequence[Token]) -> str:
    texts = [token.text for token in parameter]
    before = parameter[: texts.index("=")] if "=" in texts else parameter
    return before[-1].text if before else ""


class _Values:
    """The values of local variables while a body is read: expressions of its parameters; None for unknown ones."""

    def __init__(self, variables: Mapping[str, str | None]) -> None:
        self.variables: dict[str, str | None] = dict(variables)

    def expression(self, tokens: Sequence[Token], special: Mapping[tuple[str, ...], str | None]) -> str | None:
        """An expression with the values of its variables. `special` are sequences of tokens with their values."""
        parts: list[str] = []
        index = 0
        value: str | None
        while index < len(tokens):
            texts = tuple([token.text for token in tokens[index : index + 8]])
            match = next((given for given in special if texts[: len(given)] == given), None)
            token = tokens[index]
            follows = tokens[index - 1].text if index else ""
            if match is not None:
                value = special[match]
                index += len(match)
                if tokens[index : index + 1] and tokens[index].text == "." and _VALUE.fullmatch(tokens[index + 1].text):
                    # `toInt()` and the like only say the type of what was saved.
                    index += 4
            else:
                is_variable = token.kind == "name" and follows not in (".", "::", "->")
                called = tokens[index + 1].text if index + 1 < len(tokens) else ""
                value = token.text
                if is_variable and token.text in self.variables and called not in ("(", "::"):
                    value = self.variables[token.text]
                index += 1
                if value == token.text:
                    parts.append(value)
                    continue
            if value is None:
                return None
            parts.append(value if _is_closed(value) or len(tokens) == 1 else f"({value})")
        return _joined(parts)


def _is_closed(value: str) -> bool:
    """Whether an expression needs no parentheses inside another one: a name, or calls of functions and methods."""
    outside, depth = "", 0
    for character in value:
        depth += character in "([{"
        outside += character if not depth else ""
        depth -= character in ")]}"
    return _SIMPLE.fullmatch(outside) is not None


def _joined(parts: Sequence[str]) -> str:
    text = ""
    for part in parts:
        is_word = bool(text) and (text[-1].isalnum() or text[-1] == "_") and (part[0].isalnum() or part[0] == "_")
        text += " " * (is_word or text.endswith(",")) + part
    return text


def _simple_statements(body: Sequence[Token]) -> Iterator[tuple[Sequence[Token], bool]]:
    """The statements of a body, and whether each is one without a block, a loop or a condition."""
    start = index = 0
    while index < len(body):
        text = body[index].text
        if text in ("(", "[") or (text == "{" and body[start].text in ("return", "auto")):
            index = closing_index(body, index)
        elif text == "{":
            index = closing_index(body, index)
            if index + 1 == len(body) or body[index + 1].text != ";":
                yield body[start : index + 1], body[start].text not in ("if", "for", "while", "else", "switch", "do")
                start = index + 1
        elif text == ";":
            yield body[start:index], body[start].text not in ("if", "for", "while", "else", "switch", "do")
            start = index + 1
        index += 1


def _assignment(statement: Sequence[Token]) -> tuple[str, Sequence[Token]] | None:
    """The variable that a statement gives a value, and the value."""
    texts = [token.text for token in statement]
    depth = 0
    for index, text in enumerate(texts):
        depth += (text in "([{") - (text in ")]}")
        if text == "=" and not depth and index and texts[index - 1] not in "=!<>+-*/%&|^":
            if statement[index - 1].kind != "name" or (index > 1 and texts[index - 2] in (".", "->", "]")):
                return None
            return texts[index - 1], statement[index + 1 :]
    return None


def _of_arguments(tokens: Sequence[Token], values: _Values) -> str | None:
    """An expression of the arguments; None for a call that has none of them, which may give something else later."""
    is_call = any(token.text == "(" for token in tokens)
    is_known = any(token.kind == "name" and token.text in values.variables for token in tokens)
    return None if is_call and not is_known else values.expression(tokens, {})


class _Forward:
    """What `forward` saves and returns."""

    def __init__(self, given: AutogradClass, named: Mapping[str, str | None]) -> None:
        values = _Values(named)
        self.saved: list[tuple[str, str | None]] = []
        self.data: dict[str, str | None] = {}
        self.results: list[str] = []
        self.silent: set[str] = set()
        self.written = False
        for statement, is_simple in _simple_statements(given.forward):
            texts = [token.text for token in statement]
            self.written |= "mark_dirty" in texts
            assigned = _assignment(statement) if is_simple else None
            if texts[:2] == [given.forward_context, "->"] and is_simple:
                self._read_context(statement, values)
            elif texts[:1] == ["return"]:
                items = arguments(statement, 1) if texts[1:2] == ["{"] else [statement[1:]]
                self.results = [text_of(item) for item in items]
            elif assigned is not None:
                values.variables[assigned[0]] = _of_arguments(assigned[1], values)
            elif "mark_dirty" not in texts:
                for index, token in enumerate(statement):
                    following = texts[index + 1 : index + 3]
                    changes = following[:1] == ["="] or (following[:1] == ["."] and following[-1].endswith("_"))
                    if token.kind == "name" and changes:
                        values.variables[token.text] = None

    def _read_context(self, statement: Sequence[Token], values: _Values) -> None:
        texts = [token.text for token in statement]
        opening = texts.index("(") if "(" in texts else 0
        if texts[2] == "save_for_backward":
            items = arguments(statement, opening + 1) if texts[opening + 1] == "{" else []
            self.saved = [(text_of(item), values.expression(item, {})) for item in items]
        elif texts[2] == "saved_data" and "=" in texts:
            equals = texts.index("=")
            self.data[texts[4]] = _of_arguments(statement[equals + 1 :], values)
        elif texts[2] == "mark_non_differentiable":
            self.silent.update(text_of(item) for item in arguments(statement, opening + 1))


def gradients_of(given: AutogradClass, named: Mapping[str, str | None]) -> Gradients:
    """The formulas of a class. `named` are the parameters of `forward` with their names in formulas, None without."""
    forward = _Forward(given, named)
    differentiable = tuple([name not in forward.silent for name in forward.results])
    special: dict[tuple[str, ...], str | None] = {}
    for index in range(len(forward.results)):
        is_only = sum(differentiable) == 1
        special[given.gradients, "[", str(index), "]"] = "grad" if is_only else f"grads[{index}]"
    for key, value in forward.data.items():
        special[given.context, "->", "saved_data", "[", key, "]"] = value
    saved: list[str | None] = []
    for name, value in forward.saved:
        number = forward.results.index(name) if name in forward.results else None
        result = "result" if len(forward.results) == 1 else f"result{number}"
        words = set(_NAME.findall(value or ""))
        saved.append(result if number is not None else value if words.intersection(named.values()) else None)
    unknown = [name for (name, _), value in zip(forward.saved, saved, strict=True) if value is None]
    if unknown:
        return Gradients({}, differentiable, f"it saves `{unknown[0]}`, which is neither an argument nor a result")
    if forward.written:
        written = "it marks an argument as written: give the operator a written argument, or return a new tensor"
        return _backward(given, special, saved, differentiable)._replace(reason=written)
    return _backward(given, special, saved, differentiable)


def _backward(
    given: AutogradClass,
    special: dict[tuple[str, ...], str | None],
    saved: Sequence[str | None],
    differentiable: tuple[bool, ...],
) -> Gradients:
    values = _Values({})
    call_tokens = (given.context, "->", "get_saved_variables", "(", ")")
    special.update({(*call_tokens, "[", str(index), "]"): value for index, value in enumerate(saved)})
    for statement, is_simple in _simple_statements(given.backward):
        texts = [token.text for token in statement]
        assigned = _assignment(statement) if is_simple else None
        if assigned is not None and text_of(assigned[1]) == f"{given.context}->get_saved_variables()":
            special.update({(assigned[0], "[", str(index), "]"): value for index, value in enumerate(saved)})
        elif assigned is not None:
            values.variables[assigned[0]] = values.expression(assigned[1], special)
        elif is_simple and texts[:1] == ["return"] and texts[1:2] == ["{"]:
            returned = arguments(statement, 1)
            formulas = {}
            for name, value in zip(given.parameters, returned, strict=False):
                if not _UNDEFINED.fullmatch(text_of(value)):
                    formula = values.expression(value, special)
                    if formula is None or given.context in _NAME.findall(formula):
                        return Gradients({}, differentiable, f"`{text_of(value)}` is no expression of saved values")
                    formulas[name] = formula
            return Gradients(formulas, differentiable)
        elif (
            is_simple and len(texts) > 3 and texts[1] == "." and texts[2].endswith("_") and texts[0] in values.variables
        ):
            # An operation in place on a new tensor continues its expression.
            rest = values.expression(statement[1:], special)
            before = values.variables[texts[0]]
            if rest is None or before is None or "(" not in before or texts[0] in texts[1:]:
                return Gradients({}, differentiable, f"backward has the statement `{text_of(statement)[:60]}`")
            values.variables[texts[0]] = before + rest
        else:
            return Gradients({}, differentiable, f"backward has the statement `{text_of(statement)[:60]}`")
    return Gradients({}, differentiable, "backward returns no list")
