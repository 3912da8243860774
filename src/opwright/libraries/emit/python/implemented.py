"""Module `_implements.py` of a package with kernels for operators of others: it compares their schemas.

C++ compares them before the first call, so that no call is wrong, whichever package is imported first. The module tells
what differs as early as an exception can: when the package loads its shared object, if the operators are defined by
then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opwright.emit.emitter import AnyEmitter, FragmentContext, Job
from opwright.libraries.emit.openings import opening
from opwright.libraries.emit.python.registrations import module_emitter
from opwright.libraries.emit.stable import check_symbol
from opwright.libraries.operator_library import RunLibraries
from opwright.source.records import NamedTuple
from opwright.syntax.python import string_literal

#: The name of the module.
IMPLEMENTS: Final = "_implements"


class _Implemented(NamedTuple):
    """Schemas of the operators of others. `symbol` is the function of the shared object that asks Python, if any."""

    package: str
    module: str
    schemas: tuple[str, ...]
    symbol: str


def _packages(job: Job) -> Sequence[_Implemented]:
    return [
        _Implemented(
            library.python_package,
            library.owner.module,
            tuple([f"{function.namespace}::{function.schema.written_text}" for function in library.catalog.functions]),
            check_symbol(library.library) if library.is_stable else "",
        )
        for library in job.of(RunLibraries).libraries
        if library.owner is not None
    ]


def _module(unit: _Implemented, context: FragmentContext) -> str:
    names = ("implements", "implements_stable") if unit.symbol else ("implements",)
    schemas = "".join([f"    {string_literal(schema)},\n" for schema in unit.schemas])
    facts = {
        "{package}": unit.package,
        "{symbol}": unit.symbol,
        '"{owner}"': string_literal(unit.module),
        "{owner}": unit.module,
        '("{schemas}",)': f"(\n{schemas})",
    }
    return f"{opening(*names, values=facts)}\n\n_check_schemas()\n"


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitter of the module."""
    return [module_emitter(IMPLEMENTS.removeprefix("_"), _packages, _module)]
