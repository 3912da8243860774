"""Reads the bodies of `torch::autograd::Function` classes: what forward saves, and what backward returns.

A formula is an expression. Where the body of `backward` is declarations and a `return`, its values become one; where it
has loops, conditions or changes of values, the class stays by hand, and the reason says at what.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Final

from opwright.dialects.names import CPP_WORDS
from opwright.migrate.importing.autograd_classes import AutogradClass, simple_statements
from opwright.source.records import NamedTuple
from opwright.syntax.cpp_tokens import Token, arguments, closing_index, text_of

#: Words that a gradient has which is none.
_UNDEFINED: Final = re.compile(r"(?:(?:torch|at|autograd)::)*(?:Variable|Tensor)(?:\(\)|\{\})|\{\}|undefined")
_DECLARED: Final = re.compile(r"(?:(?:torch|at|autograd)::)*(?:Variable|Tensor) (\w+(?:, \w+)*)")
_LISTS: Final = re.compile(r"(?:(?:torch|autograd)::)*(?:variable_list|tensor_list)")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_SIMPLE: Final = re.compile(r"[\w.@]*(?:::[\w.]+)*")
#: Conversions that say only that there is a list, or an item of one.
_OPEN: Final = ("toList", "toListRef", "toTuple", "get", "vec")
_CONVERSION: Final = re.compile(r"to[A-Z]\w*|get|vec")
#: Calls that give another value each time, or values that nobody wrote: a formula cannot compute these again.
_UNREPEATABLE: Final = re.compile(
    r"rand|bernoulli|multinomial|normal|poisson|dropout|empty|uniform|geometric|exponential"
)
#: Calls that only ask a tensor something.
_ASKING: Final = re.compile(
    r"\.(?:sym_)?(?:sizes?|strides?|numel|dim|options|scalar_type|dtype|device|defined|is_\w+)\("
)
_CALL: Final = re.compile(r"[\w>]\(")
#: What forward does besides, and generated code too.
_GUARD: Final = re.compile(
    r"(?:\w+::)*(?:AutoDispatchBelow\w+|AutoNonVariableTypeMode|NoGradGuard)\b|C10_LOG_API_USAGE_ONCE|RECORD_FUNCTION"
)
_RAISES: Final = re.compile(
    r"(?:TORCH_CHECK(?:_NOT_IMPLEMENTED)?|TORCH_INTERNAL_ASSERT)\((?:false|0)\b|AT_ERROR\(|throw\b"
)
_GRADIENT: Final = re.compile(r"\bgrads\[(\d+)\](?!\.defined\()")
_PLACEHOLDER: Final = re.compile(r"@(\d+)@")
_NEEDED: Final = re.compile(r"\b\w+->needs_input_grad\((\d+)\)")
_QUOTED: Final = re.compile(r'"(?:\\.|[^"\\])*"')
#: A name that stands alone: no member, namespace, function or template.
_BARE: Final = re.compile(r"(?<![\w.@:>])([A-Za-z_]\w*)\b(?!\(|::|<|\")")
#: Names that mean the same in a formula as in the body of a class.
_WORDS: Final = CPP_WORDS | {"grads", "Tensor", "Scalar", "std", "int64_t", "int32_t", "uint8_t", "size_t"}


class Gradients(NamedTuple):
    """Formula for each parameter of `forward`, and which results are differentiable; or why there are none.

    A formula may be for several parameters. `undefined` are parameters without a gradient, and `forward` is the call
    that computes the results.
    """

    formulas: Mapping[tuple[str, ...], str]
    differentiable: tuple[bool, ...]
    reason: str = ""
    undefined: tuple[str, ...] = ()
    forward: str = ""
    only_raises: bool = False


class _Value(NamedTuple):
    """A value as an expression. What the context saved `is_saved`, until a conversion says its type.

    It is only computed if the inputs with the numbers of `under` need gradients.
    """

    text: str
    is_saved: bool = False
    under: frozenset[int] = frozenset()


class _Values:
    """Values of local variables while a body is read: expressions of its parameters; None for unknown ones."""

    def __init__(self, variables: Mapping[str, str | None]) -> None:
        self.variables: dict[str, _Value | None] = {
            name: None if text is None else _Value(text) for name, text in variables.items()
        }

    def assign(self, names: Sequence[str], value: _Value | None) -> None:
        """Give variables a value, each of several its part of it."""
        self.variables.update(dict.fromkeys(names, value))
        if value is not None and len(names) > 1:
            for index, name in enumerate(names):
                self.variables[name] = value._replace(text=f"std::get<{index}>({value.text})")

    def expression(self, tokens: Sequence[Token], special: Mapping[tuple[str, ...], _Value | None]) -> _Value | None:
        """An expression with the values of its variables. `special` are sequences of tokens with their values."""
        parts: list[str] = []
        under: frozenset[int] = frozenset()
        index = 0
        while index < len(tokens):
            texts = tuple([token.text for token in tokens[index : index + 8]])
            match = next((given for given in special if texts[: len(given)] == given), None)
            token = tokens[index]
            if match is not None:
                value = special[match]
                index += len(match)
            else:
                index += 1
                before = tokens[index - 2].text if index > 1 else ""
                after = tokens[index].text if index < len(tokens) else ""
                is_variable = token.kind == "name" and before not in (".", "::", "->") and after not in ("(", "::")
                if not is_variable or token.text not in self.variables:
                    parts.append(token.text)
                    continue
                value = self.variables[token.text]
            if value is None:
                return None
            under |= value.under
            text = value.text
            is_saved = value.is_saved
            if is_saved:
                text, index, is_saved = _converted(text, tokens, index)
            if not parts and index == len(tokens):
                return _Value(text, is_saved, under)
            parts.append(_closed(text))
        return _Value(_joined(parts), under=under)


def _converted(text: str, tokens: Sequence[Token], index: int) -> tuple[str, int, bool]:
    """A saved value with the subscripts behind it, without conversions, which only say the type of what was saved.

    The index is that behind these, and the last one says whether the type is still open.
    """
    while index + 2 < len(tokens):
        if tokens[index].text == "[":
            end = closing_index(tokens, index)
            text += text_of(tokens[index : end + 1])
            index = end + 1
            continue
        opening = index + 2
        if tokens[opening].text == "<":
            opening = next((at for at in range(opening, len(tokens)) if tokens[at].text == "("), len(tokens) - 1)
        word = tokens[index + 1].text
        if tokens[index].text != "." or not _CONVERSION.fullmatch(word) or tokens[opening].text != "(":
            break
        # Sizes are saved as what the function made of them.
        if "SymInt" in word:
            text = re.sub(r"\.(sizes?|strides?|numel)\(", r".sym_\1(", text)
        elif "Int" in word:
            text = re.sub(r"\.sym_(sizes?|strides?|numel)\(", r".\1(", text)
        index = closing_index(tokens, opening) + 1
        if word not in _OPEN:
            return text, index, False
    return text, index, True


def is_closed(value: str) -> bool:
    """Whether an expression needs no parentheses inside another one: a name, or calls of functions and methods."""
    outside, depth = "", 0
    for character in value:
        depth += character in "([{"
        outside += character if not depth else ""
        depth -= character in ")]}"
    return _SIMPLE.fullmatch(outside) is not None


def _closed(value: str) -> str:
    return value if is_closed(value) else f"({value})"


def _joined(parts: Sequence[str]) -> str:
    text = ""
    for part in parts:
        is_word = bool(text) and (text[-1].isalnum() or text[-1] == "_") and (part[0].isalnum() or part[0] == "_")
        text += " " * (is_word or text.endswith(",")) + part
    return text


def _assignment(statement: Sequence[Token]) -> tuple[Sequence[str], Sequence[Token]] | None:
    """Variables that a statement gives a value, and the value: several for `std::tie(a, b)` and `auto [a, b]`."""
    texts = [token.text for token in statement]
    depth = 0
    for index, text in enumerate(texts):
        depth += (text in "([{") - (text in ")]}")
        if text == "=" and not depth and index and texts[index - 1] not in "=!<>+-*/%&|^":
            value = statement[index + 1 :]
            is_tied = texts[:3] == ["std", "::", "tie"]
            if is_tied or (texts[0] == "auto" and texts[index - 1] == "]"):
                opening = 3 if is_tied else texts.index("[")
                return [text_of(part) for part in arguments(statement, opening)], value
            if statement[index - 1].kind != "name" or (index > 1 and texts[index - 2] in (".", "->", "]")):
                return None
            return [texts[index - 1]], value
    return None


def _of_arguments(tokens: Sequence[Token], values: _Values) -> _Value | None:
    """An expression of the arguments; None for one that may give something else later."""
    called = [token.text for token, after in itertools.pairwise(tokens) if after.text == "("]
    is_known = any(token.kind == "name" and token.text in values.variables for token in tokens)
    if (called and not is_known) or any(_UNREPEATABLE.search(name) for name in called):
        return None
    return values.expression(tokens, {})


class _Forward:
    def __init__(self, given: AutogradClass, named: Mapping[str, str | None]) -> None:
        values = _Values(named)
        self.saved: list[tuple[str, _Value | None]] = []
        self.data: dict[str, _Value | None] = {}
        self.results: list[str] = []
        self.silent: set[str] = set()
        self.written = False
        self.materializes = True
        #: The call that computes the results; empty if something else does.
        self.call = ""
        self.unknown = ""
        for statement, is_simple in simple_statements(given.forward):
            texts = [token.text for token in statement]
            self.written |= "mark_dirty" in texts
            assigned = _assignment(statement) if is_simple else None
            if texts[:2] == [given.forward_context, "->"] and is_simple:
                self._read_context(statement, values)
            elif texts[:1] == ["return"]:
                self._read_return(statement, values)
            elif assigned is not None and "findSchemaOrThrow" not in texts:
                value = _of_arguments(assigned[1], values)
                values.assign(assigned[0], value)
            elif "mark_dirty" not in texts and assigned is None and not _GUARD.match(text_of(statement)):
                self.unknown = self.unknown or text_of(statement)
                for index, token in enumerate(statement):
                    following = texts[index + 1 : index + 3]
                    changes = following[:1] == ["="] or (following[:1] == ["."] and following[-1].endswith("_"))
                    if token.kind == "name" and changes:
                        values.variables[token.text] = None

    def _read_return(self, statement: Sequence[Token], values: _Values) -> None:
        opening = next((index for index, token in enumerate(statement) if token.text == "{"), 0)
        is_list = opening == 1 or (opening > 1 and _LISTS.fullmatch(text_of(statement[1:opening])))
        items = arguments(statement, opening) if is_list else [statement[1:]]
        self.results = [text_of(item) for item in items]
        values_returned = [values.expression(item, {}) for item in items]
        texts = [value.text if value is not None else "" for value in values_returned]
        calls = {text if len(texts) == 1 else text.removeprefix(f"std::get<{i}>(")[:-1] for i, text in enumerate(texts)}
        self.call = calls.pop() if len(calls) == 1 else ""

    def _read_context(self, statement: Sequence[Token], values: _Values) -> None:
        # The blanks stand for what a statement that is no C++ lacks.
        texts = [*[token.text for token in statement], *[""] * 4]
        opening = texts.index("(") if "(" in texts else 0
        if texts[2] == "save_for_backward":
            items = arguments(statement, opening + 1) if texts[opening + 1] == "{" else []
            self.saved = [(text_of(item), _of_arguments(item, values)) for item in items]
        elif texts[2] == "saved_data" and "=" in texts:
            equals = texts.index("=")
            value = _of_arguments(statement[equals + 1 :], values)
            self.data[texts[4]] = None if value is None else value._replace(is_saved=True)
        elif texts[2] == "mark_non_differentiable":
            self.silent.update(text_of(item) for item in arguments(statement, opening + 1))
        elif texts[2] == "set_materialize_grads":
            self.materializes = texts[opening + 1] != "false"
        elif texts[2] != "mark_dirty":
            self.unknown = self.unknown or text_of(statement)


def gradients_of(given: AutogradClass, named: Mapping[str, str | None], results: Sequence[str]) -> Gradients:
    """Formulas of a class. `named` are the parameters of `forward` with their names in formulas, None without.

    `results` are the names of the operator's results in formulas.
    """
    forward = _Forward(given, named)
    differentiable = tuple([name not in forward.silent for name in forward.results])
    if len(results) != len(differentiable):
        told = f"it returns {len(differentiable)} results, and the operator {len(results)}"
        return Gradients({}, differentiable, told)
    if given.hidden:
        return Gradients({}, differentiable, f"it calls `{given.hidden}`, which only its file can name")
    special: dict[tuple[str, ...], _Value | None] = {}
    for index, is_differentiable in enumerate(differentiable):
        number = sum(differentiable[:index])
        special[given.gradients, "[", str(index), "]"] = _Value(f"grads[{number}]") if is_differentiable else None
    for key, data in forward.data.items():
        special[given.context, "->", "saved_data", "[", key, "]"] = data
    saved: list[_Value | None] = []
    for name, value in forward.saved:
        words = set(_NAME.findall(value.text if value is not None else ""))
        # A kernel does not run again for what it computes besides the results.
        is_computed = value is not None and "(" in forward.call and forward.call in value.text
        value = value if words.intersection(filter(None, named.values())) and not is_computed else None
        saved.append(_Value(results[forward.results.index(name)]) if name in forward.results else value)
    unknown = [name for (name, _), value in zip(forward.saved, saved, strict=True) if value is None]
    if unknown:
        return Gradients({}, differentiable, f"it saves `{unknown[0]}`, which is neither an argument nor a result")
    gradients = _Backward(given, named, special, saved).read()._replace(differentiable=differentiable)
    shown = [result for result, is_shown in zip(results, differentiable, strict=True) if is_shown]
    formulas = {
        names: _with_gradients(formula, shown if forward.materializes else ())
        for names, formula in gradients.formulas.items()
    }
    if set(re.findall(r"\bgrads\[(\d+)\]", " ".join(formulas.values()))) <= {"0"}:
        formulas = {names: formula.replace("grads[0]", "grad") for names, formula in formulas.items()}
    reason = gradients.reason
    if forward.written:
        reason = "it marks an argument as written: give the operator a written argument, or return a new tensor"
    elif forward.unknown and not reason:
        reason = f"forward has the statement `{forward.unknown[:60]}`"
    return gradients._replace(formulas=formulas, reason=reason, forward=forward.call)


def _with_gradients(formula: str, results: Sequence[str]) -> str:
    """A formula that has zeros for gradients that are undefined, as classes have them, if it reads several.

    Generated code computes a formula if one of the gradients that it reads is defined.
    """
    if len(set(_GRADIENT.findall(formula))) < 2 or not results:
        return formula

    def shown(match: re.Match[str]) -> str:
        gradient, result = match[0], results[int(match[1])]
        zeros = f"at::zeros_symint({result}.sym_sizes(), {result}.options())"
        return f"({gradient}.defined() ? {gradient} : {zeros})"

    return _GRADIENT.sub(shown, formula)


class _Backward:
    """The formulas that the body of `backward` gives.

    Calls that several formulas share are placeholders, `@0@`, until all of it is read.
    """

    def __init__(
        self,
        given: AutogradClass,
        named: Mapping[str, str | None],
        special: dict[tuple[str, ...], _Value | None],
        saved: Sequence[_Value | None],
    ) -> None:
        self._given = given
        self._named = named
        self._special = special
        self._saved = saved
        self._values = _Values({})
        #: What the placeholders stand for, and the names of the variables.
        self._calls: list[tuple[str, str]] = []
        typed = zip(given.parameters, given.types, strict=True)
        self._tensors = [name for name, type in typed if "Tensor" in type or "Variable" in type]
        taken = (given.context, "->", "get_saved_variables", "(", ")")
        special.update({(*taken, "[", str(index), "]"): value for index, value in enumerate(saved)})

    def read(self) -> Gradients:
        """Read the body."""
        raises = [_RAISES.match(text_of(statement)) for statement, _ in simple_statements(self._given.backward)]
        if raises and raises[0]:
            return Gradients({}, (), only_raises=True)
        for statement, is_simple in simple_statements(self._given.backward):
            texts = [token.text for token in statement]
            if is_simple and texts[0] == "return":
                return self._returned(statement)
            if not self._take(statement, is_simple, frozenset()):
                return Gradients({}, (), f"backward has the statement `{text_of(statement)[:60]}`")
        return Gradients({}, (), "backward returns no list")

    def _take(self, statement: Sequence[Token], is_simple: bool, under: frozenset[int]) -> bool:
        """Take a statement into account; whether that is possible."""
        texts = [token.text for token in statement]
        if not is_simple:
            return self._take_condition(statement)
        declared = _DECLARED.fullmatch(text_of(statement))
        if declared is not None:
            self._values.variables.update(dict.fromkeys(declared[1].split(", "), _Value("at::Tensor()")))
            return True
        assigned = _assignment(statement)
        if assigned is None:
            return self._take_in_place(statement, texts)
        names, value = assigned
        if text_of(value) == f"{self._given.context}->get_saved_variables()":
            self._special.update({(names[0], "[", str(at), "]"): saved for at, saved in enumerate(self._saved)})
            return True
        assigned_value = self._values.expression(value, self._special)
        if assigned_value is not None:
            text = assigned_value.text
            if not assigned_value.is_saved and (_CALL.search(_ASKING.sub(" ", text)) or not is_closed(text)):
                self._calls.append((names[0] if len(names) == 1 else "values", text))
                text = f"@{len(self._calls) - 1}@"
            assigned_value = assigned_value._replace(text=text, under=assigned_value.under | under)
        self._values.assign(names, assigned_value)
        return True

    def _take_condition(self, statement: Sequence[Token]) -> bool:
        """Take `if (ctx->needs_input_grad(0)) { ... }` into account: formulas are only computed if needed."""
        end = closing_index(statement, 1)
        asked = re.fullmatch(rf"{self._given.context}->needs_input_grad\((\d+)\)", text_of(statement[2:end]))
        if statement[0].text != "if" or asked is None:
            return False
        is_block = [token.text for token in statement[end + 1 : end + 2]] == ["{"]
        inner = statement[end + 2 : -1] if is_block else [*statement[end + 1 :], statement[0]._replace(text=";")]
        under = frozenset((int(asked[1]),))
        return all(self._take(part, is_simple, under) for part, is_simple in simple_statements(inner))

    def _take_in_place(self, statement: Sequence[Token], texts: Sequence[str]) -> bool:
        """Take an operation in place on a new tensor into account, which continues its expression."""
        if len(texts) < 4 or texts[1] != "." or not texts[2].endswith("_") or texts[0] in texts[1:]:
            return False
        before = self._values.variables.get(texts[0])
        rest = self._values.expression(statement[1:], self._special)
        number = _PLACEHOLDER.fullmatch(before.text) if before is not None else None
        if rest is None or number is None or any(number[0] in text for _, text in self._calls):
            return False
        name, text = self._calls[int(number[1])]
        self._calls[int(number[1])] = name, _closed(text) + rest.text
        return True

    def _returned(self, statement: Sequence[Token]) -> Gradients:
        opening = next((index for index, token in enumerate(statement) if token.text == "{"), 0)
        if opening != 1 and not _LISTS.fullmatch(text_of(statement[1:opening])):
            return Gradients({}, (), f"backward has the statement `{text_of(statement)[:60]}`")
        formulas: dict[str, str] = {}
        undefined: list[str] = []
        for name, item in zip(self._given.parameters, arguments(statement, opening), strict=False):
            value = self._values.expression(item, self._special)
            text = value.text if value is not None else ""
            if _UNDEFINED.fullmatch(text_of(item)) or _UNDEFINED.fullmatch(text):
                undefined.append(name)
                continue
            used = self._used(text)
            told = f"`{text_of(item)}` is no expression of saved values"
            if value is None or any(self._is_unknown(part) for part in (text, *[self._calls[at][1] for at in used])):
                return Gradients({}, (), told)
            number = self._tensors.index(name) if name in self._tensors else -1
            if not value.under <= {number}:
                return Gradients({}, (), f"`{text_of(item)}` is computed where another gradient is needed")
            formulas[name] = text
        grouped: dict[tuple[str, ...], str] = {}
        for names, text in self._grouped(formulas).items():
            asked = self._asked(names, text)
            if asked is None:
                return Gradients({}, (), "a gradient asks whether another one is needed")
            grouped[names] = asked
        return Gradients(grouped, (), undefined=tuple(undefined))

    def _used(self, text: str) -> list[int]:
        """The placeholders that a text needs, and those that these need, in their order."""
        used: set[int] = set()
        waiting = [text]
        while waiting:
            numbers = {int(number) for number in _PLACEHOLDER.findall(waiting.pop())} - used
            used |= numbers
            waiting += [self._calls[number][1] for number in numbers]
        return sorted(used)

    def _is_unknown(self, text: str) -> bool:
        """Whether an expression has a word that means nothing in a formula."""
        meaningful = {*filter(None, self._named.values()), *[value.text for value in self._saved if value is not None]}
        plain = _NEEDED.sub("true", _QUOTED.sub('""', text))
        words = {word for word in _BARE.findall(plain) if not word.isupper()}
        return bool(words - meaningful - _WORDS) or re.search(r"\bgrads\b(?!\[\d)", plain) is not None

    def _grouped(self, formulas: Mapping[str, str]) -> dict[tuple[str, ...], str]:
        """Formulas, with one for the gradients that share a call."""
        texts = {**formulas, **{f"@{at}@": text for at, (_, text) in enumerate(self._calls)}}
        live = {*formulas, *[f"@{at}@" for text in formulas.values() for at in self._used(text)]}
        for at in reversed(range(len(self._calls))):
            mark = f"@{at}@"
            users = [name for name in live for _ in range(texts[name].count(mark))]
            if len(users) == 1:
                (user,) = users
                inlined = texts[mark] if texts[user] == mark else _closed(texts[mark])
                texts[user] = texts[user].replace(mark, inlined)
                live.discard(mark)
        self._calls = [(name, texts[f"@{at}@"]) for at, (name, _) in enumerate(self._calls)]
        groups: list[tuple[list[str], set[int]]] = []
        for name in formulas:
            names, used = [name], set(self._used(texts[name]))
            for group in [group for group in groups if not used.isdisjoint(group[1])]:
                groups.remove(group)
                names, used = [*group[0], *names], used | group[1]
            groups.append((names, used))
        return dict(self._joint(names, [texts[name] for name in names], sorted(used)) for names, used in groups)

    def _joint(self, names: Sequence[str], texts: Sequence[str], used: Sequence[int]) -> tuple[tuple[str, ...], str]:
        """One formula for the gradients that share calls: the call that gives all of them, or a lambda."""
        if not used:
            return tuple(names), texts[0]
        by_text = dict(zip(texts, names, strict=True))
        ordered = [f"std::get<{at}>(@{used[0]}@)" for at in range(len(names))]
        if len(names) > 1 and len(used) == 1 and set(by_text) == set(ordered):
            return tuple([by_text[text] for text in ordered]), self._calls[used[0]][1]
        meaningful = {*filter(None, self._named.values())}
        variables = {
            at: name if name not in meaningful and not name.startswith(("grad", "result")) else f"{name}_{at}"
            for at, (name, _) in enumerate(self._calls)
        }
        value = texts[0] if len(texts) == 1 else f"std::make_tuple({', '.join(texts)})"
        lines = [f"auto {variables[at]} = {self._calls[at][1]};" for at in used]
        text = f"[&] {{ {' '.join(lines)} return {value}; }}()"
        return tuple(names), _PLACEHOLDER.sub(lambda match: variables[int(match[1])], text)

    def _asked(self, names: Sequence[str], text: str) -> str | None:
        """A formula with its own word for whether an input needs a gradient; None if it asks about another one."""
        for number in {int(number) for number in _NEEDED.findall(text)}:
            name = self._tensors[number] if number < len(self._tensors) else ""
            if name not in names:
                return None
            is_needed = "true" if len(names) == 1 else f"grad_input_mask[{names.index(name)}]"
            text = re.sub(rf"\b{self._given.context}->needs_input_grad\({number}\)", is_needed, text)
        return text
