"""Vendors' files in a folder: what each loads into, and what is generated from it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NamedTuple

import opwright
from opwright.backends.external_backend import RunBackends
from opwright.mobile.executorch_choices import ExecutorchFiles
from opwright.mobile.families import EXECUTORCH_FAMILIES
from opwright.plugins.activation import use_plugins
from opwright.plugins.plugin import Plugin
from opwright.release.inputs import Inputs
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound, Severity
from opwright.source.nodes import MappingNode, Node, SequenceNode
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from opwright.workspace.overlay import with_texts
from tests.conformance.report import table
from tests.vendor_replay.replay import Members, note_line
from tests.vendor_replay.vendors import PLUGINS

COLUMNS: Final = ("file", "read by", "operators", "files", "not taken", "warnings", "errors")
EXECUTORCH: Final = "ExecuTorch"
#: What the table shows for files that nothing reads.
NOTHING: Final = "nothing"
#: The members of ExecuTorch's wheel with operators.
EXECUTORCH_MEMBERS: Final = (
    "executorch/backends/cadence/aot/functions*.yaml",
    "executorch/backends/cortex_m/ops/operators.yaml",
    "executorch/kernels/portable/custom_ops.yaml",
    "executorch/kernels/portable/et_copy_ops.yaml",
    "executorch/kernels/portable/functions.yaml",
    "executorch/kernels/quantized/quantized.yaml",
    "executorch/runtime/kernel/test/functions.yaml",
)
#: The version of ExecuTorch, and the release of PyTorch that it is for.
EXECUTORCH_VERSION: Final = ("1.5.1", "2.13.0")
#: The name of PyTorch's input that a patch beside a vendor's file changes, by the name of the patch.
PATCHES: Final = {
    "native_functions.yaml.patch": "native/native_functions.yaml",
    "derivatives.yaml.patch": "autograd/derivatives.yaml",
}
#: Operators in these patches that PyTorch's generator takes only with a change of the program itself.
UNPATCHED: Final = ("cross_entropy_loss_2d_choice(",)
#: Files that the generators of their authors refuse too, and why.
REFUSED: Final = (
    ("*functions_fusion_g3.yaml", "ExecuTorch's generator refuses a kernel in four namespaces"),
    (
        "*kernels_aten_functions.yaml",
        "ExecuTorch's generator refuses the whole file, which selective builds cut down",
    ),
    ("*new_privateuse1_native_functions.yaml", "a form of the options that the proposal has given up"),
    ("*openreg_rev1_flat.yaml", "a form of the options that the proposal has given up"),
)


class Loaded(NamedTuple):
    """What became of a file: who read it, how many operators and files it gave, and what was said about it.

    `beside` are the files that it names. `notes` are the entries that are not taken, each with place and reason.
    """

    path: str
    reader: str
    operators: int = 0
    files: int = 0
    warnings: int = 0
    notes: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    beside: frozenset[str] = frozenset()


def replay_folder(folder: Path, inputs: Inputs) -> list[Loaded]:
    """What became of each YAML file below a folder. A file that another one is read with has the reader of that one."""
    plugins = {path.stem: use_plugins(str(path)) for path in sorted(PLUGINS.glob("*.py"))}
    results = []
    for path in sorted(folder.rglob("*.yaml")):
        try:
            reader = reader_of(load_yaml(SourceFile.read(str(path))), plugins)
        except Fault as fault:
            error = f"{fault.diagnostic.code}: {fault.diagnostic.message}"
            results.append(Loaded(str(path), NOTHING, errors=(error,)))
            continue
        if reader != NOTHING:
            own_inputs = with_patches(inputs, path.parent)
            results.append(load_file(path, reader, plugins.get(reader, ()), own_inputs))
        else:
            results.append(Loaded(str(path), NOTHING))
    readers = {name: f"{loaded.reader}, with another" for loaded in results for name in loaded.beside}
    rows = [Loaded(own.path, readers[own.path]) if own.path in readers else own for own in results]
    notes = [tuple([note.removeprefix(f"{folder}/") for note in own.notes]) for own in rows]
    return [own._replace(path=_shown(own.path, folder), notes=lines) for own, lines in zip(rows, notes, strict=True)]


def replay_members(wheel: Members, inputs: Inputs) -> list[Loaded]:
    """What became of the files of operators in ExecuTorch's wheel, which has no files that were made from them."""
    names = [name for name in wheel.names() if any(fnmatchcase(name, pattern) for pattern in EXECUTORCH_MEMBERS)]
    with tempfile.TemporaryDirectory() as folder:
        for name, content in wheel.read(names).items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return replay_folder(Path(folder), inputs)


def _shown(path: str, folder: Path) -> str:
    return Path(path).relative_to(folder).as_posix()


def reader_of(root: Node, plugins: dict[str, tuple[Plugin, ...]]) -> str:
    """What reads a file: a plug-in, or Opwright itself, or nothing."""
    for name, found in plugins.items():
        if any(reader.recognizes(root) for plugin in found for reader in plugin.backend_readers):
            return name
    if isinstance(root, MappingNode) and root.get("backend") is not None:
        return "Opwright"
    items = root.items if isinstance(root, SequenceNode) else []
    fields = {key.value for item in items if isinstance(item, MappingNode) for key, _ in item}
    return EXECUTORCH if fields & {"op", "kernels"} else NOTHING


def refusal(path: str) -> str:
    """Why the generator of its author refuses a file too; empty for other files."""
    return next((reason for pattern, reason in REFUSED if fnmatchcase(path, pattern)), "")


def failures(results: list[Loaded]) -> list[str]:
    """The files with errors that the generators of their authors do not refuse."""
    return [loaded.path for loaded in results if loaded.errors and not refusal(loaded.path)]


def with_patches(inputs: Inputs, folder: Path) -> Inputs:
    """PyTorch's inputs with the lines that patches in a folder add at the end of their files."""
    texts = {}
    for name, changed in PATCHES.items():
        patch = folder / name
        if patch.is_file():
            lines = patch.read_text(encoding="utf-8").splitlines()
            added = "\n".join([line[1:] for line in lines if line.startswith("+") and not line.startswith("+++")])
            entries = [entry for entry in added.split("\n\n") if not any(name in entry for name in UNPATCHED)]
            own = inputs.read_text(changed)
            texts[changed] = SourceFile(own.path, "\n\n".join([own.text.rstrip("\n"), *entries, ""]))
    return with_texts(inputs, texts)


def load_file(path: Path, reader: str, plugins: tuple[Plugin, ...], inputs: Inputs) -> Loaded:
    """Generate from one file."""
    beside: set[str] = set()

    def read_file(name: str) -> SourceFile:
        beside.add(str(Path(name).resolve()))
        return SourceFile.read(name)

    file, sink = SourceFile.read(str(path)), Diagnostics()
    is_executorch = reader == EXECUTORCH
    families = tuple(EXECUTORCH_FAMILIES) if is_executorch else ("backend",)
    active = use_plugins(*plugins)
    request = opwright.Request(
        inputs,
        opwright.build_folders("", families),
        families=families,
        backends=() if is_executorch else (file,),
        guests=(ExecutorchFiles((file,)),) if is_executorch else (),
        read_file=read_file,
        plugins=active,
    )
    try:
        with tempfile.TemporaryDirectory() as out:
            folders = {name: f"{out}/{place}" for name, place in request.folders.items()}
            generation = opwright.Generation(request._replace(folders=folders), sink)
            files = generation.write().files
        operators = sum(1 for _ in operators_of(generation.job))
    except (Fault, FaultsFound) as faults:
        found = faults.diagnostics if isinstance(faults, FaultsFound) else [faults.diagnostic]
        errors = [f"{error.code}: {error.message}" for error in found if error.severity.value == "error"]
        return Loaded(str(path), reader, errors=tuple(errors))
    found = sink.sorted()
    notes = tuple([note_line(diagnostic) for diagnostic in found if diagnostic.severity is Severity.NOTE])
    warnings = sum(diagnostic.severity.value == "warning" for diagnostic in found)
    return Loaded(str(path), reader, operators, files, warnings, notes, beside=frozenset(beside))


def operators_of(job: opwright.Job) -> Iterator[object]:
    """The entries of a job: of a backend, or of ExecuTorch's files."""
    for backend in job.of(RunBackends).backends:
        for section in backend.sections:
            yield from section.entries
    if not job.of(RunBackends).backends:
        yield from job.catalog.functions


def print_folder(results: list[Loaded]) -> str:
    """A row for each file, and below the table what is not taken."""
    rows = [
        tuple(
            map(
                str,
                (
                    own.path,
                    own.reader,
                    own.operators,
                    own.files,
                    len(own.notes),
                    own.warnings,
                    len(own.errors),
                ),
            )
        )
        for own in results
    ]
    lines = [*table(COLUMNS, rows, left=2), ""]
    for loaded in results:
        reason = refusal(loaded.path) if loaded.errors else ""
        remarks = [*[f"error: {text}" for text in loaded.errors], *loaded.notes]
        if remarks:
            lines += [
                f"{loaded.path}:" + (f" refused: {reason}" if reason else ""),
                *[f"- {remark}" for remark in remarks],
                "",
            ]
    return "\n".join(lines)
