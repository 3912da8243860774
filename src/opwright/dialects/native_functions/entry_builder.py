"""Builder of an entry, which the readers of fields fill, and the spans of its parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from opwright.dialects.field import Field
from opwright.dialects.names import unread_message
from opwright.model.dispatch_key import DispatchKey, dispatch_keys
from opwright.model.extra_values import NO_VALUES
from opwright.model.library import PYTORCH, Library
from opwright.model.native_function import EntryFields, GuestFields, Kernel
from opwright.schema.fault import SchemaFault
from opwright.schema.function import FunctionSchema
from opwright.schema.parser import STRICT, Grammar
from opwright.source.codes import UNREAD_FIELD, WRONG_SHAPE
from opwright.source.diagnostic import Diagnostics, Label, Suggestion
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode
from opwright.source.records import NamedTuple
from opwright.source.span import Span

if TYPE_CHECKING:
    from opwright.dialects.dialect import ExtraKeys
    from opwright.dialects.values import Releases
    from opwright.release.tree_facts import TreeFacts


class EntryContext:
    """What all entries of a file share: the tags, the ignored dispatch keys, and the sink for faults.

    `all_tags` says that `tags.yaml` has no fault. Only then is an unknown tag a mistake of the entry. `library` is the
    library of the operators: an entry that names no namespace is in its own. `fields` has those that entries may have
    besides PyTorch's, or that stand in the place of one that is late, `make_guest_fields` makes a record of those that
    are no `EntryFields`, and `head_names` those of the head of the file. `keys` has the dispatch keys that entries may
    name. With `only_schemas`, other libraries define the operators, so entries need not say more than the schema.
    `extra_keys` are those that plug-ins declare, with the values that they have in the release of `releases`. `grammar`
    is the spelling of the schemas. `kernel_namespace` is the C++ namespace of kernels whose names have none. `tree` is
    what a tree between releases shows: fields that only its generator reads are ignored with a note. `absent_types` are
    base types that the release does not have, with the reason. With `const_ref_excludes_out`, functions with out
    arguments cannot have `use_const_ref_for_mutable_tensors`. `check_more` reports what breaks rules of a guest.
    """

    def __init__(
        self,
        tags: frozenset[str],
        ignored_keys: frozenset[DispatchKey],
        sink: Diagnostics,
        *,
        all_tags: bool = True,
        library: Library = PYTORCH,
        fields: Mapping[str, EntryField] | None = None,
        make_guest_fields: Callable[..., GuestFields | None] = lambda **_: None,
        head_names: Container[str] = (),
        keys: Mapping[str, DispatchKey] | None = None,
        only_schemas: bool = False,
        extra_keys: ExtraKeys | None = None,
        releases: Releases | None = None,
        grammar: Grammar = STRICT,
        kernel_namespace: str | None = None,
        tree: TreeFacts | None = None,
        const_ref_excludes_out: bool = True,
        check_more: Callable[[EntryBuilder, FunctionSchema], None] | None = None,
        absent_types: Mapping[str, str] | None = None,
    ) -> None:
        self.tags: Final = tags
        self.all_tags: Final = all_tags
        self.ignored_keys: Final = ignored_keys
        self.sink: Final = sink
        self.library: Final = library
        self.fields: Final = fields or {}
        self.make_guest_fields: Final = make_guest_fields
        self.head_names: Final = head_names
        self.extra_keys: Final = extra_keys
        self.releases: Final = releases
        self.grammar: Final = grammar
        self.kernel_namespace: Final = library.native if kernel_namespace is None else kernel_namespace
        self.keys: Final = keys or {key.name: key for key in dispatch_keys()}
        self.only_schemas: Final = only_schemas
        self.tree: Final = tree
        self.const_ref_excludes_out: Final = const_ref_excludes_out
        self.check_more: Final = check_more
        self.absent_types: Final = absent_types or {}
        self._noted: Final[set[str]] = set()
        #: Keys by the text in the file: few different texts occur, each many times.
        self.keys_of: Final[dict[str, tuple[DispatchKey, ...]]] = {}

    def note_unread(self, key: Scalar) -> None:
        """Note once that a field of PyTorch's generator is ignored."""
        if key.value not in self._noted:
            self._noted.add(key.value)
            self.sink.note(UNREAD_FIELD, unread_message(key.value), key.span)


#: Reads a field: gives its value, or None if the default stays, because there is no value or it has a fault.
Reader = Callable[[Node, "EntryBuilder"], object]


class EntryField(NamedTuple):
    """A field of an entry: what documentation says of it, its reader, and the attribute of functions with its value.

    The attribute is one of `EntryFields` or, for guests, of their `GuestFields`. Without one, the reader itself sets
    what it reads. Explanations say the `fact` of functions whose value is not the default, with the value in place of
    `{}`; they show other fields elsewhere. A field that `is_late` depends on others, and is read last. The entries of
    libraries have the fields that are `in_libraries`.
    """

    field: Field
    reader: Reader
    attribute: str = ""
    fact: str = ""
    is_late: bool = False
    in_libraries: bool = True


class EntryBuilder(EntryFields):
    """An entry while it is read: the values of its fields, and whether any has a fault.

    `internal_schema` is that of the operator with the entry's kernels, if it is not the one that the entry names.
    """

    __slots__ = (
        *("context", "failed", "guest_fields", "has_ignored_kernels", "internal_schema", "kernels", "named_keys"),
        *("namespace", "node", "schema", "values"),
    )

    def __init__(self, node: MappingNode, context: EntryContext) -> None:
        super().__init__()
        self.node: Final = node
        self.context: Final = context
        self.failed = False
        self.namespace = context.library.namespace
        self.schema: FunctionSchema | None = None
        self.internal_schema: FunctionSchema | None = None
        self.kernels: dict[DispatchKey, Kernel] | None = None
        self.named_keys = 0
        self.has_ignored_kernels = False
        self.guest_fields: Final[dict[str, object]] = {}
        self.values = NO_VALUES

    def set_field(self, name: str, value: object) -> None:
        """Sets one of the fields of functions, or of those that PyTorch's entries lack."""
        if hasattr(self, name):
            setattr(self, name, value)
        else:
            self.guest_fields[name] = value

    def fault(
        self,
        code: str,
        message: str,
        at: Span,
        *,
        label: str = "",
        help: str | Suggestion = "",
        also: Sequence[Label] = (),
    ) -> None:
        """Reports a fault; the entry is then left out of the catalog."""
        self.failed = True
        self.context.sink.error(code, message, at, label=label, help=help, also=also)

    def schema_fault(self, fault: SchemaFault, scalar: Scalar) -> None:
        """Reports a fault in schema text that is the value of a scalar, and the others of the text."""
        self.failed = True
        for schema_fault in (fault, *fault.others):
            self.context.sink.add(schema_fault.at(scalar.span_of(schema_fault.start, schema_fault.end)))

    def wrong_type(self, node: Node, field: str, wanted: str, help: str = "") -> None:
        """Reports that a field's value has the wrong type."""
        self.fault(WRONG_SHAPE, f"`{field}` is {node.description}, not {wanted}", node.span, help=help)


def name_span(node: MappingNode) -> Span:
    """Span of the operator's name in an entry's schema, namespace included."""
    func = node.get("func")
    if not isinstance(func, Scalar):
        return node.span
    end = func.value.find("(")
    return func.span_of(0, end if end >= 0 else len(func.value))


def key_span(node: MappingNode, field: str) -> Span:
    """Span of a field's name; that of the operator's name if the field is missing."""
    entry = node.entry(field)
    return name_span(node) if entry is None else entry[0].span


def value_span(node: MappingNode, field: str) -> Span:
    """Span of a field's value; that of the operator's name if the field is missing."""
    value = node.get(field)
    return name_span(node) if value is None else value.span


def item_span(node: MappingNode, field: str, word: str) -> Span:
    """Span of a word in the value of a field that is a text or a list of texts."""
    value = node.get(field)
    if value is None or isinstance(value, MappingNode):
        return node.span if value is None else value.span
    for item in [value] if isinstance(value, Scalar) else value.items:
        if isinstance(item, Scalar) and (start := item.value.find(word)) >= 0:
            return item.span_of(start, start + len(word))
    return value.span


def dispatch_key_span(node: MappingNode, name: str) -> Span:
    """Span of a key in an entry's dispatch table."""
    table = node.get("dispatch")
    keys = [key for key, _ in table.entries] if isinstance(table, MappingNode) else [table]
    for key in keys:
        if isinstance(key, Scalar) and (start := _find_words(key.value, name, 0)) >= 0:
            return key.span_of(start, start + len(name))
    return node.span if table is None else table.span


def kernel_span(node: MappingNode, name: str) -> Span:
    """Span of a kernel in an entry's dispatch table; the name may lack the namespace."""
    table = node.get("dispatch")
    for _, value in table.entries if isinstance(table, MappingNode) else ():
        for item in value.items if isinstance(value, SequenceNode) else [value]:
            named = item.get("kernel") if isinstance(item, MappingNode) else item
            if isinstance(named, Scalar) and name in (named.value, named.value.rpartition("::")[2]):
                return named.span
    return name_span(node)


def argument_span(node: MappingNode, text: str) -> Span:
    """Span of the argument `text` in an entry's schema."""
    func = node.get("func")
    return _part_span(func, text) if isinstance(func, Scalar) else node.span


def return_span(node: MappingNode, returns: Sequence[str], index: int) -> Span:
    """Span of one of the returns in an entry's schema."""
    func = node.get("func")
    return _part_span(func, returns[index], returns[:index]) if isinstance(func, Scalar) else node.span


def _part_span(func: Scalar, text: str, before: Sequence[str] | None = None) -> Span:
    """Span of an argument, or of the return that follows others, in a schema, which may have other blanks."""
    schema, start = func.value, 0
    if before is not None:
        start = schema.rfind("->")
        for other in before:
            match = _spelt(other).search(schema, start)
            start = start if match is None else match.end()
    match = _spelt(text).search(schema, start)
    return func.span if match is None else func.span_of(*match.span())


def _spelt(part: str) -> re.Pattern[str]:
    """A pattern of the texts that mean the same part of a schema to the dispatcher: `Tensor! x` is `Tensor(a!) x`."""
    tokens = re.findall(r"\(\w+!\)|\w+|\S", part)
    spelt = [rf"(?:{re.escape(token)}|!)" if token.endswith("!)") else re.escape(token) for token in tokens]
    return re.compile(rf"(?<!\w){_BLANKS.join(spelt)}(?!\w)")


#: What may stand between two tokens of a schema.
_BLANKS: Final = r"(?:\s|\\\n|#[^\n]*(?:\n|\Z))*"


def _find_words(schema: str, text: str, after: int) -> int:
    """Offset of `text` as whole words, from an offset on; -1 if it does not occur."""
    match = re.compile(rf"(?<!\w){re.escape(text)}(?!\w)").search(schema, after)
    return -1 if match is None else match.start()
