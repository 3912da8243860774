"""Module `_load.py` of a library's package: it loads the shared object, if that is for the PyTorch that runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from json import dumps

from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, FragmentContext, Job, Slots, per_job
from opwright.libraries.emit.python.implemented import IMPLEMENTS
from opwright.libraries.entry_fields import library_fields
from opwright.libraries.operator_library import BUILD_NAMESPACE, OperatorLibrary, RunLibraries
from opwright.source.records import NamedTuple


class _Binary(NamedTuple):
    """What a package loads: `release` is the one that it is built for, or the first one if it is for later ones too.

    `overloads` are those that it defines, by their operators. One of kernels for operators of others `has_owner`.
    """

    package: str
    namespace: str
    release: tuple[int, int]
    is_for_later_ones: bool
    overloads: Mapping[str, Sequence[str]]
    has_owner: bool


@per_job
def _binaries(job: Job) -> Sequence[_Binary]:
    """Shared object of each library of the run."""
    return [
        _Binary(
            library.python_package,
            library.library.namespace,
            library.oldest_release if library.is_stable else job.rules.version[:2],
            library.is_stable,
            _overloads(library),
            library.owner is not None,
        )
        for library in job.of(RunLibraries).libraries
        # A build that gives the namespace writes a module that loads the operators.
        if library.library.namespace != BUILD_NAMESPACE
    ]


def _overloads(library: OperatorLibrary) -> dict[str, list[str]]:
    """The overloads that every build defines, by their operators; none of a library that has kernels alone."""
    overloads: dict[str, list[str]] = {}
    for function in library.catalog.functions if library.owner is None else ():
        if not library_fields(function).condition:
            overloads.setdefault(function.name.name, []).append(function.name.overload)
    return overloads


def _module(binary: _Binary, context: FragmentContext) -> Slots:
    """Text of the module."""
    package, number = binary.package, ".".join(map(str, binary.release))
    if binary.is_for_later_ones:
        needs = f"`{package}` needs PyTorch {number} or newer"
        remedy = f"install `torch>={number}`"
    else:
        needs = f"`{package}` was built for PyTorch {number}"
        remedy = f"install `torch=={number}.*`, or build `{package}` again"
    listed = "".join([f"\n    {dumps(name)}: {dumps(names)}," for name, names in binary.overloads.items()])
    return {
        "compared": f"    from . import {IMPLEMENTS} as {IMPLEMENTS}\n" if binary.has_owner else "",
        "overloads": f"{listed}\n" if listed else "",
        "namespace": binary.namespace,
        "package": package,
        "is_other": f"release {'<' if binary.is_for_later_ones else '!='} {tuple(binary.release)}",
        "mistake": f"{needs}, and PyTorch {{torch.__version__}} is installed: {remedy}",
    }


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitter of the module."""
    return [
        Emitter(
            name="library_load_modules",
            family="library",
            template="library/_load.py.in",
            folder="python",
            units=_binaries,
            fragment=_module,
            layout=FilePerUnit(lambda binary: f"{binary.package.replace('.', '/')}/_load.py"),
        )
    ]
