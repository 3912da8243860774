"""Extra keys: keys that plug-ins declare for entries and heads of input files, with their types, and their reader."""

from __future__ import annotations

import types
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Final, TypeAlias, Union, get_args

from opwright.dialects.field import FLAG, PLACES, TEXT, Field, JsonSchema, choice, list_of_schema, mapping_schema
from opwright.dialects.names import CPP_WORDS, IDENTIFIER
from opwright.dialects.values import Releases
from opwright.model.extra_values import ExtraValue, ExtraValues
from opwright.plugins import plugin_codes
from opwright.source.diagnostic import Diagnostics, Fault, Suggestion, did_you_mean, shorten
from opwright.source.expect import check_unique_keys
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode
from opwright.source.records import Copyable, NamedTuple
from opwright.source.span import Span
from opwright.syntax.cpp_expressions import find_cpp_fault


class KeyPlace(NamedTuple):
    """A value that is being read: the path of its key, such as `result.size`, the key itself, and where faults go."""

    path: str
    key: ExtraKey
    sink: Diagnostics

    def fault(self, code: str, message: str, at: Span, *, label: str = "", help: str | Suggestion = "") -> None:
        """Reports a fault of the value."""
        notes = [f"the plug-in `{self.key.plugin}` declares `{self.key.name}`"] if self.key.plugin else []
        if self.key.help:
            notes.append(f"`{self.key.name}`: {self.key.help}")
        self.sink.error(code, message, at, label=label, help=help, notes=notes)

    def below(self, name: str) -> KeyPlace:
        """Place of a field of the value."""
        return self._replace(path=f"{self.path}.{name}")


class KeyType(ABC):
    """What the values of a key may be. `words` describe one of them, such as `a boolean`."""

    __slots__ = ("words",)

    def __init__(self, words: str) -> None:
        self.words: Final = words

    @property
    def schema(self) -> JsonSchema:
        """The JSON Schema of the values."""
        return self._schema()

    def fits(self, node: Node) -> bool:
        """Whether a node has the shape of such a value."""
        return self._fits(node)

    def read(self, node: Node, place: KeyPlace) -> ExtraValue:
        """Value of a node. Faults go to the sink of the place; the value of a node of another shape is None."""
        if self._fits(node):
            try:
                return self._value(node, place)
            except Fault as fault:
                # A date may have a thirteenth month.
                place.sink.add(fault.diagnostic)
                return None
        help = ""
        if isinstance(node, Scalar) and "string" in self.words and node.kind != "null":
            help = f'write `"{shorten(node.value)}"` with quotes if it is text'
        message = f"`{place.path}` is {node.description}, not {self.words}"
        place.fault(plugin_codes.VALUE_TYPE, message, node.span, label=f"expected {self.words}", help=help)
        return None

    @abstractmethod
    def _schema(self) -> JsonSchema: ...

    @abstractmethod
    def _fits(self, node: Node) -> bool: ...

    @abstractmethod
    def _value(self, node: Node, place: KeyPlace) -> ExtraValue: ...

    def __repr__(self) -> str:
        return f"<key type: {self.words}>"


class _Plain(KeyType):
    """A scalar that YAML reads as one of some types."""

    __slots__ = ("_json_schema", "_kinds")

    def __init__(self, words: str, kinds: tuple[str, ...], schema: JsonSchema) -> None:
        super().__init__(words)
        self._kinds: Final = kinds
        self._json_schema: Final = schema

    def _schema(self) -> JsonSchema:
        return self._json_schema

    def _fits(self, node: Node) -> bool:
        return isinstance(node, Scalar) and node.kind in self._kinds

    def _value(self, node: Node, place: KeyPlace) -> ExtraValue:
        del place
        value = node.python_value()
        assert isinstance(value, (bool, int, float, str))
        return float(value) if "float" in self._kinds else value


class Choice(KeyType):
    """One of some words.

    >>> Choice("sum", "mean").words
    'one of `sum`, `mean`'
    """

    __slots__ = ("_choices",)

    def __init__(self, *words: str) -> None:
        if not words:
            raise ValueError("a choice needs words")
        super().__init__("one of " + ", ".join([f"`{word}`" for word in words]))
        self._choices: Final = words

    def _schema(self) -> JsonSchema:
        return choice(*self._choices)

    def _fits(self, node: Node) -> bool:
        return isinstance(node, Scalar) and (node.kind == "str" or node.value in self._choices)

    def _value(self, node: Node, place: KeyPlace) -> ExtraValue:
        assert isinstance(node, Scalar)
        if node.value not in self._choices:
            help = did_you_mean(node.value, self._choices, f"write {self.words}")
            place.fault(
                plugin_codes.PLUGIN_UNKNOWN_WORD,
                f"`{place.path}` cannot be `{shorten(node.value)}`",
                node.span,
                help=help,
            )
        return node.value


class _Cpp(KeyType):
    """A text of C++: with `part`, a name or an expression; without, statements."""

    __slots__ = ("_part",)

    def __init__(self, words: str, part: str) -> None:
        super().__init__(words)
        self._part: Final = part

    def _schema(self) -> JsonSchema:
        return TEXT

    def _fits(self, node: Node) -> bool:
        # Numbers and booleans are expressions too.
        kinds = ("str", "int", "float", "bool") if self._part == "expression" else ("str",)
        return isinstance(node, Scalar) and node.kind in kinds

    def _value(self, node: Node, place: KeyPlace) -> ExtraValue:
        assert isinstance(node, Scalar)
        text = node.value
        if self._part in ("identifier", "name"):
            parts = [text] if self._part == "identifier" else text.removeprefix("::").split("::")
            if not all(IDENTIFIER.fullmatch(part) and part not in CPP_WORDS for part in parts):
                place.fault(plugin_codes.PLUGIN_CPP_TEXT, f"`{shorten(text)}` is not {self.words}", node.span)
            return text
        fault = find_cpp_fault(text, has_statements=self._part == "statements")
        if fault is not None:
            at = node.span_of(fault.start, fault.end) if text.strip() else node.span
            place.fault(plugin_codes.PLUGIN_CPP_TEXT, f"`{place.path}` is not {self.words}: {fault.message}", at)
        return text.strip()


class ListOf(KeyType):
    """A list of values of one type. With `one_alone`, a value that is no list is a list of one."""

    __slots__ = ("_item", "_one_alone")

    def __init__(self, item: KeyTypeLike, *, one_alone: bool = False) -> None:
        self._item: Final = as_key_type(item)
        self._one_alone: Final = one_alone
        words = self._item.words
        super().__init__(f"a list of {_plural(words)}" if not one_alone else f"{words} or a list of {_plural(words)}")

    def _schema(self) -> JsonSchema:
        items = list_of_schema(self._item.schema)
        return {"anyOf": [self._item.schema, items]} if self._one_alone else items

    def _fits(self, node: Node) -> bool:
        return isinstance(node, SequenceNode) or (self._one_alone and self._item.fits(node))

    def _value(self, node: Node, place: KeyPlace) -> ExtraValue:
        items = node.items if isinstance(node, SequenceNode) else [node]
        return tuple([self._item.read(item, place) for item in items])


class Fields(KeyType):
    """A mapping with keys of its own, each of which is an `ExtraKey` without `where`."""

    __slots__ = ("_keys",)

    def __init__(self, *keys: ExtraKey) -> None:
        super().__init__("a mapping")
        self._keys: Final = keys

    def _schema(self) -> JsonSchema:
        return mapping_schema(tuple([key.field for key in self._keys]))

    def _fits(self, node: Node) -> bool:
        return isinstance(node, MappingNode)

    def _value(self, node: Node, place: KeyPlace) -> ExtraValue:
        assert isinstance(node, MappingNode)
        nodes = _unique_entries(node, place)
        declared = {key.name: key for key in self._keys}
        for name, (key_node, _) in nodes.items():
            if name not in declared:
                help = did_you_mean(name, declared, "there are " + ", ".join([f"`{key}`" for key in declared]))
                place.fault(
                    plugin_codes.PLUGIN_UNKNOWN_KEY, f"unknown key `{name}` in `{place.path}`", key_node.span, help=help
                )
        given = {name: entry for name, entry in nodes.items() if name in declared}
        values: dict[str, ExtraValue] = {}
        for name, key in declared.items():
            if name in given:
                values[name] = key.key_type.read(given[name][1], place.below(name))
            else:
                values[name] = plain_value(key.default)
                if key.is_required:
                    place.fault(plugin_codes.PLUGIN_MISSING_KEY, f"`{place.path}` has no `{name}`", node.span)
        return ExtraValues(values, given)


class Table(KeyType):
    """A mapping from names that the author of the file chooses to values of one type."""

    __slots__ = ("_item",)

    def __init__(self, item: KeyTypeLike) -> None:
        self._item: Final = as_key_type(item)
        super().__init__(f"a mapping from names to {_plural(self._item.words)}")

    def _schema(self) -> JsonSchema:
        return {"type": "object", "additionalProperties": self._item.schema}

    def _fits(self, node: Node) -> bool:
        return isinstance(node, MappingNode)

    def _value(self, node: Node, place: KeyPlace) -> ExtraValue:
        assert isinstance(node, MappingNode)
        nodes = _unique_entries(node, place)
        values = {name: self._item.read(value, place.below(name)) for name, (_, value) in nodes.items()}
        return ExtraValues(values, nodes)


class Either(KeyType):
    """A value of one of several types: of the first whose shape a value has.

    >>> Either(bool, list[str]).words
    'a boolean or a list of strings'
    """

    __slots__ = ("_types",)

    def __init__(self, *types: KeyTypeLike) -> None:
        self._types: Final = tuple([as_key_type(type) for type in types])
        super().__init__(" or ".join([type.words for type in self._types]))

    def _schema(self) -> JsonSchema:
        return {"anyOf": [type.schema for type in self._types]}

    def _fits(self, node: Node) -> bool:
        return any(type.fits(node) for type in self._types)

    def _value(self, node: Node, place: KeyPlace) -> ExtraValue:
        return next(type for type in self._types if type.fits(node)).read(node, place)


class _Any(KeyType):
    """Any value."""

    __slots__ = ()

    def _schema(self) -> JsonSchema:
        return {}

    def _fits(self, node: Node) -> bool:
        del node
        return True

    def _value(self, node: Node, place: KeyPlace) -> ExtraValue:
        if isinstance(node, Scalar):
            value = node.python_value()
            return value if isinstance(value, (bool, int, float, str)) or value is None else node.value
        if isinstance(node, SequenceNode):
            return tuple([self._value(item, place) for item in node.items])
        nodes = _unique_entries(node, place)
        return ExtraValues({name: self._value(value, place) for name, (_, value) in nodes.items()}, nodes)


class ExtraKey(Copyable):
    """A key that a plug-in declares: its name, the type of its values, where it stands, and a sentence for users.

    `type` is `bool`, `int`, `float`, `str`, a list of one of them, or a `KeyType`. `where` is one of `backend entry`,
    `backend head`, `library entry` and `native function`; keys in a `Fields` have none. Without a value in the file,
    `default` is the value, unless the key `is_required`. Raises ValueError for a declaration that makes no sense.

    >>> ExtraKey("profiled", bool, where="backend entry", default=True, help="Whether the profiler sees the call.")
    <extra key profiled of a backend entry>
    """

    __slots__ = ("default", "help", "is_required", "key_type", "name", "plugin", "where")

    def __init__(
        self,
        name: str,
        type: KeyTypeLike,
        where: str = "",
        *,
        default: object = None,
        help: str = "",
        is_required: bool = False,
        plugin: str = "",
    ) -> None:
        if not IDENTIFIER.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a key: write letters, digits and _")
        if where and where not in PLACES:
            raise ValueError(f"{where!r} is no place of keys: there are {', '.join(map(repr, PLACES))}")
        self.name: Final = name
        self.key_type: Final[KeyType] = as_key_type(type)
        self.where: Final = where
        self.default: Final = plain_value(default)
        self.help: Final = help
        self.is_required: Final = is_required
        self.plugin: Final = plugin
        """The name of the plug-in; the run fills it in."""

    def of_plugin(self, name: str) -> ExtraKey:
        """A copy with the name of its plug-in."""
        return self.replace(type=self.key_type, plugin=name)

    @property
    def field(self) -> Field:
        """Key as a field of documentation and JSON Schemas."""
        help = f"{self.help} (plug-in {self.plugin})".strip() if self.plugin else self.help
        return Field(self.name, self.key_type.words, self.key_type.schema, help, is_required=self.is_required)

    def read(self, node: Node, sink: Diagnostics) -> ExtraValue:
        """Value of a node, for a dialect of a plug-in. Faults go to the sink."""
        return self.key_type.read(node, KeyPlace(self.name, self, sink))

    def __repr__(self) -> str:
        return f"<extra key {self.name} of a {self.where}>" if self.where else f"<extra key {self.name}>"


KeyTypeLike: TypeAlias = Union["KeyType", type, types.GenericAlias]
"""A type of keys, or one of `bool`, `int`, `float`, `str` and lists of those."""

#: A name without namespaces, such as that of a class or a macro.
CPP_IDENTIFIER: Final[KeyType] = _Cpp("a C++ identifier", "identifier")
#: A name that may have namespaces, such as `acme::empty`.
CPP_NAME: Final[KeyType] = _Cpp("a C++ name", "name")
#: An expression, whose brackets and literals are closed.
CPP_EXPRESSION: Final[KeyType] = _Cpp("a C++ expression", "expression")
#: Statements, whose brackets and literals are closed.
CPP_CODE: Final[KeyType] = _Cpp("C++ code", "statements")
#: Any value that YAML has.
ANY_VALUE: Final[KeyType] = _Any("any value")

_PYTHON_TYPES: Final[dict[object, KeyType]] = {
    bool: _Plain("a boolean", ("bool",), FLAG),
    int: _Plain("an integer", ("int",), {"type": "integer"}),
    float: _Plain("a number", ("float", "int"), {"type": "number"}),
    str: _Plain("a string", ("str",), TEXT),
}


def as_key_type(type: KeyTypeLike) -> KeyType:
    """Type of keys that a Python type stands for. Raises ValueError for other types.

    >>> as_key_type(list[str])
    <key type: a list of strings>
    """
    if isinstance(type, KeyType):
        return type
    if type in _PYTHON_TYPES:
        return _PYTHON_TYPES[type]
    if isinstance(type, types.GenericAlias) and type.__origin__ is list:
        return ListOf(get_args(type)[0])
    raise ValueError(f"{type!r} is no type of extra keys")


def plain_value(value: object) -> ExtraValue:
    """A value of Python as an extra key has it: lists as tuples, dictionaries as `ExtraValues`.

    Raises ValueError for objects.

    >>> plain_value({"names": ["a"]})
    ExtraValues({'names': ('a',)})
    """
    if value is None or isinstance(value, (bool, int, float, str, ExtraValues)):
        return value
    if isinstance(value, (list, tuple)):
        return tuple([plain_value(item) for item in value])
    if isinstance(value, dict):
        return ExtraValues({str(name): plain_value(item) for name, item in value.items()})
    raise ValueError(f"{value!r} is no plain value")


def _unique_entries(mapping: MappingNode, place: KeyPlace) -> dict[str, tuple[Scalar, Node]]:
    """Entries of a mapping by name. Repeated keys go to the sink."""
    check_unique_keys(mapping, place.sink)
    return {key.value: (key, value) for key, value in mapping.entries}


def _plural(words: str) -> str:
    """Several of something: `a string` becomes `strings`."""
    article, _, rest = words.partition(" ")
    return f"{rest}s" if article in ("a", "an") and " " not in rest else f"values, each {words}"


class ExtraKeyReader:
    """Extra keys of one place: their names, their defaults, and the values of an entry or a head."""

    __slots__ = ("_keys", "defaults")

    def __init__(self, keys: Iterable[ExtraKey]) -> None:
        self._keys: Final = {key.name: key for key in keys}
        self.defaults: Final = ExtraValues({name: key.default for name, key in self._keys.items()})
        """What an entry has that gives none of them."""

    def __contains__(self, name: str) -> bool:
        return name in self._keys

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the keys."""
        return tuple(self._keys)

    def read(self, entries: Iterable[tuple[Scalar, Node]], at: Span, releases: Releases) -> ExtraValues | None:
        """Values of an entry or a head with these keys, among others; None, with diagnostics, if one has a fault.

        `at` is where the entry is. `releases` has the release whose values count, and the sink.
        """
        field_sink = Diagnostics()
        own_releases = releases._replace(sink=field_sink)
        given: dict[str, tuple[Scalar, Node]] = {}
        for key, value in entries:
            node = self._of_release(key.value, value, own_releases) if key.value in self._keys else None
            if node is not None:
                given[key.value] = key, node
        values: dict[str, ExtraValue] = {}
        for name, extra in self._keys.items():
            place = KeyPlace(name, extra, field_sink)
            if name in given:
                values[name] = extra.key_type.read(given[name][1], place)
            else:
                values[name] = extra.default
                if extra.is_required and not field_sink.has_errors:
                    place.fault(plugin_codes.PLUGIN_MISSING_KEY, f"the key `{name}` is missing", at)
        releases.sink.extend(field_sink)
        return None if field_sink.has_errors else ExtraValues(values, given)

    def _of_release(self, name: str, node: Node, releases: Releases) -> Node | None:
        """Value of a key in the release of the run."""
        if isinstance(node, SequenceNode):
            if self._keys[name].key_type.fits(node):
                has_releases = any(_has_releases(item) for item in node.items)
            else:
                has_releases = any(isinstance(item, MappingNode) for item in node.items)
            return releases.value(node, name) if has_releases else node
        return node


def _has_releases(node: Node) -> bool:
    """Whether an item of a list is the value for some releases, and not an item of the value."""
    if not isinstance(node, MappingNode):
        return False
    names = {key.value for key, _ in node.entries}
    return "value" in names and names <= {"value", "since", "until"} and len(names) > 1
