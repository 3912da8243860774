"""Drafts of requirements, from what kernels check before they do anything else.

A condition is drafted if it means the same as an expression over the arguments: sizes, ranks, dtypes, devices and
numbers that are compared. All kernels of the operator have to check it. What else they check stays theirs alone. Ranks,
equal sizes and dtypes become patterns and classes, which say the same in fewer words.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Final

from opwright.dialects.python_source import PARSE_ERRORS
from opwright.libraries.declared_outputs import TORCH_DTYPES
from opwright.libraries.dialect.dims import DIMS
from opwright.libraries.dialect.requirements import DTYPES_FIELD, LAYOUT, REQUIRES, RequirementsLoader
from opwright.migrate.importing.registration import RegistrationStatement
from opwright.model.dispatch_key import META
from opwright.schema.function import FunctionSchema
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.nodes import MappingNode, quoted_scalar
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from opwright.syntax.cpp_functions import DISPATCH_TYPES
from opwright.workspace.yaml_scalar import flow_scalar, scalar

#: Methods of tensors that only ask something, as expressions have them.
_MEMBERS: Final = {
    "dim()": "dim()", "ndimension()": "dim()", "numel()": "numel()", "sizes()": "sizes()", "size(": "size(",
    "scalar_type()": "dtype", "dtype()": "dtype", "device()": "device",
}  # fmt: skip
_PIECE: Final = re.compile(
    r" *(?:\.(?P<member>\w+\((?:\))?)|(?P<name>(?:\w+::)*[A-Za-z_]\w*)(?!\w*\()|(?P<number>\d+)[uUlL]*(?![\w.])"
    r"|(?P<sign>==|!=|<=|>=|&&|\|\||[-+*%<>(),]|!(?=\w+ *(?:&&|\|\||\)|$))))"
)
_WORDS: Final = {"&&": " and ", "||": " or ", "!": "not ", "true": "True", "false": "False"}
_DTYPE: Final = re.compile(r"(?:\w+::)+(?:k|ScalarType::)([A-Z]\w*)")
_CONTIGUOUS: Final = re.compile(r"(\w+)\.is_contiguous\(\)")
#: A macro that chooses code by the dtype of a tensor: its types, and those that its first arguments add to them.
_DISPATCH: Final = re.compile(
    r"AT_DISPATCH_(\w+?)(?:_AND\d?)?\(((?:(?:\w+::)+k?[A-Z]\w*, ?)*)(\w+)\.(?:scalar_type|dtype)\(\)\)"
)
_DISPATCHED: Final = {
    "AT_INTEGRAL_TYPES": "Byte Char Short Int Long",
    "AT_FLOATING_TYPES": "Float Double",
    "AT_COMPLEX_TYPES": "ComplexFloat ComplexDouble",
    "AT_ALL_TYPES": "Byte Char Short Int Long Float Double",
    "AT_ALL_TYPES_AND_COMPLEX": "Byte Char Short Int Long Float Double ComplexFloat ComplexDouble",
}
_ONE_OF: Final = re.compile(r"(\w+)\.dtype (?:in|==) (\[.*\]|\w+)")
#: A side of a comparison that fields can say: a fact about a tensor, or a number.
_SIDE: Final = re.compile(r"(?:(\w+)\.(dim|size|dtype)(?:\((-?\d*)\))?|(\d+))")
#: Types of parameters whose values may be others than those of the arguments.
_NARROW: Final = re.compile(r"\b(?:float|unsigned|size_t|u?int(?:8|16|32)?_t|uint64_t|short|char)\b")


def drafted_requirements(schema: FunctionSchema, rows: Sequence[RegistrationStatement]) -> list[str]:
    """The lines of an entry that say what all kernels of an operator check first; none if they share nothing."""
    kernels = [row for row in rows if row.keys and not row.keys[0].startswith(("Autograd", "Autocast", META.name))]
    checked = [list(_conditions(schema, row)) for row in kernels]
    shared = [text for text in dict.fromkeys(checked[0] if checked else ()) if all(text in own for own in checked)]
    fields = _Fields([argument.name for argument in schema.arguments.all])
    conditions = [text for text in shared if not fields.takes_rank(text)]
    conditions = [text for text in conditions if not fields.takes(text)]
    written = {DIMS: fields.dims(), DTYPES_FIELD: fields.dtypes, LAYOUT: fields.layouts}
    lines = [f"{field}: {{{', '.join(map(': '.join, each.items()))}}}" for field, each in written.items() if each]
    return [*lines, *([f"{REQUIRES}:", *[f"- {scalar(text)}" for text in conditions]] if conditions else [])]


class _Fields:
    """The fields that conditions become, in which facts about tensors are compared with each other or with numbers."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names: Final = names
        self._ranks: Final[dict[str, int]] = {}
        self._items: Final[dict[tuple[str, int], str]] = {}
        self.dtypes: Final[dict[str, str]] = {}
        self.layouts: Final[dict[str, str]] = {}

    def takes_rank(self, text: str) -> bool:
        """Whether a condition says the rank of a tensor: a size has a place in patterns whose rank is known."""
        match = re.fullmatch(r"(\w+)\.dim\(\) == (\d+)", text)
        if match is None or match[1] in self._ranks:
            return False
        self._ranks[match[1]] = int(match[2])
        self._items.update({(match[1], place): "_" for place in range(int(match[2]))})
        return True

    def takes(self, text: str) -> bool:
        """Whether another condition becomes part of a field."""
        contiguous, one_of = _CONTIGUOUS.fullmatch(text), _ONE_OF.fullmatch(text)
        if contiguous is not None:
            self.layouts[contiguous[1]] = "contiguous!"
        elif one_of is not None:
            self.dtypes.setdefault(self._root(one_of[1]), one_of[2])
        else:
            sides = map(_SIDE.fullmatch, text.split(" == "))
            match [(side[1] or side[4], side[2], side[3]) if side is not None else None for side in sides]:
                case [(first, "dtype", _), (second, "dtype", _)]:
                    roots = sorted({self._root(first), self._root(second)}, key=self._names.index)
                    free = [root for root in roots if root not in self.dtypes]
                    if len(roots) > 1 and not free:
                        return False
                    self.dtypes.update({free[-1]: (set(roots) - {free[-1]}).pop()} if len(roots) > 1 else {})
                case [(first, "size", place), (second, "size" | None, other)]:
                    return self._joins(self._place(first, place), self._place(second, other))
                case _:
                    return False
        return True

    def dims(self) -> dict[str, str]:
        """The patterns by tensor."""
        patterns = {
            name: " ".join([self._items[name, place] for place in range(rank)]) for name, rank in self._ranks.items()
        }
        return {name: flow_scalar(text) if text else quoted_scalar(text) for name, text in patterns.items()}

    def _place(self, name: str, place: str | None) -> tuple[str, int] | None:
        """The key of an item: that of a size, if the rank of its tensor is known, or of a number."""
        if place is None:
            self._items[name, 0] = name
            return name, 0
        rank = self._ranks.get(name, 0)
        return (name, int(place) % rank) if -rank <= int(place) < rank else None

    def _joins(self, first: tuple[str, int] | None, second: tuple[str, int] | None) -> bool:
        """Whether two items of patterns can be the same; they are from then on."""
        if first is None or second is None:
            return False
        words = {self._items[first], self._items[second]} - {"_"}
        numbers = [word for word in words if word.isdigit()]
        if len(numbers) > 1:
            return False
        taken = {*self._names, *self._items.values()}
        letter = next(name for number in count() for name in (f"n{number or ''}",) if name not in taken)
        joined = next(iter(numbers or sorted(words)), letter)
        changed = [key for key, word in self._items.items() if key in (first, second) or word in words]
        self._items.update(dict.fromkeys(changed, joined))
        return True

    def _root(self, name: str) -> str:
        """The tensor whose dtype a tensor has to have."""
        while self.dtypes.get(name) in self._names:
            name = self.dtypes[name]
        return name


def _conditions(schema: FunctionSchema, row: RegistrationStatement) -> Iterator[str]:
    """What a kernel checks, as expressions over the arguments of the schema."""
    arguments = [argument.name for argument in schema.arguments.all]
    # A kernel has no names where the sources do not define it, and a schema no arguments where they do not tell it.
    if not len(arguments) == len(row.names) == len(row.parameters):
        return
    named = {
        name: argument
        for name, argument, type in zip(row.names, arguments, row.parameters, strict=True)
        if not _NARROW.search(type)
    }
    for check in row.checks:
        dispatch = _DISPATCH.fullmatch(check)
        if dispatch is not None:
            yield from _dispatched(dispatch, named)
        text = _expression(check, named)
        for part in _parts(text) if text else ():
            match = _CONTIGUOUS.fullmatch(part)
            written = f"{LAYOUT}: {{{match[1]}: contiguous!}}" if match is not None else f"{REQUIRES}: {scalar(part)}"
            if _is_requirement(schema, written):
                yield part


def _dispatched(macro: re.Match[str], named: Mapping[str, str]) -> Iterator[str]:
    """What a macro takes, of which all types have names."""
    types, added = DISPATCH_TYPES.get(macro[1], ((), ()))
    names = [name for listed in types for name in _DISPATCHED[listed].split()]
    names += [*added, *[dtype.rpartition("::")[2].removeprefix("k") for dtype in re.findall(r"[\w:]+", macro[2])]]
    if types and macro[3] in named and all(name in TORCH_DTYPES for name in names):
        yield f"{named[macro[3]]}.dtype in [{', '.join([TORCH_DTYPES[name] for name in names])}]"


def _expression(check: str, named: Mapping[str, str]) -> str:
    """A condition of C++ as an expression; empty if it has another meaning there, or none."""
    match = _CONTIGUOUS.fullmatch(check)
    if match is not None:
        return f"{named[match[1]]}.is_contiguous()" if match[1] in named else ""
    text, end = "", 0
    for piece in _PIECE.finditer(check):
        if piece.start() != end:
            return ""
        end = piece.end()
        if piece["member"]:
            word = _MEMBERS.get(piece["member"])
            text += f".{word}" if word is not None else "\n"
        elif piece["name"]:
            dtype = _DTYPE.fullmatch(piece["name"])
            value = TORCH_DTYPES.get(dtype[1]) if dtype is not None else named.get(piece["name"])
            text += _WORDS.get(piece["name"], value or "\n")
        else:
            text += piece["number"] or _WORDS.get(piece["sign"], piece["sign"])
    return text if end == len(check) and "\n" not in text else ""


def _parts(text: str) -> Iterator[str]:
    """The conditions that `and` joins, as far as C++ and Python compute the same."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        # Some Pythons parse what nests too deeply for their printer.
        ast.unparse(tree)
    except PARSE_ERRORS:
        return
    for part in tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]:
        compared = [node for node in ast.walk(part) if isinstance(node, ast.Compare)]
        whole = {id(node.left) for node in compared if _is_divisible(node)}
        remainders = [node for node in ast.walk(part) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)]
        # C++ compares the result of a comparison with the next value, and rounds quotients otherwise.
        if all(len(node.ops) == 1 for node in compared) and all(id(node) in whole for node in remainders):
            yield ast.unparse(part)


def _is_divisible(node: ast.Compare) -> bool:
    """Whether a comparison asks for a multiple of a number, whatever the sign."""
    left, right = node.left, node.comparators[0]
    is_zero = isinstance(right, ast.Constant) and right.value == 0 and isinstance(node.ops[0], (ast.Eq, ast.NotEq))
    divisor = left.right if isinstance(left, ast.BinOp) else None
    return is_zero and isinstance(divisor, ast.Constant) and divisor.value != 0


def _is_requirement(schema: FunctionSchema, text: str) -> bool:
    """Whether an entry with the schema could have a field."""
    sink = Diagnostics()
    node = load_yaml(SourceFile("requirements", text))
    try:
        assert isinstance(node, MappingNode), "the text is a mapping"
        RequirementsLoader(schema, schema, (), sink).load(node)
    except Fault:
        return False
    return not len(sink)
