"""From the two sides that a user names, releases or sets of generated files, to what differs between them."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from opwright.backends.rows import BACKEND
from opwright.dialects.derivatives.matching import match_derivatives
from opwright.dialects.dialect import LoadContext
from opwright.dialects.native_functions.loader import load_catalog
from opwright.dialects.table import DERIVATIVES, NATIVE_FUNCTIONS, TAGS, dialect_of
from opwright.files.plain_files import read_plain_file
from opwright.files.staging import STATE_FOLDER
from opwright.libraries.emit.c_shims import functions_with_shims
from opwright.libraries.operator_library import OperatorLibrary
from opwright.libraries.rows import LIBRARY
from opwright.model.catalog import Catalog
from opwright.model.derivatives import DifferentiableFunction
from opwright.model.native_function import NativeFunction
from opwright.release.inputs import Inputs, from_source_path, open_inputs, resolve
from opwright.release.rules import Rules
from opwright.release.tables import shim_tables
from opwright.release.tree import rules_of
from opwright.release.version import parse_version
from opwright.release.view import Consent
from opwright.run.loading import load_job
from opwright.run.request import Request
from opwright.source.child import python_command
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.limits import FILE_BYTES
from opwright.source.terminal import slow
from opwright.source.text import SourceFile
from opwright.tools.coverage.report import NO_META_KERNELS, coverage_report
from opwright.tools.diff.backend import BackendSide
from opwright.tools.diff.compare import Side
from opwright.tools.diff.outputs import FileLines, OutputSide
from opwright.tools.diff.places import library_files
from opwright.tools.dump.document import DUMP_BYTES, dumped_files, parse_dump
from opwright.tools.dump.shims import release_shim_tables, shims_by_operator, unversioned_shims
from opwright.tools.tool_codes import NO_SIDE, NOT_GENERATED
from opwright.workspace.provenance import provenance_names

_PROVENANCE = ".provenance.json"


def output_side(folder: str) -> OutputSide:
    """Files in a folder that a run wrote, with their provenance if the run wrote that too."""
    root = os.path.realpath(folder)
    contents = {}
    for path in _paths(root):
        contents[os.path.relpath(path, root).replace(os.sep, "/")] = read_plain_file(path)
    return OutputSide(folder, contents, _origins(root))


def _paths(root: str) -> Iterator[str]:
    """Generated files below a folder: all but states of runs and provenance."""
    recorded = {os.path.join(root, name) for name in provenance_names(root)}
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name != STATE_FOLDER)
        for name in sorted(names):
            path = os.path.join(folder, name)
            if path not in recorded and os.path.isfile(path):
                yield path


def _origins(root: str) -> dict[str, FileLines]:
    """Origins of lines by path below the folder; none if no run recorded them, or if the record is damaged."""
    origins: dict[str, FileLines] = {}
    for name in provenance_names(root):
        try:
            data = json.loads(read_plain_file(os.path.join(root, name)))
            entries = [str(entry[2]) for entry in data["entries"]]
            for target, (emitter, ranges) in data["files"].items():
                path = os.path.relpath(target, root).replace(os.sep, "/")
                lines = [(int(first), int(last), entries[number]) for first, last, number in ranges]
                origins[path] = FileLines(str(emitter), lines)
        except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
            continue
    return origins


def generated_side(spec: str, python: str, arguments: Sequence[str], environment: Mapping[str, str]) -> OutputSide:
    """What the Opwright of a Python interpreter generates for a release or a folder of inputs.

    `arguments` are further ones of `opwright generate`. Raises Fault (E2104) if it fails.
    """
    where = ["--source-path", spec] if os.path.isdir(spec) else ["--torch", spec]
    with tempfile.TemporaryDirectory(prefix="opwright-diff-") as out:
        provenance = os.path.join(out, _PROVENANCE)
        program = "import runpy\nrunpy.run_module('opwright', run_name='__main__', alter_sys=True)"
        words = ["generate", *where, "--out", out, "--provenance", provenance, *arguments]
        try:
            with slow(f"opwright: generating the files of {spec}"):
                done = subprocess.run(
                    [*python_command(python, program), *words],
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=False,
                )
        except OSError as error:
            raise Fault.at(NOT_GENERATED, f"cannot run `{python}`: {error.strerror}") from None
        if done.returncode:
            lines = done.stderr.strip().splitlines()
            message = f"`{python} -m opwright generate {' '.join(where)}` failed with status {done.returncode}"
            raise Fault.at(NOT_GENERATED, message, notes=lines[-12:])
        return output_side(out)._replace(label=spec)


#: Where a folder of PyTorch's inputs has its operators: in ATen itself, and in PyTorch's repository.
_OPERATORS: Final = ("native/native_functions.yaml", "aten/src/ATen/native/native_functions.yaml")


def has_inputs(folder: str) -> bool:
    """Whether a folder has PyTorch's inputs."""
    return any(os.path.isfile(os.path.join(folder, name)) for name in _OPERATORS)


class LoadedSide(NamedTuple):
    """A side of a comparison, with the inputs and the rules that it was loaded by."""

    side: Side
    inputs: Inputs
    rules: Rules


def load_side(
    spec: str,
    consent: Consent | None,
    sink: Diagnostics,
    release: str | None = None,
    allowed_paths: tuple[str, ...] = (),
) -> LoadedSide:
    """Operators that a user names: a release, a wheel, a folder, a file of operators, or a dump.

    A folder has PyTorch's inputs, or library files.

    `release` is the one whose rules hold for a folder, None for the one that the folder names. Heads of files
    may name `allowed_paths` outside of their projects. Raises Fault for
    something else (E2103), and FaultsFound with every mistake in the files.
    """
    if os.path.isfile(spec) and not spec.endswith(".whl"):
        limit = DUMP_BYTES if spec.endswith(".json") else FILE_BYTES
        loaded = _of_file(SourceFile.read(spec, limit), sink, allowed_paths)
    elif os.path.isdir(spec) and not has_inputs(spec) and (files := library_files(spec)):
        inputs = open_inputs(sink=sink)
        rules = rules_of(inputs, None, sink)
        context = LoadContext(sink, rules, inputs, allowed_paths=allowed_paths)
        loaded = LoadedSide(_of_libraries(spec, LIBRARY.load(files, context), rules), inputs, rules)
    else:
        if os.path.isdir(spec):
            inputs = from_source_path(spec)
        else:
            ask_whole, require_hashes = consent or (None, False)
            inputs = resolve(spec, ask_whole=ask_whole, require_hashes=require_hashes, sink=sink)
        rules = rules_of(inputs, release if os.path.isdir(spec) else None, sink)
        catalog = NATIVE_FUNCTIONS.load_inputs(LoadContext(sink, rules, inputs))
        assert catalog is not None
        label = str(rules.version) if not os.path.isdir(spec) else spec
        tables = release_shim_tables(LoadContext(sink, rules, inputs, catalog))
        derivatives = _derivatives(LoadContext(sink, rules, inputs, catalog))
        loaded = LoadedSide(Side(label, catalog, shims_by_operator(catalog, tables), derivatives), inputs, rules)
    sink.raise_if_errors()
    return loaded


def _derivatives(context: LoadContext) -> Mapping[NativeFunction, DifferentiableFunction] | None:
    """Formulas by operators; None if the inputs have none, or have faults, which go to the sink."""
    if any(context.inputs.read_optional(name) is None for name in DERIVATIVES.inputs):
        return None
    derivatives = DERIVATIVES.load_inputs(context)
    if derivatives is None or context.sink.has_errors:
        return None
    matched = match_derivatives(derivatives, context.operators.functions, context.sink)
    return {differentiable.function: differentiable for differentiable in matched.functions}


def _of_file(file: SourceFile, sink: Diagnostics, allowed_paths: tuple[str, ...]) -> LoadedSide:
    """Operators of a file: entries like those of `native_functions.yaml`, a library file, or a dump."""
    inputs = open_inputs(sink=sink)
    rules = rules_of(inputs, None, sink)
    dialect = dialect_of(file)
    if file.text.lstrip().startswith("{") and '"format"' in file.text[:1000]:
        return _of_dump(file, inputs, sink)
    if dialect is LIBRARY:
        context = LoadContext(sink, rules, inputs, allowed_paths=allowed_paths)
        return LoadedSide(_of_libraries(file.path, LIBRARY.load([file], context), rules), inputs, rules)
    if dialect is NATIVE_FUNCTIONS:
        # Tags are those of the file beside it, else those of the installed PyTorch.
        beside = os.path.join(os.path.dirname(file.path), "tags.yaml")
        tags = SourceFile.read(beside) if os.path.isfile(beside) else TAGS.files(inputs)[0]
        catalog = load_catalog(file, tags, sink, rules)
    else:
        message = f"`{file.path}` has no operators that can be compared"
        help = "name a release, a folder of PyTorch's inputs, a file of operators or libraries, or a dump"
        raise Fault.at(NO_SIDE, message, help=help)
    return LoadedSide(Side(file.path, catalog, {}), inputs, rules)


def _of_libraries(label: str, libraries: tuple[OperatorLibrary, ...], rules: Rules) -> Side:
    """Operators of libraries, with their formulas and their C shims."""
    tables = shim_tables(rules.version, rules.shims_are_guarded)
    shims = {
        f"{function.namespace}::{function.name}": unversioned_shims(function)
        for library in libraries
        if library.c_shims
        for function in functions_with_shims(library, tables)
    }
    functions = tuple([function for library in libraries for function in library.catalog.functions])
    matched = [each for library in libraries for each in library.derivatives.matched.functions]
    derivatives = {differentiable.function: differentiable for differentiable in matched}
    return Side(label, Catalog(functions, (), (), (), {}), shims, derivatives, tuple(libraries))


def _of_dump(file: SourceFile, inputs: Inputs, sink: Diagnostics) -> LoadedSide:
    document = parse_dump(file)
    files = {dumped.dialect: SourceFile(dumped.path, dumped.yaml) for dumped in dumped_files(document, file)}
    rules = Rules(parse_version(str(document.get("torch"))))
    if LIBRARY.name in files:
        # What a dump says of paths holds elsewhere, if at all: schemas alone are compared.
        context = LoadContext(
            sink, rules, inputs, read_file=lambda path: SourceFile(path, "[]"), allowed_paths=(os.sep,)
        )
        side = _of_libraries(file.path, LIBRARY.load([files[LIBRARY.name]], context), rules)
        return LoadedSide(side._replace(derivatives=None), inputs, rules)
    if NATIVE_FUNCTIONS.name not in files or TAGS.name not in files:
        raise Fault.at(NO_SIDE, f"`{file.path}` is not a dump of a release or of a library")
    catalog = load_catalog(files[NATIVE_FUNCTIONS.name], files[TAGS.name], sink, rules)
    tables = shim_tables(rules.version, rules.shims_are_guarded)
    return LoadedSide(Side(file.path, catalog, shims_by_operator(catalog, tables)), inputs, rules)


def load_backend_side(
    path: str, loaded: LoadedSide, sink: Diagnostics, allowed_paths: tuple[str, ...]
) -> BackendSide | None:
    """A backend with the release of one side; None if its file cannot be loaded at all, which is reported.

    Mistakes in the file are a part of the side. The head may name `allowed_paths` outside of its project.
    """
    request = Request(inputs=loaded.inputs, folders={}, families=("autograd",))
    job = load_job(request, loaded.rules, sink, {})
    backend_sink = Diagnostics()
    context = LoadContext(
        backend_sink,
        loaded.rules,
        loaded.inputs,
        job.catalog,
        job.catalog.functions,
        only_reports=True,
        allowed_paths=allowed_paths,
    )
    backends = BACKEND.load((SourceFile.read(path),), context)
    if not backends:
        sink.extend(backend_sink)
        return None
    return BackendSide(backends[0], coverage_report(backends[0], job, NO_META_KERNELS), backend_sink.sorted())
