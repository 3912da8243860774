"""Generated code of operator libraries and of backends, ready to be compiled."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from opwright.cpp.text import quoted_include_line
from opwright.emit.emitter import Job, Options
from opwright.emit.registry import build_folders, chosen_families
from opwright.files.writer import write_file
from opwright.guests import plugins_module
from opwright.incremental.identity import InputStamps
from opwright.libraries.extension.build_mistakes import check_sources
from opwright.libraries.extension.formula_errors import failed_findings, formula_at
from opwright.libraries.extension.kernel_types import check_kernel_types
from opwright.libraries.operator_library import OperatorLibrary, RunLibraries
from opwright.release.inputs import open_inputs
from opwright.run.generation import Generation
from opwright.run.incremental_generation import generate
from opwright.run.output_writer import Outcome
from opwright.run.request import Request
from opwright.source.diagnostic import Diagnostic, Diagnostics
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.workspace.provenance import origins
from opwright.workspace.yaml_scalar import scalar

_FAMILIES: Final = ("library",)
_BACKEND_FAMILIES: Final = chosen_families(["backend"])
#: The first namespace that a library file names, in its head or in an entry.
_NAMESPACE: Final = re.compile(r"^(?:namespace:\s*['\"]?|.*\bfunc:\s*['\"]?(?=\w+::))(\w+)", re.MULTILINE)

#: A function or a class that a generated source defines.
_DEFINED: Final = re.compile(r"^(?:[\w:<>,&* ]+[ &*])?(\w+)\(.*\) \{$|^(?:struct|class) (\w+)\b", re.MULTILINE)
#: A namespace that one opens, empty or not, inside of another one.
_OPENED: Final = re.compile(r"^namespace (\w+) \{", re.MULTILINE)
_JOINED: Final = "joined.cpp"


class GeneratedCode(NamedTuple):
    """Generated files of a run: the folder of headers, and by path headers, C++ sources, Python modules, tests.

    `stamps` are those of the files that the run read.
    """

    include: str
    headers: tuple[str, ...]
    sources: tuple[str, ...]
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    stamps: InputStamps | None = None

    @property
    def namespaces(self) -> list[str]:
        """Namespaces of the operators."""
        return sorted({os.path.basename(os.path.dirname(path)) for path in self.modules})


def _request(
    files: Sequence[SourceFile], out: str, torch: str, plugins: Iterable[str] = (), *, rocm: bool = False
) -> Request:
    folders, loaded = build_folders(out, _FAMILIES), _loaded(plugins)
    options = Options(rocm=rocm)
    return Request(open_inputs(torch), folders, _FAMILIES, options=options, libraries=tuple(files), plugins=loaded)


def _loaded(plugins: Iterable[str]) -> tuple[object, ...]:
    """Plug-ins by their names."""
    discovery = plugins_module("discovery")
    return () if discovery is None else tuple(map(discovery.load_plugin, plugins))


def _derivatives_head(namespace: str, derivatives: SourceFile) -> SourceFile:
    """A library file that adds derivatives to the operators of a namespace."""
    text = f"namespace: {scalar(namespace)}\nderivatives: {scalar(derivatives.path)}\noperators: []\n"
    return SourceFile("<derivatives>", text)


def _code(out: str, outcome: Outcome) -> GeneratedCode:
    root = os.path.realpath(out)
    ordered = sorted(outcome.statuses)
    return GeneratedCode(
        include=os.path.join(root, "include"),
        headers=tuple([path for path in ordered if path.endswith(".h")]),
        sources=tuple([path for path in ordered if path.endswith(".cpp")]),
        modules=tuple([path for path in ordered if path.startswith(f"{root}/python/")]),
        tests=tuple([path for path in ordered if path.startswith(f"{root}/tests/")]),
        stamps=outcome.stamps,
    )


def update_code(
    files: Sequence[SourceFile],
    out: str,
    *,
    torch: str = "auto",
    plugins: Iterable[str] = (),
    rocm: bool = False,
    sink: Diagnostics | None = None,
) -> GeneratedCode:
    """Bring the generated code of library files up to date below `out`, for the installed PyTorch unless `torch` says.

    `plugins` are names of plug-ins; `rocm` tells that this PyTorch is built for ROCm. Raises FaultsFound or Fault with
    the mistakes of the files.
    """
    return _code(out, generate(_request(files, out, torch, plugins, rocm=rocm), out, jobs=1, sink=sink))


def library_code(
    file: SourceFile, out: str, *, torch: str, sink: Diagnostics
) -> tuple[GeneratedCode, Sequence[OperatorLibrary]]:
    """Write the generated code of a library file below `out`, and give its libraries. Raises FaultsFound or Fault."""
    generation = Generation(_request([file], out, torch), sink)
    return _code(out, generation.write_after(None)), generation.job.of(RunLibraries).libraries


def update_backend_code(
    files: Sequence[SourceFile],
    out: str,
    *,
    libraries: Sequence[SourceFile] = (),
    plugins: Iterable[str] = (),
    sink: Diagnostics | None,
) -> GeneratedCode:
    """Bring the generated code of backend files, and of library files beside them, up to date below `out`.

    It is for the installed PyTorch. `plugins` are names of plug-ins. The sources of the backends are joined, as far as
    they can be. Raises FaultsFound or Fault with the mistakes of the files.
    """
    request = _backend_request(files, out, libraries, plugins)
    code = _code(out, generate(request, out, jobs=1, sink=sink))
    own = [source for source in code.sources if os.path.dirname(source) == code.include]
    others = [source for source in code.sources if source not in own]
    return code._replace(sources=(*join_sources(own, os.path.realpath(out)), *others))


def join_sources(sources: Sequence[str], folder: str) -> tuple[str, ...]:
    """Paths of sources, with a new source in a folder in the place of those that one source can include.

    Most of the time that a compiler takes for generated registrations goes into PyTorch's headers, which one source
    reads once.

    Each source has helpers of its own, which have the same names: they get others in the sources after the first. So
    the sources that name them as members stay apart, and those that name a namespace which an earlier one opens inside
    of another: `at::acme` hides `acme`. The text of the new source is written if it changes. Raises
    Fault (E0605 to E0608) if it cannot be.
    """
    lines: list[str] = []
    joined: list[str] = []
    names: set[str] = set()
    opened: set[str] = set()
    # The names of sections are longer than that of dense tensors, whose namespace may be that of the kernels too.
    for path in sorted(sources, key=lambda path: (-len(path), path)):
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
        defined = {name for match in _DEFINED.finditer(text) if not (name := match[1] or match[2]).isupper()}
        shared = sorted(defined & names)
        if shared and re.search(rf"(?:::|\.|->) *(?:{'|'.join(shared)})\b", text):
            continue
        if opened and re.search(rf"(?<![\w:])(?:{'|'.join(opened)})::", text):
            continue
        include = quoted_include_line(os.path.relpath(path, folder))
        renamed = [f"#define {name} {name}_{len(joined)}" for name in shared]
        lines += [*renamed, include, *[f"#undef {name}" for name in shared]]
        names |= defined
        opened |= {*_OPENED.findall(text)} - {"at"}
        joined.append(path)
    if len(joined) < 2:
        return tuple(sources)
    path = os.path.join(folder, _JOINED)
    # A file that has the text keeps its time: compilers take what is newer for changed.
    write_file(path, "".join([f"{line}\n" for line in lines]).encode())
    return (path, *[source for source in sources if source not in joined])


def backend_code(file: SourceFile, out: str, *, sink: Diagnostics) -> tuple[GeneratedCode, Job]:
    """Write the generated code of a backend file below `out`, and give its job. Raises FaultsFound or Fault."""
    generation = Generation(_backend_request([file], out), sink)
    return _code(out, generation.write_after(None)), generation.job


def _backend_request(
    files: Sequence[SourceFile], out: str, libraries: Sequence[SourceFile] = (), plugins: Iterable[str] = ()
) -> Request:
    folders = build_folders(out, _BACKEND_FAMILIES)
    # The compiler looks for headers in one folder.
    folders["backend"] = os.path.join(out, "include")
    return Request(
        open_inputs("auto"),
        folders,
        _BACKEND_FAMILIES,
        libraries=tuple(libraries),
        backends=tuple(files),
        plugins=_loaded(plugins),
    )


def check_kernels(files: Sequence[SourceFile], sources: Sequence[SourceFile], plugins: Iterable[str] = ()) -> None:
    """Compare the kernels of library files with the C++ sources of the author, before a compiler does.

    Raises FaultsFound if a source certainly defines one with other types, or registers an operator of them too.
    """
    sink = Diagnostics()
    libraries = Generation(_request(files, "", "auto", plugins)).job.of(RunLibraries).libraries
    check_kernel_types(libraries, sources, sink)
    check_sources(libraries, sources, sink)
    sink.raise_if_errors()


class CodeOrigin(NamedTuple):
    """Where a place of generated code comes from: the operator and its place, and the place in a formula.

    `entry` is empty if the line comes from no entry, or from several. `findings` are about the files of the library,
    when a build of them has failed.
    """

    entry: str
    formula: Span | None
    findings: tuple[Diagnostic, ...]


def origin_of(
    files: Sequence[SourceFile], out: str, place: tuple[str, int, int], plugins: Iterable[str] = (), *, rocm: bool
) -> CodeOrigin:
    """What a place of the generated code of library files, its path, line and column, comes from.

    Files that differ from their generated code are written. Raises FaultsFound or Fault.
    """
    sink = Diagnostics()
    generation = Generation(_request(files, out, "auto", plugins, rocm=rocm), sink)
    path, line, column = place
    entry = _entry_of_line(generation, path, line)
    formula = formula_at(generation.job.of(RunLibraries).libraries, SourceFile.read(path).text, line, column)
    return CodeOrigin(entry, formula, tuple(failed_findings(sink)))


def _entry_of_line(generation: Generation, path: str, line: int) -> str:
    origin = origins(generation, generation.write_after(None)).get(path)
    makers = {
        origin_lines[2:]
        for origin_lines in ([] if origin is None else origin.lines)
        if origin_lines.first <= line <= origin_lines.last
    }
    if len(makers) != 1:
        return ""
    file, entry_line, operator = makers.pop()
    return f"`{operator}`, {os.path.relpath(file)}:{entry_line}"


def write_code(
    file: SourceFile, derivatives: SourceFile | None, out: str, sink: Diagnostics
) -> tuple[GeneratedCode, Sequence[OperatorLibrary]]:
    """Write the generated code of a library file below an empty folder, and give its libraries.

    It is for the installed PyTorch. `derivatives` are those of its operators, if the head of the file names none.
    Raises FaultsFound or Fault with the mistakes of the files.
    """
    request = _request([file], out, "auto")
    if derivatives is not None:
        named = _NAMESPACE.search(file.text)
        head = _derivatives_head(named[1] if named else "", derivatives)

        def read_file(path: str) -> SourceFile:
            return derivatives if path == derivatives.path else SourceFile.read(path)

        request = request._replace(libraries=(file, head), read_file=read_file, allowed_paths=(derivatives.path,))
    # The outcome of a run that reads its state has the stamps of what it read.
    return _code(out, generate(request, out, jobs=1, sink=sink)), Generation(request).job.of(RunLibraries).libraries
