"""The headers of a library: `ops.h` for its callers, and `kernels.h` for the author of its kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Final

from opwright.cpp.namespaces import blocks, enclose
from opwright.emit.aten import functions, meta_headers, native_headers, operators
from opwright.emit.aten.backend import kernel_signature
from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, FragmentContext, Job, Slots
from opwright.emit.library.batching import rule_declarations
from opwright.emit.library.kernel_checks import author_kernels
from opwright.emit.library.parts import LibraryPart, structured_groups, whole_libraries
from opwright.source.patterns import lazy_pattern
from opwright.syntax.cpp import include_line

#: Types that `ATen/core/Tensor.h` only declares, as they are passed by value.
_HELD: Final = lazy_pattern(r"c10::(?:Dict|IValue|complex|List<(?!::std::optional<at::Tensor>>))")


def _type_headers(text: str) -> list[str]:
    """The headers with the types of values that the dispatcher holds, if a text has them."""
    return ["ATen/core/ivalue.h"] if _HELD.search(text) else []


def _operators_header(part: LibraryPart, context: FragmentContext) -> Slots:
    library = part.library
    classes = "\n".join([operators.declaration(function) for function in part.functions])
    definitions = "\n".join([functions.definition(function) for function in part.functions])
    return {
        "export": library.export,
        "namespace": library.namespace,
        "includes": list(map(include_line, _type_headers(classes))),
        "classes": enclose(library.operators, classes),
        "functions": enclose(library.api, definitions),
    }


def _kernels_header(part: LibraryPart, context: FragmentContext) -> Slots:
    groups = structured_groups(part.units)
    shapes = "\n".join([meta_headers.meta_class(group) for group in groups])
    headers = ["ATen/TensorMeta.h"] if groups else []
    headers += ["ATen/TensorIterator.h"] if any(group.out.structured_inherits for group in groups) else []
    declarations = _kernel_declarations(part, context)
    headers += _type_headers("\n".join(chain.from_iterable(declarations.values())))
    return {
        "export": part.library.export,
        "namespace": part.library.namespace,
        "includes": list(map(include_line, headers)),
        "shapes": enclose(part.library.meta, shapes) if shapes else "",
        "kernels": blocks(declarations),
    }


def _kernel_declarations(part: LibraryPart, context: FragmentContext) -> Mapping[str, Iterable[str]]:
    """The declarations of each namespace: classes of structured kernels, and functions unless the author declares them.

    A kernel of several keys or overloads is declared once.
    """
    namespaces: dict[str, dict[str, None]] = {}
    for group in structured_groups(part.units):
        for kernel in group.out.kernels.values():
            if kernel.structured:
                text = native_headers.structured_class(group, kernel, context)
                namespaces.setdefault(kernel.namespace, {})[text] = None
    for function, kernel in () if part.includes else author_kernels(part):
        declared = kernel_signature(function, kernel).declaration(kernel.name)
        namespaces.setdefault(kernel.namespace, {})[f"{part.library.export} {declared};"] = None
    for namespace, text in () if part.includes else rule_declarations(part):
        namespaces.setdefault(namespace, {})[text] = None
    return namespaces


def emitters(job: Job) -> list[AnyEmitter]:
    """The emitters of the headers."""
    return [
        Emitter(
            name="library_operators_headers",
            family="library",
            template="library/ops.h",
            folder="include",
            units=whole_libraries,
            fragment=_operators_header,
            layout=FilePerUnit(lambda part: f"{part.path}/ops.h"),
        ),
        Emitter(
            name="library_kernels_headers",
            family="library",
            template="library/kernels.h",
            folder="include",
            units=whole_libraries,
            fragment=_kernels_header,
            layout=FilePerUnit(lambda part: f"{part.path}/kernels.h"),
        ),
    ]
