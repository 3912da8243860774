"""Names of `torchgen.gen` that importers use; the program itself is `opwright.torchgen.gen`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Final

import yaml

from opwright.torchgen.interface.entries import (
    ParsedYaml,
    entry_options,
    group_functions,
    group_views,
    parsed_file,
    parsed_values,
    read_text,
    tags_of,
    tags_of_values,
    without_collections,
)
from opwright.torchgen.interface.faults import Invalid
from opwright.torchgen.interface.functions import NativeFunction, NativeFunctionsGroup, NativeFunctionsViewGroup
from opwright.torchgen.interface.keys import DispatchKey
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


class LineLoader(YamlLoader):
    """A loader for PyYAML that adds the line of each mapping to it as `__line__`."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        """Dictionary that a mapping stands for, with its line."""
        values: dict[Hashable, object] = super().construct_mapping(node, deep=deep)
        return {**values, "__line__": node.start_mark.line + 1}


def parse_tags_yaml(path: str) -> set[str]:
    """Tags of a file. Raises AssertionError with all mistakes."""
    if path not in _GLOBAL_PARSE_TAGS_YAML_CACHE:
        _GLOBAL_PARSE_TAGS_YAML_CACHE[path] = tags_of(read_text(path))
    return _GLOBAL_PARSE_TAGS_YAML_CACHE[path]


def parse_tags_yaml_struct(es: object, path: str = "<stdin>") -> set[str]:
    """Tags in the values that a YAML loader gave. Raises AssertionError with all mistakes."""
    return tags_of_values(es, path)


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


def get_grouped_native_functions(
    native_functions: Sequence[NativeFunction],
) -> Sequence[NativeFunction | NativeFunctionsGroup]:
    """Functions in the groups of their operations; those without a group stand for themselves."""
    return group_functions(native_functions)


def get_grouped_by_view_native_functions(
    native_functions: Sequence[NativeFunction],
) -> Sequence[NativeFunction | NativeFunctionsViewGroup]:
    """Functions in the groups of their views; those without a view stand for themselves."""
    return group_views(native_functions)


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
