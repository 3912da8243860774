"""Modules named `torchgen` that stand for Opwright's, as files of a package or by a hook of the running process."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence
from functools import cache, partial
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

from opwright.release.generator_files import FORWARDS
from opwright.release.local import installed_generator

PACKAGE: Final = "torchgen"
#: The first line of each file of a package that forwards.
MARK: Final = f'{FORWARDS}; `python -m opwright.torchgen.install --remove` removes it."""'

#: The packages in whose folders PyTorch has inputs of its generator.
_WITH_INPUTS: Final = (PACKAGE, f"{PACKAGE}.packaged", f"{PACKAGE}.packaged.autograd")
#: Where the classes are that several modules offer.
_CLASSES: Final = "opwright.torchgen.interface."

#: The modules that importers of PyTorch's generator name, below its package.
_MODULES: Final = (
    "aoti.fallback_ops", "api.autograd", "api.cpp", "api.dispatcher", "api.functionalization", "api.lazy", "api.meta",
    "api.native", "api.python", "api.structured", "api.translate", "api.types", "api.types.signatures",
    "api.types.types", "api.types.types_base", "api.ufunc", "api.unboxing", "code_template", "context", "dest.lazy_ir",
    "dest.native_functions", "dest.register_dispatch_key", "executorch.api.custom_ops", "executorch.api.et_cpp",
    "executorch.api.types", "executorch.api.unboxing", "executorch.model", "gen", "gen_aoti_c_shim",
    "gen_backend_stubs", "gen_executorch", "gen_functionalization_type", "gen_lazy_tensor", "gen_schema_utils",
    "gen_vmap_plumbing", "local", "model", "native_aot_decl", "native_aot_spec_grid", "native_function_generation",
    "operator_versions.gen_mobile_upgraders", "packaged.autograd.gen_autograd_functions",
    "packaged.autograd.gen_inplace_or_view_type", "packaged.autograd.gen_trace_type",
    "packaged.autograd.gen_variable_factories", "packaged.autograd.gen_variable_type",
    "packaged.autograd.load_derivatives", "selective_build.operator", "selective_build.selector", "utils",
    "yaml_utils",
)  # fmt: skip


@cache
def offered_modules() -> dict[str, bool]:
    """Modules that Opwright offers, by full name, and whether each is a package."""
    folder = os.path.dirname(__file__)
    modules = {PACKAGE: True}
    for name in _MODULES:
        parts = name.split(".")
        if not any(os.path.exists(os.path.join(folder, *parts) + end) for end in (".py", "/__init__.py")):
            continue
        for count in range(1, len(parts) + 1):
            path = os.path.join(folder, *parts[:count])
            modules[".".join([PACKAGE, *parts[:count]])] = os.path.isdir(path)
    return modules


def module_file(name: str, mark: str = MARK) -> str:
    """Text of the file of a module that forwards, with a first line; as a program it is Opwright's."""
    return f"""\
{mark}

from opwright.torchgen.forwarding import forward

forward("{name}", as_program=__name__ == "__main__")
"""


def forward(name: str, *, as_program: bool = False) -> None:
    """Let the module of that name, which is being imported, stand for Opwright's, or run Opwright's program."""
    replacement = "opwright." + name
    if as_program:
        runpy.run_module(replacement, run_name="__main__", alter_sys=True)
        return
    target = import_module(replacement)
    _name_classes()
    module = sys.modules[name]
    if not hasattr(module, "__path__"):
        sys.modules[name] = target
        return
    # A package keeps its own path, on which the modules below it are found.
    module.__dict__["__getattr__"] = partial(getattr, target)
    generator = installed_generator()
    if name in _WITH_INPUTS and generator is not None:
        # Callers look for PyTorch's inputs beside the package, or on its path, which the hook does not use itself.
        folder = os.path.join(generator, *name.split(".")[1:])
        module.__file__ = os.path.join(folder, "__init__.py")
        module.__path__ = list(module.__path__) or [folder]


def _name_classes() -> None:
    """Let classes say that they are of the modules that offer them: some programs compare the names of classes."""
    for name, is_package in offered_modules().items():
        target = sys.modules.get(f"opwright.{name}")
        for word in () if is_package else getattr(target, "__all__", ()):
            value = vars(target).get(word)
            if isinstance(value, type) and value.__module__.startswith(_CLASSES):
                value.__module__ = name


class ForwardingFinder(MetaPathFinder, Loader):
    """Finds the modules named `torchgen` in a process, before any that are installed."""

    def __init__(self) -> None:
        self._modules = offered_modules()

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Spec of a module that Opwright offers. Raises ModuleNotFoundError for others of the package."""
        if fullname.partition(".")[0] != PACKAGE:
            return None
        if fullname not in self._modules:
            raise ModuleNotFoundError(f"Opwright does not offer the module `{fullname}`", name=fullname)
        return ModuleSpec(fullname, self, is_package=self._modules[fullname])

    def exec_module(self, module: ModuleType) -> None:
        """Let the module stand for Opwright's."""
        forward(module.__name__)
