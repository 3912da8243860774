"""Classes with the shape functions of structured operations: `ops/{op}_meta.h`, or all in `NativeMetaFunctions.h`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from opwright.convention import structured
from opwright.emit.aten.backend import units_by_root
from opwright.emit.aten.units import includes
from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, FragmentContext, Job, OneFile, Slots
from opwright.model.library import PYTORCH, Library
from opwright.model.native_function import NativeFunctionsGroup, Precomputed

RootGroups: TypeAlias = tuple[str, Sequence[NativeFunctionsGroup]]
"""A root name with its structured groups."""


def meta_class(group: NativeFunctionsGroup) -> str:
    """Class whose method `meta` computes sizes and types, and with the values that it precomputes for `impl`."""
    parent = group.out.structured_inherits or "at::impl::MetaBase"
    if not group.library.in_libtorch and group.out.structured_inherits:
        parent = f"{PYTORCH.api}::{parent}"
    parameters = ", ".join([binding.declaration for binding in structured.meta_arguments(group)])
    precomputed, returns = "", "void"
    if group.out.precomputed is not None:
        precomputed, returns = _precompute_class(group.out.precomputed, group.library), "meta_return_ty"
    return (
        f"struct {group.library.export} structured_{structured.meta_name(group)} : public {parent} {{\n"
        f"{precomputed or _NOTHING}\n"
        f"    {returns} meta({parameters});\n"
        "};\n"
    )


#: Two empty lines replace the class of precomputed values and its name.
_NOTHING = "\n"


def _precompute_class(values: Precomputed, library: Library) -> str:
    """A class template with a flag for each value, so that its type shows which values are set."""
    bindings = [structured.binding(value) for value in values.values]
    fields = [(binding.type.bare, binding.name) for binding in bindings]
    flags = [name.upper() for _, name in fields]
    setters = "\n\n".join([_setter(index, fields, flags) for index in range(len(fields))])
    members = "\n".join([f"{type} {name};" for type, name in fields])
    return f"""
                template <{", ".join([f"bool {flag} = false" for flag in flags])}>
                struct {library.export} precompute_out {{
{setters}

                    {members}
            }};
    using meta_return_ty = precompute_out <{", ".join(["true" for _ in flags])}>;"""


def _setter(index: int, fields: Sequence[tuple[str, str]], flags: Sequence[str]) -> str:
    """Method that sets one value. It returns an object with the value's flag set and all other values unchanged."""
    type, name = fields[index]
    after_setting = ", ".join([*flags[:index], "true", *flags[index + 1 :]])
    copies = "\n".join([f"ret.{other} = {'value' if other == name else f'this->{other}'};" for _, other in fields])
    return f"""
                    precompute_out<{after_setting}> set_{name}({type} value) {{
                        static_assert({flags[index]} == false, "{name} already set");
                        precompute_out<{after_setting}> ret;
{copies}
return ret;
                    }}"""


def _roots(job: Job) -> list[RootGroups]:
    roots: list[RootGroups] = []
    for name, units in units_by_root(job).items():
        groups = tuple([unit for unit in units if isinstance(unit, NativeFunctionsGroup) and unit.structured])
        if groups:
            roots.append((name, groups))
    return roots


def _header(root: RootGroups, context: FragmentContext) -> Slots:
    return {"meta_function_declarations": [meta_class(group) for group in root[1]]}


def _file_slots(job: Job) -> Slots:
    if job.options.per_operator_headers:
        # The reference lists every operator, with or without a structured kernel. No source of such builds includes
        # this file.
        return {"NativeMetaFunctions_includes": includes("_meta", None, job), "NativeMetaFunctions_declarations": []}
    return {
        "NativeMetaFunctions_includes": [],
        "NativeMetaFunctions_declarations": [meta_class(group) for group in job.catalog.structured_groups],
    }


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the headers of shape functions."""
    all_emitters: list[AnyEmitter] = [
        Emitter(
            name="native_meta_functions_header",
            family="headers",
            template="NativeMetaFunctions.h",
            layout=OneFile("NativeMetaFunctions.h"),
            file_slots=_file_slots,
        )
    ]
    if job.options.per_operator_headers:
        all_emitters.append(
            Emitter(
                name="native_meta_function_headers",
                family="headers",
                template="NativeMetaFunction.h",
                folder="ops",
                units=_roots,
                fragment=_header,
                layout=FilePerUnit(lambda root: f"{root[0]}_meta.h"),
            )
        )
    return all_emitters
