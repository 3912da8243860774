"""The C++ with which PyTorch calls kernels over borrowed tensors: one binary for a release and all later ones.

Gradients, fakes, batching and sharding are those of every library with the stable interface.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opwright.cpp.text import string_literal
from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, FragmentContext, Job, Slots
from opwright.libraries import stable_convention as stable
from opwright.libraries.emit.python.overloads import calls_another_form
from opwright.libraries.emit.stable import StableLibrary, stable_libraries
from opwright.libraries.frameworks.calls import view_libraries
from opwright.libraries.frameworks.view_convention import DEVICES, ViewLibrary, ViewOperator, returned_places
from opwright.model.dispatch_key import COMPOSITE_EXPLICIT
from opwright.model.native_function import NativeFunction
from opwright.source.records import NamedTuple

_KEYS: Final = {word: key for key, word in DEVICES.items()}


class _Unit(NamedTuple):
    """A library with what PyTorch registers of it."""

    views: ViewLibrary
    stable: StableLibrary


def _units(job: Job) -> Sequence[_Unit]:
    libraries = {unit.library: unit for unit in stable_libraries(job)}
    return [_Unit(unit, libraries[unit.library.library]) for unit in view_libraries(job)]


def _function(unit: ViewLibrary, operator: ViewOperator, device: str) -> str:
    """The function that PyTorch calls for a device."""
    sets_device = str(operator.function.device_guard).lower()
    facts = f"{_name(operator, device)}, {operator.place}, {device}, {sets_device}, {returned_places(operator)}"
    return f"OPWRIGHT_TORCH_FUNCTION({unit.table}, {facts})"


def _name(operator: ViewOperator, device: str) -> str:
    return f"opwright_{operator.name}_{device}"


def _key(operator: ViewOperator, device: str) -> str:
    """The key of a kernel. Of an operator without tensors, the kernel for the CPU serves all calls, as elsewhere."""
    has_tensors = any(argument.type.is_tensor_like for argument in operator.function.arguments.all)
    return _KEYS[device] if has_tensors or device != "cpu" else COMPOSITE_EXPLICIT.name


def _registered(kind: str, namespace: str, key: str, statements: list[str]) -> str:
    """What registers schemas, or the kernels of a key."""
    head = f'static const ::opwright::TorchLibrary opwright_{kind}("{namespace}", {key}, '
    return f"{head}[](const ::opwright::TorchLibrary& m) {{\n{''.join(statements)}}});" if statements else ""


def _schema(unit: _Unit, function: NativeFunction) -> str:
    """Registration of a schema, with its tags if the oldest release can have any."""
    tags = ", ".join([f"torch_tag_{tag}()" for tag in stable.registered_tags(function)])
    with_tags = f", {{{tags}}}" if tags and unit.stable.oldest_release >= stable.TAGS_SINCE else ""
    return f"  m.def({string_literal(function.schema.written_text)}{with_tags});\n"


def _source(unit: _Unit, context: FragmentContext) -> Slots:
    views, namespace = unit.views, unit.views.namespace
    called = [
        (operator, device)
        for operator in views.operators
        if not operator.function.manual_kernel_registration
        for device in operator.kernels
    ]
    # Python defines overloads that call other ones, with kernels in Python.
    schemas = [_schema(unit, function) for function in unit.stable.functions if not calls_another_form(function)]
    registrations = [
        _registered(
            f"kernels_{key}",
            namespace,
            f'"{key}"',
            [
                f'  m.impl("{operator.function.name.text}", {_name(operator, device)});\n'
                for operator, device in called
                if _key(operator, device) == key
            ],
        )
        for key in (*DEVICES, COMPOSITE_EXPLICIT.name)
    ]
    return {
        "namespace": namespace,
        "number": stable.target_version(unit.stable.oldest_release),
        "table": views.table,
        "functions": "\n".join([_function(views, operator, device) for operator, device in called]),
        "schemas": _registered("schemas", namespace, "nullptr", schemas),
        "registrations": [text for text in registrations if text],
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
