"""Kernels that track shared memory: the names of `torchgen.packaged.autograd.gen_inplace_or_view_type`.

Programs may replace `gen_inplace_or_view_type_env` and `unpack_args`: the functions that use them look them up.
"""

from __future__ import annotations

import dataclasses
from typing import Final

from opwright.emit.autograd import inplace_or_view
from opwright.emit.autograd.kernels import has_kernel, kernel_text, key_set
from opwright.emit.autograd.wrapper_call import unpack_all, unpacked_name
from opwright.files.template import template_comment
from opwright.release.operator_names.autograd import STORAGE_OF_BASE, VIEWS
from opwright.torchgen.api import cpp
from opwright.torchgen.code_template import CodeTemplate
from opwright.torchgen.context import with_native_function
from opwright.torchgen.interface.cpp_types import Binding
from opwright.torchgen.interface.derivatives import NativeFunctionWithDifferentiabilityInfo, model_differentiable
from opwright.torchgen.interface.faults import faults_as_assertions
from opwright.torchgen.interface.functions import NativeFunction, model_function
from opwright.torchgen.interface.installed import installed_rules
from opwright.torchgen.interface.types import Type, model_type
from opwright.torchgen.utils import FileManager

__all__ = [
    "ALL_VIEW_FUNCTIONS",
    "METHOD_DEFINITION",
    "VIEW_FUNCTIONS",
    "extract_bindings",
    "gen_formals",
    "gen_inplace_or_view_type",
    "gen_inplace_or_view_type_env",
    "is_tensor_list_type",
    "unpack_args",
    "unpacked_name",
    "use_derived",
]

#: The operators that give views, and with them those whose result shares the storage of an argument: the argument.
VIEW_FUNCTIONS: Final = VIEWS.in_release(installed_rules())
ALL_VIEW_FUNCTIONS: Final = {**STORAGE_OF_BASE.in_release(installed_rules()), **VIEW_FUNCTIONS}

#: The definition of a kernel.
METHOD_DEFINITION: Final = CodeTemplate(
    kernel_text("${return_type} ${type_wrapper_name}(${formals})", "  ${type_definition_body}")
)


def use_derived(fn: NativeFunctionWithDifferentiabilityInfo) -> bool:
    """Whether autograd has a generated kernel for a function."""
    return has_kernel(model_differentiable(fn))


@with_native_function
def extract_bindings(f: NativeFunction) -> list[Binding]:
    """Parameters of an operator's kernels for autograd, with defaults."""
    choices = {"method": False, "faithful": True, "symint": True, "has_tensor_options": False}
    arguments = f.func.arguments.flat_all
    return [item for argument in arguments for item in cpp.argument(argument, cpp_no_default_args=set(), **choices)]


def gen_formals(f: NativeFunction) -> str:
    """Parameters of an operator's kernels for autograd in their definitions, after the set of dispatch keys."""
    parameters = [binding.defn() for binding in extract_bindings(f)]
    return ", ".join([f"c10::DispatchKeySet {key_set(model_function(f))}", *parameters])


def is_tensor_list_type(t: Type) -> bool:
    """Whether a type is that of a list of tensors."""
    type = model_type(t)
    return type.is_tensor_like and type.list_like is not None


def unpack_args(f: NativeFunction) -> tuple[list[str], list[Binding]]:
    """Statements that check tensors of a call, and the parameters with the variables of checked tensors."""
    unpacked = unpack_all(model_function(f))
    bindings = [
        dataclasses.replace(binding, name=parameter.name)
        for binding, parameter in zip(extract_bindings(f), unpacked.parameters, strict=True)
    ]
    return list(unpacked.statements), bindings


def gen_inplace_or_view_type_env(fn: NativeFunctionWithDifferentiabilityInfo) -> dict[str, list[str]]:
    """What an operator puts into the slots of the template; nothing if it neither writes nor gives a view.

    Raises AssertionError for a view that cannot be made again.
    """
    with faults_as_assertions():
        slots = inplace_or_view.kernel_slots(model_differentiable(fn), installed_rules())
    return {slot: list(slots.get(slot, ())) for slot in inplace_or_view.SLOTS}


def gen_inplace_or_view_type(
    out: str,
    native_yaml_path: str,
    tags_yaml_path: str,
    fns_with_infos: list[NativeFunctionWithDifferentiabilityInfo],
    template_path: str,
) -> None:
    """Write the shards of `ADInplaceOrViewType.cpp` into a folder, from the template in another one."""
    files = FileManager(out, template_path, dry_run=False)
    comment = template_comment(inplace_or_view.FILE, files.template_dir_for_comments())
    files.write_sharded(
        inplace_or_view.FILE,
        filter(use_derived, fns_with_infos),
        key_fn=lambda fn: fn.func.root_name,
        base_env={"generated_comment": comment},
        env_callable=gen_inplace_or_view_type_env,
        num_shards=installed_rules().inplace_or_view_shards,
        sharded_keys=inplace_or_view.SLOTS,
    )
