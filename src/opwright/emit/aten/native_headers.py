"""Declarations of kernels: `ops/{op}_native.h`, or all of them in `NativeFunctions.h`.

Those of PyTorch are in `at::native`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from opwright.convention import structured
from opwright.cpp import namespaces
from opwright.cpp.text import include_line
from opwright.emit.aten.backend import KernelUnit, kernel_signature, members, units_by_root
from opwright.emit.aten.dispatch_key_headers import class_macro, kernel_macro
from opwright.emit.aten.units import includes
from opwright.emit.emitter import (
    AnyEmitter,
    DeclaredRead,
    Emitter,
    FilePerUnit,
    FragmentContext,
    Job,
    OneFile,
    Slots,
    per_job,
)
from opwright.model.dispatch_key import DispatchKey
from opwright.model.native_function import Kernel, NativeFunction, NativeFunctionsGroup
from opwright.release.rules import Rules

RootUnits: TypeAlias = tuple[str, Sequence[KernelUnit]]
"""A root name with its units."""

_Block: TypeAlias = dict[str, str]
"""The declarations in one namespace. The key identifies a declaration, so that none is repeated."""

_LEGACY = "legacy::"


def key_ranks(job: Job) -> Mapping[DispatchKey, int]:
    """Ranks of the dispatch keys that have kernels, in the order in which entries name them.

    Declarations have this order.
    """
    return {key: rank for rank, key in enumerate(_first_functions(job))}


@per_job
def _first_functions(job: Job) -> Mapping[DispatchKey, NativeFunction]:
    """The first function with a kernel for each dispatch key, in the order in which entries name the keys."""
    first: dict[DispatchKey, NativeFunction] = {}
    for function in job.catalog.functions:
        for key in function.kernels:
            first.setdefault(key, function)
    return first


def declarations(units: Iterable[KernelUnit], ranks: Mapping[DispatchKey, int], rules: Rules) -> str:
    """Kernels of the units, each declared once, in their namespaces; `ranks` are the job's `key_ranks`."""
    blocks: dict[str, _Block] = {}
    for unit in units:
        _declare(unit, blocks, ranks, rules)
    return namespaces.blocks({namespace: block.values() for namespace, block in blocks.items()})


def _declare(unit: KernelUnit, blocks: dict[str, _Block], ranks: Mapping[DispatchKey, int], rules: Rules) -> None:
    """Add a unit's declarations. The block of its namespace exists even if it stays empty."""
    primary = unit if isinstance(unit, NativeFunction) else unit.out
    functions = members(unit)
    library = primary.library
    native = library.native
    if not primary.kernels:
        blocks.setdefault(native, {})
    keys: Iterable[DispatchKey] = {key for function in functions for key in function.kernels}
    elsewhere = any(kernel.namespace != native for kernel in primary.kernels.values())
    if elsewhere:
        # Keys without a kernel affect which namespace opens first.
        keys = ranks
    else:
        keys = sorted(keys, key=ranks.__getitem__)
        blocks.setdefault(native, {})
    for key in keys:
        kernel = primary.kernels.get(key)
        block = blocks.setdefault(native if kernel is None else kernel.namespace, {})
        if kernel is not None and kernel.structured and isinstance(unit, NativeFunctionsGroup):
            macro = class_macro(kernel, rules, library)
            body = structured_class_body(unit, kernel)
            _add(block, f"struct {macro} ", body, rules, replaces=macro == library.export)
            continue
        for function in functions:
            key_kernel = function.kernels.get(key)
            if key_kernel is not None and _LEGACY not in f"{key_kernel.namespace}::{key_kernel.name}":
                macro = kernel_macro(key_kernel, rules, library)
                declared = f"{kernel_signature(function, key_kernel).declaration(key_kernel.name)};"
                _add(block, f"{macro} ", declared, rules, replaces=macro == library.export)
    if elsewhere:
        # For keys without a kernel the reference opens PyTorch's namespace too, even if it stays empty.
        blocks.setdefault(native, {})


def _add(block: _Block, head: str, body: str, rules: Rules, *, replaces: bool) -> None:
    """Add a declaration unless the block has it.

    In releases with a macro for each device, a kernel of several keys is declared once: with the macro of the main
    library if one of the keys has it, which replaces others, otherwise with the macro of the first key.
    """
    whole = head + body
    name = body if rules.device_export_macros else whole
    if name not in block or replaces:
        block[name] = whole


def structured_class(group: NativeFunctionsGroup, kernel: Kernel, rules: Rules) -> str:
    """Declaration of a structured kernel: a class with the method `impl`, derived from the class with `meta`."""
    return f"struct {class_macro(kernel, rules, group.library)} {structured_class_body(group, kernel)}"


def structured_class_body(group: NativeFunctionsGroup, kernel: Kernel, class_name: str = "") -> str:
    """Declaration of a structured kernel after `struct`; `own` are members of its class besides `impl`."""
    parameters = ", ".join([binding.declaration for binding in structured.impl_arguments(group)])
    return (
        f"structured_{kernel.name} : public {group.library.meta}::structured_{structured.meta_name(group)} {{\n"
        f"{class_name}void impl({parameters});\n"
        "};"
    )


#: The ranks of the dispatch keys that have kernels.
_KEY_RANKS: Final[DeclaredRead[Mapping[DispatchKey, int]]] = DeclaredRead(
    "key_ranks", key_ranks, depends_on=lambda job: _first_functions(job).values()
)


def _header(root: RootUnits, context: FragmentContext) -> Slots:
    name, units = root
    has_meta = any(isinstance(unit, NativeFunctionsGroup) and unit.structured for unit in units)
    return {
        "extra_includes": include_line(f"{units[0].library.headers}/{name}_meta.h") if has_meta else "",
        "native_function_declarations": declarations(units, context.read(_KEY_RANKS), context.rules),
    }


def _file_slots(job: Job) -> Slots:
    if job.options.per_operator_headers:
        return {"NativeFunctions_includes": includes("_native", None, job), "NativeFunctions_declarations": []}
    return {
        "NativeFunctions_includes": ["#include <ATen/NativeMetaFunctions.h>"],
        "NativeFunctions_declarations": declarations(job.catalog.groups, key_ranks(job), job.rules),
    }


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the headers of native kernels."""
    all_emitters: list[AnyEmitter] = [
        Emitter(
            name="native_functions_header",
            family="headers",
            template="NativeFunctions.h",
            layout=OneFile("NativeFunctions.h"),
            file_slots=_file_slots,
        )
    ]
    if job.options.per_operator_headers:
        all_emitters.append(
            Emitter(
                name="native_function_headers",
                family="headers",
                template="NativeFunction.h",
                folder="ops",
                units=lambda job: list(units_by_root(job).items()),
                fragment=_header,
                reads=(_KEY_RANKS,),
                layout=FilePerUnit(lambda root: f"{root[0]}_native.h"),
            )
        )
    return all_emitters
