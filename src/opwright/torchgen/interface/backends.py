"""Names of `torchgen.gen_backend_stubs` for importers; the program is `opwright.torchgen.gen_backend_stubs`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from opwright.backends.choices import BackendHeaders
from opwright.backends.external_backend import BackendSection, ExternalBackend
from opwright.backends.rows import BACKEND
from opwright.dialects.dialect import LoadContext
from opwright.emit.emitter import AnyEmitter, Options
from opwright.emit.registry import build_folders, program_families
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import KEYS
from opwright.model.native_function import NativeFunction as ModelFunction
from opwright.model.native_function import NativeFunctionsGroup as ModelGroup
from opwright.release.inputs import Inputs, from_files, open_inputs
from opwright.run.generation import Generation
from opwright.run.request import Request
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound
from opwright.source.nodes import MappingNode, Scalar
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from opwright.torchgen.interface.faults import Invalid, stop_at_errors
from opwright.torchgen.interface.functions import (
    BackendIndex,
    NativeFunction,
    NativeFunctionsGroup,
    metadata_of,
    model_function,
    model_group,
)
from opwright.torchgen.interface.installed import installed_rules
from opwright.torchgen.interface.keys import DispatchKey
from opwright.torchgen.interface.types import name_of
from opwright.torchgen.programs import check_kernel_file
from opwright.torchgen.utils import running_program

Units = Sequence[NativeFunction | NativeFunctionsGroup]


class ParsedExternalYaml(NamedTuple):
    """A backend file: its dispatch keys, its names, and the kernels of all keys, its own among them."""

    backend_key: DispatchKey | None
    autograd_key: DispatchKey | None
    class_name: str | None
    cpp_namespace: str
    backend_indices: dict[DispatchKey, BackendIndex]


def parse_backend_yaml(
    backend_yaml_path: str,
    grouped_native_functions: Units,
    backend_indices: dict[DispatchKey, BackendIndex],
) -> ParsedExternalYaml:
    """Kernels of a backend file for operators, which are added to those of other dispatch keys.

    Raises AssertionError with all mistakes.
    """
    file = SourceFile.read(os.fspath(backend_yaml_path))
    catalog, sink = _catalog(grouped_native_functions), Diagnostics()
    inputs = from_files(file.path, "", "")
    context = LoadContext(sink, installed_rules(), inputs, catalog, catalog.functions, tolerant=True)
    backends: Sequence[ExternalBackend] = ()
    with suppress(FaultsFound):
        backends = BACKEND.load([file], context)
    stop_at_errors(sink)
    keys: dict[str, DispatchKey] = {}
    for backend in backends:
        for section in [section for section in backend.sections if section.entries]:
            keys[section.name] = key = DispatchKey[section.key.name]
            backend_indices[key] = index_of_section(section, backend)
    names = _head(file)
    return ParsedExternalYaml(
        keys.get("supported"),
        keys.get("autograd"),
        names.get("class_name"),
        names["cpp_namespace"],
        backend_indices,
    )


def _catalog(units: Units) -> Catalog:
    groups: list[ModelFunction | ModelGroup] = []
    functions: list[ModelFunction] = []
    for unit in units:
        if isinstance(unit, NativeFunction):
            groups.append(model_function(unit))
            functions.append(model_function(unit))
        else:
            groups.append(model_group(unit))
            functions += model_group(unit).functions()
    return Catalog(tuple(functions), tuple(groups), (), tuple(KEYS.values()), {})


def index_of_section(section: BackendSection, backend: ExternalBackend) -> BackendIndex:
    """Kernels of one of a backend's dispatch keys."""
    return BackendIndex(
        dispatch_key=DispatchKey[section.key.name],
        external=True,
        device_guard=backend.device_guard,
        use_out_as_primary=backend.out_is_primary,
        index={name_of(entry.function.name): metadata_of(entry.kernel) for entry in section.entries},
    )


def _head(file: SourceFile) -> dict[str, str]:
    """Fields of a backend file whose values are texts."""
    root = load_yaml(file)
    assert isinstance(root, MappingNode), "the loader refuses other files"
    return {key.value: value.value for key, value in root.entries if isinstance(value, Scalar)}


def run(source_yaml: str, output_dir: str, dry_run: bool, impl_path: str | None = None) -> None:
    """Write the code around the kernels of a backend file, for the operators of the installed PyTorch.

    A C++ file at `impl_path` has to define these kernels. Raises AssertionError with all mistakes.
    """
    BackendRun(
        program="gen_backend_stubs",
        source_yaml=source_yaml,
        output_dir=output_dir,
        open_release=partial(open_inputs, "auto"),
        options=Options(program=running_program(), guests=(BackendHeaders(f"{output_dir}/"),)),
        impl_path=impl_path,
    ).write(is_dry=dry_run)


class BackendRun(NamedTuple):
    """What a program does with a backend file.

    `open_release` opens the inputs of the release, `impl_path` is a C++ file that has to define the kernels, and
    `emitters` gives those that take the place of the program's own.
    """

    program: str
    source_yaml: str
    output_dir: str
    open_release: Callable[[], Inputs]
    options: Options
    impl_path: str | None
    emitters: Callable[[Generation], Iterable[AnyEmitter]] | None = None

    def write(self, *, is_dry: bool) -> None:
        """Write the files unless the run `is_dry`. Raises AssertionError with all mistakes."""
        families = tuple(program_families(self.program))
        try:
            request = Request(
                inputs=self.open_release(),
                folders=dict.fromkeys(build_folders("", families), os.fspath(self.output_dir)),
                families=families,
                options=self.options,
                tolerant=True,
                backends=(SourceFile.read(os.fspath(self.source_yaml)),),
            )
            generation = Generation(request)
            if self.impl_path is not None:
                check_kernel_file(self.impl_path, generation, generation.sink)
            if not is_dry:
                generation.write(chosen=None if self.emitters is None else self.emitters(generation))
        except (Fault, FaultsFound) as error:
            raise Invalid(str(error)) from None
