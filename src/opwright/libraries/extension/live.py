"""Libraries of this process that were built from texts: loaded, and replaced when their texts change."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Final, NamedTuple

from opwright.libraries import library_codes
from opwright.libraries.extension.toolchain import import_torch
from opwright.source.diagnostic import Fault

#: What loads the modules of a package that register something for its operators.
_REGISTERING: Final = re.compile(r"^from \. import (_\w+) as ", re.MULTILINE)
#: A dispatch key that no tensor has.
_ANCHOR_KEY: Final = "TESTING_ONLY_GenericMode"


class _Loaded(NamedTuple):
    """A library in this process: the folder of its build, and the modules that registered something for it."""

    folder: str
    modules: dict[str, ModuleType]


#: The libraries whose operators are registered, by namespace.
_LOADED: Final[dict[str, _Loaded]] = {}
#: Registrations that keep the place of each operator that was ever replaced, by its name.
_ANCHORS: Final[dict[str, object]] = {}


def load_library(folder: str, name: str | None) -> ModuleType:
    """Load a built library, and make the module of its functions.

    The operators of another version of the library are replaced: those that Python calls, and those of graphs for
    gradients, of fakes, and of functions that `torch.compile` has compiled, which it then compiles again. Raises Fault
    if PyTorch refuses what the library registers (E1206); the version before it is then still there.
    """
    shared = next(entry for entry in sorted(os.listdir(folder)) if entry.endswith(".so"))
    namespace = shared.removesuffix(".so")
    name = name or namespace
    loaded = _LOADED.get(namespace)
    if loaded is None or loaded.folder != folder:
        if loaded is not None:
            _remove(namespace, loaded)
        try:
            loaded = _register(folder, namespace, name)
        except BaseException:
            if loaded is not None:
                _register(loaded.folder, namespace, name)
            raise
    for registering, module in loaded.modules.items():
        sys.modules.setdefault(f"{name}.{registering}", module)
    return make_module(os.path.join(folder, "_ops.py"), name, folder)


def _register(folder: str, namespace: str, name: str) -> _Loaded:
    """Register the operators of a library that has none in this process."""
    torch = import_torch()
    path = os.path.join(folder, f"{namespace}.so")
    torch.ops.load_library(path)
    fault = _call(path, wanted=True)
    if fault:
        message = f"PyTorch refuses what the library `{namespace}` registers: {fault}"
        help = f"give the operators another namespace, if another library of this process has `{namespace}`"
        raise Fault.at(library_codes.NOT_LOADED, message, help=help)
    loaded = _Loaded(folder, {})
    _LOADED[namespace] = loaded
    try:
        with open(os.path.join(folder, "_ops.py"), encoding="utf-8") as stream:
            modules = _REGISTERING.findall(stream.read())
        # What Python registers can be registered once in a process, whatever names its modules get.
        for module in modules:
            loaded.modules[module] = make_module(os.path.join(folder, f"{module}.py"), f"{name}.{module}")
    except BaseException:
        _remove(namespace, loaded)
        raise
    return loaded


def _call(path: str, *, wanted: bool) -> str:
    """Let a shared object make its registrations, or take them back. Gives what PyTorch says of a fault, else ''."""
    register = ctypes.CDLL(path).opwright_register
    register.restype = ctypes.c_char_p
    message = (register(int(wanted)) or b"").decode(errors="replace")
    # PyTorch's errors go on with the place in its sources, and a stack.
    return str(message.partition("\nException raised from")[0].strip())


def _remove(namespace: str, loaded: _Loaded) -> None:
    """Take back all that a library registered, and what PyTorch remembers of its operators."""
    torch = import_torch()
    operators = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith(f"{namespace}::")]
    for operator in operators:
        _keep_place(torch, namespace, operator)
    if (dynamo := sys.modules.get("torch._dynamo")) is not None:
        dynamo.reset()
    for module in reversed(loaded.modules.values()):
        for value in vars(module).values():
            if isinstance(value, torch.library.Library):
                value._destroy()
    _call(os.path.join(loaded.folder, f"{namespace}.so"), wanted=False)
    _forget_operators(getattr(torch.ops, namespace))
    for name, module in [*sys.modules.items()]:
        if str(getattr(module, "__file__", "")).startswith(loaded.folder + os.sep):
            del sys.modules[name]
    del _LOADED[namespace]


def _keep_place(torch: ModuleType, namespace: str, operator: str) -> None:
    """Register a fallthrough that no call reaches, which stays.

    PyTorch frees an operator with its last registration, and code that has found it before, such as the graph of a
    gradient, would then read freed memory. With the operator in its place, such code calls the next version.
    """
    if operator not in _ANCHORS:
        anchor = torch.library.Library(namespace, "IMPL", _ANCHOR_KEY)
        anchor.impl(operator.partition("::")[2], torch.library.fallthrough_kernel)
        _ANCHORS[operator] = anchor


def _forget_operators(namespace: ModuleType) -> None:
    """Remove the operators that `torch.ops` has found in a namespace, so that it looks for them again."""
    for name in getattr(namespace, "_dir", []):
        vars(namespace).pop(name, None)
    getattr(namespace, "_dir", []).clear()


def make_module(path: str, name: str, *folders: str) -> ModuleType:
    """The Python module of a generated file, under a name; with folders, it is a package whose modules are there."""
    spec = spec_from_file_location(name, path, submodule_search_locations=list(folders) or None)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    # `torch.compile` imports the modules of the functions that it traces. An installed package keeps its name.
    sys.modules.setdefault(name, module)
    spec.loader.exec_module(module)
    return module
