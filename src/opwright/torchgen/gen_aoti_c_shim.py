"""C shims for AOTInductor: the names of `torchgen.gen_aoti_c_shim`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from opwright.convention.c_shim import NoCForm, operator_key
from opwright.emit.aten.c_shim import (
    SHARED_KEYS,
    callee_of_key,
    release_target,
    shim_callee,
    shim_declaration,
    shim_definition,
    shim_versions,
)
from opwright.release.tables import ShimOperator, ShimVersion
from opwright.torchgen.api.types.signatures import CppSignature, CppSignatureGroup
from opwright.torchgen.interface.faults import Invalid
from opwright.torchgen.interface.functions import BackendIndex, NativeFunction, NativeFunctionsGroup, model_function
from opwright.torchgen.interface.installed import installed_rules
from opwright.torchgen.interface.keys import DispatchKey
from opwright.torchgen.interface.schema import FunctionSchema, model_schema
from opwright.torchgen.interface.types import OperatorName

#: What tables say of the shim of an operator: its guard, and for each further version arguments and guard.
Metadata = dict[str, "str | dict[str, list[str] | str]"]


def get_fallback_op_name(func: NativeFunction) -> str:
    """Name by which tables of shims know an overload."""
    return operator_key(model_function(func))


def get_backend_index_for_aoti(
    func: NativeFunction,
    func_group_mapping: Mapping[OperatorName, NativeFunctionsGroup],
    dispatch_key: DispatchKey | None,
    backend_indices: Mapping[DispatchKey, BackendIndex],
    extend_aoti_c_shim: bool,
) -> BackendIndex | None:
    """Kernels of which the shim of an operator calls one: those of a dispatch key, else of one for all devices.

    Kernels for all devices have no place in shims that extend others. None if there is no kernel.
    """
    if dispatch_key is None:
        return None
    shared = () if extend_aoti_c_shim else tuple([DispatchKey[key.name] for key in SHARED_KEYS])
    units: list[NativeFunction | NativeFunctionsGroup] = [func]
    if func.structured_delegate is not None and func.structured_delegate in func_group_mapping:
        units.append(func_group_mapping[func.structured_delegate])
    indices = [backend_indices[key] for key in (dispatch_key, *shared) if key in backend_indices]
    return next((index for index in indices if any(map(index.has_kernel, units))), None)


def gen_static_dispatch_backend_call_signature(*of: Any) -> CppSignature:  # noqa: ANN401
    """Signature of the function that a shim calls: the one with symbolic integers if there is one.

    Programs for PyTorch 2.7 give a signature before the operator, which has no effect.
    """
    signatures = CppSignatureGroup.from_native_function(of[-1], method=False)
    return signatures.symint_signature or signatures.signature


def gen_static_dispatch_backend_call(f: NativeFunction, backend_index: BackendIndex | None = None) -> str:
    """The C++ function that a shim calls: of a dispatch key, or of the public API."""
    if backend_index is None:
        return shim_callee(model_function(f))
    return callee_of_key(model_function(f), backend_index.dispatch_key.lower())


def gen_declaration_and_definition(
    schema: FunctionSchema, device: str, backend_call: str, op_metadata: Metadata | None = None
) -> tuple[str, str]:
    """The declarations and the definitions of all versions of a shim.

    Without metadata, as in PyTorch 2.7, the declaration is without macro and semicolon. Raises
    AssertionError for a mistake in the metadata, and NotImplementedError if a type has no form in C.
    """
    origin = model_schema(schema)
    rules = installed_rules()
    target = release_target(device, None, rules)
    name, metadata = origin.name.text, op_metadata or {}
    versions = [_version(name, version, value) for version, value in metadata.items() if version != "since"]
    try:
        functions = shim_versions(origin, ShimOperator(_guard(name, metadata), tuple(versions)), target, backend_call)
    except NoCForm as refusal:
        raise NotImplementedError(f"{refusal.what} of `{origin.name}` has no form in C: {refusal.type}") from None
    declared = [function.head if op_metadata is None else shim_declaration(function) for function in functions]
    return "\n".join(declared), "\n".join([shim_definition(function) for function in functions])


def _version(name: str, version: str, value: object) -> ShimVersion:
    if not re.fullmatch(r"v[0-9]+", version):
        raise Invalid(f"`{version}` is no version of the C shim of `{name}`: write `v2`, `v3`, ...")
    if not isinstance(value, Mapping) or not isinstance(value.get("new_args"), Sequence):
        raise Invalid(f"`{version}` of the C shim of `{name}` is a mapping with `new_args`, not {value!r}")
    return ShimVersion(version, tuple(value["new_args"]), _guard(name, value))


def _guard(name: str, metadata: Mapping[str, object]) -> str | None:
    """Macro of the release since which a version exists."""
    macro = metadata.get("since")
    if macro is None:
        return None
    if not isinstance(macro, str) or not re.fullmatch(r"TORCH_VERSION_[0-9]+_[0-9]+_[0-9]+", macro):
        raise Invalid(f"`since` of the C shim of `{name}` is {macro!r}, not a macro such as `TORCH_VERSION_2_10_0`")
    return macro
