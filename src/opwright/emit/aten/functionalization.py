"""Kernels of functionalization: `RegisterFunctionalization.cpp`.

The kernel of an operator that writes to arguments calls the functional form, and replaces the values of the arguments
by the results. The kernel of a view applies the view to the inner tensor, and records the view so that later writes to
it reach its base. Views with a composite kernel are registered with that kernel.
"""

from __future__ import annotations

from typing import TypeAlias

from opwright.convention import native
from opwright.emit.aten.functionalized_views import inplace_view_definition, view_definition, view_kernel
from opwright.emit.aten.functionalized_writes import write_definition, write_kernel
from opwright.emit.aten.units import kernel_argument, shard_count, with_own_headers
from opwright.emit.aten.view_meta import operator_includes, view_group_includes
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, Sharded, Slots
from opwright.model.dispatch_key import COMPOSITE_IMPLICIT
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup, ViewGroup
from opwright.release.operator_names.functionalization import NOT_FUNCTIONALIZED, REGISTERED_BY_HAND
from opwright.release.rules import Rules

FunctionalizedUnit: TypeAlias = NativeFunctionsGroup | ViewGroup | NativeFunction


def registration(function: NativeFunction) -> str:
    """Registration of an operator: of its composite kernel if it has one, otherwise of the generated kernel.

    The namespace `functionalization` is beside the registrations. PyTorch's composite kernels are taken to be in its
    own namespace, whatever their entries say.
    """
    composite = function.kernels.get(COMPOSITE_IMPLICIT)
    if composite is None:
        kernel = kernel_argument(f"functionalization::{native.name(function.schema)}", function.library)
    else:
        signature = native.symint_signature(function) if composite.symint else native.signature(function)
        pointer = f"{signature.returns.text} (*)({signature.definition_parameters})"
        library = function.library
        namespace = library.native if library.kernels_in_native else composite.namespace
        kernel = f"static_cast<{pointer}>({namespace}::{composite.name})"
    return f'm.impl("{function.name.text}", {kernel});'


def _writes(function: NativeFunction) -> bool:
    return any(argument.is_write for argument in function.arguments.all)


def registered_functions(unit: FunctionalizedUnit, rules: Rules) -> list[NativeFunction]:
    """Functions of a unit that have a registration here."""
    by_hand = REGISTERED_BY_HAND.in_release(rules) if unit.library.known_by_name else frozenset()
    if isinstance(unit, ViewGroup):
        if unit.view.name.text in by_hand:
            return []
        views = [function for function in (unit.view, unit.view_inplace) if function is not None]
        if rules.composite_views_registered_to_functionalize:
            return views
        return [function for function in views if not function.has_composite_implicit]
    if isinstance(unit, NativeFunctionsGroup):
        functions = [function for function in unit.functions() if not function.has_composite_implicit]
        return [] if any(function.name.text in by_hand for function in functions) else list(filter(_writes, functions))
    if unit.has_composite_implicit or not _writes(unit):
        return []
    if not unit.library.in_libtorch:
        return [] if all(result.annotation is None for result in unit.schema.returns) else [unit]
    return [] if unit.name.text in NOT_FUNCTIONALIZED.in_release(rules) else [unit]


def definitions(unit: FunctionalizedUnit, rules: Rules) -> list[str]:
    """Kernels of a unit's functions."""
    if isinstance(unit, ViewGroup):
        views = () if unit.composite else (unit.view, unit.view_inplace)
        return [_view_definition(view, unit, rules) for view in views if view is not None]
    if isinstance(unit, NativeFunctionsGroup):
        written = [function for function in (unit.out, unit.inplace, unit.mutable) if function is not None]
        return [write_definition(write_kernel(function, unit.functional, rules)) for function in written]
    return []


def _view_definition(function: NativeFunction, group: ViewGroup, rules: Rules) -> str:
    kernel = view_kernel(function, group, rules)
    return inplace_view_definition(kernel) if "inplace_view" in function.tags else view_definition(kernel)


def functionalized_units(job: Job) -> list[FunctionalizedUnit]:
    """Groups, the view groups, then the functions in neither."""
    catalog = job.catalog
    return [
        *[group for group in catalog.groups if isinstance(group, NativeFunctionsGroup)],
        *[group for group in catalog.view_groups if isinstance(group, ViewGroup)],
        *[function for function in catalog.functions if function.group is None and function.view_group is None],
    ]


def _fragment(unit: FunctionalizedUnit, context: FragmentContext) -> Slots:
    code: dict[str, list[str]] = {}
    if context.selection.everything:
        code["func_definitions"] = definitions(unit, context.rules)
        code["func_registrations"] = [registration(function) for function in registered_functions(unit, context.rules)]
    if isinstance(unit, ViewGroup):
        includes = view_group_includes(unit)
    else:
        includes = operator_includes(unit.functions() if isinstance(unit, NativeFunctionsGroup) else [unit])
    return with_own_headers(includes, code, context)


def _shards(job: Job) -> int:
    def count_registered() -> int:
        return sum([len(registered_functions(unit, job.rules)) for unit in functionalized_units(job)])

    return shard_count(job.rules.functionalization_shards, count_registered, job)


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitter of `RegisterFunctionalization.cpp`."""
    return [
        Emitter(
            name="register_functionalization_source",
            family="sources",
            template="RegisterFunctionalization.cpp",
            units=functionalized_units,
            fragment=_fragment,
            layout=Sharded("RegisterFunctionalization.cpp", _shards(job), lambda unit: unit.root_name),
            file_slots=lambda job: {"ops_headers": [], "func_definitions": [], "func_registrations": []},
        )
    ]
