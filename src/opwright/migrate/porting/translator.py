"""Moves the code of one source: each node of its tree becomes a text, and an expression has the type of its value."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from opwright.cpp.text import include_line
from opwright.dialects.derivatives.formula_shapes import walk
from opwright.migrate.porting.calls import BINARY, UNARY, CallPorter
from opwright.migrate.porting.methods import MethodCall, MethodPorter
from opwright.migrate.porting.names import NamePorter, name_within
from opwright.migrate.porting.source import ByteRange
from opwright.migrate.porting.stable_api import CONSTRUCTED, CUDA_HEADER, FUNCTION_NAMES, StableName
from opwright.migrate.porting.state import DROPPED, NO_OPTIONS, FileState, child_text, node_text
from opwright.migrate.porting.values import OTHER, UNKNOWN, CppValue, OptionTexts, Scopes, items_of_tuple, value_type

if TYPE_CHECKING:
    from tree_sitter import Node

#: What stands in the text in place of an include of PyTorch's other headers (the second one in a condition), and after
#: the first other include: bytes that no text in UTF-8 has.
INCLUDES: Final = ("\xf9", "\xfa")
KEPT_INCLUDE: Final = "\xfb"
_UNSTABLE: Final = re.compile(
    r"[<\"](?:ATen|c10|torch)/(?!csrc/stable/|headeronly/|csrc/inductor/aoti_torch/c/)|[<\"]pybind11/"
)

_OF_CUDA: Final = re.compile(r"[<\"](?:ATen|c10)/cuda/")
_GUARD: Final = re.compile(
    r"((?:const\s+)?)(?:(?:at|c10|torch)::)?(?:cuda::)?((?:Optional)?(?:CUDA|Device)Guard)\s+(\w+)\s*"
    r"[({]\s*(.*)[)}]\s*;",
    re.DOTALL,
)
_CAST: Final = re.compile(r"(?:static_cast<[\w:]+>|\([\w:]+\))\s*(.*)", re.DOTALL)
#: A value with a device: a variable, its item, or what it refers to.
_OWNER: Final = r"(\w+(?:\[\w+\]|\.\w+)*(?:\.|->))"

#: Deeper code stays: a program that nests so deeply is no kernel that a person wrote.
_DEEPEST: Final = 180
#: What a node costs of the work for a source.
_NODE_WORK: Final = 4
_SCOPES: Final = frozenset(
    (
        "compound_statement", "for_statement", "for_range_loop", "if_statement", "while_statement",
        "function_definition", "template_declaration", "class_specifier", "struct_specifier", "namespace_definition",
    )
)  # fmt: skip
#: A name that is PyTorch's only if the sources say so.
_PLAIN_TENSOR: Final = re.compile(r"(?<![\w:])Tensor\b")
#: A call in place of an operator, which needs no parentheses.
_CALL: Final = re.compile(r"(?:stable_ops|torch::stable)::\w+\(")
#: Indices of PyTorch's that are no numbers.
_SLICE: Final = re.compile(r"(?:\w+::)*(?:Slice|None|Ellipsis)\b|\"")
_DECLARATORS: Final = ("init_declarator", "parameter_declaration", "for_range_loop")
#: A bound of a slice that is not given.
_NO_BOUND: Final = CppValue("std::nullopt", "None")
_COMPARISONS: Final = ("<", ">", "<=", ">=", "==", "!=", "&&", "||")
_NUMBERS: Final = ("bool", "int", "float", "Scalar")


class Translator:
    """Ports the nodes of one tree. In the text of the source, each byte is a character.

    `within` are parts of the source with trees of their own, ported, in their order.
    """

    def __init__(self, source: str, state: FileState, within: Sequence[tuple[ByteRange, str]] = ()) -> None:
        self._source: Final = source
        self._within: Final = within
        self._starts: Final = [span.start for span, _ in within]
        self._state: Final = state
        self._calls: Final = CallPorter(state)
        self._names: Final = NamePorter(state)
        self._methods: Final = MethodPorter(state, self._calls)
        self._scopes: Final = Scopes()
        self._depth = 0
        self._visitors: Final[dict[str, Callable[[Node], CppValue]]] = {
            "identifier": self._identifier,
            "type_identifier": self._type_name,
            "qualified_identifier": self._qualified,
            "number_literal": self._number,
            "true": lambda node: CppValue(node_text(node), "bool"),
            "false": lambda node: CppValue(node_text(node), "bool"),
            "string_literal": lambda node: CppValue(node_text(node), "str"),
            "call_expression": self._call,
            "field_expression": self._field,
            "binary_expression": self._binary,
            "unary_expression": self._unary,
            "pointer_expression": self._pointer,
            "subscript_expression": self._subscript,
            "assignment_expression": self._assignment,
            "conditional_expression": self._conditional,
            "cast_expression": self._cast,
            "compound_literal_expression": self._cast,
            "parenthesized_expression": self._parenthesized,
            "initializer_list": self._list,
            "lambda_expression": self._lambda,
            "declaration": self._declaration,
            "parameter_declaration": self._parameter,
            "optional_parameter_declaration": self._parameter,
            "type_parameter_declaration": self._type_parameter,
            "for_range_loop": self._range_loop,
            "using_declaration": self._using,
            "preproc_include": self._include,
        }

    def text(self, node: Node, start: int | None = None, end: int | None = None) -> str:
        """The ported text of a node, from one byte of the source to another."""
        first, last = node.start_byte if start is None else start, node.end_byte if end is None else end
        return self._state.settled(self._spliced(node, first, last))

    # Each node is visited once, because visits note what stays.
    def _visit(self, node: Node) -> CppValue:
        self._state.budget.take(_NODE_WORK, node.start_byte)
        if self._depth >= _DEEPEST:
            self._state.leave(node, "the code nests too deeply")
            return CppValue(self._between(node.start_byte, node.end_byte))
        self._depth += 1
        is_scope = node.type in _SCOPES
        if is_scope:
            self._scopes.push()
        try:
            visitor = self._visitors.get(node.type)
            value = CppValue(self._spliced(node)) if visitor is None else visitor(node)
            return value._replace(text=self._state.settled(value.text)) if is_scope else value
        finally:
            self._depth -= 1
            if is_scope:
                self._scopes.pop()

    def _between(self, start: int, end: int) -> str:
        """A part of the source, with the ported parts that lie in it."""
        position, parts = start, []
        for index in range(bisect_left(self._starts, start), len(self._within)):
            span, text = self._within[index]
            if span.start >= end:
                break
            if position <= span.start and span.end <= end:
                parts.append(self._source[position : span.start] + text)
                position = span.end
        return "".join(parts) + self._source[position:end]

    def _spliced(self, node: Node, start: int | None = None, end: int | None = None) -> str:
        """The text of a node with its children ported."""
        first = position = node.start_byte if start is None else start
        last = node.end_byte if end is None else end
        parts = []
        for child in node.children:
            if child.end_byte <= first or child.start_byte >= last:
                continue
            if child.start_byte < first or child.end_byte > last:
                # A tree for a part of the source has nodes that reach beyond it.
                begin, stop = max(first, child.start_byte), min(last, child.end_byte)
                parts.append(self._between(position, begin) + self._spliced(child, begin, stop))
                position = stop
                continue
            value = self._visit(child)
            self._state.keep_options(child, value.options)
            parts.append(self._between(position, child.start_byte) + value.text)
            position = child.end_byte
        return "".join(parts) + self._between(position, last)

    def _arguments(self, node: Node) -> list[CppValue]:
        return [*map(self._visit, _items(node))]

    def _replaced(self, start: int, end: int, texts: Iterable[tuple[Node, str]]) -> str:
        """A part of the source with texts in the places of nodes, which follow each other."""
        position, parts = start, []
        for child, text in texts:
            parts.append(self._between(position, child.start_byte) + text)
            position = child.end_byte
        return "".join(parts) + self._between(position, end)

    def _inner(self, node: Node, values: Sequence[CppValue]) -> str:
        """What stands between the parentheses of a list of arguments, whose values are ported."""
        texts = [value.text for value in values]
        return self._replaced(node.start_byte + 1, node.end_byte - 1, zip(_items(node), texts, strict=True))

    # Names.

    def _identifier(self, node: Node) -> CppValue:
        name = node_text(node)
        variable = self._scopes.find(name)
        return variable if variable is not None else self._names.plain(node, name)

    def _type_name(self, node: Node) -> CppValue:
        name = node_text(node)
        return CppValue(name) if name in self._scopes.numbers() else self._names.plain(node, name)

    def _qualified(self, node: Node) -> CppValue:
        ported = self._names.qualified(node)
        if ported is None:
            return CppValue(self._spliced(node))
        return ported._replace(text=ported.text + self._template(node))

    def _template(self, node: Node) -> str:
        """The arguments of the first template in a qualified name, ported, and what follows them."""
        part: Node | None = node
        while part is not None and part.type == "qualified_identifier":
            scope = part.child_by_field_name("scope")
            is_template = scope is not None and scope.type == "template_type"
            part = scope if is_template else part.child_by_field_name("name")
        if part is None or part.type not in ("template_type", "template_function", "template_method"):
            return ""
        arguments = part.child_by_field_name("arguments")
        if arguments is None:
            return ""
        return self._visit(arguments).text + self._between(arguments.end_byte, node.end_byte)

    def _number(self, node: Node) -> CppValue:
        text = node_text(node)
        is_real = re.search(r"[.eEpP]|[fF]$", text) is not None and not text.startswith("0x")
        return CppValue(text, "float" if is_real else "int", is_plain=True)

    def _include(self, node: Node) -> CppValue:
        text = node_text(node)
        end = text[len(text.rstrip("\r\n")) :]
        if _UNSTABLE.search(text):
            is_cuda = _OF_CUDA.search(text) is not None
            self._state.has_lost_cuda |= is_cuda
            if is_cuda and _is_conditional(node):
                return CppValue(include_line(CUDA_HEADER) + end)
            return CppValue(INCLUDES[_is_conditional(node)] + end)
        if self._state.has_kept_include or _is_conditional(node):
            return CppValue(text)
        self._state.has_kept_include = True
        return CppValue(text.rstrip("\r\n") + KEPT_INCLUDE + end)

    def _using(self, node: Node) -> CppValue:
        if re.fullmatch(r"using\s+namespace\s+(?:at|torch|c10)\s*;", node_text(node)):
            self._state.has_open_namespace = True
            return CppValue(DROPPED)
        match = re.fullmatch(r"using\s+(?:namespace\s+)?torch::indexing(?:::(\w+))?\s*;", node_text(node))
        if match is not None:
            names = match[1] or "Slice|None|Ellipsis|TensorIndex"
            return CppValue(self._state.declare(node, names, match[0], "the stable API has no `torch::indexing`"))
        return CppValue(self._spliced(node))

    # Declarations.

    def _type_of(self, node: Node) -> str:
        text = child_text(node, "type")
        if not self._state.facts.names_tensor and _PLAIN_TENSOR.search(text):
            return OTHER
        return value_type(text, self._scopes.numbers())

    def _parameter(self, node: Node) -> CppValue:
        text = self._spliced(node)
        declarator = node.child_by_field_name("declarator")
        if declarator is not None:
            is_constant = any(child.type == "type_qualifier" for child in node.children)
            self._declare(declarator, self._type_of(node), is_constant=is_constant)
        return CppValue(text)

    def _type_parameter(self, node: Node) -> CppValue:
        for child in node.named_children:
            if child.type == "type_identifier":
                self._scopes.add_number(node_text(child))
        return CppValue(node_text(node))

    def _declaration(self, node: Node) -> CppValue:
        guard = self._guard(node)
        if guard is not None:
            return guard
        declared = self._type_of(node)
        is_single = len(node.children_by_field_name("declarator")) == 1
        is_constant = any(child.type == "type_qualifier" for child in node.children)
        texts = []
        for index, child in enumerate(node.children):
            if node.field_name_for_child(index) != "declarator":
                texts.append((child, self._visit(child).text))
                continue
            value = self._declared(child, declared, is_constant=is_constant, is_single=is_single)
            if value.options is not None:
                name = child_text(child, "declarator")
                declaration = self._between(node.start_byte, node.end_byte)
                return CppValue(self._state.declare(node, name, declaration, NO_OPTIONS))
            texts.append((child, value.text))
        return CppValue(self._replaced(node.start_byte, node.end_byte, texts))

    def _declared(self, node: Node, declared: str, *, is_constant: bool, is_single: bool) -> CppValue:
        """A declarator with its value. It has options if it is the `single` one of a declaration that can go."""
        value_node = node.child_by_field_name("value") if node.type == "init_declarator" else None
        declarator = node.child_by_field_name("declarator") if node.type == "init_declarator" else node
        if value_node is None or declarator is None:
            self._declare(node, declared, is_constant=is_constant)
            return CppValue(self._spliced(node))
        value = self._visit(value_node)
        if value.options is not None and is_single and _is_settled(node, declarator, value.options):
            name = node_text(declarator)
            self._scopes.add(name, CppValue(name, value.type, value.options, is_plain=True))
            return value
        self._state.keep_options(node, value.options)
        type = declared or value.type
        self._declare(declarator, type, is_constant=is_constant)
        return CppValue(self._replaced(node.start_byte, node.end_byte, [(value_node, value.text)]))

    def _declare(self, declarator: Node, type: str, *, is_constant: bool) -> None:
        """Add the variables of a declarator to the scope."""
        if declarator.type == "structured_binding_declarator":
            names = [child for child in declarator.named_children if child.type == "identifier"]
            types = items_of_tuple(type)
            for index, item in enumerate(names):
                result_type = types[index] if index < len(types) else UNKNOWN
                self._scopes.add(node_text(item), CppValue(node_text(item), result_type, is_plain=True))
            return
        kind = declarator
        while kind.type not in ("identifier", "field_identifier"):
            if kind.type in ("pointer_declarator", "array_declarator", "function_declarator"):
                type = OTHER
            inner = kind.child_by_field_name("declarator") or next(iter(reversed(kind.named_children)), None)
            if inner is None:
                return
            kind = inner
        name = node_text(kind)
        self._scopes.add(name, CppValue(name, type, is_plain=True, is_variable=not is_constant))

    def _range_loop(self, node: Node) -> CppValue:
        right = node.child_by_field_name("right")
        values = CppValue("") if right is None else self._visit(right)
        texts = []
        for index, child in enumerate(node.children):
            field = node.field_name_for_child(index)
            if field == "declarator":
                item = values.type[:-2] if values.type.endswith("[]") else UNKNOWN
                self._declare(child, self._type_of(node) or item, is_constant=False)
            texts.append((child, values.text if field == "right" else self._visit(child).text))
        return CppValue(self._replaced(node.start_byte, node.end_byte, texts))

    def _lambda(self, node: Node) -> CppValue:
        captures = child_text(node, "captures")
        self._scopes.push(is_constant="=" in captures)
        text = self._spliced(node)
        self._scopes.pop()
        return CppValue(text, OTHER)

    def _guard(self, node: Node) -> CppValue | None:
        """The declaration of a guard of a device, which stable code makes from an index."""
        match = _GUARD.fullmatch(node_text(node))
        if match is None:
            return None
        index = self._index_of_device(match[4].strip())
        if not index:
            self._state.leave(node, "a stable guard takes the index of a device, and this one is not known")
            return CppValue(node_text(node))
        guard = self._names.known("DeviceGuard", node)
        return CppValue(node_text(node) if guard is None else f"{match[1]}{guard.text} {match[3]}({index});")

    def _index_of_device(self, text: str) -> str:
        """The index of the device that an expression gives; empty if it is not known."""
        cast = _CAST.fullmatch(text)
        text = text if cast is None else cast[1]
        match = re.fullmatch(
            rf"(?:(?:at|c10)::)?device_of\((\w+)\)|{_OWNER}(?:device\(\)(?:\.index\(\))?|get_device\(\))", text
        )
        if match is not None:
            owner = match[2] or f"{match[1]}."
            variable = self._scopes.find(re.split(r"\W", owner)[0])
            is_read = "[" not in owner or (variable is not None and variable.type == "Tensor[]")
            return f"{owner}get_device_index()" if is_read else ""
        variable = self._scopes.find(text)
        type = "int" if text.isdigit() else UNKNOWN if variable is None else variable.type
        return {"int": text, "Device": f"{text}.index()"}.get(type, "")

    # Expressions.

    def _parenthesized(self, node: Node) -> CppValue:
        inner = _items(node)
        if len(inner) != 1:
            return CppValue(self._spliced(node))
        value = self._visit(inner[0])
        if inner[0].type in ("binary_expression", "unary_expression") and _is_call(value.text):
            return value
        return value._replace(text=self._replaced(node.start_byte, node.end_byte, [(inner[0], value.text)]))

    def _parts(self, node: Node, *fields: str) -> tuple[Callable[[Sequence[CppValue]], str], list[CppValue]]:
        """The values of the fields of a node, and what writes the node with them."""
        children = [child for child in map(node.child_by_field_name, fields) if child is not None]
        values = [self._visit(child) for child in children]

        def written(values: Sequence[CppValue]) -> str:
            texts = zip(children, [value.text for value in values], strict=True)
            ordered = sorted(texts, key=lambda pair: pair[0].start_byte)
            return self._replaced(node.start_byte, node.end_byte, ordered)

        return written, values

    def _binary(self, node: Node) -> CppValue:
        written, values = self._parts(node, "left", "right")
        operator = child_text(node, "operator")
        if len(values) == 2 and any(value.is_tensor for value in values) and operator in BINARY:
            return self._calls.binary(node, operator, *values) or CppValue(written(values), "Tensor")
        if operator in ("<<", ">>") and any(value.is_tensor for value in values):
            self._state.leave(node, "stable tensors are not printed, and the stable API has no shifts")
        types = [value.type for value in values]
        if operator in _COMPARISONS:
            return CppValue(written(values), UNKNOWN if UNKNOWN in types else "bool")
        if OTHER in types:
            return CppValue(written(values), OTHER)
        numbers = [type for type in types if type in _NUMBERS]
        type = max(numbers, key=_NUMBERS.index) if len(numbers) == 2 else numbers[0] if numbers else UNKNOWN
        return CppValue(written(values), "int" if type == "bool" else type)

    def _unary(self, node: Node) -> CppValue:
        written, values = self._parts(node, "argument")
        operator = child_text(node, "operator")
        if values and values[0].is_tensor and operator in UNARY:
            ported = self._calls.operator(node, UNARY[operator], values)
            if ported is not None:
                return ported
        return CppValue(written(values), "bool" if operator == "!" else values[0].type if values else UNKNOWN)

    def _pointer(self, node: Node) -> CppValue:
        written, values = self._parts(node, "argument")
        inner = values[0].type if values else UNKNOWN
        if child_text(node, "operator") == "&":
            return CppValue(written(values), OTHER)
        return CppValue(written(values), inner[:-1] if inner.endswith("?") else UNKNOWN, is_plain=True)

    def _subscript(self, node: Node) -> CppValue:
        owner, indices = node.child_by_field_name("argument"), node.child_by_field_name("indices")
        if owner is None or indices is None:
            return CppValue(self._spliced(node))
        value = self._visit(owner)
        given = self._arguments(indices)
        written = (
            value.text + self._between(owner.end_byte, indices.start_byte) + "[" + self._inner(indices, given) + "]"
        )
        if not value.is_tensor:
            item = value.type[:-2] if value.type.endswith("[]") else UNKNOWN
            return CppValue(written, item, is_plain=value.is_plain and all(part.is_plain for part in given))
        chosen = given[0] if len(given) == 1 else CppValue("", OTHER)
        if chosen.is_tensor:
            # PyTorch takes the value of a tensor without dimensions; other indices need `index`.
            self._state.need_helper("stable_ops::item")
            chosen = CppValue(f"stable_ops::item<int64_t>({chosen.text})", "int")
        if chosen.type not in ("int", "Scalar", UNKNOWN) or _SLICE.match(chosen.text):
            self._state.leave(node, "the stable API has no indexing by slices: call an operator")
            return CppValue(written, "Tensor")
        ported = self._calls.operator(node, "select", [value, CppValue("0", "int"), chosen])
        return ported or CppValue(written, "Tensor")

    def _assignment(self, node: Node) -> CppValue:
        written, values = self._parts(node, "left", "right")
        operator, left = child_text(node, "operator"), node.child_by_field_name("left")
        if len(values) != 2 or left is None or not values[0].is_tensor:
            return CppValue(written(values), values[0].type if values else UNKNOWN)
        if operator != "=":
            name = BINARY.get(operator[:-1], ("", ""))[0]
            ported = self._calls.operator(node, f"{name}_", values) if name else None
            if ported is None and not name:
                self._state.leave(node, f"`{operator}` of a tensor has no operator")
            return ported or CppValue(written(values), "Tensor")
        if left.type == "subscript_expression":
            # The tensor on the left is a view, and the assignment writes through it.
            return self._written_through(node, values[0], values[1]) or CppValue(written(values), "Tensor")
        return CppValue(written(values), "Tensor")

    def _written_through(self, node: Node, view: CppValue, value: CppValue) -> CppValue | None:
        """The assignment of a value to the items of a tensor; None if it stays."""
        if not value.is_tensor and value.type not in _NUMBERS:
            self._state.leave(node, "the type of the value is not known: is it a tensor?")
            return None
        return self._calls.operator(node, "copy_" if value.is_tensor else "fill_", [view, value])

    def _conditional(self, node: Node) -> CppValue:
        written, values = self._parts(node, "condition", "consequence", "alternative")
        types = [value.type for value in values[1:] if value.type not in (UNKNOWN, "None")]
        return CppValue(written(values), types[0] if types and len(set(types)) == 1 else UNKNOWN)

    def _cast(self, node: Node) -> CppValue:
        return CppValue(self._spliced(node), self._type_of(node))

    def _list(self, node: Node) -> CppValue:
        values = self._arguments(node)
        types = {value.type for value in values}
        item = types.pop() if len(types) == 1 else ""
        return CppValue("{" + self._inner(node, values) + "}", f"{item}[]" if item not in (UNKNOWN, OTHER) else "[]")

    # Calls.

    def _field(self, node: Node) -> CppValue:
        written, values = self._parts(node, "argument")
        return CppValue(
            written(values), self._state.facts.fields.get(child_text(node, "field"), UNKNOWN), is_plain=True
        )

    def _call(self, node: Node) -> CppValue:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is None or arguments is None or arguments.type != "argument_list":
            return CppValue(self._spliced(node))
        if function.type == "field_expression":
            return self._method(node, function, arguments)
        name = node_text(function)
        dispatch = self._names.dispatch_types(name)
        values = self._arguments(arguments)
        if dispatch is not None and (dispatched := self._names.dispatch(node, dispatch, values)) is not None:
            return dispatched
        if name == "AT_DISPATCH_V2" and len(values) > 2:
            values[2] = values[2]._replace(text=values[2].text.removeprefix("AT_WRAP"))
        inner = self._inner(arguments, values)
        parts = _items(arguments)
        if name == "AT_ERROR":
            shown = [self._methods.message(child, value) for child, value in zip(parts, values, strict=True)]
            inner = self._inner(arguments, shown)
            check = self._names.known_macro("TORCH_CHECK", node)
            return CppValue(f"{name}({inner})" if check is None else f"{check.text}(false, {inner})")
        comparison = self._names.comparison(name, values, node)
        if comparison is not None:
            return comparison
        if self._names.is_check(name):
            shown = [self._methods.message(child, value) for child, value in zip(parts[1:], values[1:], strict=True)]
            inner = self._inner(arguments, [*values[:1], *shown])
        call_value = self._methods.function(node, name, values, inner)
        if call_value is not None:
            return call_value
        for value in values:
            self._state.keep_options(node, value.options)
        called = self._visit(function)
        type = called.type or self._result(name, function, values)
        between = self._between(function.end_byte, arguments.start_byte)
        return CppValue(f"{called.text}{between}({inner})", type)

    def _result(self, name: str, function: Node, values: Sequence[CppValue]) -> str:
        """The type of the result of a function that is none of PyTorch's."""
        plain = name.rpartition("::")[2]
        base = plain.partition("<")[0]
        if base in ("static_cast", "max", "min", "get", "move", "make_tuple", "make_pair"):
            match = re.search(r"<(.*)>", name, re.DOTALL)
            if base == "static_cast" and match is not None:
                return value_type(match[1], self._scopes.numbers())
            if base == "get" and match is not None and match[1].isdigit() and values:
                types = items_of_tuple(values[0].type)
                return types[int(match[1])] if int(match[1]) < len(types) else UNKNOWN
            if base.startswith("make"):
                return f"({', '.join([value.type or OTHER for value in values])})"
            return values[0].type if values else UNKNOWN
        if name.startswith(("stable_ops::", "torch::stable::")):
            is_known = base in FUNCTION_NAMES and name.startswith("torch::")
            return "Tensor" if is_known else self._state.facts.results.get(f"stable_ops::{base}", UNKNOWN)
        if function.type in ("primitive_type", "type_identifier") or name_within(name) in CONSTRUCTED:
            return value_type(name, self._scopes.numbers())
        return self._state.facts.results.get(base, UNKNOWN)

    def _method(self, node: Node, function: Node, arguments: Node) -> CppValue:
        owner, field = function.child_by_field_name("argument"), function.child_by_field_name("field")
        if owner is None or field is None:
            return CppValue(self._spliced(node))
        value = self._visit(owner)
        if value.is_tensor and node_text(field) in ("index", "index_put_"):
            items, *others = _items(arguments) or [arguments]
            if items.type == "initializer_list" and any(map(_is_special_index, items.named_children)):
                view = self._indexed(node, value, items)
                if node_text(field) == "index" and not others:
                    return view or CppValue(node_text(node), "Tensor")
                is_statement = node.parent is not None and node.parent.type == "expression_statement"
                given = self._visit(others[0]) if len(others) == 1 and is_statement and view is not None else None
                written = None if given is None or view is None else self._put(node, [view, CppValue("{}"), given])
                return written or self._stays_indexed(node)
        if value.is_tensor and _reads_what_changes(owner, arguments):
            self._state.leave(node, "C++ changes the object first, and calls functions in no such order: split it")
            return CppValue(node_text(node), "Tensor")
        values = self._arguments(arguments)
        is_indexed = len(values) == {"index": 1, "index_put_": 2}.get(node_text(field)) and value.is_tensor
        if is_indexed and values[0].type == "Tensor[]" and values[0].text.startswith("{"):
            return self._put(node, [value, *values]) or self._stays_indexed(node)
        template = re.search(r"<.*>$", node_text(field), re.DOTALL)
        names = self._visit(field).text if template is not None else node_text(field)
        written_arguments = self._inner(arguments, values)
        between = self._between(owner.end_byte, field.start_byte)
        called = MethodCall(node, value, names, values, written_arguments, between.strip())
        if (ported := self._methods.method(called)) is not None:
            return ported
        type = "Tensor" if value.is_tensor and self._calls.gives_tensor(called.base) else UNKNOWN
        return CppValue(f"{value.text}{between}{names}({written_arguments})", type)

    def _put(self, node: Node, values: Sequence[CppValue]) -> CppValue | None:
        """The helper for a tensor, indices in braces and, to write through them, a value; None if it stays."""
        if not all(value.is_tensor or value.type in _NUMBERS for value in values[2:]):
            return None
        helper = StableName(f"stable_ops::{'index_put' if values[2:] else 'indexed'}", since=(2, 10))
        texts = ", ".join([value.text for value in values])
        return CppValue(f"{helper.text}({texts})", "Tensor") if self._state.take(helper, node) else None

    def _stays_indexed(self, node: Node) -> CppValue:
        self._state.leave(node, "the stable API has no such indexing: call operators")
        return CppValue(node_text(node), "Tensor")

    def _indexed(self, node: Node, value: CppValue, items: Node) -> CppValue | None:
        """The view that indices choose, by operators from left to right; None if one of them is a tensor."""
        view, position, is_behind = value, 0, False
        indices = _items(items)
        taking = [index for index in indices if _kind_of_index(index) not in ("None", "Ellipsis")]
        for index in indices:
            kind = _kind_of_index(index)
            if kind == "Ellipsis":
                is_behind = True
                continue
            # Behind an ellipsis, dimensions count from the last one.
            dim = CppValue(str(-len(taking) - (kind == "None") if is_behind else position), "int")
            arguments = [child for child in walk(index) if child.type in ("argument_list", "initializer_list")][:1]
            if kind == "None":
                name, given = "unsqueeze", []
            elif kind == "Slice" and not arguments:
                self._state.leave(node, "an index is no number or slice: call operators")
                return None
            elif kind == "Slice":
                bounds = _items(arguments[0])
                name = "slice"
                given = [_NO_BOUND if _kind_of_index(part) == "None" else self._visit(part) for part in bounds]
            else:
                name, given = "select", [self._visit(index)]
            if any(part.type not in ("int", "None") for part in given):
                self._state.leave(node, "an index is no number or slice: call operators")
                return None
            called = self._calls.operator(node, name, [view, dim, *given])
            if called is None:
                return None
            view = called
            taking = taking[kind != "None" :]
            position += name != "select"
        return view if view is not value else self._calls.operator(node, "alias", [value])


def _items(node: Node) -> list[Node]:
    """The parts of a list, without comments."""
    return [child for child in node.named_children if child.type != "comment"]


def _kind_of_index(node: Node) -> str:
    """What an index is by its name: `Slice`, `None` or `Ellipsis`; empty for others."""
    text = node_text(node)
    if text in ('"..."', "at::nullopt", "std::nullopt", "c10::nullopt"):
        return "Ellipsis" if text.startswith('"') else "None"
    match = re.match(r"(?:\w+::)*(Slice|None|Ellipsis)\b", text)
    return "" if match is None or (match[1] != "Slice" and match.end() < len(text)) else match[1]


def _is_special_index(node: Node) -> bool:
    return node.type == "number_literal" or _kind_of_index(node) != ""


def _is_call(text: str) -> bool:
    """Whether a text is one call of a function of the stable API, and nothing after it.

    >>> _is_call("stable_ops::add(x, f(y))"), _is_call("torch::stable::sum(x).numel() + f(y)")
    (True, False)
    """
    depth = 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == ")" and not depth:
            return index == len(text) - 1 and _CALL.match(text) is not None
    return False


def _is_settled(declared: Node, name: Node, options: OptionTexts) -> bool:
    """Whether a variable with options, and all that its options name, stay what they are to the end of the scope."""
    statement = declared.parent
    if statement is None or statement.parent is None or name.type != "identifier":
        return False
    names = {node_text(name), *re.findall(r"\b[A-Za-z_]\w*", " ".join(filter(None, options)))}
    for node in walk(statement.parent):
        if node.start_byte >= statement.end_byte and not names.isdisjoint(_changed_names(node)):
            return False
    return True


#: An argument that does not depend on the values of tensors: a variable, a view of one, or a fact about one.
_UNCHANGED: Final = re.compile(
    r"\w+(?:\[[\w, ]*\])*(?:\.(?:device|dim|dtype|numel|options|scalar_type|sizes?|strides?)\(\w*\))?"
)


def _reads_what_changes(owner: Node, arguments: Node) -> bool:
    """Whether arguments compute with names that change when the object is evaluated: `b.zero_().add(b.sum())`."""
    changed: list[Node | None] = []
    for node in walk(owner):
        if node.type in ("assignment_expression", "update_expression"):
            changed.append(node.child_by_field_name("left") or node.child_by_field_name("argument"))
        elif node.type == "field_expression" and re.search(r"[^_]_$", child_text(node, "field")):
            changed.append(node.child_by_field_name("argument"))
    names = {
        node_text(name) for part in changed if part is not None for name in walk(part) if name.type == "identifier"
    }
    # Views, and what a tensor is besides its values, are the same before and after.
    computed = [child for child in arguments.named_children if not _UNCHANGED.fullmatch(node_text(child))]
    return any(node.type == "identifier" and node_text(node) in names for child in computed for node in walk(child))


def _changed_names(node: Node) -> Iterator[str]:
    """The names that a node itself assigns to (`std::tie(a, b) = ...` too), swaps, or declares."""
    if node.type == "assignment_expression":
        parts = [node.child_by_field_name("left")]
        parts = [part for part in parts if part is not None and part.type in ("identifier", "call_expression")]
    elif node.type == "call_expression":
        parts = [node] if child_text(node, "function").endswith("swap") else []
    elif node.type == "declaration":
        parts = [part for part in node.children_by_field_name("declarator") if part.type == "identifier"]
    else:
        parts = [node.child_by_field_name("declarator")] if node.type in _DECLARATORS else []
    for part in parts:
        yield from [] if part is None else [node_text(name) for name in walk(part) if name.type == "identifier"]


def _is_conditional(node: Node) -> bool:
    """Whether a directive is in a condition, other than the guard of a header."""
    parent = node.parent
    while parent is not None:
        if parent.type.startswith(("preproc_if", "preproc_el")):
            name = child_text(parent, "name")
            guards = [child_text(child, "name") for child in parent.children if child.type == "preproc_def"]
            if not name or name not in guards[:1]:
                return True
        parent = parent.parent
    return False
