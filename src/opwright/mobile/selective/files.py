"""Input files of programs for selective builds, with a place for each mistake."""

from __future__ import annotations

from opwright.dialects.selection import load_selection
from opwright.mobile.mobile_codes import FIELD_WITHOUT_EFFECT, FIELDS_MISSING
from opwright.mobile.selective.shapes import Shape
from opwright.model.selection import Selection
from opwright.schema.fault import SchemaFault
from opwright.schema.parser import read_schema
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.expect import (
    check_unique_keys,
    expect_boolean,
    expect_mapping,
    expect_sequence,
    expect_string,
)
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode, did_you_mean_key
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml


class Files:
    """Input files with the places of their names. Mistakes go to the sink."""

    def __init__(self, sink: Diagnostics) -> None:
        self.sink = sink
        self._scalars: dict[str, dict[str, Scalar]] = {}

    def selection(self, path: str) -> Selection:
        """Selection that a file describes."""
        return load_selection(SourceFile.read(path), self.sink)

    def value(self, path: str, shape: Shape, what: str) -> object:
        """Values of a YAML file with a shape. Raises FaultsFound if they do not have it."""
        root = load_yaml(SourceFile.read(path))
        self._scalars[path] = _scalars(root)
        _check(root, shape, what, self.sink)
        self.sink.raise_if_errors()
        return root.python_value()

    def text(self, path: str) -> str:
        """Text of a file."""
        return SourceFile.read(path).text

    def data(self, path: str) -> bytes:
        """Bytes of a file; missing files are faults."""
        try:
            with open(path, "rb") as stream:
                return stream.read()
        except OSError:
            # Reading it as text reports what is wrong.
            return SourceFile.read(path).text.encode()

    def refuse(self, code: str, message: str, *, path: str = "", name: str = "", help: str = "") -> None:
        """Report an error, at a name in a file if that file has it."""
        self.sink.error(code, message, self.span(path, name), help=help)

    def warn(self, code: str, message: str, *, path: str = "", name: str = "", help: str = "") -> None:
        """Report a warning, at a name in a file if that file has it."""
        self.sink.warning(code, message, self.span(path, name), help=help)

    def are_sound(self) -> bool:
        """Whether no mistake is reported yet."""
        return not self.sink.has_errors

    def span(self, path: str, name: str) -> Span | None:
        """The first place of a name in a file that was read."""
        if not name or not path:
            return None
        if path not in self._scalars:
            try:
                self._scalars[path] = _scalars(load_yaml(SourceFile.read(path)))
            except Fault:
                self._scalars[path] = {}
        scalar = self._scalars[path].get(name)
        return None if scalar is None else scalar.span

    def operator_name(self, schema: str, path: str) -> str:
        """Qualified name of the operator with a schema; without a namespace it is one of `aten`."""
        namespace, colons, _ = schema.partition("::")
        is_qualified = bool(colons) and "(" not in namespace
        try:
            name = read_schema(schema, len(namespace) + 2 if is_qualified else 0).name
        except SchemaFault as fault:
            self.sink.add(fault.at(self._scalars[path][schema].span_of(fault.start, fault.end)))
            return schema
        return f"{namespace if is_qualified else 'aten'}::{name}"


def _scalars(root: Node) -> dict[str, Scalar]:
    """The first scalar of each text."""
    scalars: dict[str, Scalar] = {}
    pending = [root]
    while pending:
        node = pending.pop()
        match node:
            case Scalar():
                scalars.setdefault(node.value, node)
            case SequenceNode():
                pending.extend(reversed(node.items))
            case MappingNode():
                for key, value in reversed(node.entries):
                    pending.extend((value, key))
    return scalars


def _check(node: Node, shape: Shape, what: str, sink: Diagnostics) -> None:
    """Report where a node has not the shape of a file."""
    if shape.may_be_null and isinstance(node, Scalar) and node.kind == "null":
        return
    match shape.kind:
        case "text":
            expect_string(node, what, sink)
        case "flag":
            expect_boolean(node, what, sink)
        case "scalar":
            if not isinstance(node, Scalar) or node.kind == "null":
                expect_string(node, what, sink)
        case "list" if shape.item is not None:
            if shape.may_be_single and isinstance(node, MappingNode):
                _check(node, shape.item, what, sink)
                return
            sequence = expect_sequence(node, what, sink)
            for item in sequence.items if sequence is not None else ():
                _check(item, shape.item, f"an item of {what}", sink)
        case "mapping" if shape.item is not None:
            mapping = expect_mapping(node, what, sink)
            for key, value in mapping.entries if mapping is not None else ():
                _check(value, shape.item, f"{what} of `{key.value}`", sink)
        case "record":
            _check_record(node, shape, what, sink)


def _check_record(node: Node, shape: Shape, what: str, sink: Diagnostics) -> None:
    mapping = expect_mapping(node, what, sink)
    fields = shape.fields
    if mapping is None or fields is None:
        return
    check_unique_keys(mapping, sink)
    for field in shape.required:
        if mapping.get(field) is None:
            sink.error(FIELDS_MISSING, f"{what} has no field `{field}`", mapping.span)
    for key, value in mapping.entries:
        if key.value in fields:
            _check(value, fields[key.value], f"`{key.value}`", sink)
        else:
            help = did_you_mean_key(key, mapping, fields)
            sink.warning(FIELD_WITHOUT_EFFECT, f"the field `{key.value}` of {what} has no effect", key.span, help=help)
