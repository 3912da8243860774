"""Checks formulas as C++ expressions: that they are complete, and that the names and functions in them exist.

A C++ parser decides, but only for unusual formulas. Nearly all formulas contain only known words and have the shape of
an expression, which can be checked without the parser. A strict run parses all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from opwright.dialects.derivatives.formula_helpers import FormulaHelpers, HelperDeclaration
from opwright.dialects.derivatives.formula_shapes import (
    LAMBDA,
    LEAD,
    QUOTED,
    QUOTED_OR_SIGN,
    formula_parser,
    is_plain_expression,
    range_of,
    source_of,
    text_of,
    walk,
)
from opwright.model.catalog import Catalog
from opwright.model.derivatives import words_of
from opwright.model.library import PYTORCH
from opwright.release.operator_names.autograd import WITH_SYMBOLIC_FORM
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Fault, Label, Suggestion, did_you_mean
from opwright.source.lazy import lazy_pattern
from opwright.source.nodes import Scalar, quoted_scalar
from opwright.source.records import NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node

#: Words of C++ and of the included headers, and members of the types in formulas.
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

#: Names that every formula can use.
_ALWAYS: Final = frozenset(
    (
        "grad_input_mask", "retain_variables", "true", "false", "nullptr", "this", "_", "__FILE__", "__LINE__",
        "C10_AS_INTARRAYREF_SLOW", "C10_AS_INTARRAYREF_SLOW_ALLOC",
    )
)  # fmt: skip
#: Public methods of `TensorBase` and `Tensor` that are no operators; those of scalars, lists and options.
_MEMBERS: Final = frozenset(
    (
        "accessor", "at", "begin", "const_data_ptr", "contiguous", "cpu", "cuda", "data", "data_ptr", "defined",
        "device", "device_opt", "dim", "dtype", "dtype_opt", "element_size", "end", "equal", "expect_contiguous",
        "expect_int", "generic_packed_accessor", "getIntrusivePtr", "get_device", "grad", "grad_fn", "guard_int",
        "has_names", "has_storage", "hip", "index", "index_put_", "isBoolean", "isComplexType", "isFloatingType",
        "isIntegral", "isSignedType", "isSymbolic", "is_alias_of", "is_contiguous", "is_cpu", "is_cuda",
        "is_floating_point", "is_hpu", "is_inference", "is_ipu", "is_lazy", "is_leaf", "is_maia", "is_meta", "is_metal",
        "is_mkldnn", "is_mps", "is_mtia", "is_neg", "is_nested", "is_non_overlapping_and_dense", "is_quantized",
        "is_same", "is_sparse", "is_sparse_csr", "is_symbolic", "is_undefined", "is_variable", "is_vulkan", "is_xla",
        "is_xpu", "item", "itemsize", "key_set", "layout", "layout_opt", "maybe_as_int", "memory_format_opt", "meta",
        "mutable_data_ptr", "name", "names", "nbytes", "ndimension", "numel", "opt_names", "options", "output_nr",
        "packed_accessor32", "packed_accessor64", "pinned_memory", "push_back", "quantizer", "requires_grad",
        "requires_grad_", "reserve", "reset", "retain_grad", "scalar_type", "set_data", "set_requires_grad", "size",
        "sizes", "slice", "storage", "storage_offset", "stride", "strides", "suggest_memory_format",
        "sym_is_contiguous", "sym_nbytes", "sym_numel", "sym_size", "sym_sizes", "sym_storage_offset", "sym_stride",
        "sym_strides", "tensor_data", "to", "toBool", "toComplexDouble", "toComplexFloat", "toDouble", "toFloat",
        "toLong", "toString", "toSymBool", "toSymFloat", "toSymInt", "toBackend", "unsafeGetTensorImpl", "use_count",
        "value", "variable_data", "vec", "vulkan",
    )
)  # fmt: skip

#: Attributes of tensors in Python, each with what C++ says instead.
_OF_PYTHON: Final = {
    "shape": "write `sym_sizes()`, or `sym_size(0)` for one of them",
    "ndim": "write `dim()`",
    "T": "write `t()`",
    "mT": "write `transpose(-2, -1)`",
}
#: The constants of <cmath>.
MATH_CONSTANTS: Final = {
    "M_1_PI": 1 / math.pi,
    "M_2_PI": 2 / math.pi,
    "M_2_SQRTPI": 2 / math.sqrt(math.pi),
    "M_E": math.e,
    "M_LN10": math.log(10),
    "M_LN2": math.log(2),
    "M_LOG10E": math.log10(math.e),
    "M_LOG2E": math.log2(math.e),
    "M_PI": math.pi,
    "M_PI_2": math.pi / 2,
    "M_PI_4": math.pi / 4,
    "M_SQRT1_2": math.sqrt(0.5),
    "M_SQRT2": math.sqrt(2),
}
_CONSTANTS: Final = frozenset((*MATH_CONSTANTS, "INFINITY", "NAN", "kCudnnDoubleBackwardMsg"))

_CALL_OR_BRACKET: Final = lazy_pattern(r"(?:(?<![\w.:>])((?:\w+::)*\w+)\s*)?\(|[)\[\]{},]")
_BRACKETS: Final = {")": "(", "]": "[", "}": "{"}
#: A call of an operator that passes symbolic integers, in no call among its arguments. What is made a plain number, or
#: compared, is none.
_SYMBOLIC_CALL: Final = lazy_pattern(
    r"(?:\.|->|\bat::)(\w+)\((?:[^()]|\([^()]*\))*?\bsym_(?:sizes|strides|size|stride|numel|storage_offset)\("
    r"(?!(?:[^()]|\([^()]*\))*\)(?:\s*\[[^\]]*\])?"
    r"\s*(?:\.\s*(?:guard_int|expect_int|maybe_as_int|size|empty|equals)\s*\(|[=!<>]=|[<>]))"
)
#: What stands before `::`.
_SCOPES: Final = lazy_pattern(r"\b(\w+)::")
_CONDITIONAL: Final = lazy_pattern(r"(.+?) if (.+) else (.+)")


class FormulaScope(NamedTuple):
    """Names that a formula can use besides functions: those of its own function, and all gradients.

    `kinds` says in words what the names are. `instead` are the words that can stand in place of a formula.
    """

    function: str
    names: frozenset[str]
    kinds: str = "argument, result or gradient"
    instead: tuple[str, ...] = ()


class FormulaChecker:
    """Checks formulas one by one.

    What cannot compile is an error. Unknown names may be declared in headers that Opwright does not read, so they are a
    warning, or an error in a strict run. If the code of formulas includes no headers but PyTorch's (`closed`), unknown
    names that are no macros are an error too. Without a catalog, no operators are known.
    """

    def __init__(
        self,
        catalog: Catalog | None,
        helpers: FormulaHelpers,
        sink: Diagnostics,
        *,
        strict: bool = False,
        closed: bool = False,
    ) -> None:
        functions = () if catalog is None else catalog.functions
        operators = {function.name.name for function in functions}
        #: Operators with a form for symbolic integers, which has a name of its own.
        symbolic = [function.name.name for function in functions if function.schema.has_symint]
        is_whole = bool(functions) and functions[0].library.in_libtorch
        self._symbolic: Final = frozenset(symbolic) if is_whole else WITH_SYMBOLIC_FORM.in_any_release
        #: The C++ namespaces whose functions are known.
        self._apis: Final = {PYTORCH.api, *[function.library.api for function in functions[:1]]}
        self._may_lack: Final[Callable[[str], bool]] = (lambda _: False) if catalog is None else catalog.may_lack
        self._functions: Final = operators.union(helpers.names)
        self._known: Final = self._functions.union(_COMMON, _CONSTANTS, _ALWAYS)
        # If a helper is named like an operator of PyTorch's, the call may mean the operator.
        meant = operators if functions and functions[0].library.in_libtorch else ()
        self._declarations: Final = {
            name: overloads for name, overloads in helpers.declarations.items() if name not in meant
        }
        #: The names of what is declared, without namespaces.
        self._declared: Final = frozenset([name.rpartition("::")[2] for name in self._declarations])
        self._knows_all: Final = helpers.are_all
        self._is_strict: Final = strict
        self._is_closed: Final = closed
        self._has_noted_parser = False
        self.sink: Final = sink
        self.doubt: Final = sink.error if strict else sink.warning
        """Reports what may be right after all."""
        self.trusts = False
        """Whether formulas are right, because an earlier run has checked them."""

    def check(self, scalar: Scalar, words: frozenset[str], scope: FormulaScope) -> None:
        """Checks a formula whose words are given."""
        text = scalar.value
        power = text.find("**")
        if power >= 0:
            at, help = scalar.span_of(power, power + 2), "write `x.pow(2)`"
            self.sink.error(codes.BAD_EXPRESSION, "C++ has no operator `**`", at, help=help)
            return
        if "//" in text and (start := _last_comment(text)) is not None:
            at, help = scalar.span_of(start, len(text)), "comments of YAML begin with `#`"
            self.sink.error(codes.BAD_EXPRESSION, "this comment hides the C++ that follows a formula", at, help=help)
            return
        if self.trusts:
            return
        if "sym_s" in text or "sym_n" in text:
            self._check_symbolic(scalar)
        if not self._is_strict and self._is_sound(text, words, scope):
            return
        source = source_of(text)
        root = self._parse(scalar, source)
        if root is not None:
            self._check_names(root, scalar, source, scope)

    def _check_symbolic(self, scalar: Scalar) -> None:
        """Reports calls that pass symbolic integers to the form of an operator that takes plain ones."""
        for match in _SYMBOLIC_CALL.finditer(scalar.value):
            name = match.group(1)
            if name in self._symbolic:
                message = f"`{name}` takes no symbolic integers"
                self.doubt(
                    codes.UNKNOWN_FUNCTION, message, scalar.span_of(*match.span(1)), help=f"write `{name}_symint`"
                )

    def check_expression(self, scalar: Scalar) -> None:
        """Checks that a text is an expression, without checking its names."""
        if not self.trusts and not is_plain_expression(scalar.value):
            self._parse(scalar, source_of(scalar.value))

    def _is_sound(self, text: str, words: frozenset[str], scope: FormulaScope) -> bool:
        """Whether a formula is certainly right; False means that the parser must check it."""
        unknown = words - self._known - scope.names
        if unknown and any(map(self._is_unknown, unknown)):
            # Strings, comments and parameters of lambdas contain words too.
            words = words_of(LAMBDA.sub(r"(\1)", QUOTED.sub(" ", text)))
            if any(map(self._is_unknown, words - self._known - scope.names)):
                return False
        if not is_plain_expression(text) or ("::" in text and not scope.names.isdisjoint(_SCOPES.findall(text))):
            return False
        if self._declared.isdisjoint(words):
            return True
        return all(self._takes(name, count) for name, count in argument_counts(text) if name in self._declarations)

    def _takes(self, name: str, count: int) -> bool:
        """Whether a declaration of a helper takes this number of arguments."""
        return any(overload.takes(count) for overload in self._declarations[name])

    def _is_unknown(self, word: str) -> bool:
        return not (word[0].isdigit() or (word.endswith("_symint") and word[:-7] in self._functions))

    def _parse(self, scalar: Scalar, source: bytes) -> Node | None:
        """Syntax tree of an expression; None if the text is not one, which is reported."""
        fault = sign_fault(scalar.value)
        if fault is not None:
            start, other, message, help = fault
            also = () if other is None else (Label(scalar.span_of(other, other + 1), "opened here", primary=False),)
            self.sink.error(codes.BAD_EXPRESSION, message, scalar.span_of(start, start + 1), also=also, help=help)
            return None
        try:
            parser = formula_parser()
        except Fault as missing:
            # Formulas are checked as far as that takes no parser: their words, brackets and shapes.
            if not self._has_noted_parser:
                self._has_noted_parser = True
                message, reason = (
                    "this formula, and others like it, may be wrong: they are not parsed",
                    missing.diagnostic,
                )
                notes = (reason.message,)
                self.sink.warning(codes.UNPARSED_FORMULA, message, scalar.span, help=reason.help, notes=notes)
            return None
        root = parser.parse(source).root_node
        if not root.has_error:
            return root
        at, help = scalar.span_of(*_error_range(root, source)), ""
        conditional = _CONDITIONAL.fullmatch(scalar.value)
        if conditional is not None:
            at = scalar.span_of(0, len(scalar.value))
            instead = "{1} ? {0} : {2}".format(*conditional.groups())
            # YAML reads `: ` in a text without quotes as a key.
            help = f"write `{instead if scalar.style else quoted_scalar(instead)}`"
        if scalar.value.startswith("return "):
            at, help = scalar.span_of(0, len("return")), "delete the word `return`: a formula is an expression"
        if "@" in scalar.value:
            help = "write `at::matmul(a, b)`: C++ has no operator `@`"
        self.sink.error(codes.BAD_EXPRESSION, "this is not a C++ expression", at, help=help)
        return None

    def _check_names(self, root: Node, scalar: Scalar, source: bytes, scope: FormulaScope) -> None:
        """Reports unknown names, and calls of helpers that match no declaration."""
        declared = _declared_names(root)
        told: set[str] = set()
        for node in walk(root):
            if node.type == "field_identifier":
                self._check_member(node, scalar, source)
            if node.type != "identifier":
                continue
            name = text_of(node)
            if name in self._declared and name not in scope.names:
                self._check_arguments(node, scalar, source)
            if name in told or name in declared:
                continue
            fault = self._name_fault(node, name, scope)
            if fault is not None:
                told.add(name)
                code, message, help = fault
                word = did_you_mean(name, scope.instead) if scalar.value == name else None
                if word and not help:
                    self.sink.error(codes.MISSPELT_WORD, f"there is no word `{name}`", scalar.span, help=word)
                    continue
                at = scalar.span_of(*range_of(node, source))
                if self._is_closed and code == codes.UNKNOWN_NAME and not name.isupper():
                    self.sink.error(code, message, at, help=help)
                else:
                    self.doubt(code, message, at, help=help)

    def _check_member(self, node: Node, scalar: Scalar, source: bytes) -> None:
        """Reports a member that no type of formulas has. Headers of an author may declare further types."""
        name = text_of(node)
        # A catalog of a few operators does not have those that are methods.
        is_whole = self._knows_all and self._functions >= _METHODS
        if not is_whole or name in _MEMBERS or self._is_function(name):
            return
        message = f"`at::Tensor` has no member `{name}`"
        help = _OF_PYTHON.get(name, "") or did_you_mean(name, [*_MEMBERS, *self._functions])
        self.doubt(codes.UNKNOWN_FUNCTION, message, scalar.span_of(*range_of(node, source)), help=help)

    def _check_arguments(self, node: Node, scalar: Scalar, source: bytes) -> None:
        """Reports a call of a declared function whose number of arguments matches no declaration."""
        is_qualified = node.parent is not None and node.parent.type == "qualified_identifier"
        node = _whole_name(node) if is_qualified else node
        name, call = text_of(node), node.parent
        given = call.child_by_field_name("arguments") if call is not None and _is_called(node) else None
        if given is None or name not in self._declarations:
            return
        count = sum(child.type != "comment" for child in given.named_children)
        if self._takes(name, count):
            return
        overloads = self._declarations[name]
        message = f"`{name}` takes {_counts(overloads)}, and is called with {count}"
        also = [Label(overload.span, f"`{name}({overload.parameters})`", primary=False) for overload in overloads]
        self.sink.error(codes.HELPER_ARGUMENTS, message, scalar.span_of(*range_of(node, source)), also=also)

    def _name_fault(self, node: Node, name: str, scope: FormulaScope) -> tuple[str, str, str | Suggestion] | None:
        """What is wrong with a name: code, message, and help."""
        parent = node.parent
        if parent is None:
            return None
        if parent.type == "qualified_identifier":
            whole = _whole_name(parent)
            text = text_of(whole)
            variable = text.partition("::")[0]
            if variable in scope.names:
                message = f"`{variable}` is a value, and no namespace"
                return codes.UNKNOWN_FUNCTION, message, "write `.` in place of `::`"
            if text.removesuffix(f"::{name}") not in self._apis or not _is_called(whole) or self._is_function(name):
                return None
            return codes.UNKNOWN_FUNCTION, f"there is no function `{text}`", did_you_mean(name, self._functions)
        if parent.type in ("template_function", "template_method"):
            return None
        if _is_called(node):
            if name in scope.names or self._is_function(name):
                return None
            message = f"there is no function `{name}` that formulas can call"
            return codes.UNKNOWN_FUNCTION, message, did_you_mean(name, self._functions)
        if name in scope.names or name in _ALWAYS or name in _CONSTANTS:
            return None
        message = f"`{name}` is not an {scope.kinds} of `{scope.function}`"
        if parent.type == "assignment_expression" and parent.child_by_field_name("left") == node:
            return codes.UNKNOWN_NAME, message, f"delete `{name}=`: C++ takes arguments by their places"
        similar = did_you_mean(name, sorted(scope.names | _ALWAYS), _continued(name, scope))
        return codes.UNKNOWN_NAME, message, _instead(name, scope) or similar

    def _is_function(self, name: str) -> bool:
        if name in self._known or self._may_lack(name):
            return True
        return (name.endswith("_symint") and name[:-7] in self._functions) or not self._knows_all


#: Some operators that are methods of tensors in each release.
_METHODS: Final = frozenset(("expand", "mul", "sum", "view"))

#: Names that `torch.autograd.Function` and `torch.library.custom_op` taught, each with what a formula says instead.
_TAUGHT: Final = {
    "grad_output": "the gradient of the result is `grad`",
    "grad_out": "the gradient of the result is `grad`",
    "grad_outputs": "the gradients of the results are `grads[0]`, `grads[1]` and so on",
    "ctx": "a formula reads arguments and results by their names: the node saves what it reads",
    "torch": "a formula is C++: write methods, such as `self.sigmoid()`, or functions such as `at::sigmoid(self)`",
}
#: With how many letters in common one name stands for a much longer one.
_LEAST_PREFIX: Final = 3
_TAUGHT_RESULTS: Final = ("output", "out", "outputs", "y")


def _last_comment(text: str) -> int | None:
    """Where the comment begins that a formula ends with; None if it ends with none."""
    quoted = QUOTED.finditer(text)
    return next((match.start() for match in quoted if match[0].startswith("//") and match.end() == len(text)), None)


def _instead(name: str, scope: FormulaScope) -> str:
    """What to write instead of a name that other interfaces of PyTorch have; empty for other names."""
    if name in _TAUGHT_RESULTS and "result" in scope.names:
        return "the result is `result`"
    if name == "grad":
        own = [other for other in scope.names if other.endswith("_t") and not other.startswith("original_")]
        tangents = [f"`{other}`" for other in sorted(own)]
        return f"tangents are {', '.join(tangents)}" if tangents else ""
    return _TAUGHT.get(name, "")


def _continued(name: str, scope: FormulaScope) -> str:
    """A question with the only name of the function that begins another name, or that another name begins."""
    near = [
        other
        for other in scope.names
        if (name.startswith(other) or other.startswith(name))
        and (abs(len(name) - len(other)) == 1 or min(len(name), len(other)) >= _LEAST_PREFIX)
    ]
    return f"did you mean `{near[0]}`?" if len(near) == 1 else ""


def argument_counts(text: str) -> Iterator[tuple[str, int]]:
    """Functions that a complete formula calls, each with its number of arguments.

    Commas between template arguments are counted too, so the parser must confirm a wrong count.

    >>> list(argument_counts("twice(grad, {0, 1}) + self.third(2) + twice()"))
    [('twice', 2), ('twice', 0)]
    """
    opened: list[tuple[str, int]] = []
    name, count, start = "", 1, 0
    for match in _CALL_OR_BRACKET.finditer(text):
        sign = text[match.end() - 1]
        if sign == ",":
            count += 1
        elif sign in "([{":
            opened.append((name, count))
            name, count, start = match.group(1) or "", 1, match.end()
        else:
            if name:
                yield name, count if text[start : match.start()].strip() else 0
            name, count = opened.pop() if opened else ("", 1)
            start = 0


def _counts(overloads: Iterable[HelperDeclaration]) -> str:
    """Numbers of arguments that the functions of one name take, in words."""
    counts = dict.fromkeys(
        (overload.least, overload.most) for overload in sorted(overloads, key=lambda overload: overload.least)
    )
    shown = " or ".join(_shown_count(*bounds) for bounds in counts)
    return f"{shown} argument" if shown == "1" else f"{shown} arguments"


def _shown_count(least: int, most: int | None) -> str:
    if most is None:
        return f"{least} or more"
    return str(least) if least == most else f"{least} to {most}"


def sign_fault(text: str) -> tuple[int, int | None, str, str] | None:
    """The first unmatched bracket, or else the first semicolon outside of brackets, strings and comments.

    Gives its index, the index of the bracket that it is compared with, what is wrong, and help.

    >>> sign_fault("grad * (self.sgn()")
    (7, None, '`(` is never closed', '')
    >>> sign_fault("f(grad]"), sign_fault("[&]() { return grad; }()")
    ((6, 1, '`]` closes `(`', ''), None)
    """
    opened: list[int] = []
    end = None
    for match in QUOTED_OR_SIGN.finditer(text):
        index, sign = match.start(), match.group()
        if sign in "([{":
            opened.append(index)
        elif sign == ";":
            end = index if end is None and not opened else end
        elif sign in _BRACKETS:
            if not opened:
                return index, None, f"`{sign}` closes nothing", ""
            if text[opened[-1]] != _BRACKETS[sign]:
                return index, opened[-1], f"`{sign}` closes `{text[opened[-1]]}`", ""
            opened.pop()
    if opened:
        return opened[-1], None, f"`{text[opened[-1]]}` is never closed", ""
    help = "delete the `;`: a formula is an expression"
    return None if end is None else (end, None, "an expression has no `;`", help)


def _declared_names(root: Node) -> frozenset[str]:
    """Names that a formula declares itself: parameters and variables of lambdas."""
    return frozenset(
        text_of(declared)
        for node in walk(root)
        if node.type in ("parameter_declaration", "init_declarator", "for_range_loop")
        for declarator in [node.child_by_field_name("declarator")]
        # `each` is by value, `*each` and `&each` by reference; deeper declarators declare functions.
        for declared in ([declarator, *declarator.children] if declarator is not None else ())
        if declared.type == "identifier"
    )


def _is_called(node: Node) -> bool:
    parent = node.parent
    if parent is None or parent.type != "call_expression":
        return False
    function = parent.child_by_field_name("function")
    return function is not None and function.id == node.id


def _whole_name(node: Node) -> Node:
    """The whole name of which a qualified name is the end."""
    while node.parent is not None and node.parent.type == "qualified_identifier":
        node = node.parent
    return node


def _error_range(root: Node, source: bytes) -> tuple[int, int]:
    """Range of the first syntax error; the end of the formula if something is missing there."""
    end = len(source[len(LEAD) : -1].decode("utf-8", "replace"))
    for node in walk(root):
        if node.type == "ERROR" or node.is_missing:
            start, stop = range_of(node, source)
            if node.type == "ERROR" and node.start_byte < len(LEAD):
                continue
            return min(start, max(end - 1, 0)), min(max(stop, start + 1), end)
    return 0, end
