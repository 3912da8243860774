"""The headers of a library: `ops.h` for its callers, and `kernels.h` for the author of its kernels."""

from __future__ import annotations

from collections.abc import Sequence

from opwright.cpp.namespaces import enclose
from opwright.emit.aten import functions, meta_headers, native_headers, operators
from opwright.emit.aten.backend import KernelUnit
from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, FragmentContext, Job, Slots
from opwright.emit.library.parts import LibraryPart, whole_libraries
from opwright.model.dispatch_key import LIBRARY_KEYS, DispatchKey
from opwright.model.native_function import NativeFunctionsGroup

_RANKS: dict[DispatchKey, int] = {key: rank for rank, key in enumerate(LIBRARY_KEYS.values())}


def structured_groups(units: Sequence[KernelUnit]) -> list[NativeFunctionsGroup]:
    """The groups with structured kernels."""
    return [unit for unit in units if isinstance(unit, NativeFunctionsGroup) and unit.structured]


def _operators_header(part: LibraryPart, context: FragmentContext) -> Slots:
    library = part.library
    classes = "\n".join([operators.declaration(function) for function in part.functions])
    definitions = "\n".join([functions.definition(function) for function in part.functions])
    return {
        "export": library.export,
        "namespace": library.namespace,
        "classes": enclose(library.operators, classes),
        "functions": enclose(library.api, definitions),
    }


def _kernels_header(part: LibraryPart, context: FragmentContext) -> Slots:
    groups = structured_groups(part.units)
    shapes = "\n".join([meta_headers.meta_class(group) for group in groups])
    return {
        "export": part.library.export,
        "namespace": part.library.namespace,
        "includes": ["#include <ATen/TensorIterator.h>"]
        if any(group.out.structured_inherits for group in groups)
        else [],
        "shapes": enclose(part.library.meta, shapes) if shapes else "",
        "kernels": native_headers.declarations(part.units, _RANKS, context.rules),
    }


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
