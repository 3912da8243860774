"""Formulas as C++ expressions: whether they are whole, and whether the names and functions in them exist.

A parser of C++ decides, but not for each formula of each run: nearly all are made of words that are known and signs
that stand where they may, which is seen at a glance. Only what looks unusual is parsed, or everything where a check is
asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from opwright.load import derivative_codes as codes
from opwright.load.formulas import words_of
from opwright.model.catalog import Catalog
from opwright.release.tables import formula_helpers
from opwright.source.diagnostic import Diagnostic, Diagnostics, Label, Severity, did_you_mean
from opwright.source.nodes import Scalar

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

#: Words of C++ and of the headers that generated files include, and members of the types that occur in formulas.
_COMMON: Final = frozenset(
    (
        "and", "ArrayRef", "at", "auto", "back", "bool", "c10", "const", "Contiguous", "data", "defined", "device",
        "double", "dtype", "empty", "false", "first", "float", "front", "get", "get_nested_sizes",
        "get_nested_tensor_impl", "GradMode", "has_value", "i", "int", "int64_t", "IntArrayRef", "is_complex",
        "is_cpu", "is_cuda", "is_enabled", "is_mkldnn", "is_mps", "is_sparse", "is_xpu", "isComplex",
        "isFloatingPoint", "kJagged", "Layout", "layout", "make_tuple", "MemoryFormat", "move", "native", "None",
        "not", "nullopt", "nullptr", "optional", "OptionalArrayRef", "options", "or", "Reduction", "requires_grad",
        "return", "Scalar", "scalar_type", "ScalarType", "second", "size", "size_t", "sizes", "static_cast", "std",
        "suggest_memory_format", "sum_to", "sym_blocksize", "sym_size", "sym_sizes", "sym_strides", "SymInt",
        "symint", "SymIntArrayRef", "Tensor", "TensorGeometry", "TensorList", "this", "toComplexDouble", "toDouble",
        "toFloat", "toInt", "true", "tuple", "type", "value", "value_or", "vec", "vector",
    )
)  # fmt: skip

#: Names that hold in every formula.
_ALWAYS: Final = frozenset(("grad_input_mask", "retain_variables", "true", "false", "nullptr", "this", "_"))
_CONSTANTS: Final = frozenset(
    (
        "INFINITY", "M_1_PI", "M_2_PI", "M_2_SQRTPI", "M_E", "M_LN10", "M_LN2", "M_LOG10E", "M_LOG2E", "M_PI",
        "M_PI_2", "M_PI_4", "M_SQRT1_2", "M_SQRT2", "NAN", "kCudnnDoubleBackwardMsg",
    )
)  # fmt: skip

#: Strings and comments, whose text is no part of the expression.
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"|/\*.*?\*/', re.DOTALL)
_LAMBDA: Final = re.compile(r"\[\]\([^()]*\)\{return ([^;{}]*);\}")
#: What no expression starts with, ends with, or has inside, blanks aside.
_NO_START: Final = ("*/", "/", "%", ",", "=", ".", ")", "]")
_NO_END: Final = ("-", "+", "*", "/", "%", ",", "&", "|", "=", "<", ".", "!", "(", "[", ";")
_NOWHERE: Final = (
    ",,", "(,", ",)", ",]", "*)", "/)", "+)", "-)", "%)", "*/", "//", "%%", "(/", "(%", "(=", ",/", ",=", "..",
    ".(", ";",
)  # fmt: skip
_TWO_VALUES: Final = re.compile(r"[\w)\]]\s+[\w(]")
_BRACKETS: Final = {")": "(", "]": "[", "}": "{"}
_LEAD: Final = b"auto _ = "


class FormulaScope(NamedTuple):
    """The names that a formula can use beside functions: those of its own function, and all gradients."""

    function: str
    names: frozenset[str]


class FormulaChecker:
    """Checks formulas one by one. What the reference would let pass is a warning, in a strict run an error."""

    __slots__ = ("_functions", "_is_strict", "_known", "_parser", "_sink")

    def __init__(self, catalog: Catalog, sink: Diagnostics, *, strict: bool = False) -> None:
        operators = {function.name.name for function in catalog.functions}
        self._functions: Final = operators.union(formula_helpers())
        self._known: Final = self._functions.union(_COMMON, _CONSTANTS, _ALWAYS)
        self._is_strict: Final = strict
        self._sink: Final = sink
        self._parser: Parser | None = None

    def check(self, scalar: Scalar, words: frozenset[str], scope: FormulaScope) -> None:
        """Checks a formula whose words are given."""
        text = scalar.value
        if not self._is_strict and not self._looks_unusual(text, words, scope):
            return
        fault = bracket_fault(text)
        if fault is not None:
            start, other, message = fault
            also = () if other is None else (Label(scalar.span_of(other, other + 1), "opened here", primary=False),)
            self._report(codes.BAD_EXPRESSION, message, scalar, (start, start + 1), also=also)
            return
        self._check_parsed(scalar, scope)

    def _looks_unusual(self, text: str, words: frozenset[str], scope: FormulaScope) -> bool:
        if '"' in text or "/*" in text or "{" in text:
            text = _LAMBDA.sub(r"(\1)", _QUOTED.sub('""', text))
            words = words_of(text)
        unknown = words - self._known - scope.names
        if unknown and any(not self._is_number_or_symbolic(word) for word in unknown):
            return True
        if text.count("(") != text.count(")") or text.count("[") != text.count("]"):
            return True
        return _has_unusual_signs(text)

    def _is_number_or_symbolic(self, word: str) -> bool:
        return word[0].isdigit() or (word.endswith("_symint") and word[:-7] in self._functions)

    def _check_parsed(self, scalar: Scalar, scope: FormulaScope) -> None:
        source = _LEAD + scalar.value.encode("utf-8", "surrogatepass") + b";"
        tree = self._tree_parser().parse(source)
        root = tree.root_node
        if root.has_error:
            start, end = _error_range(root, source)
            self._report(codes.BAD_EXPRESSION, "the formula is not a C++ expression", scalar, (start, end))
            return
        declared = _declared_names(root)
        told: set[str] = set()
        for node in _identifiers(root):
            name = _text(node)
            if name in told or name in declared:
                continue
            found = self._name_fault(node, name, scope)
            if found is not None:
                told.add(name)
                code, message, help = found
                self._report(code, message, scalar, _range(node, source), help=help)

    def _name_fault(self, node: Node, name: str, scope: FormulaScope) -> tuple[str, str, str] | None:
        """What is wrong with a name: code, message, and how to mend it."""
        parent = node.parent
        if parent is None:
            return None
        if parent.type == "qualified_identifier":
            if _text(parent) != f"at::{name}" or not _is_called(parent) or self._is_function(name):
                return None
            message = f"there is no function `at::{name}`"
            return codes.UNKNOWN_FUNCTION, message, did_you_mean(name, sorted(self._functions))
        if parent.type in ("template_function", "template_method"):
            return None
        if _is_called(node):
            if name in scope.names or self._is_function(name):
                return None
            message = f"there is no function `{name}` that formulas can call"
            return codes.UNKNOWN_FUNCTION, message, did_you_mean(name, sorted(self._functions))
        if name in scope.names or name in _ALWAYS or name in _CONSTANTS:
            return None
        message = f"`{name}` is no argument, result or gradient of `{scope.function}`"
        return codes.UNKNOWN_NAME, message, did_you_mean(name, sorted(scope.names | _ALWAYS))

    def _is_function(self, name: str) -> bool:
        return name in self._known or (name.endswith("_symint") and name[:-7] in self._functions)

    def _tree_parser(self) -> Parser:
        if self._parser is None:
            # Loading the grammar takes longer than checking all formulas at a glance.
            import tree_sitter_cpp
            from tree_sitter import Language, Parser

            self._parser = Parser(Language(tree_sitter_cpp.language()))
        return self._parser

    def _report(
        self,
        code: str,
        message: str,
        scalar: Scalar,
        part: tuple[int, int],
        *,
        help: str = "",
        also: tuple[Label, ...] = (),
    ) -> None:
        severity = Severity.ERROR if self._is_strict else Severity.WARNING
        labels = (Label(scalar.span_of(*part)), *also)
        self._sink.add(Diagnostic(code, severity, message, labels, (), help))


def _has_unusual_signs(text: str) -> bool:
    """Whether signs stand where no expression has them, or two values in a row. Scans for each are quick."""
    packed = text.replace(" ", "")
    if not packed or packed.startswith(_NO_START) or packed.endswith(_NO_END):
        return True
    return any(map(packed.__contains__, _NOWHERE)) or _TWO_VALUES.search(text) is not None


def bracket_fault(text: str) -> tuple[int, int | None, str] | None:
    """Where brackets do not match: the place, the place of the bracket that it is held against, and what is wrong.

    >>> bracket_fault("grad * (self.sgn()")
    (7, None, '`(` is never closed')
    >>> bracket_fault("f(grad]")
    (6, 1, '`]` closes `(`')
    """
    opened: list[int] = []
    quoted = [match.span() for match in _QUOTED.finditer(text)]
    for place, character in enumerate(text):
        if character not in "()[]{}" or any(start <= place < end for start, end in quoted):
            continue
        if character in "([{":
            opened.append(place)
        elif not opened:
            return place, None, f"`{character}` closes nothing"
        elif text[opened[-1]] != _BRACKETS[character]:
            return place, opened[-1], f"`{character}` closes `{text[opened[-1]]}`"
        else:
            opened.pop()
    return (opened[-1], None, f"`{text[opened[-1]]}` is never closed") if opened else None


def _walk(root: Node) -> Iterator[Node]:
    """All nodes of a tree, in the order of the text; without recursion, since a formula may nest deeply."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def _identifiers(root: Node) -> Iterator[Node]:
    return (node for node in _walk(root) if node.type == "identifier")


def _declared_names(root: Node) -> frozenset[str]:
    """The names that a formula declares itself: parameters and variables of lambdas."""
    return frozenset(
        _text(inner)
        for node in _walk(root)
        if node.type in ("parameter_declaration", "init_declarator", "for_range_loop")
        for inner in [node.child_by_field_name("declarator")]
        if inner is not None and inner.type == "identifier"
    )


def _is_called(node: Node) -> bool:
    parent = node.parent
    if parent is None or parent.type != "call_expression":
        return False
    function = parent.child_by_field_name("function")
    return function is not None and function.id == node.id


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _range(node: Node, source: bytes) -> tuple[int, int]:
    """The characters of the formula that a node covers."""
    before = len(source[len(_LEAD) : node.start_byte].decode("utf-8", "replace"))
    return before, before + len(_text(node))


def _error_range(root: Node, source: bytes) -> tuple[int, int]:
    """The characters that the parser could make nothing of; the end of the formula where something is missing there."""
    end = len(source[len(_LEAD) : -1].decode("utf-8", "replace"))
    for node in _walk(root):
        if node.type == "ERROR" or node.is_missing:
            start, stop = _range(node, source)
            if node.type == "ERROR" and node.start_byte < len(_LEAD):
                continue
            return min(start, max(end - 1, 0)), min(max(stop, start + 1), end)
    return 0, end


__all__ = ["FormulaChecker", "FormulaScope", "bracket_fault"]
