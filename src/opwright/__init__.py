"""Opwright compiles operator schemas into the C++ and Python glue that PyTorch needs around each operator.

>>> import opwright
>>> catalog = opwright.load()
>>> add = catalog["add.Tensor"]
>>> print(add.schema)
add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
>>> print(opwright.convention.dispatcher.signature(add).declaration())
at::Tensor add(const at::Tensor & self, const at::Tensor & other, const at::Scalar & alpha)

The public names are those of `__all__`; they are imported when first asked for.
"""

import sys

# Every Python from 3.6 on parses this file, so that one that is too old gets a sentence instead of a traceback.
if sys.version_info < (3, 10):
    _REFUSAL = "Opwright needs Python 3.10 or newer, and this is Python {}.{}".format(*sys.version_info[:2])
    if getattr(sys, "argv", [""])[0] in ("-m", "-c"):
        sys.stderr.write(f"opwright: error: {_REFUSAL}: {sys.executable}\n")
        raise SystemExit(2)
    raise ImportError(_REFUSAL)

from importlib import import_module

# Importing `typing` takes longer than finding that there is nothing to do.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from opwright import convention, cpp
    from opwright.cpp.binding import Binding
    from opwright.cpp.signature import Signature
    from opwright.cpp.translation import translate
    from opwright.emit.emitter import Emitter, Job, Options
    from opwright.emit.registry import build_folders, emitters
    from opwright.files.plan import Plan, PlannedFile
    from opwright.libraries.extension.inline import BuildFailed, inline
    from opwright.libraries.judge.accept import Judge, accept
    from opwright.libraries.judge.verdict import Finding, Timing, Verdict
    from opwright.model.catalog import Catalog
    from opwright.model.dispatch_key import DispatchKey
    from opwright.model.native_function import NativeFunction, NativeFunctionsGroup, ViewGroup
    from opwright.release.inputs import Inputs, open_inputs
    from opwright.run.generation import Generation, Outcome
    from opwright.run.incremental_generation import generate
    from opwright.run.loading import load
    from opwright.run.request import Request
    from opwright.schema import (
        Argument,
        Arguments,
        BaseType,
        ClassType,
        DefaultValue,
        FunctionSchema,
        ListType,
        NamedConstant,
        OptionalType,
        Return,
        SchemaKind,
        Type,
        parse_schema,
        parse_type,
    )
    from opwright.source.diagnostic import Diagnostic, Diagnostics, Fault, FaultsFound

__version__ = "0.1.0"

__all__ = [
    "Argument",
    "Arguments",
    "BaseType",
    "Binding",
    "BuildFailed",
    "Catalog",
    "ClassType",
    "DefaultValue",
    "Diagnostic",
    "Diagnostics",
    "DispatchKey",
    "Emitter",
    "Fault",
    "FaultsFound",
    "Finding",
    "FunctionSchema",
    "Generation",
    "Inputs",
    "Job",
    "Judge",
    "ListType",
    "NamedConstant",
    "NativeFunction",
    "NativeFunctionsGroup",
    "OptionalType",
    "Options",
    "Outcome",
    "Plan",
    "PlannedFile",
    "Request",
    "Return",
    "SchemaKind",
    "Signature",
    "Timing",
    "Type",
    "Verdict",
    "ViewGroup",
    "accept",
    "build_folders",
    "convention",
    "cpp",
    "emitters",
    "generate",
    "inline",
    "load",
    "open_inputs",
    "parse_schema",
    "parse_type",
    "translate",
]

#: The modules of this package with the public names that each has.
_MODULES: "Final" = {
    "cpp.binding": ("Binding",),
    "cpp.signature": ("Signature",),
    "cpp.translation": ("translate",),
    "emit.emitter": ("Emitter", "Job", "Options"),
    "emit.registry": ("build_folders", "emitters"),
    "libraries.extension.inline": ("BuildFailed", "inline"),
    "libraries.judge.accept": ("Judge", "accept"),
    "libraries.judge.verdict": ("Finding", "Timing", "Verdict"),
    "files.plan": ("Plan", "PlannedFile"),
    "model.catalog": ("Catalog",),
    "model.dispatch_key": ("DispatchKey",),
    "model.native_function": ("NativeFunction", "NativeFunctionsGroup", "ViewGroup"),
    "release.inputs": ("Inputs", "open_inputs"),
    "run.generation": ("Generation", "Outcome"),
    "run.loading": ("load",),
    "run.request": ("Request",),
    "run.incremental_generation": ("generate",),
    "schema": (
        "Argument",
        "Arguments",
        "BaseType",
        "ClassType",
        "DefaultValue",
        "FunctionSchema",
        "ListType",
        "NamedConstant",
        "OptionalType",
        "Return",
        "SchemaKind",
        "Type",
        "parse_schema",
        "parse_type",
    ),
    "source.diagnostic": ("Diagnostic", "Diagnostics", "Fault", "FaultsFound"),
}

#: Public name -> the module that has it. Importing the package alone costs nothing, which every command profits from.
_LAZY_EXPORTS: "Final" = {name: f"opwright.{module}" for module, names in _MODULES.items() for name in names}


# Type checkers take a module that has this function for one that has every attribute.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name in ("convention", "cpp"):
            return import_module(f"opwright.{name}")
        home = _LAZY_EXPORTS.get(name)
        if home is None:
            raise AttributeError(f"module `opwright` has no attribute `{name}`")
        return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
