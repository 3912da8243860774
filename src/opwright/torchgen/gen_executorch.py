"""Files of ExecuTorch: the names of `torchgen.gen_executorch`; the program is `opwright.torchgen.executorch`.

The texts are those of the program of ExecuTorch that Opwright replaces, which is newer than PyTorch's last release with
this module: optional values are `std::optional`, and texts `std::string_view`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TextIO

import yaml

from opwright.emit.emitter import Job, Options
from opwright.mobile.executorch import custom_operators, functions_header, kernel_headers
from opwright.mobile.executorch.checks import check_registrations, check_types
from opwright.mobile.executorch.job import load_executorch_job
from opwright.mobile.executorch.kernels import emitters as kernel_emitters
from opwright.mobile.executorch.units import KernelEntry
from opwright.mobile.executorch_choices import ExecutorchFiles, ExecutorchOptions
from opwright.mobile.executorch_operators import ExecutorchOperator, RunExecutorch
from opwright.release.inputs import from_files
from opwright.run.request import Request
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from opwright.torchgen.executorch.emission import AS_REFERENCE, job_of, operators_of, slots_of, write
from opwright.torchgen.executorch.model import (
    ETKernelIndex,
    ETKernelKey,
    ETParsedYaml,
    index_of_operators,
    model_operator,
)
from opwright.torchgen.interface.executorch_types import refusals
from opwright.torchgen.interface.faults import Invalid, stop_at_errors
from opwright.torchgen.interface.functions import BackendMetadata, NativeFunction, function_of
from opwright.torchgen.interface.generator import parse_native_yaml
from opwright.torchgen.interface.installed import installed_rules
from opwright.torchgen.interface.records import Record, record
from opwright.torchgen.selective_build.selector import SelectiveBuilder
from opwright.torchgen.utils import FileManager
from opwright.torchgen.yaml_utils import YamlLoader

__all__ = [
    "ComputeCodegenUnboxedKernels",
    "ETParsedYaml",
    "gen_custom_ops",
    "gen_functions_declarations",
    "gen_headers",
    "gen_unboxing",
    "parse_yaml_files",
    "translate_native_yaml",
]  # fmt: skip


@record()
class ComputeCodegenUnboxedKernels(Record):
    """Registration of a kernel, with the boxed function that calls it."""

    selector: SelectiveBuilder
    use_aten_lib: bool
    add_exception_boundary: bool = False

    @refusals()
    def __call__(
        self, unbox_kernel_entry: tuple[NativeFunction, tuple[ETKernelKey | Sequence[ETKernelKey], BackendMetadata]]
    ) -> str:
        """Text for a function and one of its kernels with its key or keys; empty if none is selected.

        Raises AssertionError for a function that has neither returns nor out arguments, and for a key that is selected
        and has no kernel.
        """
        function, (keys, metadata) = unbox_kernel_entry
        listed = [keys] if isinstance(keys, ETKernelKey) else keys
        operator = model_operator(function, dict.fromkeys(listed, metadata))
        options = AS_REFERENCE._replace(aten_mode=self.use_aten_lib, exception_boundary=self.add_exception_boundary)
        job = job_of([operator], self.selector, options)
        _check(job, check_registrations)
        (emitter,) = kernel_emitters(job)
        fragments = [emitter.fragment(KernelEntry(operator, kernel), job) for kernel in operator.kernels]
        return "".join([text for fragment in fragments for text in fragment.get("unboxed_kernels", ())])


def gen_unboxing(
    *,
    native_functions: Sequence[NativeFunction],
    cpu_fm: FileManager,
    selector: SelectiveBuilder,
    use_aten_lib: bool,
    kernel_index: ETKernelIndex,
    manual_registration: bool,
    add_exception_boundary: bool = False,
) -> None:
    """Write the registrations of all kernels. Raises AssertionError with all mistakes."""
    options = ExecutorchOptions(
        aten_mode=use_aten_lib,
        manual_registration=manual_registration,
        exception_boundary=add_exception_boundary,
        as_reference=True,
    )
    job = job_of(operators_of(native_functions, kernel_index), selector, options)
    _check(job, check_types, check_registrations)
    write(kernel_emitters(job), job, cpu_fm)


def _check(job: Job, *checks: Callable[[Job, Diagnostics], None]) -> None:
    """Raise AssertionError with all mistakes that checks find."""
    sink = Diagnostics()
    for check in checks:
        check(job, sink)
    stop_at_errors(sink)


def gen_functions_declarations(
    *,
    native_functions: Sequence[NativeFunction],
    kernel_index: ETKernelIndex,
    selector: SelectiveBuilder,
    use_aten_lib: bool,
    custom_ops_native_functions: Sequence[NativeFunction] | None = None,
) -> str:
    """Functions of `Functions.h`, each in its namespace. Raises AssertionError with all mistakes."""
    chosen = operators_of(native_functions, kernel_index, custom_ops_native_functions or ())
    job = job_of(chosen, selector, AS_REFERENCE._replace(aten_mode=use_aten_lib))
    _check(job, check_types)
    (emitter,) = functions_header.emitters(job)
    # PyTorch's generator ends each namespace with these blanks, which its tests compare.
    return "\n".join([text + " " * 8 for text in slots_of(emitter, job)["Functions_declarations"]])


def gen_headers(
    *,
    native_functions: Sequence[NativeFunction],
    gen_custom_ops_header: bool,
    custom_ops_native_functions: Sequence[NativeFunction],
    selector: SelectiveBuilder,
    kernel_index: ETKernelIndex,
    cpu_fm: FileManager,
    use_aten_lib: bool,
) -> None:
    """Write `Functions.h`, `NativeFunctions.h`, `RegisterKernels.h`, and the header of custom operators.

    Raises AssertionError with all mistakes.
    """
    options = AS_REFERENCE._replace(aten_mode=use_aten_lib)
    job, custom_job = [
        job_of(
            operators_of(functions, kernel_index, custom_ops_native_functions),
            selector,
            options,
            has_custom_file=gen_custom_ops_header,
        )
        for functions in (native_functions, custom_ops_native_functions)
    ]
    _check(job, check_types)
    for emitter in (*functions_header.emitters(job), *kernel_headers.emitters(job)):
        write([emitter], custom_job if emitter.name == "executorch_custom_functions_header" else job, cpu_fm)


def gen_custom_ops(
    *,
    native_functions: Sequence[NativeFunction],
    selector: SelectiveBuilder,
    kernel_index: ETKernelIndex,
    cpu_fm: FileManager,
    rocm: bool,  # noqa: ARG001
) -> None:
    """Write the sources that declare custom operators to PyTorch and register kernels for them.

    Raises AssertionError with all mistakes.
    """
    job = job_of(operators_of(native_functions, kernel_index, native_functions), selector)
    _check(job, check_registrations)
    write(custom_operators.emitters(job), job, cpu_fm)


def translate_native_yaml(
    tags_yaml_path: str, aten_yaml_path: str, native_yaml_path: str | None, use_aten_lib: bool, out_file: TextIO
) -> None:
    """Write a file of operators with the schema of each in place of its name; PyTorch's file for its own library.

    Raises AssertionError for an operator that PyTorch does not have.
    """
    if use_aten_lib:
        with open(aten_yaml_path, encoding="utf-8") as file:
            out_file.write(file.read())
        return
    entries: list[dict[str, object]] = []
    if native_yaml_path is not None and os.path.exists(native_yaml_path):
        with open(native_yaml_path, encoding="utf-8") as file:
            entries = yaml.load(file, Loader=YamlLoader) or []
    if not entries:
        return
    functions = parse_native_yaml(aten_yaml_path, tags_yaml_path).native_functions
    schemas = {str(function.func.name): str(function.func) for function in functions}
    yaml.dump([_with_schema(entry, schemas) for entry in entries], out_file, width=1000)


def _with_schema(entry: dict[str, object], schemas: dict[str, str]) -> dict[str, object]:
    """An entry with the schema of the operator that it names."""
    rest = {"variants": "function", **entry}
    if "op" in rest:
        name = str(rest.pop("op"))
        if name.removeprefix("aten::") not in schemas:
            raise Invalid(f"PyTorch has no operator `{name}`")
        rest["func"] = schemas[name.removeprefix("aten::")]
    return rest


def parse_yaml_files(
    tags_yaml_path: str,
    aten_yaml_path: str,
    native_yaml_path: str | None,
    custom_ops_yaml_path: str | None,
    selector: SelectiveBuilder,
    use_aten_lib: bool,
) -> tuple[ETParsedYaml, ETParsedYaml | None]:
    """Selected operators of both files with their kernels, and those of the file of custom operators alone.

    The second is None without such a file. Raises AssertionError with all mistakes.
    """
    functions, custom = (
        (SourceFile.read(path),) if path is not None and os.path.exists(path) else ()
        for path in (None if use_aten_lib else native_yaml_path, custom_ops_yaml_path)
    )
    request = Request(
        inputs=from_files(aten_yaml_path, tags_yaml_path, ""),
        folders={},
        options=Options(guests=(AS_REFERENCE._replace(aten_mode=use_aten_lib),)),
        selection=selector.selection,
        tolerant=True,
        guests=(ExecutorchFiles(functions, custom, custom_ops_yaml_path is not None),),
    )
    sink = Diagnostics()
    job = load_executorch_job(request, installed_rules(), sink, {})
    stop_at_errors(sink)
    loaded = job.of(RunExecutorch).executorch
    return _parsed(loaded.operators), None if custom_ops_yaml_path is None else _parsed(loaded.custom)


def _parsed(operators: Iterable[ExecutorchOperator]) -> ETParsedYaml:
    listed = list(operators)
    functions = []
    for origin in [operator.function for operator in listed]:
        # A function is composite without `dispatch`: its field `kernels` is not a part of it.
        fields = {} if origin.kernels else {"has_composite_implicit_autograd_kernel": True}
        functions.append(function_of(origin, **fields))
    return ETParsedYaml(functions, index_of_operators(listed))
