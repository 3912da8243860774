"""`torchgen.aoti.fallback_ops`: the operators with a C shim, as the inputs of the installed PyTorch list them."""

from __future__ import annotations

from opwright.dialects.shim_tables import load_shim_tables
from opwright.release.local import from_installed
from opwright.release.store import SHIM_TABLES
from opwright.release.tree import rules_of
from opwright.source.diagnostic import Diagnostics

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.release.tables import ShimOperator

    inductor_fallback_ops: dict[str, dict[str, object]]
    aten_shimified_ops: dict[str, dict[str, object]]

__all__ = ["aten_shimified_ops", "inductor_fallback_ops"]


def __getattr__(name: str) -> dict[str, dict[str, object]]:
    """A table, read when it is first asked for."""
    if name not in __all__:
        raise AttributeError(name)
    device, aten = _tables()
    globals().update(inductor_fallback_ops=device, aten_shimified_ops=aten)
    return device if name == "inductor_fallback_ops" else aten


def _tables() -> tuple[dict[str, dict[str, object]], dict[str, dict[str, object]]]:
    inputs = from_installed()
    sink = Diagnostics()
    guarded = rules_of(inputs, None, sink).shims_are_guarded
    tables = load_shim_tables(inputs.read_text(SHIM_TABLES), sink, guarded=guarded)
    sink.raise_if_errors()
    return _rows(tables.device, guarded=guarded), _rows(tables.aten, guarded=guarded)


def _rows(operators: Mapping[str, ShimOperator], *, guarded: bool) -> dict[str, dict[str, object]]:
    """Dictionary of PyTorch's module: the guard and the further versions of each shim, by the operator's name."""
    rows: dict[str, dict[str, object]] = {}
    for name, operator in operators.items():
        row = rows[name] = _guard(operator.guard)
        for version in operator.versions:
            arguments = list(version.new_arguments)
            row[version.name] = {"new_args": arguments, **_guard(version.guard)} if guarded else arguments
    return rows


def _guard(macro: str | None) -> dict[str, object]:
    return {} if macro is None else {"since": macro}
