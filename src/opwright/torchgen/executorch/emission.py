"""Runs the emitters of ExecuTorch's files for callers that have functions, and write with a file manager of theirs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from opwright.emit.emitter import AnyEmitter, Job, OneFile, Options, Sharded, Slots
from opwright.mobile.executorch_choices import ExecutorchOptions
from opwright.mobile.executorch_operators import ExecutorchOperator, ExecutorchOperators, RunExecutorch
from opwright.model.catalog import Catalog
from opwright.torchgen.executorch.model import ETKernelIndex, model_operator
from opwright.torchgen.interface.functions import NativeFunction
from opwright.torchgen.interface.installed import installed_rules
from opwright.torchgen.selective_build.selector import SelectiveBuilder
from opwright.torchgen.utils import FileManager

#: The options of texts that are those of ExecuTorch's program.
AS_REFERENCE = ExecutorchOptions(as_reference=True)


def job_of(
    operators: Iterable[ExecutorchOperator],
    selector: SelectiveBuilder,
    options: ExecutorchOptions = AS_REFERENCE,
    *,
    has_custom_file: bool = False,
) -> Job:
    """Job of operators."""
    listed = tuple(operators)
    catalog = Catalog(tuple([operator.function for operator in listed]), (), (), (), {})
    loaded = RunExecutorch(ExecutorchOperators(listed, has_custom_file))
    return Job(catalog, installed_rules(), Options(guests=(options,)), selector.selection, guests=(loaded,))


def operators_of(
    native_functions: Sequence[NativeFunction],
    kernel_index: ETKernelIndex,
    custom: Sequence[NativeFunction] = (),
) -> list[ExecutorchOperator]:
    """Opwright's operators of functions and their kernels; `custom` are the functions that are not PyTorch's."""
    names = {(function.namespace, function.func.name) for function in custom}
    return [
        model_operator(
            function, kernel_index.get_kernels(function), is_custom=(function.namespace, function.func.name) in names
        )
        for function in native_functions
    ]


def _merged(parts: Iterable[Slots]) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = {}
    for part in parts:
        for slot, value in part.items():
            texts.setdefault(slot, []).extend([value] if isinstance(value, str) else value)
    return texts


def slots_of(emitter: AnyEmitter, job: Job) -> dict[str, list[str]]:
    """Texts of the slots of an emitter's only file."""
    context = job.context(emitter.reads)
    fragments = [emitter.fragment(unit, context) for unit in emitter.units(job)]
    return _merged([emitter.file_slots(job), *fragments])


def write(emitters: Iterable[AnyEmitter], job: Job, files: FileManager) -> None:
    """Write the files of emitters with the templates of a file manager."""
    for emitter in emitters:
        template, layout = os.path.basename(emitter.template or ""), emitter.layout
        if isinstance(layout, OneFile):
            slots = partial(slots_of, emitter, job)
            if layout.path == template:
                files.write(template, slots)
            else:
                files.write_with_template(layout.path, template, slots)
        else:
            assert isinstance(layout, Sharded)
            _write_shards(emitter, layout, job, files)


def _write_shards(emitter: AnyEmitter, layout: Sharded[Any], job: Job, files: FileManager) -> None:
    context, base = job.context(emitter.reads), _merged([emitter.file_slots(job)])
    files.write_sharded(
        layout.path,
        emitter.units(job),
        key_fn=layout.key,
        env_callable=lambda unit: _merged([emitter.fragment(unit, context)]),
        num_shards=layout.shards,
        base_env=base,
        sharded_keys={slot for slot, texts in base.items() if not texts},
    )
