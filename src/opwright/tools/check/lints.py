"""Lints: how entries are written, what operators say of themselves, and what a backend does to their gradients.

Selection, documentation and tests follow from the tables at the end.
"""

from __future__ import annotations

import enum
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Final

from opwright.backends.operator_records import MetaSupport
from opwright.dialects.names import CPP_WORDS
from opwright.dialects.native_functions.fields import ROWS
from opwright.libraries.dialect.dims import DIMS, normal_pattern
from opwright.libraries.dialect.expressions import normal_expression
from opwright.libraries.dialect.requirements import REQUIRES
from opwright.libraries.entry_fields import library_fields
from opwright.model.native_function import NO_FIELDS, NativeFunction
from opwright.plugins.lint import BackendLint, Lint, OperatorLint, Operators, name_span, schema_part_span
from opwright.schema.function import Argument, Arguments, FunctionSchema, SchemaKind
from opwright.source.diagnostic import Diagnostics, Edit, Fault, Label
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode
from opwright.source.span import Span
from opwright.source.yaml import load_yaml
from opwright.tools import tool_codes
from opwright.tools.coverage.report import NO_META_KERNELS, meta_support
from opwright.workspace.edits import deleted_field, deleted_item

if TYPE_CHECKING:
    from opwright.backends.operator_records import OperatorRecord

#: The values that fields of functions have by default, by the fields of entries that set one.
_VALUES: Final = {row.field.name: getattr(NO_FIELDS, row.attribute) for row in ROWS if row.attribute}

#: Fields of entries with what one would write for the default.
_DEFAULTS: Final[dict[str, object]] = {
    "variants": "function",
    **{
        name: value.name if isinstance(value, enum.Enum) else [] if isinstance(value, frozenset) else value
        for name, value in _VALUES.items()
        if isinstance(value, (bool, enum.Enum, frozenset))
    },
}
_WORDS: Final = "|".join([value for value in _DEFAULTS.values() if isinstance(value, str)])
_DEFAULT_TEXT: Final = re.compile(
    rf"\b(?:{'|'.join(_DEFAULTS)})[\"']?:\s*(?:{_WORDS}|[Tt]rue|TRUE|[Ff]alse|FALSE|yes|no|on|off|\[\s*\])"
)

#: Fields that are lists of names, which may be written as one text with commas.
_LISTS: Final = ("variants", *[name for name, value in _VALUES.items() if isinstance(value, (tuple, frozenset))])
_LIST_TEXT: Final = re.compile(rf"\b(?:{'|'.join(_LISTS)})[\"']?:([^:]*?(?=\n\s*[\w\"']+:|\Z))")
_COMMENT: Final = re.compile(r"#[^\n]*")
_WORD: Final = re.compile(r"[\w.]+")


def _check_defaults(operators: Operators, sink: Diagnostics) -> None:
    """Report fields with the values that they have by default (W2216)."""
    for function in operators.functions:
        node = operators.nodes.node(function) if _DEFAULT_TEXT.search(function.entry.text) else None
        if node is None:
            continue
        for key, value in node.entries:
            if key.value in _DEFAULTS and _python_value(value) == _DEFAULTS[key.value]:
                message = f"`{key.value}: {value.span.text}` is the default"
                edits = deleted_field(node, key)
                sink.warning(tool_codes.REPEATS_DEFAULT, message, key.span, help=f"delete `{key.value}`", edits=edits)


def _python_value(node: Node) -> object:
    if isinstance(node, Scalar):
        return node.python_value() if node.kind == "bool" else node.value
    return [] if isinstance(node, SequenceNode) and not node.items else None


def _check_repeated_items(operators: Operators, sink: Diagnostics) -> None:
    """Report items that a list of an entry has twice (W2219)."""
    for function in operators.functions:
        if _may_repeat(function):
            node = operators.nodes.node(function)
            for field in _LISTS:
                value = None if node is None else node.get(field)
                if isinstance(value, SequenceNode):
                    _check_sequence(value, field, sink)
                elif isinstance(value, Scalar):
                    _check_words(value, field, sink)


def _may_repeat(function: NativeFunction) -> bool:
    """Whether a word occurs twice in a list of the entry, by its text alone."""
    for match in _LIST_TEXT.finditer(function.entry.text):
        words = _WORD.findall(_COMMENT.sub("", match[1]))
        if len(words) != len(set(words)):
            return True
    return False


def _check_sequence(value: SequenceNode, field: str, sink: Diagnostics) -> None:
    first: dict[str, Scalar] = {}
    for item in value.items:
        if isinstance(item, Scalar) and first.setdefault(item.value, item) is not item:
            _report(field, item.value, item.span, first[item.value].span, sink, deleted_item(value, item))


def _check_words(value: Scalar, field: str, sink: Diagnostics) -> None:
    first: dict[str, Span] = {}
    end = 0
    for match in _WORD.finditer(value.value):
        span = value.span_of(match.start(), match.end())
        if first.setdefault(match[0], span) is not span:
            before = value.span_of(end, match.end())
            _report(field, match[0], span, first[match[0]], sink, (Edit(before, ""),))
        end = match.end()


def _report(field: str, item: str, span: Span, first: Span, sink: Diagnostics, edits: tuple[Edit, ...]) -> None:
    message, also = f"`{field}` has `{item}` twice", [Label(first, "first here", primary=False)]
    sink.warning(tool_codes.REPEATED_ITEM, message, span, label="repeated", also=also, edits=edits)


def _reporter(kind: str, code: str) -> Callable[[Iterable[OperatorRecord], Diagnostics], None]:
    """A lint that reports traps of a kind, which the report of a backend has, too."""

    def check(records: Iterable[OperatorRecord], sink: Diagnostics) -> None:
        for record in records:
            for trap in record.traps:
                if trap.kind.name == kind:
                    sink.warning(code, trap.message, trap.span, help=trap.help)

    return check


def _check_cpp_keywords(operators: Operators, sink: Diagnostics) -> None:
    """Report names that are C++ keywords (W2211), which no compiler takes; of libraries, all runs refuse them."""
    if operators.in_library:
        return
    for function in operators.functions:
        named = [("argument", argument.name, argument.text) for argument in _cpp_keywords(function.arguments)]
        named += [
            ("result", result.name, result.text) for result in function.schema.returns if result.name in CPP_WORDS
        ]
        if function.name.name in CPP_WORDS:
            named.append(("operator", function.name.name, function.name.name))
        for what, name, text in named:
            message = f"{what} name `{name}` is a C++ keyword"
            help = f"write `{name}_`, or another name" if what != "operator" else "choose another name"
            sink.error(tool_codes.CPP_KEYWORD, message, schema_part_span(function, text), help=help)


@cache
def _cpp_keywords(arguments: Arguments) -> tuple[Argument, ...]:
    return tuple([argument for argument in arguments.all if argument.name in CPP_WORDS])


def _check_alias_annotations(operators: Operators, sink: Diagnostics) -> None:
    """Report annotations that alias nothing, and those that several written arguments share (W2217)."""
    for function in operators.functions:
        if function.arguments.has_annotations:
            for argument, message in _suspicious_annotations(function.schema):
                sink.warning(tool_codes.SUSPICIOUS_ALIAS, message, schema_part_span(function, argument.text))


def _suspicious_annotations(schema: FunctionSchema) -> Iterator[tuple[Argument, str]]:
    """Arguments whose annotations are suspicious, each with a message."""
    annotations = [result.annotation for result in schema.returns if result.annotation is not None]
    returned = {name for annotation in annotations for name in (*annotation.before, *annotation.after)}
    uses = Counter(
        name
        for argument in schema.arguments.all
        if argument.annotation is not None
        for name in argument.annotation.before
    )
    for argument in schema.arguments.all:
        annotation = argument.annotation
        if annotation is None:
            continue
        if not annotation.is_write and not annotation.after and not returned.intersection(annotation.before):
            yield argument, f"no result aliases `{argument.text}`, and the call does not write it"
        shared = [name for name in annotation.before if uses[name] > 1]
        if annotation.is_write and shared:
            yield argument, f"`{argument.text}` is written, and another argument has the annotation `{shared[0]}` too"


def _check_functional_forms(operators: Operators, sink: Diagnostics) -> None:
    """Report operators that write their arguments and have no functional form (W2218)."""
    for function in operators.functions:
        writes = function.library.defines_operators and function.kind in (SchemaKind.inplace, SchemaKind.mutable)
        if writes and function.group is None and function.view_group is None and not function.has_composite_implicit:
            message = f"`{function.name}` writes its arguments, and has no functional form"
            sink.warning(tool_codes.ONLY_WRITES, message, name_span(function))


def _check_normal_forms(operators: Operators, sink: Diagnostics) -> None:
    """Report schemas, patterns of sizes and expressions that are not written in their normal form (W2220)."""
    for function in operators.functions:
        written, text = function.schema.written_text, str(function.schema)
        node = operators.nodes.node(function) if written != text else None
        func = None if node is None else node.get("func")
        if isinstance(func, Scalar):
            start = max(func.value.find(written), 0)
            place = func.span_of(start, len(func.value))
            is_plain = func.value.endswith(written) and not re.search(r"[\\\"']", text)
            edits = [Edit(place, text)] if is_plain else []
            message = f"the normal form of this schema is `{text}`"
            sink.warning(tool_codes.NOT_NORMAL, message, place, edits=edits)
        fields = library_fields(function)
        entry = operators.nodes.node(function) if fields.requirements is not None or fields.outputs else None
        for scalar, normal in () if entry is None or function.is_synthesized else _normal_values(entry):
            # A quotation that means other characters than it has stays as it is, and a text of several lines.
            if scalar.value != normal and scalar.value in scalar.span.text:
                place = scalar.span_of(0, len(scalar.value))
                message = f"the normal form of this value is `{normal}`"
                sink.warning(tool_codes.NOT_NORMAL, message, place, edits=[Edit(place, normal)])


def _normal_values(entry: MappingNode) -> Iterator[tuple[Scalar, str]]:
    """The patterns and expressions of an entry of a library, each with its normal form."""
    dims, requires, outputs = entry.get(DIMS), entry.get(REQUIRES), entry.get("outputs")
    for _, pattern in dims.entries if isinstance(dims, MappingNode) else ():
        if isinstance(pattern, Scalar):
            yield pattern, normal_pattern(pattern.value)
    expressions: list[Node | None] = []
    for condition in requires.items if isinstance(requires, SequenceNode) else [requires]:
        expressions += [key for key, _ in condition.entries] if isinstance(condition, MappingNode) else [condition]
    expressions += [value for _, value in outputs.entries] if isinstance(outputs, MappingNode) else [outputs]
    for expression in expressions:
        if isinstance(expression, Scalar) and expression.kind == "str":
            yield expression, normal_expression(expression.value)


def _check_meta_kernels(operators: Operators, sink: Diagnostics) -> None:
    """Report operators whose results have no known shape while PyTorch traces (W2214)."""
    if operators.in_library:
        # The loader of library files knows their declared outputs, and reports this itself.
        return
    in_python = operators.has_meta_kernel
    for function in operators.functions:
        is_missing = meta_support(function, NO_META_KERNELS) is MetaSupport.missing
        if is_missing and not (in_python is not None and in_python(function)):
            message = f"`{function.name}` has no kernel for Meta"
            sink.warning(tool_codes.MISSING_META, message, name_span(function), help="add a kernel for `Meta`")


def _check_tags(operators: Operators, sink: Diagnostics) -> None:
    """Report tags that no operator has (W2215)."""
    used = {tag for function in (*operators.functions, *operators.synthesized) for tag in function.tags}
    unused = operators.tag_names - used
    if operators.tags is None or not unused:
        return
    try:
        root = load_yaml(operators.tags)
    except Fault:
        return
    for item in root.items if isinstance(root, SequenceNode) else ():
        name = item.get("tag") if isinstance(item, MappingNode) else None
        if isinstance(name, Scalar) and name.value in unused:
            sink.warning(tool_codes.UNUSED_TAG, f"no operator has the tag `{name.value}`", name.span)


#: Lints of operators. One that is part of the default selection for PyTorch has no finding in any of its releases.
OPERATOR_LINTS: Final = (
    OperatorLint(Lint(tool_codes.CPP_KEYWORD, for_pytorch=True), _check_cpp_keywords),
    OperatorLint(Lint(tool_codes.MISSING_META, compares_entries=True), _check_meta_kernels),
    OperatorLint(Lint(tool_codes.UNUSED_TAG, for_others=False, compares_entries=True), _check_tags),
    OperatorLint(Lint(tool_codes.REPEATS_DEFAULT), _check_defaults),
    OperatorLint(Lint(tool_codes.SUSPICIOUS_ALIAS, for_pytorch=True), _check_alias_annotations),
    # PyTorch can functionalize operators of libraries without a functional form, at some cost.
    OperatorLint(Lint(tool_codes.ONLY_WRITES, for_others=False, compares_entries=True), _check_functional_forms),
    OperatorLint(Lint(tool_codes.REPEATED_ITEM, for_pytorch=True), _check_repeated_items),
    OperatorLint(Lint(tool_codes.NOT_NORMAL, for_others=False), _check_normal_forms),
)

#: Lints of backends.
BACKEND_LINTS: Final = (
    # A backend file must say `override_composite` for each of them already (E1341).
    BackendLint(
        Lint(tool_codes.GRADIENT_TAKEN_AWAY, for_others=False),
        _reporter("composite_override", tool_codes.GRADIENT_TAKEN_AWAY),
    ),
    BackendLint(Lint(tool_codes.BACKWARD_LACKS), _reporter("backward", tool_codes.BACKWARD_LACKS)),
)

#: The lint of whole files, which `tools/files/layout.py` checks.
LAYOUT: Final = Lint(tool_codes.NOT_LAID_OUT, for_others=False)

#: Code -> lint.
LINTS: Final = {lint.code: lint for lint in (*[row.lint for row in (*OPERATOR_LINTS, *BACKEND_LINTS)], LAYOUT)}
