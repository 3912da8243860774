"""Derivatives of a file, and which function takes which: Opwright's loading and matching for records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opwright.dialects.derivatives.loader import load_derivatives
from opwright.dialects.derivatives.matching import match_derivatives
from opwright.model.catalog import Catalog
from opwright.model.derivatives import DEFAULT_KEY, Derivatives, DifferentiableFunction
from opwright.model.derivatives import DifferentiabilityInfo as ModelInfo
from opwright.model.native_function import NativeFunction as ModelFunction
from opwright.source.diagnostic import Diagnostics
from opwright.source.render import render_short
from opwright.torchgen.interface.derivatives import (
    DifferentiabilityInfo,
    NativeFunctionWithDifferentiabilityInfo,
    forward_records,
    model_info,
    saved_records,
)
from opwright.torchgen.interface.faults import stop_at_errors
from opwright.torchgen.interface.functions import NativeFunction, model_function
from opwright.torchgen.interface.generator import read_text
from opwright.torchgen.interface.schema import FunctionSchema

#: Derivatives by the schema of their function and by dispatch key.
Infos = dict[FunctionSchema, dict[str, DifferentiabilityInfo]]


def _catalog(functions: Iterable[ModelFunction]) -> Catalog:
    linked = tuple(functions)
    views = dict.fromkeys([function.view_group or function for function in linked])
    return Catalog(linked, (), tuple(views), (), {})


def read_derivatives(path: str, native_functions: Iterable[NativeFunction]) -> tuple[Infos, set[str]]:
    """Derivatives of a file, and the dispatch keys that it names. Raises RuntimeError with all mistakes."""
    functions = {model_function(f): f for f in native_functions}
    sink = Diagnostics()
    loaded = load_derivatives(read_text(path), _catalog(functions), sink)
    if sink.has_errors:
        raise RuntimeError(render_short(sink))
    infos = {
        functions[function].func: {
            key: DifferentiabilityInfo._of(info, func=functions[function]) for key, info in by_key.items()
        }
        for function, by_key in loaded.infos.items()
    }
    return infos, set(loaded.keys)


def match_differentiability_info(
    native_functions: list[NativeFunction], differentiability_infos: Infos
) -> list[NativeFunctionWithDifferentiabilityInfo]:
    """Functions with the derivatives that they use: their own, or those of another form of the operation.

    Functions over lists get infos that are made for them, which are added to the dictionary. Raises AssertionError with
    all mistakes in formulas.
    """
    functions = {f.func: f for f in native_functions}
    infos = {
        model_function(functions.get(func, next(iter(by_key.values())).func)): {
            key: model_info(info) for key, info in by_key.items()
        }
        for func, by_key in differentiability_infos.items()
    }
    sink = Diagnostics()
    matched = match_derivatives(Derivatives(infos, frozenset()), map(model_function, native_functions), sink)
    stop_at_errors(sink)
    records = {model_info(info): info for by_key in differentiability_infos.values() for info in by_key.values()}
    new = {info.function: info for info in matched.made}
    results: list[NativeFunctionWithDifferentiabilityInfo] = []
    for f, match in zip(native_functions, matched.functions, strict=True):
        info = new.get(match.function)
        if info is not None:
            records[info] = _new_record(info, f)
            differentiability_infos[f.func] = {DEFAULT_KEY: records[info]}
        results.append(_with_records(f, match, records))
    return results


def _new_record(info: ModelInfo, f: NativeFunction) -> DifferentiabilityInfo:
    """Record of derivatives that were made, of which PyTorch's generator gives some fields as tuples."""
    saved = {"all_saved_inputs": info.saved_inputs, "all_saved_outputs": info.saved_outputs}
    fields = {name: tuple(saved_records(attributes, info)) for name, attributes in saved.items()}
    return DifferentiabilityInfo._of(info, func=f, available_named_gradients=(), **fields)


def _with_records(
    f: NativeFunction, match: DifferentiableFunction, records: Mapping[ModelInfo, DifferentiabilityInfo]
) -> NativeFunctionWithDifferentiabilityInfo:
    fields: dict[str, object] = {"info": None, "fw_derivatives": None}
    if match.infos:
        fields["info"] = {key: records[info] for key, info in match.infos.items()}
        fields["fw_derivatives"] = {key: forward_records(listed) for key, listed in match.forward.items()}
    return NativeFunctionWithDifferentiabilityInfo._of(match, func=f, **fields)
