"""Names of `torchgen.gen` for importers, which load entries of files, or of values that a YAML loader gave.

The program itself is `opwright.torchgen.gen`.
"""

from __future__ import annotations

import gc
import json
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import yaml

from opwright.dialects.native_functions.entry_builder import EntryContext
from opwright.dialects.native_functions.loader import link_entries, load_entries
from opwright.dialects.native_functions.report import CrossReport
from opwright.dialects.tags import load_tags
from opwright.model.dispatch_key import DispatchKey as ModelKey
from opwright.model.native_function import UnlinkedFunction
from opwright.schema.signature import signature_key
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.nodes import SequenceNode
from opwright.source.render import render_short
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from opwright.torchgen.interface.faults import Invalid, stop_at_errors
from opwright.torchgen.interface.functions import (
    BackendIndex,
    BackendMetadata,
    Location,
    NativeFunction,
    NativeFunctionsGroup,
    NativeFunctionsViewGroup,
    file_of,
    function_of,
    index_of,
    kernels_of,
)
from opwright.torchgen.interface.keys import DispatchKey, SchemaKind, ViewSchemaKind, model_key, named_keys
from opwright.torchgen.interface.schema import model_schema
from opwright.torchgen.interface.types import OperatorName
from opwright.torchgen.lazy_attributes import lazy_attributes
from opwright.torchgen.selective_build.selector import SelectiveBuilder
from opwright.torchgen.utils import FileManager, make_file_manager
from opwright.torchgen.yaml_utils import YamlLoader

__all__ = [
    "FileManager",
    "LineLoader",
    "ParsedYaml",
    "cpp_string",
    "error_check_native_functions",
    "get_custom_build_selector",
    "get_grouped_by_view_native_functions",
    "get_grouped_native_functions",
    "make_file_manager",
    "parse_native_yaml",
    "parse_native_yaml_struct",
    "parse_tags_yaml",
    "parse_tags_yaml_struct",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__ = lazy_attributes("generator_texts")

#: What was read from a path, which a second call for the same path returns.
_GLOBAL_PARSE_NATIVE_YAML_CACHE: Final[dict[str, ParsedYaml]] = {}
_GLOBAL_PARSE_TAGS_YAML_CACHE: Final[dict[str, set[str]]] = {}


class ParsedYaml(NamedTuple):
    """Functions of a file, and their kernels by dispatch key."""

    native_functions: list[NativeFunction]
    backend_indices: dict[DispatchKey, BackendIndex]


def _indices(functions: Iterable[UnlinkedFunction]) -> dict[DispatchKey, BackendIndex]:
    """Kernels of functions; a key without kernels has an empty index."""
    by_key: dict[ModelKey, list[UnlinkedFunction]] = {}
    for function in functions:
        for key in function.kernels:
            by_key.setdefault(key, []).append(function)
    none = partial(BackendIndex, dispatch_key=DispatchKey["Undefined"], external=False, device_guard=False)
    indices: dict[DispatchKey, BackendIndex] = defaultdict(lambda: none(index={}, use_out_as_primary=True))
    for row, listed in by_key.items():
        indices[DispatchKey[row.name]] = index_of(DispatchKey[row.name], listed)
    return indices


def read_text(path: str) -> SourceFile:
    """Text of a file."""
    with open(path, encoding="utf-8") as file:
        return SourceFile(path, file.read())


def tags_of(file: SourceFile) -> set[str]:
    """Tags of a `tags.yaml`. Raises AssertionError with all mistakes."""
    sink = Diagnostics()
    tags = set(load_tags(file, sink, of_tree=True))
    stop_at_errors(sink)
    return tags


def parse_tags_yaml_struct(es: object, path: str = "<stdin>") -> set[str]:
    """Tags in the values that a YAML loader gave. Raises AssertionError with all mistakes."""
    if not isinstance(es, list):
        raise Invalid(f"{path}: the file is no list of tags")
    return tags_of(_as_file(es, path))


class EntryOptions(NamedTuple):
    """Tags that entries may have, the dispatch keys to ignore, and whether to leave out synthesized overloads."""

    tags: frozenset[str]
    ignored_keys: frozenset[ModelKey]
    only_written: bool = False


def entry_options(
    tags: Iterable[str], ignored: Iterable[DispatchKey] | None, only_written: bool = False
) -> EntryOptions:
    """Options of entries from what callers give."""
    return EntryOptions(frozenset(tags), frozenset(map(model_key, ignored or ())), only_written)


@contextmanager
def without_collections(*, values_stay: bool = False) -> Iterator[None]:
    """Collect no garbage meanwhile. Values that stay to the end count as old afterwards.

    The next collection would otherwise search all of them, which takes half as long as making them.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            if values_stay and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def load_functions(file: SourceFile, options: EntryOptions) -> list[UnlinkedFunction]:
    """Opwright's functions of a file. Raises AssertionError with all mistakes.

    Collecting garbage meanwhile would cost a third of the time, and there is none.
    """
    sink = Diagnostics()
    try:
        with without_collections():
            functions = _linked_functions(file, options, sink)
    except Fault as fault:
        raise Invalid(render_short([fault.diagnostic])) from None
    stop_at_errors(sink)
    return list(functions)


def _linked_functions(file: SourceFile, options: EntryOptions, sink: Diagnostics) -> Sequence[UnlinkedFunction]:
    root = load_yaml(file)
    if not isinstance(root, SequenceNode):
        raise Invalid(f"{file.path}: the file is {root.description}, not a list of entries")
    report = CrossReport(sink)
    loaded = load_entries(root, EntryContext(options.tags, options.ignored_keys, sink, keys=named_keys()), report)
    return loaded if options.only_written else link_entries(loaded, report, tag_by_kind="out" in options.tags).functions


def parsed_file(file: SourceFile, options: EntryOptions) -> ParsedYaml:
    """Functions of a file with their kernels. Raises AssertionError with all mistakes."""
    functions = load_functions(file, options)
    return ParsedYaml([function_of(function) for function in functions], _indices(functions))


def parsed_values(es: object, path: str, options: EntryOptions) -> ParsedYaml:
    """Functions of the values that a YAML loader gave, with the line of each entry as `__line__`."""
    if not isinstance(es, list):
        raise Invalid(f"{path}: the file is no list of entries")
    file = _as_file(es, path)
    functions = load_functions(file, options)
    places = dict(
        zip(_lines_in_file(es), (Location(file=path, line=entry.get("__line__", 0)) for entry in es), strict=True)
    )
    return ParsedYaml(
        [function_of(function, loc=places[function.entry.line]) for function in functions], _indices(functions)
    )


def _lines_in_file(es: Iterable[dict[str, object]]) -> list[int]:
    """Line on which each entry stands in its file: the line that its loader gave it, if that is free."""
    lines = [1]
    for entry in es:
        wanted = entry.get("__line__")
        lines.append(max(lines[-1] + 1, wanted if isinstance(wanted, int) else 0))
    return lines[1:]


def _as_file(es: Sequence[dict[str, object]], path: str) -> SourceFile:
    """Entries as YAML, each on a line of its own."""
    parts, line = ["["], 1
    for number, entry in zip(_lines_in_file(es), es, strict=True):
        parts.append("\n" * (number - line) + json.dumps(_without_lines(entry), ensure_ascii=False) + ",")
        line = number
    return SourceFile(path, "".join([*parts, "\n]\n"]))


def _without_lines(value: object) -> object:
    """A value without the line numbers that the loader adds to mappings."""
    if isinstance(value, dict):
        return {key: _without_lines(item) for key, item in value.items() if key != "__line__"}
    return [_without_lines(item) for item in value] if isinstance(value, list) else value


def function_of_entry(
    entry: dict[str, object], place: Location, tags: set[str], ignored: set[DispatchKey] | None
) -> tuple[NativeFunction, dict[DispatchKey, dict[OperatorName, BackendMetadata]]]:
    """Function of one entry, and its kernels."""
    options = entry_options(tags, ignored, only_written=True)
    (function,) = load_functions(_as_file([entry], file_of(place)), options)
    kernels = {DispatchKey[key.name]: kernels_of([function], key) for key in function.kernels}
    return function_of(function, loc=place), kernels


def by_operation(functions: Iterable[NativeFunction]) -> dict[object, dict[SchemaKind, NativeFunction]]:
    """Functions by the signature that all overloads of an operation share, and by their kinds."""
    operations: dict[object, dict[SchemaKind, NativeFunction]] = {}
    for function in functions:
        schema = model_schema(function.func)
        members = operations.setdefault(signature_key(schema), {})
        kind = SchemaKind[schema.kind.name]
        if kind in members:
            raise Invalid(f"`{function.func.name}` and `{members[kind].func.name}` are both {kind.name}")
        members[kind] = function
    return operations


def get_grouped_native_functions(
    native_functions: Sequence[NativeFunction],
) -> Sequence[NativeFunction | NativeFunctionsGroup]:
    """Functions in the groups of their operations; those without a group stand for themselves."""
    grouped: list[NativeFunction | NativeFunctionsGroup] = []
    for members in by_operation(native_functions).values():
        group = NativeFunctionsGroup.from_dict(members)
        if group is not None:
            grouped.append(group)
            continue
        for function in members.values():
            function.validate_unstructured()
            grouped.append(function)
    return grouped


def get_grouped_by_view_native_functions(
    native_functions: Sequence[NativeFunction],
) -> Sequence[NativeFunction | NativeFunctionsViewGroup]:
    """Functions in the groups of their views; those without a view stand for themselves."""
    families: dict[object, dict[SchemaKind | ViewSchemaKind, NativeFunction]] = {}
    for function in native_functions:
        key = signature_key(model_schema(function.func), view_form=True)
        kind = function.view_schema_kind if function.is_view_op else function.func.kind()
        families.setdefault(key, {})[kind] = function
    grouped: list[NativeFunction | NativeFunctionsViewGroup] = []
    for family in families.values():
        view = family.pop(ViewSchemaKind.aliasing, None)
        if view is not None:
            inplace = family.pop(ViewSchemaKind.aliasing_inplace, None)
            copying = family.pop(SchemaKind.functional, None)
            grouped.append(NativeFunctionsViewGroup(view_inplace=inplace, view_copy=copying, view=view))
        grouped.extend(family.values())
    return grouped


def parse_tags_yaml(path: str) -> set[str]:
    """Tags of a file. Raises AssertionError with all mistakes."""
    if path not in _GLOBAL_PARSE_TAGS_YAML_CACHE:
        _GLOBAL_PARSE_TAGS_YAML_CACHE[path] = tags_of(read_text(path))
    return _GLOBAL_PARSE_TAGS_YAML_CACHE[path]


class LineLoader(YamlLoader):
    """A loader for PyYAML that adds the line of each mapping to it as `__line__`."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        """Dictionary that a mapping stands for, with its line."""
        values: dict[Hashable, object] = super().construct_mapping(node, deep=deep)
        return {**values, "__line__": node.start_mark.line + 1}


def parse_native_yaml(
    path: str,
    tags_yaml_path: str,
    ignore_keys: set[DispatchKey] | None = None,
    *,
    skip_native_fns_gen: bool = False,
    loaded_yaml: object | None = None,
) -> ParsedYaml:
    """Functions of a file with their kernels, and those made from them. Raises AssertionError with all mistakes."""
    if path not in _GLOBAL_PARSE_NATIVE_YAML_CACHE:
        options = entry_options(parse_tags_yaml(tags_yaml_path), ignore_keys, skip_native_fns_gen)
        with without_collections(values_stay=True):
            _GLOBAL_PARSE_NATIVE_YAML_CACHE[path] = (
                parsed_file(read_text(path), options)
                if loaded_yaml is None
                else parsed_values(loaded_yaml, path, options)
            )
    return _GLOBAL_PARSE_NATIVE_YAML_CACHE[path]


def parse_native_yaml_struct(
    es: object,
    valid_tags: set[str],
    ignore_keys: set[DispatchKey] | None = None,
    path: str = "<stdin>",
    skip_native_fns_gen: bool = False,
) -> ParsedYaml:
    """Functions of the values that a YAML loader gave, with the line of each entry as `__line__`."""
    return parsed_values(es, path, entry_options(valid_tags, ignore_keys, skip_native_fns_gen))


def error_check_native_functions(funcs: Sequence[NativeFunction]) -> None:
    """Raise AssertionError if a delegate is not structured, or an in-place view has no view."""
    by_name = {function.func.name: function for function in funcs}
    bases = {function.func.name.name.base for function in funcs if not function.func.name.name.inplace}
    for function in funcs:
        delegate, name = function.structured_delegate, function.func.name
        if delegate is not None and (delegate not in by_name or not by_name[delegate].structured):
            raise Invalid(f"{function.loc}: `{name}` delegates to `{delegate}`, which is not structured")
        is_view = "inplace_view" in function.tags and function.is_view_op and name.name.base != "set"
        if is_view and not name.name.inplace:
            raise Invalid(f"{function.loc}: `{name}` is tagged `inplace_view`, but its name does not end with `_`")
        if is_view and name.name.base not in bases:
            raise Invalid(f"{function.loc}: the in-place view `{name}` has no out-of-place form")


def get_custom_build_selector(
    provided_op_registration_allowlist: list[str] | None, op_selection_yaml_path: str | None
) -> SelectiveBuilder:
    """Selection of a list of operators or of a file; all operators without either."""
    if provided_op_registration_allowlist is not None and op_selection_yaml_path is not None:
        raise Invalid("a list of operators and a file of them are both given")
    if op_selection_yaml_path is not None:
        return SelectiveBuilder.from_yaml_path(op_selection_yaml_path)
    if provided_op_registration_allowlist is None:
        return SelectiveBuilder.get_nop_selector()
    roots = set(provided_op_registration_allowlist)
    return SelectiveBuilder.from_legacy_op_registration_allow_list(
        roots, is_root_operator=True, is_used_for_training=False
    )


def cpp_string(s: str) -> str:
    """A text as a C++ literal.

    >>> print(cpp_string('say "hi"'))
    "say \\"hi\\""
    """
    return f'"{s.translate(_ESCAPES)}"'


_ESCAPES: Final = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\v": "\\v", "\t": "\\t"}
)
