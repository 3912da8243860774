"""Reads the expressions of declared outputs: text to a Python syntax tree whose nodes have spans in the file."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from opwright.dialects.python_source import node_span
from opwright.libraries import library_codes
from opwright.libraries.declared_outputs import OutputOperation, ValueKind
from opwright.source.diagnostic import Fault
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode
from opwright.source.records import NamedTuple
from opwright.source.span import Span
from opwright.source.text import SourceFile

#: The most characters of an expression, and how deep its parts may nest.
_LONGEST: Final = 1_000
DEEPEST: Final = 40

#: Signs of C++, and what stands for them in expressions.
_OF_CPP: Final = {
    "&&": "write `and`",
    "&": "write `and`",
    "||": "write `or`",
    "|": "write `or`",
    "?": "write `A if CONDITION else B`",
    ";": "delete it: an expression has no end",
    '"': "only numbers, dtypes and arguments are compared",
}
_NEGATION: Final = re.compile(r"!(?!=)")
_FORBIDDEN: Final = re.compile(r"[^\w\s.,()\[\]+\-*/%<>=!:]", re.ASCII)
_BRACKET: Final = re.compile(r"[()\[\]]")
_CLOSING: Final = {"(": ")", "[": "]"}

# Python ends an expression at a line break unless it is in brackets.
_BEFORE: Final = "(\n"
_AFTER: Final = "\n)"


class ExpressionText(NamedTuple):
    """Text of an expression, its span, and a function that maps a part of it to the file."""

    text: str
    span: Span
    span_of: Callable[[int, int], Span]

    @staticmethod
    def of_scalar(scalar: Scalar) -> ExpressionText:
        """Expression that is the value of a YAML scalar."""
        text = scalar.value
        return ExpressionText(text, scalar.span_of(0, len(text)) if text else scalar.span, scalar.span_of)


class ParsedExpression(NamedTuple):
    """Syntax tree of an expression, which may use more of Python than the language has.

    `wrapped` is the text that Python parsed.
    """

    tree: ast.expr
    source: ExpressionText
    wrapped: SourceFile

    def span(self, node: ast.expr) -> Span:
        """Span of a part of the expression in the file."""
        part = node_span(self.wrapped, node)
        return self.source.span_of(part.start - len(_BEFORE), part.end - len(_BEFORE))

    def text(self, node: ast.expr) -> str:
        """A part of the expression as it is written."""
        return node_span(self.wrapped, node).text


def bracketed_text(node: SequenceNode) -> ExpressionText | None:
    """A YAML list in brackets as the text of an expression; None if it has mappings or quoted items.

    YAML would break `[max(a, b), c]` at each comma. The expression is therefore read from the text of the file.
    """
    span = node.span
    if not span.text.startswith("[") or not _is_plain(node):
        return None
    return ExpressionText(span.text, span, span.part)


def _is_plain(node: SequenceNode) -> bool:
    return all(
        not item.style if isinstance(item, Scalar) else isinstance(item, SequenceNode) and _is_plain(item)
        for item in node.items
    )


def joined_entries(mapping: MappingNode) -> MappingNode:
    """A mapping with calls as values, which YAML breaks at commas: `{size: broadcast(self, other)}`.

    A plain value with an open bracket continues through the keys without values that follow it.
    """
    if not mapping.span.text.startswith("{"):
        return mapping
    entries: list[tuple[Scalar, Node]] = []
    for key, value in mapping.entries:
        last = entries[-1][1] if entries else None
        if isinstance(last, Scalar) and _is_open(last) and isinstance(value, Scalar) and value.kind == "null":
            text = mapping.file.text[last.start : key.end]
            entries[-1] = entries[-1][0], Scalar(mapping.file, last.start, key.end, text)
        else:
            entries.append((key, value))
    return mapping.replace(entries=entries)


def _is_open(scalar: Scalar) -> bool:
    return not scalar.style and scalar.value.count("(") > scalar.value.count(")")


def parse_expression(source: ExpressionText, *, allows_braces: bool = False) -> ParsedExpression:
    """Syntax tree of an expression, in which arguments may stand in braces. Raises Fault (E1150) if it is not one.

    >>> span = Span(SourceFile("ops.yaml", "self.size(0) + 1"), 0, 16)
    >>> parsed = parse_expression(ExpressionText(span.text, span, span.part))
    >>> ast.dump(parsed.tree.op), parsed.span(parsed.tree.left).text
    ('Add()', 'self.size(0)')
    """
    _check_characters(source, allows_braces=allows_braces)
    wrapped = SourceFile("expression", f"{_BEFORE}{source.text}{_AFTER}")
    try:
        with warnings.catch_warnings():
            # Python warns about code such as `1 is 2`, which is reported as a wrong type.
            warnings.simplefilter("ignore")
            tree = ast.parse(wrapped.text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _syntax_fault(source, wrapped, error) from None
    if _is_deep(tree):
        raise Fault.at(library_codes.OUTPUT_SYNTAX, "the expression nests too deeply", source.span)
    return ParsedExpression(tree, source, wrapped)


def normal_expression(text: str) -> str:
    """An expression with the blanks and without the brackets that Python's own printer would have; numbers stay.

    >>> normal_expression("(h %2)==0 and  x.size( dim=-1 )>1e-6")
    'h % 2 == 0 and x.size(dim=-1) > 1e-6'
    >>> normal_expression("this is none")
    'this is none'
    """
    numbers: list[str] = []

    def named(number: re.Match[str]) -> str:
        numbers.append(number[0])
        return f"number_{len(numbers) - 1}_"

    if len(text) > _LONGEST:
        return text
    try:
        # Some Pythons parse what nests too deeply for their printer.
        tree = ast.parse(_NUMBER.sub(named, text.strip()), mode="eval")
        if _is_deep(tree.body):
            return text
        return re.sub(r"\bnumber_(\d+)_\b", lambda name: numbers[int(name[1])], ast.unparse(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text


_NUMBER: Final = re.compile(r"(?<![\w.])(?:0[xXoObB]\w+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?[\d_]+)?)")


def _check_characters(source: ExpressionText, *, allows_braces: bool) -> None:
    """Raises Fault if the text is empty or too long, has other characters than expressions, or unmatched brackets."""
    text = source.text
    if not text.strip():
        raise Fault.at(library_codes.OUTPUT_SYNTAX, "the expression is empty", source.span)
    if len(text) > _LONGEST:
        raise Fault.at(
            library_codes.OUTPUT_SYNTAX, f"the expression has more than {_LONGEST:,} characters", source.span
        )
    plain = text.replace("{", "(").replace("}", ")") if allows_braces else text
    forbidden = _FORBIDDEN.search(plain)
    if forbidden is not None:
        message = f"`{forbidden[0]}` is not part of an expression"
        help = next((help for text, help in _OF_CPP.items() if plain.startswith(text, forbidden.start())), "")
        raise Fault.at(library_codes.OUTPUT_SYNTAX, message, source.span_of(*forbidden.span()), help=help)
    opened: list[re.Match[str]] = []
    for bracket in _BRACKET.finditer(text):
        if bracket[0] in _CLOSING:
            opened.append(bracket)
        elif not opened or _CLOSING[opened.pop()[0]] != bracket[0]:
            message = f"`{bracket[0]}` closes nothing"
            raise Fault.at(library_codes.OUTPUT_SYNTAX, message, source.span_of(*bracket.span()))
    if opened:
        message = f"`{opened[-1][0]}` is never closed"
        raise Fault.at(library_codes.OUTPUT_SYNTAX, message, source.span_of(*opened[-1].span()))


def _syntax_fault(source: ExpressionText, wrapped: SourceFile, error: BaseException) -> Fault:
    at, help = source.span, ""
    negation = _NEGATION.search(source.text)
    if negation is not None:
        at, help = source.span_of(*negation.span()), "write `not`"
    elif isinstance(error, SyntaxError) and error.lineno is not None and error.offset is not None:
        start = wrapped.offset(min(error.lineno, wrapped.line_count), max(error.offset, 1)) - len(_BEFORE)
        if 0 <= start < len(source.text):
            at = source.span_of(start, start + 1)
    return Fault.at(library_codes.OUTPUT_SYNTAX, "this is not an expression", at, help=help)


def _is_deep(tree: ast.expr) -> bool:
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


#: The function that stands for a whole output; it is no part of a larger expression.
LIKE: Final = "like"


class FunctionParameter(NamedTuple):
    """One parameter: the kinds that it takes, the text of its default, and whether it takes None or any number."""

    name: str
    kinds: tuple[ValueKind, ...]
    default: str | None = None
    takes_none: bool = False
    is_repeated: bool = False

    def __str__(self) -> str:
        if self.is_repeated:
            return f"{self.name}, ..."
        return self.name if self.default is None else f"{self.name}={self.default}"


class Function(NamedTuple):
    """A function: its parameters and result, what it does, and a sentence for the documentation.

    A result of None is an integer if all arguments are integers, else a size.
    """

    name: str
    parameters: tuple[FunctionParameter, ...]
    result: ValueKind | None
    operation: OutputOperation
    help: str

    @property
    def signature(self) -> str:
        """Parameters as they are written: `(sizes, dim, keepdim=False)`."""
        return f"({', '.join(map(str, self.parameters))})"


class TensorMember(NamedTuple):
    """A member of tensors: whether it is called, and with how many dimensions at most."""

    name: str
    is_called: bool
    result: ValueKind
    operation: OutputOperation
    help: str


_INTEGER: Final = (ValueKind.integer,)
_NUMBERS: Final = (ValueKind.integer, ValueKind.size)
_SHAPES: Final = (ValueKind.tensor, ValueKind.sizes, ValueKind.integers)
_LISTS: Final = (ValueKind.sizes, ValueKind.integers, ValueKind.tensors, ValueKind.items)
_PROMOTED: Final = (
    *(ValueKind.tensor, ValueKind.tensors, ValueKind.dtype, ValueKind.number, ValueKind.integer, ValueKind.boolean),
)

#: The kinds that an expression may have where a value of the key is needed: an integer can be used as a size.
ACCEPTED_KINDS: Final[Mapping[ValueKind, tuple[ValueKind, ...]]] = {
    ValueKind.size: _NUMBERS,
    ValueKind.sizes: (ValueKind.sizes, ValueKind.integers),
}

FUNCTIONS: Final[Mapping[str, Function]] = {
    function.name: function
    for function in (
        Function(
            "broadcast",
            (FunctionParameter("shapes", _SHAPES, is_repeated=True),),
            ValueKind.sizes,
            OutputOperation.broadcast,
            "The sizes to which tensors or lists of sizes broadcast.",
        ),
        Function(
            "reduce",
            (
                FunctionParameter("shape", _SHAPES),
                FunctionParameter("dim", (ValueKind.integer, ValueKind.integers), takes_none=True),
                FunctionParameter("keepdim", (ValueKind.boolean,), "False"),
            ),
            ValueKind.sizes,
            OutputOperation.reduce,
            "The sizes without the dimensions `dim`, or with 1 in their place; all of them if `dim` is None or empty.",
        ),
        Function(
            "cat",
            (FunctionParameter("tensors", (ValueKind.tensors,)), FunctionParameter("dim", _INTEGER, "0")),
            ValueKind.sizes,
            OutputOperation.cat,
            "The sizes of tensors joined along a dimension.",
        ),
        Function(
            "promote",
            (FunctionParameter("values", _PROMOTED, is_repeated=True),),
            ValueKind.dtype,
            OutputOperation.promote,
            "The dtype to which tensors, dtypes and numbers promote, as in `torch.result_type`.",
        ),
        Function(
            "len",
            (FunctionParameter("list", _LISTS),),
            ValueKind.integer,
            OutputOperation.length,
            "The number of items.",
        ),
        Function(
            "max",
            (FunctionParameter("values", _NUMBERS, is_repeated=True),),
            None,
            OutputOperation.maximum,
            "The largest of integers.",
        ),
        Function(
            "min",
            (FunctionParameter("values", _NUMBERS, is_repeated=True),),
            None,
            OutputOperation.minimum,
            "The smallest of integers.",
        ),
        Function(
            "power_of_two",
            (FunctionParameter("value", _NUMBERS),),
            ValueKind.boolean,
            OutputOperation.power_of_two,
            "Whether an integer is a power of two.",
        ),
        Function(
            "dynamic",
            (FunctionParameter("max", _NUMBERS, "None", takes_none=True), FunctionParameter("min", _INTEGER, "0")),
            ValueKind.size,
            OutputOperation.dynamic,
            "A size that depends on the values of tensors, see [below](#sizes-that-depend-on-values).",
        ),
    )
}

MEMBERS: Final[Mapping[str, TensorMember]] = {
    member.name: member
    for member in (
        TensorMember("size", True, ValueKind.size, OutputOperation.size, "The size of a dimension: `self.size(-1)`."),
        TensorMember("sizes", True, ValueKind.sizes, OutputOperation.sizes, "All sizes."),
        TensorMember("shape", False, ValueKind.sizes, OutputOperation.sizes, "All sizes, as in Python."),
        TensorMember("dim", True, ValueKind.integer, OutputOperation.dim, "The number of dimensions."),
        TensorMember("numel", True, ValueKind.size, OutputOperation.numel, "The number of elements."),
        TensorMember("dtype", False, ValueKind.dtype, OutputOperation.dtype_of, "The dtype."),
        TensorMember("device", False, ValueKind.device, OutputOperation.device_of, "The device."),
    )
}


def free_names(tree: ast.expr) -> Iterator[ast.Name]:
    """Names that are no arguments in braces and no functions."""
    if isinstance(tree, ast.Set):
        return
    if isinstance(tree, ast.Name):
        yield tree
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.expr) and not (isinstance(tree, ast.Call) and child is tree.func):
            yield from free_names(child)
        elif isinstance(tree, ast.Call) and isinstance(child, ast.Attribute):
            yield from free_names(child.value)
