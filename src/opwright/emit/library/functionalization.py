"""Functionalization of a part's operators that write to arguments, and of its views.

PyTorch itself functionalizes operators that do neither, and those that write to arguments and return none of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from opwright.convention.functionalization import (
    has_many_outputs,
    inverse_declaration,
    reverse_arguments,
)
from opwright.cpp.namespaces import enclose
from opwright.emit.aten import view_meta
from opwright.emit.aten.functional_forms import by_root, functional_form
from opwright.emit.aten.functionalization import registration
from opwright.emit.emitter import FragmentContext
from opwright.emit.library.functional_kernels import SUPPORT, view_definition, write_definition
from opwright.emit.library.parts import LibraryPart, has_own_kernel
from opwright.emit.library.section import Section
from opwright.model.native_function import NativeFunction, ViewGroup
from opwright.release.rules import Rules
from opwright.schema.function import SchemaKind

_HEADER: Final = "opwright/functionalization.h"

_NAMES: Final = """\
using namespace at;
using namespace at::functionalization;"""


def section(part: LibraryPart, context: FragmentContext) -> Section:
    """The records of views with their inverses, the kernels under Functionalize, and their registration."""
    views = [group for group in _view_groups(part) if not group.composite]
    kernels = [*_writing_kernels(part, context.rules), *_view_kernels(views, context.rules)]
    if not kernels:
        return Section()
    metas = [meta for group in views for meta in view_meta.view_metas(group, context)]
    inverses = "\n".join(map(_inverse, views))
    texts = [
        _NAMES,
        f"struct FunctionalInverses {{\n{inverses}\n}};" if inverses else "",
        *map(view_meta.declaration, metas),
        *[method for meta in metas for method in view_meta.implementation(meta)],
        "namespace {",
        *[text for _, text in kernels],
        "} // namespace",
    ]
    body = enclose(part.library.functionalization, "\n".join(filter(None, texts)))
    listed = "\n".join([f"  {registration(function)}" for function, _ in kernels])
    registered = f"TORCH_LIBRARY_IMPL({part.library.namespace}, Functionalize, m) {{\n{listed}\n}}"
    return Section((_HEADER,), f"{body}\n\n{enclose(part.library.api, registered)}\n")


def _view_groups(part: LibraryPart) -> Iterator[ViewGroup]:
    for function in part.functions:
        group = function.view_group
        if group is not None and group.view is function:
            yield group


def _writing_kernels(part: LibraryPart, rules: Rules) -> Iterator[tuple[NativeFunction, str]]:
    """The kernels of operators that write to arguments and have a functional form."""
    roots = by_root(part.functions)
    for function in part.functions:
        if function.kind is SchemaKind.functional or function.has_composite_implicit:
            continue
        if has_own_kernel(function, "Functionalize"):
            continue
        functional = functional_form(function, roots[function.root_name])
        if functional is not None:
            yield function, write_definition(function, functional, rules)


def _view_kernels(views: list[ViewGroup], rules: Rules) -> Iterator[tuple[NativeFunction, str]]:
    for group in views:
        for function in (group.view, group.view_inplace):
            if function is not None and not has_own_kernel(function, "Functionalize"):
                yield function, view_definition(function, group, rules)


def _inverse(group: ViewGroup) -> str:
    """The function that writes a changed view back into its base, as every strided view can be."""
    view = group.view
    arguments = reverse_arguments(view.schema, view.style)
    index = "[out_index]" if has_many_outputs(view.schema) else ""
    passed = ", ".join(["base", *[argument.name for argument in arguments[4 if index else 3 :]]])
    declared = inverse_declaration(group).removesuffix(";")
    called = f"{view.library.operators}::{view.name.unambiguous}::call({passed}){index}"
    return f"  {declared} {{\n    return {SUPPORT}::write_back(base, mutated_view, {called});\n  }}"
