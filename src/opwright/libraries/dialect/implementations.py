"""Several kernels of an operator for one dispatch key: which of them runs depends on the arguments of the call."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Sequence
from typing import Final

from opwright.dialects.derivatives.formula_checks import FormulaChecker, FormulaScope
from opwright.dialects.derivatives.formula_helpers import FormulaHelpers
from opwright.dialects.derivatives.formula_shapes import QUOTED
from opwright.dialects.field import TEXT, TEXTS, Field
from opwright.dialects.names import default_kernel_name
from opwright.dialects.native_functions.dispatch import add_key, read_kernel, read_kernel_name, read_keys, read_table
from opwright.dialects.native_functions.entry_builder import EntryBuilder
from opwright.libraries import library_codes
from opwright.libraries.dialect.conditions import read_condition
from opwright.libraries.kernels import KernelChoice, LibraryKernel
from opwright.model.derivatives import words_of
from opwright.model.dispatch_key import DispatchKey
from opwright.model.native_function import Kernel
from opwright.schema.function import FunctionSchema
from opwright.source.codes import NATIVE_KERNEL_NAME
from opwright.source.diagnostic import Diagnostics, Label, did_you_mean
from opwright.source.expect import check_unique_keys, expect_integer
from opwright.source.lazy import lazy_pattern
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode
from opwright.source.records import NamedTuple

IMPLEMENTATION_FIELDS: Final = (
    Field("kernel", "text", TEXT, "The C++ function."),
    Field("python", "text", TEXT, "The Python function in its place, such as `acme.kernels:softmax`."),
    Field("when", "text", TEXT, "A C++ expression over the arguments. The kernel serves the calls for which it holds."),
    Field("if", "text or list of texts", TEXTS, "What the preprocessor tests: see [conditions](#conditions)."),
    Field("priority", "integer", {"type": "integer"}, "The kernel with the highest one is tried first; 0 by default."),
)
_NAMES: Final = tuple([field.name for field in IMPLEMENTATION_FIELDS])
#: A module and a function in it.
_FUNCTION: Final = lazy_pattern(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", 256)  # The flag ASCII of `re`.
_COMMENT: Final = lazy_pattern(r"//|/\*")
#: A `=` that is no part of a comparison, and no capture of a lambda.
_ASSIGNMENT: Final = lazy_pattern(r"(?<![=!<>\[])=(?![=\]])")


class _Item(NamedTuple):
    """An item of the list: the names of its function, and its conditions, with the node of the item."""

    node: Node
    namespace: str
    name: str
    condition: str
    when: str
    priority: int
    python: str = ""


def read_library_dispatch(node: Node, builder: EntryBuilder) -> None:
    """Read the kernels of an entry: a table, or the keys of a kernel that has the name of the operator."""
    kernels: dict[DispatchKey, Kernel] = {}
    seen: set[DispatchKey] = set()
    is_structured = builder.structured
    if isinstance(node, Scalar) and node.kind == "str":
        builder.kernels = kernels
        if builder.schema is None:
            return
        name, namespace = default_kernel_name(builder.schema), builder.context.kernel_namespace
        for key in read_keys(node, builder):
            add_key(key, node, seen, builder)
            kernels[key] = Kernel(key, name, namespace, is_structured and key.is_dense)
        return
    table = read_table(node, builder)
    if table is None:
        return
    builder.kernels = kernels
    for text, value in table.entries:
        keys = read_keys(text, builder)
        if isinstance(value, SequenceNode) or (isinstance(value, MappingNode) and value.get("python") is not None):
            for key in keys:
                add_key(key, text, seen, builder)
            kernels.update({kernel.key: kernel for kernel in read_implementations(value, keys, builder)})
            continue
        named: Node = value
        condition = ""
        if isinstance(value, MappingNode):
            conditional = _read_conditional(value, builder)
            if conditional is None:
                continue
            named, condition = conditional
        place = read_kernel(named, builder)
        if place is None:
            continue
        namespace, name = place
        for key in keys:
            add_key(key, text, seen, builder)
            has_parts = is_structured and (key.has_structured or key.is_dense)
            kernels[key] = LibraryKernel(key, name, namespace, has_parts, condition)


def _read_conditional(node: MappingNode, builder: EntryBuilder) -> tuple[Node, str] | None:
    """Name of a kernel with a condition, and the condition; None if there is a fault."""
    name, condition = node.get("kernel"), node.get("if")
    if name is None or condition is None or len(node) > 2:
        message = "a kernel with a condition has the fields `kernel` and `if`"
        builder.fault(NATIVE_KERNEL_NAME, message, node.span, help="write `{kernel: scale, if: ...}`")
        return None
    text = read_condition(condition, builder.context.sink)
    builder.failed |= text is None
    return None if text is None else (name, text)


def read_implementations(node: Node, keys: Sequence[DispatchKey], builder: EntryBuilder) -> list[Kernel]:
    """Kernels for keys whose implementations a list has; none if there is a fault."""
    schema = builder.schema
    nodes = node.items if isinstance(node, SequenceNode) else [node]
    items = [item for entry_node in nodes if (item := _read_item(entry_node, builder)) is not None]
    if schema is None or len(items) < len(nodes):
        builder.failed = True
        return []
    if builder.structured:
        message = "a structured kernel has no other implementations"
        builder.fault(library_codes.IMPLEMENTATION, message, node.span, help="write a kernel for each overload")
    elif not items:
        builder.fault(library_codes.NO_FALLBACK, "the list of implementations is empty", node.span)
    else:
        items.sort(key=lambda item: -item.priority)
        _check_names(items, builder)
        _check_order(items, builder)
    return [] if builder.failed else [_kernel(items, key, schema, builder) for key in keys]


def _kernel(items: list[_Item], key: DispatchKey, schema: FunctionSchema, builder: EntryBuilder) -> Kernel:
    """Generated function that chooses. It exists where the implementation that always serves does."""
    suffix = "_symint" if any("_symint" in item.name for item in items if not item.python) else ""
    name = f"{schema.name.unambiguous}_{key.name}{suffix}"
    implementations = []
    for item in items:
        plain_kernel = LibraryKernel(key, item.name, item.namespace, False, item.condition)
        implementations.append(KernelChoice(plain_kernel, item.when, item.priority, item.python))
    library = builder.context.library
    return LibraryKernel(key, name, library.implementations, False, items[-1].condition, tuple(implementations))


def check_fields(node: MappingNode, names: Sequence[str], code: str, owner: str, builder: EntryBuilder) -> None:
    """Report repeated keys of a mapping (E0107), and those that `owner` (such as `a reference has`) lacks."""
    check_unique_keys(node, builder.context.sink)
    for key, _ in node.entries:
        if key.value not in names:
            builder.fault(code, f"{owner} no field `{key.value}`", key.span, help=did_you_mean(key.value, names))


def _read_item(node: Node, builder: EntryBuilder) -> _Item | None:
    """An item of the list; None if it has a fault."""
    sink = builder.context.sink
    if isinstance(node, Scalar) and node.kind == "str":
        return _Item(node, *read_kernel_name(node, builder), "", "", 0)
    function = _function(node) if isinstance(node, MappingNode) else None
    if not isinstance(node, MappingNode) or function is None:
        message = "an implementation has the field `kernel` or `python`, which names a function"
        builder.fault(
            library_codes.IMPLEMENTATION, message, node.span, help='write `{kernel: fast, when: "self.dim() == 2"}`'
        )
        return None
    check_fields(node, _NAMES, library_codes.IMPLEMENTATION, "an implementation has", builder)
    condition, when, priority = node.get("if"), node.get("when"), node.get("priority")
    number = 0 if priority is None else expect_integer(priority, "`priority`", sink)
    guard = "" if condition is None else _read_guard(condition, builder)
    text = "" if when is None else _read_when(when, builder)
    if number is None or guard is None or text is None:
        builder.failed = True
        return None
    if node.get("python") is None:
        return _Item(node, *read_kernel_name(function, builder), guard, text, number)
    if guard:
        message = "the preprocessor knows nothing of Python functions"
        builder.fault(library_codes.IMPLEMENTATION, message, node.span, help="remove `if`")
    if not is_python_function(function.value):
        message = f"`{function.value}` names no Python function"
        builder.fault(library_codes.IMPLEMENTATION, message, function.span, help="write it like `acme.kernels:softmax`")
    return _Item(node, "", function.value.rpartition(":")[2], "", text, number, function.value)


def _function(node: MappingNode) -> Scalar | None:
    """Text that names the function of an item; None if there is none, or more than one."""
    named = [value for field in ("kernel", "python") if (value := node.get(field)) is not None]
    text = named[0] if len(named) == 1 else None
    return text if isinstance(text, Scalar) and text.kind == "str" else None


def is_python_function(path: str) -> bool:
    """Whether a text is a module and a function in it.

    >>> is_python_function("acme.kernels:softmax"), is_python_function("acme.kernels.softmax")
    (True, False)
    """
    return bool(_FUNCTION.fullmatch(path)) and not any(map(keyword.iskeyword, re.split(r"[.:]", path)))


def _read_guard(node: Node, builder: EntryBuilder) -> str | None:
    """Condition of the preprocessor; None if there is a fault. It knows no arguments."""
    sink: Diagnostics = builder.context.sink
    for text in node.items if isinstance(node, SequenceNode) else [node]:
        words = words_of(text.value) if isinstance(text, Scalar) else frozenset()
        named = [name for name in _argument_names(builder) if name in words]
        if named:
            message = f"`if` is for the preprocessor, which does not know the argument `{named[0]}`"
            sink.error(library_codes.CALL_CONDITION, message, text.span, help="write `when` in place of `if`")
            return None
    return read_condition(node, sink)


def _read_when(node: Node, builder: EntryBuilder) -> str | None:
    """Expression over the arguments; None if there is a fault."""
    sink: Diagnostics = builder.context.sink
    if not isinstance(node, Scalar) or node.kind != "str":
        help = 'write it like `"self.is_contiguous()"`'
        sink.error(
            library_codes.CALL_CONDITION, f"`when` is a C++ expression, not {node.description}", node.span, help=help
        )
        return None
    text = node.value
    code = QUOTED.sub(lambda literal: literal[0] if _COMMENT.match(literal[0]) else "v" * len(literal[0]), text)
    if match := _COMMENT.search(code):
        sink.error(library_codes.CALL_CONDITION, "a comment in an expression", node.span_of(match.start(), match.end()))
        return None
    if match := _ASSIGNMENT.search(code):
        at = node.span_of(match.start(), match.end())
        sink.error(library_codes.CALL_CONDITION, "`when` assigns a value", at, help="write `==`")
        return None
    if builder.schema is None:
        # Its fault is reported.
        return " ".join(text.split())
    condition_sink = Diagnostics()
    checker = FormulaChecker(None, FormulaHelpers(frozenset(), {}, are_all=False), condition_sink)
    checker.check(
        node, words_of(text), FormulaScope(builder.schema.name.text, frozenset(_argument_names(builder)), "argument")
    )
    sink.extend(condition_sink)
    return None if condition_sink.has_errors else " ".join(text.split())


def _argument_names(builder: EntryBuilder) -> Iterator[str]:
    if builder.schema is not None:
        yield from [argument.name for argument in builder.schema.arguments.all]


def _check_names(items: list[_Item], builder: EntryBuilder) -> None:
    """Report implementations of one name, by which callers choose them."""
    first: dict[str, _Item] = {}
    for item in items:
        other = first.setdefault(item.name, item)
        if other is not item:
            message = f"two implementations have the name `{item.name}`"
            also = (Label(other.node.span, "the other one", primary=False),)
            builder.fault(library_codes.IMPLEMENTATION, message, item.node.span, also=also)


def _check_order(items: list[_Item], builder: EntryBuilder) -> None:
    """Report that no implementation serves all calls, or that one serves none."""
    last = items[-1]
    if last.when:
        message = f"no implementation serves the calls for which `{last.when}` does not hold"
        help = "let the implementation with the lowest priority have no `when`"
        builder.fault(library_codes.NO_FALLBACK, message, last.node.span, help=help)
    for place, item in enumerate(items[:-1]):
        if not item.when and not item.condition:
            message = f"`{items[place + 1].name}` never runs, because `{item.name}` serves all calls before it"
            help = f"give `{item.name}` a condition `when`, or a lower priority"
            builder.context.sink.warning(library_codes.NEVER_CHOSEN, message, items[place + 1].node.span, help=help)
            return
