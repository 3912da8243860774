"""Fields of the head of a backend file, each with its reader."""

from __future__ import annotations

from typing import Final

from opwright.backends.dialect.head_builder import HeadBuilder, HeadReader
from opwright.backends.dialect.hooks import HOOK_FIELDS, read_hooks
from opwright.backends.dialect.inherited import INHERITED_FIELDS, SECTIONS_WITH_SOURCES, read_inherited
from opwright.backends.dialect.kernel_families import FAMILY_FIELDS, read_convention, read_families, read_pattern
from opwright.backends.dialect.sections import SECTIONS
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
from opwright.dialects.values import (
    read_code,
    read_fields,
    read_header,
    read_identifier,
    read_qualified_name,
    read_text,
    read_word,
)
from opwright.model.dispatch_key import Allocation
from opwright.model.wrapper_options import Fallback, Guard
from opwright.release.version_range import RangeFault, parse_version_range
from opwright.source import codes
from opwright.source.expect import (
    expect_boolean,
    expect_sequence,
    expect_string,
    expect_strings,
)
from opwright.source.nodes import Node, Scalar
from opwright.source.records import NamedTuple

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


def _read_backend(node: Node, head: HeadBuilder) -> None:
    head.backend = _optional_text(node, "backend", head) or ""


def _read_cpp_namespace(node: Node, head: HeadBuilder) -> None:
    head.cpp_namespace = _optional_text(node, "cpp_namespace", head) or ""


def _read_class_name(node: Node, head: HeadBuilder) -> None:
    head.class_name = _optional_text(node, "class_name", head)


def _optional_text(node: Node, name: str, head: HeadBuilder) -> str | None:
    """A text, None if the key stands without a value."""
    return None if isinstance(node, Scalar) and node.kind == "null" else read_text(node, name, head.sink)


def _read_display_name(node: Node, head: HeadBuilder) -> None:
    head.display_name = read_identifier(node, "display_name", head.sink)


def _read_torch(node: Node, head: HeadBuilder) -> None:
    scalar = expect_string(node, "`torch`", head.sink)
    if scalar is None:
        return
    try:
        head.torch = parse_version_range(scalar.value)
    except RangeFault as fault:
        message = f"`{scalar.value[fault.start : fault.end]}` is not a range of releases"
        at = scalar.span_of(fault.start, fault.end) if fault.end > fault.start else scalar.span
        head.sink.error(codes.BACKEND_TORCH_RANGE, message, at, help=fault.help(scalar.value))
        return
    if not head.torch.includes(head.rules.version):
        message = f"the backend is for PyTorch `{scalar.value}`, and this run is for {head.rules.version}"
        help = "choose another release with `--torch` or `--release`"
        head.sink.error(codes.BACKEND_TORCH_EXCLUDED, message, scalar.span, help=help)


def _read_includes(node: Node, head: HeadBuilder) -> None:
    items = expect_strings(node, "`includes`", head.sink) or ()
    headers = [read_header(item, "includes", head.sink) for item in items]
    head.options = head.options._replace(includes=tuple([header for header in headers if header]))


def _read_export_macro(node: Node, head: HeadBuilder) -> None:
    head.options = head.options._replace(export_macro=read_identifier(node, "export_macro", head.sink))


def _read_default_args(node: Node, head: HeadBuilder) -> None:
    head.options = head.options._replace(default_args=_flag(node, "default_args", head))


def _read_out_is_primary(node: Node, head: HeadBuilder) -> None:
    head.out_is_primary = _flag(node, "use_out_as_primary", head)


def _read_derived_overloads(node: Node, head: HeadBuilder) -> None:
    head.options = head.options._replace(derived_overloads=_flag(node, "derived_overloads", head))


def _read_override_composite(node: Node, head: HeadBuilder) -> None:
    head.options = head.options._replace(override_composite=_flag(node, "override_composite", head))


def _read_device_guard(node: Node, head: HeadBuilder) -> None:
    head.device_guard = _flag(node, "device_guard", head)


def _read_device_check(node: Node, head: HeadBuilder) -> None:
    head.options = head.options._replace(device_check=_flag(node, "device_check", head))


def _read_guard(node: Node, head: HeadBuilder) -> None:
    if isinstance(node, Scalar):
        head.options = head.options._replace(guard=Guard(read_qualified_name(node, "guard", head.sink), ""))
        return
    fields = read_fields(node, "guard", GUARD_FIELDS, head.sink) or {}
    if "type" in fields:
        type = read_qualified_name(fields["type"], "type", head.sink)
        header = read_header(fields["header"], "header", head.sink) if "header" in fields else ""
        head.options = head.options._replace(guard=Guard(type, header))


def _read_allocation(node: Node, head: HeadBuilder) -> None:
    fields = read_fields(node, "allocation", ALLOCATION_FIELDS, head.sink) or {}
    if "empty" in fields:
        empty = read_qualified_name(fields["empty"], "empty", head.sink)
        strided = f"{empty}_strided"
        if "empty_strided" in fields:
            strided = read_qualified_name(fields["empty_strided"], "empty_strided", head.sink)
        header = read_header(fields["header"], "header", head.sink) if "header" in fields else ""
        # A name has no braces, so `format` leaves it as it is.
        head.options = head.options._replace(allocation=Allocation(empty, header, strided=strided))


def _read_lazy_init(node: Node, head: HeadBuilder) -> None:
    head.options = head.options._replace(lazy_init=read_code(node, "lazy_init", head.sink))


def _read_register_macro(node: Node, head: HeadBuilder) -> None:
    head.options = head.options._replace(register_macro=read_identifier(node, "register_macro", head.sink))


def _read_fallback(node: Node, head: HeadBuilder) -> None:
    if isinstance(node, Scalar):
        word = read_word(node, "fallback", _FALLBACKS, head.sink)
        head.options = head.options._replace(fallback=_FALLBACKS.get(word, Fallback.none))
        return
    fields = read_fields(node, "fallback", FALLBACK_FIELDS, head.sink) or {}
    word = read_word(fields["to"], "to", _FALLBACKS, head.sink) if "to" in fields else ""
    warn = read_word(fields["warn"], "warn", _WARNINGS, head.sink) if "warn" in fields else ""
    generator = read_qualified_name(fields["generator"], "generator", head.sink) if "generator" in fields else ""
    head.refused = (expect_strings(fields["error"], "`error`", head.sink) or []) if "error" in fields else []
    sections = (expect_strings(fields["sections"], "`sections`", head.sink) or []) if "sections" in fields else []
    names = [read_word(section, "sections", _FALLBACK_SECTIONS, head.sink) for section in sections]
    head.options = head.options._replace(
        fallback=_FALLBACKS.get(word, Fallback.none),
        fallback_sections=frozenset(names) if word == "cpu" else frozenset(),
        fallback_warns=_WARNINGS.get(warn, False),
        fallback_generator=generator.removeprefix("::"),
    )


def _read_fallback_views(node: Node, head: HeadBuilder) -> None:
    word = read_word(node, "fallback_views", _VIEWS, head.sink)
    if word:
        head.options = head.options._replace(fallback_copies_views=_VIEWS[word])


def _read_symint(node: Node, head: HeadBuilder) -> None:
    for item in _items(node, "symint", head):
        if isinstance(item, Scalar):
            head.symint.append(item)
        else:
            head.sink.error(codes.BACKEND_ENTRY_SHAPE, f"the name is {item.description}", item.span)


def _read_manual(node: Node, head: HeadBuilder) -> None:
    head.manual = expect_strings(node, "`manual`", head.sink) or []


def _read_kernel_name(node: Node, head: HeadBuilder) -> None:
    head.kernel_name = read_pattern(node, head.sink) or head.kernel_name


def _read_families(node: Node, head: HeadBuilder) -> None:
    head.families = read_families(node, head.cpp_namespace, head.sink)


def _read_convention(node: Node, head: HeadBuilder) -> None:
    head.convention = read_convention(node, head.sink)


def _read_inherit_kernels(node: Node, head: HeadBuilder) -> None:
    head.inherited = read_inherited(node, head.releases)


def _read_hooks(node: Node, head: HeadBuilder) -> None:
    head.hooks = read_hooks(node, head.sink)
    head.options = head.options._replace(hooks=tuple([hook.hook for hook in head.hooks]))


def _read_dispatch_headers(node: Node, head: HeadBuilder) -> None:
    head.options = head.options._replace(dispatch_headers=_flag(node, "dispatch_headers", head))


def _read_autocast_fallthrough(node: Node, head: HeadBuilder) -> None:
    head.options = head.options._replace(autocast_fallthrough=_flag(node, "autocast_fallthrough", head))


def _read_library(node: Node, head: HeadBuilder) -> None:
    head.library_files = expect_strings(node, "`library`", head.sink) or []


def _read_nothing(node: Node, head: HeadBuilder) -> None:
    """Read a field without effect, or one that the loader of own operators reads."""


def _section_reader(name: str) -> HeadReader:
    def read_section(node: Node, head: HeadBuilder) -> None:
        head.sections[name] = _items(node, name, head)

    return read_section


def _items(node: Node, name: str, head: HeadBuilder) -> list[Node]:
    """Items of a list, which may be left empty if PyTorch's generator allows it or does not know the field."""
    if isinstance(node, Scalar) and node.kind == "null" and name not in _NEVER_EMPTY:
        return []
    items = expect_sequence(node, f"`{name}`", head.sink)
    return [] if items is None else items.items


#: The lists whose key may not stand without a value.
_NEVER_EMPTY: Final = ("autograd", "full_codegen")


def _flag(node: Node, name: str, head: HeadBuilder) -> bool:
    return bool(expect_boolean(node, f"`{name}`", head.sink))


def _sections() -> tuple[_Row, ...]:
    rows = []
    for kind in SECTIONS.values():
        field = Field(kind.name, "list of entries", _ENTRIES, kind.help)
        rows.append(_Row(field, _section_reader(kind.name), kind.is_own))
    return tuple(rows)


def _row(field: Field, reader: HeadReader) -> _Row:
    """A row of a field that PyTorch's generator has too."""
    return _Row(field, reader, is_own=False)


_ROWS: Final[tuple[_Row, ...]] = (
    _row(
        Field("backend", "text", TEXT, "The dispatch key of the backend, such as `PrivateUse1`.", is_required=True),
        _read_backend,
    ),
    _row(
        Field("cpp_namespace", "text", TEXT, "The C++ namespace of the kernels.", is_required=True),
        _read_cpp_namespace,
    ),
    _row(
        Field("class_name", "text", TEXT, "The class with the kernels; by default `{Key}NativeFunctions`."),
        _read_class_name,
    ),
    _Row(
        Field("display_name", "text", TEXT, "The name of the backend in C++ names, in place of that of its key."),
        _read_display_name,
    ),
    _Row(
        Field("torch", "text", TEXT, "The releases of PyTorch that the file is for, such as `>=2.10,<2.15`."),
        _read_torch,
    ),
    _Row(Field("includes", "list of texts", TEXTS, "Headers that the generated sources include."), _read_includes),
    _Row(Field("export_macro", "text", TEXT, "The macro that exports the classes of kernels."), _read_export_macro),
    _Row(
        Field("default_args", "flag", FLAG, "Whether declarations of kernels have C++ default arguments."),
        _read_default_args,
    ),
    _row(
        Field(
            "use_out_as_primary",
            "flag",
            FLAG,
            "Whether kernels of out overloads implement their groups, in place of functional ones.",
        ),
        _read_out_is_primary,
    ),
    _Row(
        Field("derived_overloads", "flag", FLAG, "Whether overloads without an entry follow from those with one."),
        _read_derived_overloads,
    ),
    _Row(
        Field("override_composite", "flag", FLAG, "Whether kernels may replace composite ones of PyTorch."),
        _read_override_composite,
    ),
    _row(
        Field(
            "device_guard", "flag", FLAG, "Whether wrappers check devices and make the tensors' device the current one."
        ),
        _read_device_guard,
    ),
    _Row(
        Field("device_check", "flag", FLAG, "Whether wrappers check devices; by default, if they have a guard."),
        _read_device_check,
    ),
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
    _Row(
        Field("lazy_init", "C++", TEXT, "A statement that initializes the device, in functions that make tensors."),
        _read_lazy_init,
    ),
    _Row(
        Field("register_macro", "text", TEXT, "A macro that registers kernels in place of `m.impl`."),
        _read_register_macro,
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
    _Row(
        Field("convention", "text", TEXT, "The [calling convention](#calling-conventions) of kernels, from a plug-in."),
        _read_convention,
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
    _Row(
        Field("dispatch_headers", "flag", FLAG, "Whether headers have functions such as `at::acme::add`."),
        _read_dispatch_headers,
    ),
    _Row(
        Field(
            "autocast_fallthrough",
            "flag",
            FLAG,
            "Whether operators pass through the [Autocast key](#autocast) without a section; by default, yes.",
        ),
        _read_autocast_fallthrough,
    ),
    _Row(
        Field("manual", "list of names", TEXTS, "Operators that the author registers without the generator."),
        _read_manual,
    ),
    _row(Field("symint", "list of names", _NAMES, "The operators whose kernels take symbolic integers."), _read_symint),
    _row(
        Field("non_native", "list", {}, "Nodes of [lazy tensors](#lazy-tensors) without an operator; no effect here."),
        _read_nothing,
    ),
    _row(
        Field("ir_gen", "list of names", _NAMES, "Operators whose nodes lazy tensors generate; without effect here."),
        _read_nothing,
    ),
    *_sections(),
    _Row(
        Field("library", "path", TEXTS, "The library file with the backend's [own operators](#own-operators)."),
        _read_library,
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
