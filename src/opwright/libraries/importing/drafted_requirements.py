"""Drafts of requirements, from what kernels check before they do anything else.

A condition is drafted if it means the same as an expression over the arguments: sizes, ranks, dtypes, devices and
numbers that are compared. All kernels of the operator have to check it. What else they check stays theirs alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from opwright.dialects.library.requirements import LAYOUT, REQUIRES, RequirementsLoader
from opwright.libraries.importing.registration import RegistrationStatement
from opwright.model.declared_outputs import TORCH_DTYPES
from opwright.model.dispatch_key import META
from opwright.schema.function import FunctionSchema
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.nodes import Mapping as MappingNode
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from opwright.source.yaml_scalar import scalar

#: Methods of tensors that only ask something, as expressions have them.
_MEMBERS: Final = {
    "dim()": "dim()", "ndimension()": "dim()", "numel()": "numel()", "sizes()": "sizes()", "size(": "size(",
    "scalar_type()": "dtype", "dtype()": "dtype", "device()": "device",
}  # fmt: skip
_PIECE: Final = re.compile(
    r" *(?:\.(?P<member>\w+\((?:\))?)|(?P<name>(?:\w+::)*[A-Za-z_]\w*)(?!\w*\()|(?P<number>\d+)[uUlL]*(?![\w.])"
    r"|(?P<sign>==|!=|<=|>=|&&|\|\||[-+*%<>(),]))"
)
_WORDS: Final = {"&&": " and ", "||": " or ", "true": "True", "false": "False"}
_DTYPE: Final = re.compile(r"(?:\w+::)+(?:k|ScalarType::)([A-Z]\w*)")
_CONTIGUOUS: Final = re.compile(r"(\w+)\.is_contiguous\(\)")
#: Types of parameters whose values may be others than those of the arguments.
_NARROW: Final = re.compile(r"\b(?:float|unsigned|size_t|u?int(?:8|16|32)?_t|uint64_t|short|char)\b")


def drafted_requirements(schema: FunctionSchema, rows: Sequence[RegistrationStatement]) -> list[str]:
    """The lines of an entry that say what all kernels of an operator check first; none if they share nothing."""
    kernels = [row for row in rows if row.keys and not row.keys[0].startswith(("Autograd", "Autocast", META.name))]
    checked = [list(_conditions(schema, row)) for row in kernels]
    shared = [text for text in dict.fromkeys(checked[0] if checked else ()) if all(text in own for own in checked)]
    contiguous = [match[1] for text in shared if (match := _CONTIGUOUS.fullmatch(text)) is not None]
    conditions = [text for text in shared if _CONTIGUOUS.fullmatch(text) is None]
    layouts = ", ".join([f"{name}: contiguous!" for name in contiguous])
    lines = [f"{LAYOUT}: {{{layouts}}}"] if contiguous else []
    return [*lines, *([f"{REQUIRES}:", *[f"- {scalar(text)}" for text in conditions]] if conditions else [])]


def _conditions(schema: FunctionSchema, row: RegistrationStatement) -> Iterator[str]:
    """What a kernel checks, as expressions over the arguments of the schema."""
    arguments = [argument.name for argument in schema.arguments.all]
    if len(arguments) != len(row.names):
        return
    named = {
        name: argument
        for name, argument, type in zip(row.names, arguments, row.parameters, strict=True)
        if not _NARROW.search(type)
    }
    for check in row.checks:
        text = _expression(check, named)
        for part in _parts(text) if text else ():
            match = _CONTIGUOUS.fullmatch(part)
            written = f"{LAYOUT}: {{{match[1]}: contiguous!}}" if match is not None else f"{REQUIRES}: {scalar(part)}"
            if _is_requirement(schema, written):
                yield part


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
    except SyntaxError:
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
