"""Fields of the head of a backend file, each with its reader, and a head as these fill it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Final, TypeAlias

from opwright.backends import backend_codes
from opwright.backends.dialect.hooks import HOOK_FIELDS, HookNode, read_hooks
from opwright.backends.dialect.inherited import (
    INHERITED_FIELDS,
    SECTIONS_WITH_SOURCES,
    InheritedKernels,
    read_inherited,
)
from opwright.backends.dialect.kernel_families import (
    FAMILY_FIELDS,
    KernelFamily,
    read_convention,
    read_families,
    read_pattern,
)
from opwright.backends.dialect.sections import SECTIONS, SectionKind
from opwright.backends.dialect.texts import (
    read_code,
    read_header,
    read_identifier,
    read_part,
    read_qualified_name,
    read_text,
    read_word,
)
from opwright.backends.wrapper_options import NO_HEAD_OPTIONS, Fallback, Guard, HeadOptions
from opwright.dialects.field import (
    FLAG,
    OWN_OPERATOR_FIELDS,
    TEXT,
    TEXTS,
    Field,
    JsonSchema,
    choice,
    list_of_schema,
    mapping_schema,
)
from opwright.dialects.values import Releases, read_fields
from opwright.model.dispatch_key import Allocation
from opwright.release.rules import Rules
from opwright.release.version_range import RangeFault, VersionRange, parse_version_range
from opwright.source.diagnostic import Diagnostics
from opwright.source.expect import expect_boolean, expect_sequence, expect_string, expect_strings
from opwright.source.nodes import MappingNode, Node, Scalar
from opwright.source.records import NamedTuple
from opwright.source.span import Span


class HeadBuilder:
    """Values of a head's fields.

    `sections` has the entries of each section as nodes, and `symint`, `manual` and `refused` the names of
    operators. `inherited` has the rules by which operators without an entry have kernels of PyTorch, and
    `library_files` the paths of library files with the backend's operators. `spans` has the span of each
    field's value. `options` are those that PyTorch's generator does not know.
    """

    def __init__(self, root: MappingNode, rules: Rules, sink: Diagnostics) -> None:
        self.root: Final = root
        self.rules: Final = rules
        self.sink: Final = sink
        self.spans: Final = {key.value: value.span for key, value in root.entries}
        self.sections: Final[dict[str, list[Node]]] = {}
        self.backend = ""
        self.cpp_namespace = ""
        self.class_name: str | None = None
        self.display_name = ""
        self.out_is_primary = False
        #: Whether a plug-in made the nodes, from a file of another form.
        self.is_rewritten = False
        self.device_guard = False
        self.symint: list[Scalar] = []
        self.manual: list[Scalar] = []
        self.refused: list[Scalar] = []
        self.torch = VersionRange()
        self.kernel_name = "{name}"
        self.convention: Scalar | None = None
        self.families: dict[str, KernelFamily] = {}
        self.inherited: list[InheritedKernels] = []
        self.hooks: list[HookNode] = []
        self.library_files: list[Scalar] = []
        self.options: HeadOptions = NO_HEAD_OPTIONS

    def set_options(self, **options: object) -> None:
        """Sets options by their names."""
        self.options = self.options._replace(**options)  # type: ignore[arg-type]

    def span(self, field: str) -> Span:
        """Span of a field's value; the whole file if it has none."""
        return self.spans.get(field, self.root.span)

    @property
    def releases(self) -> Releases:
        """Release of the run, and those of the file."""
        return Releases(self.rules.version, self.torch, self.sink)

    def key_span(self, field: str) -> Span:
        """Span of a field's key; that of the first key if the file does not have the field."""
        keys = {key.value: key.span for key, _ in self.root.entries}
        span = keys.get(field, next(iter(keys.values()), self.root.span))
        # A key that a plug-in made may have the place of the whole file.
        return span.first_line if self.is_rewritten else span

    @property
    def conventions(self) -> tuple[tuple[str, Span], ...]:
        """Calling conventions that the file names, each with its first place."""
        scalars = [self.convention, *[family.convention for family in self.families.values()]]
        named = {scalar.value: scalar.span for scalar in reversed(scalars) if scalar is not None}
        return tuple(named.items())

    @cached_property
    def names(self) -> dict[str, frozenset[str]]:
        """Names of operators in each section, whatever the options of their entries."""
        return {
            section: frozenset([name.value for item in items if isinstance(name := _name(item), Scalar)])
            for section, items in self.sections.items()
        }

    @cached_property
    def symint_names(self) -> frozenset[str]:
        """Names of operators whose kernels take symbolic integers."""
        return frozenset([name.value for name in self.symint])


def _name(item: Node) -> Node:
    """Name of an operator, alone or as the key of options."""
    return item.entries[0][0] if isinstance(item, MappingNode) and item.entries else item


HeadReader: TypeAlias = Callable[[Node, HeadBuilder], None]
"""Reads the value of a field."""


_ENTRIES: Final[JsonSchema] = list_of_schema({"$ref": "#/$defs/backend_entry"})
_NAMES: Final[JsonSchema] = list_of_schema(TEXT)
_FALLBACKS: Final = {"cpu": Fallback.cpu, "error": Fallback.none}
_VIEWS: Final = {"copy": True, "error": False}
_WARNINGS: Final = {"once": True, "never": False}

GUARD_FIELDS: Final = (
    Field("type", "text", TEXT, "The C++ type of the guard, such as `acme::OptionalGuard`.", is_required=True),
    Field("header", "path", TEXT, "The header that declares it."),
)
ALLOCATION_FIELDS: Final = (
    Field("empty", "text", TEXT, "The C++ function that makes an output from sizes and options.", is_required=True),
    Field("empty_strided", "text", TEXT, "The one that takes strides too; without it, the same name and `_strided`."),
    Field("header", "path", TEXT, "The header that declares them."),
)

#: The sections, beside that of dense tensors, for which the CPU has kernels.
_FALLBACK_SECTIONS: Final = tuple([name for name in SECTIONS_WITH_SOURCES if not SECTIONS[name].is_dense])

FALLBACK_FIELDS: Final = (
    Field("to", "text", choice(*_FALLBACKS), "What runs: `cpu`, or nothing, `error`.", is_required=True),
    Field("warn", "text", choice(*_WARNINGS), "Whether the first fallback of an operator warns: `once` or `never`."),
    Field("error", "list of names", _NAMES, "Operators that raise an error all the same."),
    Field("generator", "text", TEXT, "The C++ function that gives the CPU's generator for one of the device."),
    Field(
        "sections",
        "list of names",
        {"type": "array", "items": choice(*_FALLBACK_SECTIONS)},
        f"Sections of other tensors that fall back too: {', '.join([f'`{name}`' for name in _FALLBACK_SECTIONS])}.",
    ),
)


class _Row(NamedTuple):
    """A field with its reader. With `is_own`, PyTorch's generator does not know the field."""

    field: Field
    reader: HeadReader
    is_own: bool = True


#: Reads a value of a name.
_Read: TypeAlias = Callable[[Node, str, Diagnostics], object]


def _attribute(field: Field, read: _Read, attribute: str, *, is_own: bool = True) -> _Row:
    """A row of a field whose value is an attribute of the head."""
    return _Row(field, lambda node, head: setattr(head, attribute, read(node, field.name, head.sink)), is_own)


def _option(field: Field, read: _Read) -> _Row:
    """A row of a field whose value is the option of its name."""
    return _Row(field, lambda node, head: head.set_options(**{field.name: read(node, field.name, head.sink)}))


def _flag(name: str, help: str) -> _Row:
    return _option(Field(name, "flag", FLAG, help), _read_flag)


def _read_flag(node: Node, name: str, sink: Diagnostics) -> bool:
    return bool(expect_boolean(node, f"`{name}`", sink))


def _read_optional_text(node: Node, name: str, sink: Diagnostics) -> str | None:
    """A text, None if the key stands without a value."""
    return None if isinstance(node, Scalar) and node.kind == "null" else read_text(node, name, sink)


def _read_plain_text(node: Node, name: str, sink: Diagnostics) -> str:
    return _read_optional_text(node, name, sink) or ""


def _read_texts(node: Node, name: str, sink: Diagnostics) -> list[Scalar]:
    return expect_strings(node, f"`{name}`", sink) or []


def _read_headers(node: Node, name: str, sink: Diagnostics) -> tuple[str, ...]:
    headers = [read_header(item, name, sink) for item in _read_texts(node, name, sink)]
    return tuple([header for header in headers if header])


def _read_torch(node: Node, head: HeadBuilder) -> None:
    scalar = expect_string(node, "`torch`", head.sink)
    if scalar is None:
        return
    try:
        head.torch = parse_version_range(scalar.value)
    except RangeFault as fault:
        message = f"`{scalar.value[fault.start : fault.end]}` is not a range of releases"
        at = scalar.span_of(fault.start, fault.end) if fault.end > fault.start else scalar.span
        head.sink.error(backend_codes.BACKEND_TORCH_RANGE, message, at, help=fault.help(scalar.value))
        return
    if not head.torch.includes(head.rules.version):
        message = f"the backend is for PyTorch `{scalar.value}`, and this run is for {head.rules.version}"
        help = "choose another release with `--torch` or `--release`"
        head.sink.error(backend_codes.BACKEND_TORCH_EXCLUDED, message, scalar.span, help=help)


def _read_guard(node: Node, head: HeadBuilder) -> None:
    if isinstance(node, Scalar):
        head.set_options(guard=Guard(read_qualified_name(node, "guard", head.sink), ""))
        return
    fields = read_fields(node, "guard", GUARD_FIELDS, head.sink) or {}
    if "type" in fields:
        type = read_qualified_name(fields["type"], "type", head.sink)
        head.set_options(guard=Guard(type, read_part(fields, "header", read_header, head.sink)))


def _read_allocation(node: Node, head: HeadBuilder) -> None:
    fields = read_fields(node, "allocation", ALLOCATION_FIELDS, head.sink) or {}
    if "empty" in fields:
        empty = read_qualified_name(fields["empty"], "empty", head.sink)
        strided = f"{empty}_strided"
        if "empty_strided" in fields:
            strided = read_qualified_name(fields["empty_strided"], "empty_strided", head.sink)
        header = read_part(fields, "header", read_header, head.sink)
        # A name has no braces, so `format` leaves it as it is.
        head.set_options(allocation=Allocation(empty, header, strided_function=strided))


def _read_fallback(node: Node, head: HeadBuilder) -> None:
    if isinstance(node, Scalar):
        word = read_word(node, "fallback", _FALLBACKS, head.sink)
        head.set_options(fallback=_FALLBACKS.get(word, Fallback.none))
        return
    fields = read_fields(node, "fallback", FALLBACK_FIELDS, head.sink) or {}
    word = read_word(fields["to"], "to", _FALLBACKS, head.sink) if "to" in fields else ""
    warn = read_word(fields["warn"], "warn", _WARNINGS, head.sink) if "warn" in fields else ""
    generator = read_part(fields, "generator", read_qualified_name, head.sink)
    head.refused = _read_texts(fields["error"], "error", head.sink) if "error" in fields else []
    sections = _read_texts(fields["sections"], "sections", head.sink) if "sections" in fields else []
    names = [read_word(section, "sections", _FALLBACK_SECTIONS, head.sink) for section in sections]
    head.set_options(
        fallback=_FALLBACKS.get(word, Fallback.none),
        fallback_sections=frozenset(names) if word == "cpu" else frozenset(),
        fallback_warns=_WARNINGS.get(warn, False),
        fallback_generator=generator.removeprefix("::"),
    )


def _read_fallback_views(node: Node, head: HeadBuilder) -> None:
    word = read_word(node, "fallback_views", _VIEWS, head.sink)
    if word:
        head.set_options(fallback_copies_views=_VIEWS[word])


def _read_symint(node: Node, head: HeadBuilder) -> None:
    for item in _items(node, "symint", head):
        if isinstance(item, Scalar):
            head.symint.append(item)
        else:
            head.sink.error(backend_codes.BACKEND_ENTRY_SHAPE, f"the name is {item.description}", item.span)


def _read_kernel_name(node: Node, head: HeadBuilder) -> None:
    head.kernel_name = read_pattern(node, head.sink) or head.kernel_name


def _read_families(node: Node, head: HeadBuilder) -> None:
    head.families = read_families(node, head.cpp_namespace, head.sink)


def _read_inherit_kernels(node: Node, head: HeadBuilder) -> None:
    head.inherited = read_inherited(node, head.releases)


def _read_hooks(node: Node, head: HeadBuilder) -> None:
    head.hooks = read_hooks(node, head.sink)
    head.set_options(hooks=tuple([hook.hook for hook in head.hooks]))


def _read_nothing(node: Node, head: HeadBuilder) -> None:
    """Read a field without effect, or one that the loader of own operators reads."""


def _section(kind: SectionKind) -> _Row:
    """A row of the entries of a section."""

    def read_section(node: Node, head: HeadBuilder) -> None:
        head.sections[kind.name] = _items(node, kind.name, head)

    return _Row(Field(kind.name, "list of entries", _ENTRIES, kind.help), read_section, kind.is_own)


#: The lists whose key may not stand without a value.
_NEVER_EMPTY: Final = ("autograd", "full_codegen")


def _items(node: Node, name: str, head: HeadBuilder) -> list[Node]:
    """Items of a list, which may be left empty if PyTorch's generator allows it or does not know the field."""
    if isinstance(node, Scalar) and node.kind == "null" and name not in _NEVER_EMPTY:
        return []
    items = expect_sequence(node, f"`{name}`", head.sink)
    return [] if items is None else items.items


_ROWS: Final[tuple[_Row, ...]] = (
    _attribute(
        Field("backend", "text", TEXT, "The dispatch key of the backend, such as `PrivateUse1`.", is_required=True),
        _read_plain_text,
        "backend",
        is_own=False,
    ),
    _attribute(
        Field("cpp_namespace", "text", TEXT, "The C++ namespace of the kernels.", is_required=True),
        _read_plain_text,
        "cpp_namespace",
        is_own=False,
    ),
    _attribute(
        Field("class_name", "text", TEXT, "The class with the kernels; by default `{Key}NativeFunctions`."),
        _read_optional_text,
        "class_name",
        is_own=False,
    ),
    _attribute(
        Field("display_name", "text", TEXT, "The name of the backend in C++ names, in place of that of its key."),
        read_identifier,
        "display_name",
    ),
    _Row(
        Field("torch", "text", TEXT, "The releases of PyTorch that the file is for, such as `>=2.10,<2.15`."),
        _read_torch,
    ),
    _option(Field("includes", "list of texts", TEXTS, "Headers that the generated sources include."), _read_headers),
    _option(Field("export_macro", "text", TEXT, "The macro that exports the classes of kernels."), read_identifier),
    _flag("default_args", "Whether declarations of kernels have C++ default arguments."),
    _attribute(
        Field(
            "use_out_as_primary",
            "flag",
            FLAG,
            "Whether kernels of out overloads implement their groups, in place of functional ones.",
        ),
        _read_flag,
        "out_is_primary",
        is_own=False,
    ),
    _flag("derived_overloads", "Whether overloads without an entry follow from those with one."),
    _flag("override_composite", "Whether kernels may replace composite ones of PyTorch."),
    _attribute(
        Field(
            "device_guard", "flag", FLAG, "Whether wrappers check devices and make the tensors' device the current one."
        ),
        _read_flag,
        "device_guard",
        is_own=False,
    ),
    _flag("device_check", "Whether wrappers check devices; by default, if they have a guard."),
    _Row(
        Field(
            "guard",
            "text or mapping",
            {"anyOf": [TEXT, mapping_schema(GUARD_FIELDS)]},
            "The [guard](#guards-and-allocation) of wrappers and of structured kernels.",
        ),
        _read_guard,
    ),
    _Row(
        Field(
            "allocation",
            "mapping",
            mapping_schema(ALLOCATION_FIELDS),
            "The functions that [allocate](#guards-and-allocation) outputs of structured kernels.",
        ),
        _read_allocation,
    ),
    _option(
        Field("lazy_init", "C++", TEXT, "A statement that initializes the device, in functions that make tensors."),
        read_code,
    ),
    _option(
        Field("register_macro", "text", TEXT, "A macro that registers kernels in place of `m.impl`."), read_identifier
    ),
    _Row(
        Field(
            "fallback",
            "text or mapping",
            {"anyOf": [choice(*_FALLBACKS), mapping_schema(FALLBACK_FIELDS)]},
            "What operators without a kernel do: `cpu` or `error`, or [more](#fallback).",
        ),
        _read_fallback,
    ),
    _Row(
        Field("fallback_views", "text", choice(*_VIEWS), "What views do that fall back: `error` or `copy`."),
        _read_fallback_views,
    ),
    _Row(
        Field("kernel_name", "pattern", TEXT, "The [pattern](#kernel-names) of kernel names; by default `{name}`."),
        _read_kernel_name,
    ),
    _attribute(
        Field("convention", "text", TEXT, "The [calling convention](#calling-conventions) of kernels, from a plug-in."),
        read_convention,
        "convention",
    ),
    _Row(
        Field(
            "families",
            "mapping",
            {"type": "object", "additionalProperties": mapping_schema(FAMILY_FIELDS)},
            "[Families](#kernel-families) of kernels besides the members of the class, by name.",
        ),
        _read_families,
    ),
    _Row(
        Field(
            "inherit_kernels",
            "list of mappings",
            list_of_schema(mapping_schema(INHERITED_FIELDS)),
            "Kernels of PyTorch for [operators without an entry](#inherited-kernels).",
        ),
        _read_inherit_kernels,
    ),
    _Row(
        Field(
            "hooks",
            "list of mappings",
            list_of_schema(mapping_schema(HOOK_FIELDS)),
            "[Code](#hooks) around the calls of kernels.",
        ),
        _read_hooks,
    ),
    _flag("dispatch_headers", "Whether headers have functions such as `at::acme::add`."),
    _flag(
        "autocast_fallthrough",
        "Whether operators pass through the [Autocast key](#autocast) without a section; by default, yes.",
    ),
    _attribute(
        Field("manual", "list of names", TEXTS, "Operators that the author registers without the generator."),
        _read_texts,
        "manual",
    ),
    _Row(
        Field("symint", "list of names", _NAMES, "The operators whose kernels take symbolic integers."),
        _read_symint,
        is_own=False,
    ),
    _Row(
        Field("non_native", "list", {}, "Nodes of [lazy tensors](#lazy-tensors) without an operator; no effect here."),
        _read_nothing,
        is_own=False,
    ),
    _Row(
        Field("ir_gen", "list of names", _NAMES, "Operators whose nodes lazy tensors generate; without effect here."),
        _read_nothing,
        is_own=False,
    ),
    *map(_section, SECTIONS.values()),
    _attribute(
        Field("library", "path", TEXTS, "The library file with the backend's [own operators](#own-operators)."),
        _read_texts,
        "library_files",
    ),
    *[_Row(field._replace(is_required=False), _read_nothing) for field in OWN_OPERATOR_FIELDS],
)

#: The readers of the fields, by name.
READERS: Final[dict[str, HeadReader]] = {row.field.name: row.reader for row in _ROWS}

#: The fields, in the order of the documentation.
HEAD_FIELDS: Final = tuple([row.field for row in _ROWS])

#: The names of the fields for operators of the backend's own.
OPERATOR_FIELDS: Final = ("library", *[field.name for field in OWN_OPERATOR_FIELDS])

#: The names of the fields that PyTorch's generator does not know.
OWN_FIELDS: Final = frozenset([row.field.name for row in _ROWS if row.is_own])
