"""The formula that a position is in: the names and the functions that it can use, and the call around the position."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import zip_longest
from typing import Final

from opwright.dialects.derivatives.formula_helpers import FormulaHelpers, HelperDeclaration, helpers_of
from opwright.dialects.table import DERIVATIVES
from opwright.release.inputs import Inputs
from opwright.release.store import FORMULA_HELPERS
from opwright.release.tree import rules_of
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile
from opwright.tools.lsp.argument_places import schema_names
from opwright.tools.lsp.cursor import cursor_at
from opwright.tools.lsp.operators import OperatorEntry, entry_at
from opwright.tools.lsp.project import kind_of

#: Fields of a derivative whose values are no formulas.
NO_FORMULAS: Final = frozenset(("name", "output_differentiability", "dispatch"))
_DIFFERENTIABLE: Final = re.compile(r"\n +output_differentiability: *\[\s*([^\]]*?)\s*\]")
#: A type, perhaps with alias annotations, at the end of the part of a schema before a name.
_TYPE: Final = re.compile(r"(\w+(?:\([^()]*\)|[\[\]\d?])*)\s*\Z")
_ONLY_RESULT: Final = re.compile(r" -> [^\s(]+ (\w+)\s*\Z")
#: How far before a position its call begins at most.
_BEFORE: Final = 2000


class FormulaPlace(NamedTuple):
    """The entry of a formula, and the key that the formula has: arguments, or a result in forward mode."""

    entry: OperatorEntry
    key: str


def formula_at(file: SourceFile, offset: int) -> FormulaPlace | None:
    """The formula at an offset; None if there is none."""
    cursor = cursor_at(file, offset)
    entry = entry_at(file, offset)
    if kind_of(file) is not DERIVATIVES or entry is None or cursor.in_key or cursor.key in (*NO_FORMULAS, ""):
        return None
    return FormulaPlace(entry, cursor.key)


def formula_names(place: FormulaPlace) -> dict[str, str]:
    """The values that a formula can use, each with what it is.

    >>> from opwright.tools.lsp.operators import entries_of
    >>> text = "- name: twice(Tensor self, Scalar by) -> Tensor"
    >>> entry = entries_of(SourceFile("derivatives.yaml", text))[0]
    >>> list(formula_names(FormulaPlace(entry, "self")))
    ['self', 'by', 'result', 'grad', 'grads', 'grad_input_mask']
    >>> formula_names(FormulaPlace(entry, "result"))["self_t"]
    'the tangent of self'
    """
    arguments, named = _names(place.entry.schema)
    results = named or _unnamed_results(place.entry.schema)
    names = {name: f"argument of type {type}" for name, type in arguments.items()}
    names |= dict.fromkeys(results, "result")
    keywords = _names(place.entry.schema.partition("*, ")[2])[0]
    if keywords.keys() >= {"dtype", "layout", "device", "pin_memory"}:
        names["options"] = "the options of a tensor: dtype, layout, device and pin_memory"
    if re.split(r"\s*,\s*", place.key)[0] in results:
        for name in [*[name for name, type in arguments.items() if "Tensor" in type], "original_self"]:
            names |= {f"{name}_p": f"the value of {name}", f"{name}_t": f"the tangent of {name}"}
        return names
    names |= {"grad": "the gradient of the first result", "grads": "the gradients of all results"}
    flags = _DIFFERENTIABLE.search(place.entry.entry.text)
    stated = re.split(r"\s*,\s*", flags[1]) if flags is not None else []
    for result, flag in zip_longest(named, stated, fillvalue="True"):
        names |= {f"grad_{result}": f"the gradient of {result}"} if result in named and flag == "True" else {}
    return names | {"grad_input_mask": "which of the key's arguments need a gradient"}


def _names(schema: str) -> tuple[dict[str, str], list[str]]:
    """The arguments of a schema with their types, and the names of its results."""
    arguments: dict[str, str] = {}
    results: list[str] = []
    for name, start, is_result in schema_names(schema):
        if is_result:
            results.append(name)
        else:
            type = _TYPE.search(schema[:start])
            arguments[name] = "" if type is None else type[1]
    # The name of the only result may stand without parentheses.
    alone = _ONLY_RESULT.search(schema)
    return arguments, results or ([alone[1]] if alone is not None else [])


def _unnamed_results(schema: str) -> list[str]:
    """What formulas call results without names."""
    returned = schema.rpartition(" -> ")[2].strip()
    count = returned.count(",") + 1 if returned not in ("", "()") else 0
    return ["result"] if count == 1 else [f"result{number}" for number in range(count)]


@lru_cache(maxsize=2)
def helpers(inputs: Inputs) -> FormulaHelpers:
    """The functions that formulas call besides operators."""
    return helpers_of(rules_of(inputs), inputs.read_optional(FORMULA_HELPERS))


def declarations_of(inputs: Inputs, name: str) -> tuple[HelperDeclaration, ...]:
    """The declarations of a function that formulas call; none if it is no such function, or the header is missing."""
    return helpers(inputs).declarations.get(name, ())


class Call(NamedTuple):
    """A function that is called around a position, and the number of the argument that the position is in."""

    function: str
    argument: int


def call_at(file: SourceFile, offset: int) -> Call | None:
    """The innermost call around an offset of a formula.

    >>> call_at(SourceFile("x.yaml", "self: f(grad, g(1), {2, "), 24), call_at(SourceFile("x.yaml", "self: f(x)"), 10)
    (Call(function='f', argument=2), None)
    """
    text = file.text[max(0, offset - _BEFORE) : offset]
    depth = commas = 0
    for index in range(len(text) - 1, -1, -1):
        character = text[index]
        if character in ")]}":
            depth += 1
        elif character in "([{":
            match = re.search(r"(\w+)\s*$", text[:index]) if character == "(" else None
            if depth == 0 and match is not None:
                return Call(match[1], commas)
            # A brace or a plain parenthesis is one argument of the call around it.
            commas = commas if depth else 0
            depth = max(0, depth - 1)
        elif character == "," and not depth:
            commas += 1
        elif character == "\n" and re.match(r"\n *(?:- )?[\w, ]+:", text[index:]):
            return None
    return None
