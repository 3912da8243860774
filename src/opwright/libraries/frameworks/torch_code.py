"""The C++ with which PyTorch calls kernels over borrowed tensors: one binary for a release and all later ones.

Gradients, fakes, batching and sharding are those of every library with the stable interface.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opwright.convention.dispatcher import returned_arguments
from opwright.cpp.namespaces import enclose
from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, FragmentContext, Job, Slots
from opwright.libraries import stable_convention as stable
from opwright.libraries.emit.stable import StableLibrary, schema_registrations, stable_libraries
from opwright.libraries.frameworks.calls import view_libraries
from opwright.libraries.frameworks.view_convention import DEVICES, ViewLibrary, ViewOperator, new_results
from opwright.model.dispatch_key import LIBRARY_KEYS
from opwright.source.records import NamedTuple
from opwright.syntax.cpp import include_line

_HEADERS: Final = ("opwright/torch_call.h", "torch/csrc/stable/library.h")
#: What makes the device of the tensors of a call the current one.
_GUARD_HEADER: Final = "torch/csrc/stable/accelerator.h"
_KEYS: Final = {word: key for key, word in DEVICES.items()}


class _Unit(NamedTuple):
    """A library with what PyTorch registers of it."""

    views: ViewLibrary
    stable: StableLibrary


def _units(job: Job) -> Sequence[_Unit]:
    libraries = {unit.library: unit for unit in stable_libraries(job)}
    return [_Unit(unit, libraries[unit.library.library]) for unit in view_libraries(job)]


def _called(unit: ViewLibrary, operator: ViewOperator, device: str) -> str:
    """The function that PyTorch calls for a device."""
    function = operator.function
    results = new_results(function)
    arguments = function.arguments.all
    counts = f"{len(arguments)}, {len(results)}"
    lines = [f"  ::opwright::TorchCall<{counts}> opwright_call({unit.table}()[{operator.place}]);"]
    lines += [f"  opwright_call.add({argument.name});" for argument in arguments]
    tensors = [argument for argument in arguments if argument.type.text == "Tensor"]
    if device != "cpu" and function.device_guard and tensors:
        guard = "torch::stable::accelerator::DeviceGuard"
        lines.append(f"  const {guard} opwright_guard({tensors[0].name}.get_device_index());")
    lines.append(f"  opwright_call.run(::opwright::KernelDevice::{device});")
    places = iter(range(len(results)))
    values = [
        f"opwright_call.result({next(places)})" if name is None else name
        for name in returned_arguments(function.schema)
    ]
    if values:
        joined = ", ".join(values)
        lines.append(f"  return {joined if len(values) == 1 else f'{{{joined}}}'};")
    signature = stable.signature(function)
    return "\n".join([f"{signature.definition(_name(operator, device))} {{", *lines, "}"])


def _name(operator: ViewOperator, device: str) -> str:
    return f"{operator.name}_{_KEYS[device]}"


def _source(unit: _Unit, context: FragmentContext) -> Slots:
    views, api = unit.views, unit.views.library.library.api
    calls = [
        _called(views, operator, device)
        for operator in views.operators
        if not operator.function.manual_kernel_registration
        for device in operator.kernels
    ]
    called = enclose(f"{api}::opwright_torch", "\n".join(["namespace {", *calls, "} // namespace"])) if calls else ""
    registrations = []
    for key in LIBRARY_KEYS.values():
        statements = [
            f'  m.impl("{operator.function.name.text}", '
            f"TORCH_BOX(&::{api}::opwright_torch::{_name(operator, device)}));\n"
            for operator in views.operators
            for device in operator.kernels
            if _KEYS[device] == key.name
        ]
        if statements:
            head = f"STABLE_TORCH_LIBRARY_IMPL({views.namespace}, {key.name}, m)"
            registrations.append(f"{head} {{\n{''.join(statements)}}}")
    has_cuda = any("cuda" in operator.kernels for operator in views.operators)
    return {
        "namespace": views.namespace,
        "number": stable.target_version(unit.stable.oldest_release),
        "includes": list(map(include_line, (*_HEADERS, *((_GUARD_HEADER,) if has_cuda else ())))),
        "table": views.table,
        "calls": called,
        "schemas": schema_registrations(unit.stable),
        "registrations": registrations,
    }


def _module(unit: ViewLibrary, context: FragmentContext) -> Slots:
    return {"namespace": unit.namespace, "package": unit.library.python_package}


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the source for PyTorch, and of the module that loads it."""
    return [
        Emitter(
            name="view_library_torch_sources",
            family="library",
            template="frameworks/torch.cpp",
            folder="source",
            units=_units,
            fragment=_source,
            layout=FilePerUnit(lambda unit: f"{unit.views.library.library.headers}/torch.cpp"),
        ),
        Emitter(
            name="view_library_torch_modules",
            family="library",
            template="frameworks/torch.py.in",
            folder="python",
            units=view_libraries,
            fragment=_module,
            layout=FilePerUnit(lambda unit: f"{unit.package}/torch.py"),
        ),
    ]
