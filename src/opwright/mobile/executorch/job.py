"""Loads the job of a run for ExecuTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.dialects.dialect import LoadContext
from opwright.dialects.table import NATIVE_FUNCTIONS
from opwright.emit.emitter import Job
from opwright.mobile.executorch_choices import ExecutorchFiles, ExecutorchOptions
from opwright.mobile.executorch_dialect.kernel_fields import pytorch_kernels
from opwright.mobile.executorch_dialect.loader import load, merge
from opwright.mobile.executorch_operators import ExecutorchOperator, ExecutorchOperators, RunExecutorch
from opwright.mobile.rows import EXECUTORCH
from opwright.model.catalog import Catalog

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opwright.release.rules import Rules
    from opwright.run.request import Request
    from opwright.source.diagnostic import Diagnostics
    from opwright.source.items import ChosenItems


def load_executorch_job(request: Request, rules: Rules, sink: Diagnostics, _: Mapping[str, ChosenItems]) -> Job:
    """Job of a run for ExecuTorch; its catalog has the operators that are selected."""
    context = LoadContext(sink, rules, request.inputs, tolerant=request.tolerant, read_file=request.read_file)
    files, selection = request.of(ExecutorchFiles), request.selection
    as_reference = request.options.of(ExecutorchOptions).as_reference
    if request.options.of(ExecutorchOptions).aten_mode:
        operators = _pytorch_operators(context, as_reference=as_reference)
    else:
        operators = EXECUTORCH.load(files.functions, context)
    custom = load(files.custom, context, is_custom=True)
    chosen = [operator for operator in operators if selection.selects(operator.function)]
    chosen_custom = [operator for operator in custom if selection.selects(operator.function)]
    merged = merge(chosen, chosen_custom, sink, as_reference=as_reference)
    catalog = Catalog(tuple([operator.function for operator in merged]), (), (), (), {}, is_sound=not sink.has_errors)
    return Job(
        catalog,
        rules,
        request.options,
        selection,
        guests=(RunExecutorch(ExecutorchOperators(merged, files.names_custom)),),
    )


def _pytorch_operators(context: LoadContext, *, as_reference: bool) -> Sequence[ExecutorchOperator]:
    catalog = NATIVE_FUNCTIONS.load_inputs(context)
    assert catalog is not None, "inputs without operators are refused"
    kernels = pytorch_kernels(catalog, as_reference=as_reference)
    return [ExecutorchOperator(function, str(function.schema), kernels[function]) for function in catalog.functions]
