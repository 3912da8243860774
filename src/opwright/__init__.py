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

    from opwright import convention as convention
    from opwright import cpp as cpp
    from opwright.cpp.binding import Binding as Binding
    from opwright.cpp.signature import Signature as Signature
    from opwright.cpp.translation import translate as translate
    from opwright.emit.emitter import Emitter as Emitter
    from opwright.emit.emitter import Job as Job
    from opwright.emit.emitter import Options as Options
    from opwright.emit.registry import build_folders as build_folders
    from opwright.emit.registry import emitters as emitters
    from opwright.files.plan import Plan as Plan
    from opwright.files.plan import PlannedFile as PlannedFile
    from opwright.libraries.extension.inline import BuildFailed as BuildFailed
    from opwright.libraries.extension.inline import inline as inline
    from opwright.libraries.judge.accept import Judge as Judge
    from opwright.libraries.judge.accept import accept as accept
    from opwright.libraries.judge.verdict import Finding as Finding
    from opwright.libraries.judge.verdict import Timing as Timing
    from opwright.libraries.judge.verdict import Verdict as Verdict
    from opwright.model.catalog import Catalog as Catalog
    from opwright.model.dispatch_key import DispatchKey as DispatchKey
    from opwright.model.native_function import NativeFunction as NativeFunction
    from opwright.model.native_function import NativeFunctionsGroup as NativeFunctionsGroup
    from opwright.model.native_function import ViewGroup as ViewGroup
    from opwright.release.inputs import Inputs as Inputs
    from opwright.release.inputs import open_inputs as open_inputs
    from opwright.run.generation import Generation as Generation
    from opwright.run.incremental_generation import generate as generate
    from opwright.run.loading import load as load
    from opwright.run.output_writer import Outcome as Outcome
    from opwright.run.request import Request as Request
    from opwright.schema import Argument as Argument
    from opwright.schema import Arguments as Arguments
    from opwright.schema import BaseType as BaseType
    from opwright.schema import ClassType as ClassType
    from opwright.schema import DefaultValue as DefaultValue
    from opwright.schema import FunctionSchema as FunctionSchema
    from opwright.schema import ListType as ListType
    from opwright.schema import NamedConstant as NamedConstant
    from opwright.schema import OptionalType as OptionalType
    from opwright.schema import Return as Return
    from opwright.schema import SchemaKind as SchemaKind
    from opwright.schema import Type as Type
    from opwright.schema import parse_schema as parse_schema
    from opwright.schema import parse_type as parse_type
    from opwright.source.diagnostic import Diagnostic as Diagnostic
    from opwright.source.diagnostic import Diagnostics as Diagnostics
    from opwright.source.diagnostic import Fault as Fault
    from opwright.source.diagnostic import FaultsFound as FaultsFound

__version__ = "0.1.0"

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
    "run.generation": ("Generation",),
    "run.output_writer": ("Outcome",),
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
_PUBLIC: "Final" = sorted([*_LAZY_EXPORTS, "convention", "cpp"])


# Type checkers read the imports above, and take a module that has this function for one that has every attribute.
if not TYPE_CHECKING:
    __all__ = list(_PUBLIC)

    def __getattr__(name: str) -> object:
        if name in ("convention", "cpp"):
            return import_module(f"opwright.{name}")
        home = _LAZY_EXPORTS.get(name)
        if home is None:
            raise AttributeError(f"module `opwright` has no attribute `{name}`")
        return getattr(import_module(home), name)

    def __dir__() -> list[str]:
        return sorted([*__all__, "__version__"])
