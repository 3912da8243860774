"""The mutants of a module: each changes one expression or statement as a slip of the hand would."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

Change = tuple[str, ast.AST, str]
"""The name of the operator, the node whose text is replaced, and its new text."""

_COMPARISONS: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.Is: ast.IsNot(),
    ast.IsNot: ast.Is(),
    ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
}
_ARITHMETIC: dict[type[ast.operator], ast.operator] = {
    ast.Add: ast.Sub(),
    ast.Sub: ast.Add(),
    ast.Mult: ast.FloorDiv(),
    ast.FloorDiv: ast.Mult(),
}
#: Nothing that a program does depends on these: checks for mypy, invariants, help, the encoding of a Linux system.
_SKIPPED_NODES = (ast.Assert, ast.Import, ast.ImportFrom, ast.pattern, ast.arg)
_SKIPPED_CALLS = {"AssertionError", "NewType", "NotImplementedError", "TypeVar", "assert_never", "cast", "lazy_module"}
_SKIPPED_KEYWORDS = {"help", "description", "epilog", "metavar", "prog", "encoding", "newline", "strict"}
_SKIPPED_NAMES = {"TYPE_CHECKING", "__all__", "__repr__", "__slots__"}
#: A text with four words in a row, and nothing that only code has, is a message.
_WORDS = re.compile(r"[A-Za-z'`]+,? [a-z'`]+,? [a-z'`]+,? [a-z'`]+")
_CODE = re.compile(r"[;{}<>#]|::|\w\(")


@dataclass(frozen=True)
class Mutant:
    """One change of a module: which kind, its lines before and after, and the lines of the statement that it is in."""

    module: str
    operator: str
    before: str
    after: str
    statement: range
    line: int
    span: tuple[int, int]
    new: str
    #: The whole module before the change.
    original: str = field(repr=False)

    @property
    def key(self) -> tuple[str, str, str]:
        """What identifies the mutant while other lines of the module change."""
        return self.module, self.before.strip(), self.after.strip()

    def text(self) -> str:
        """The whole module with the change."""
        data = self.original.encode()
        return (data[: self.span[0]] + self.new.encode() + data[self.span[1] :]).decode()

    def compiles(self) -> bool:
        """Whether Python accepts the change."""
        try:
            compile(self.text(), self.module, "exec")
        except SyntaxError:
            return False
        return True


class Source:
    """A module that may change: its text as bytes, in which the syntax tree counts columns."""

    def __init__(self, module: str, text: str) -> None:
        self._module = module
        self._text = text
        self._data = text.encode()
        self._starts = [0]
        for line in self._data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._nodes: dict[int, list[tuple[ast.AST, range]]] = {}
        for node, statement in _mutable_nodes(ast.parse(text), range(1, 2)):
            self._nodes.setdefault(getattr(node, "lineno", 1), []).append((node, statement))

    @property
    def lines(self) -> list[int]:
        """The lines where something starts that may change."""
        return sorted(self._nodes)

    def mutants(self, line: int) -> list[Mutant]:
        """The changes of what starts in a line; a few do not compile."""
        mutants = (
            self._mutant(change, statement)
            for node, statement in self._nodes[line]
            for change in _changes(node, self._segment(node))
        )
        return [mutant for mutant in mutants if mutant is not None]

    def _segment(self, node: ast.AST) -> str:
        begin, end = self._span(node)
        return self._data[begin:end].decode()

    def _mutant(self, change: Change, statement: range) -> Mutant | None:
        operator, node, new = change
        begin, end = self._span(node)
        line = getattr(node, "lineno", 1)
        first, last = self._starts[line - 1], self._starts[getattr(node, "end_lineno", line)]
        before = self._data[first:last].decode().rstrip()
        after = (self._data[first:begin] + new.encode() + self._data[end:last]).decode().rstrip()
        if before == after:
            return None
        return Mutant(self._module, operator, before, after, statement, line, (begin, end), new, self._text)

    def _span(self, node: ast.AST) -> tuple[int, int]:
        if not isinstance(node, ast.expr | ast.stmt):
            return 0, 0
        last = node.end_lineno or node.lineno
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[last - 1] + (node.end_col_offset or 0)


def _mutable_nodes(node: ast.AST, statement: range) -> Iterator[tuple[ast.AST, range]]:
    """The nodes that may change, each with the lines of its statement, or of the head of a compound statement."""
    if _is_skipped(node):
        return
    if isinstance(node, ast.stmt):
        body = getattr(node, "body", [])
        end = body[0].lineno - 1 if body else node.end_lineno or node.lineno
        statement = range(node.lineno, max(end, node.lineno) + 1)
    yield node, statement
    if isinstance(node, ast.JoinedStr):
        return  # Before Python 3.12, the parts of an f-string have no places.
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "decorator_list", "ctx"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _mutable_nodes(child, statement)


def _is_skipped(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Constant()):
            return True  # a docstring
        case ast.Call(func=ast.Name(id=name)):
            return name in _SKIPPED_CALLS
        case ast.Raise(exc=ast.Name(id=name)):
            return name in _SKIPPED_CALLS
        case ast.keyword(arg=str(name)):
            return name in _SKIPPED_KEYWORDS
        case ast.If(test=ast.Name(id=name)) | ast.FunctionDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
            return name in _SKIPPED_NAMES
    return isinstance(node, _SKIPPED_NODES)


def _changes(node: ast.AST, segment: str) -> Iterator[Change]:
    """The changes of a node itself; its parts have their own."""
    if isinstance(node, ast.expr):
        yield from _changed_values(node, segment)
        yield from _changed_operators(node)
        if isinstance(node, ast.Call):
            yield from _changed_arguments(node)
    elif isinstance(node, ast.stmt):
        yield from _changed_statements(node)
    for condition in _conditions(node):
        if not isinstance(condition, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Constant):
            yield "condition negated", condition, f"(not {_text(condition)})"


def _changed_values(node: ast.expr, segment: str) -> Iterator[Change]:
    match node:
        case ast.Constant(value=bool(value)):
            yield "boolean negated", node, str(not value)
        case ast.Constant(value=int(value)):
            yield "number + 1", node, str(value + 1)
            if value > 0:
                yield "number - 1", node, str(value - 1)
        case ast.Constant(value=str(value)):
            name = "message" if _is_message(value) else "text"
            yield name, node, _longer(segment)
            if value:
                yield name, node, '""'
        case ast.JoinedStr(values=parts):
            fixed = "".join(str(part.value) if isinstance(part, ast.Constant) else "it" for part in parts)
            yield "message" if _is_message(fixed) else "text", node, _longer(segment)
        case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper)):
            if (lower is None) != (upper is None):
                other = copy.deepcopy(node)
                assert isinstance(other.slice, ast.Slice)
                other.slice.lower = lower or ast.Constant(1)
                other.slice.upper = upper or ast.Constant(-1)
                yield "slice shortened", node, _text(other)


def _longer(literal: str) -> str:
    quotes = 3 if literal.endswith(('"""', "'''")) and len(literal) > 5 else 1
    return f"{literal[:-quotes]}XX{literal[-quotes:]}"


def _is_message(text: str) -> bool:
    return _WORDS.search(text) is not None and _CODE.search(text) is None


def _changed_operators(node: ast.expr) -> Iterator[Change]:
    match node:
        case ast.Compare(left=left, ops=[comparison], comparators=[right]):
            yield "comparison", node, f"({_text(ast.Compare(left, [_COMPARISONS[type(comparison)]], [right]))})"
        case ast.BoolOp(op=operator, values=values):
            other = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield "and/or", node, f"({_text(ast.BoolOp(other, values))})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not removed", node, f"({_text(operand)})"
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _ARITHMETIC:
            if not any(
                isinstance(side, ast.List | ast.Tuple | ast.JoinedStr) or _is_text(side) for side in (left, right)
            ):
                yield "arithmetic", node, f"({_text(ast.BinOp(left, _ARITHMETIC[type(operator)], right))})"


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _changed_arguments(call: ast.Call) -> Iterator[Change]:
    match call.args:
        case [first, second, *rest] if _text(first) != _text(second) and not any(
            isinstance(value, ast.Starred) for value in (first, second)
        ):
            yield "arguments swapped", call, _text(ast.Call(call.func, [second, first, *rest], call.keywords))
    for keyword in call.keywords:
        if keyword.arg is not None and not _is_skipped(keyword):
            others = [other for other in call.keywords if other is not keyword]
            yield "argument omitted", call, _text(ast.Call(call.func, call.args, others))


def _changed_statements(node: ast.stmt) -> Iterator[Change]:
    match node:
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "None returned", node, "return None"
        case ast.Continue():
            yield "continue/break", node, "break"
        case ast.Break():
            yield "continue/break", node, "continue"
        case ast.Expr() | ast.AugAssign() | ast.Delete(targets=[ast.Attribute() | ast.Subscript()]):
            yield "statement deleted", node, "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "statement deleted", node, "pass"
        case ast.If(test=test, body=[ast.Return() | ast.Raise() | ast.Continue() | ast.Break()], orelse=[]):
            yield "guard removed", test, "False"


def _conditions(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            return [test]
        case ast.comprehension(ifs=ifs):
            return ifs
    return []


def _text(node: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(node))
