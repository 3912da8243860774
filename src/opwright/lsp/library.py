"""What library files have that PyTorch's own lack: a catalog, and kernels that are functions of the author."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise
from typing import Final

from opwright.dialects.library.head import read_head
from opwright.emit.emitter import Job
from opwright.explain.explanation import explain
from opwright.explain.loading import Explained
from opwright.explain.text import PLAIN, dispatch_lines, implementation_lines
from opwright.importing.cpp_functions import function_of, statements
from opwright.importing.cpp_reader import CPP_SUFFIXES
from opwright.importing.cpp_tokens import read_cpp
from opwright.lsp.project import Project
from opwright.model.native_function import NativeFunction
from opwright.release.inputs import Inputs
from opwright.release.tree import rules_of
from opwright.run.loading import load_job
from opwright.run.request import Request
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound
from opwright.source.named_tuple import NamedTuple
from opwright.source.nodes import Mapping as MappingNode
from opwright.source.nodes import Node, Scalar, Sequence
from opwright.source.project_file import files_below, folders_above
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml

__all__ = [
    "NamedKernel",
    "derivatives_path",
    "kernel_at",
    "kernel_functions",
    "kernel_text",
    "load_library",
    "named_kernels",
    "operator_text",
]

#: Files at the top of a project.
_TOP_FILES: Final = ("pyproject.toml", "setup.py", "CMakeLists.txt", ".git")
_SKIPPED: Final = frozenset(("build", "dist", "node_modules", "__pycache__", "site-packages"))
_MOST_FILES: Final = 5000


class NamedKernel(NamedTuple):
    """A function that `dispatch` names: the entry's operator, the dispatch keys, and the place of the name.

    `is_python` says that the name is one of a Python function.
    """

    operator: str
    keys: str
    place: Span
    is_python: bool
    when: str = ""

    @property
    def name(self) -> str:
        """The name as the file has it."""
        return self.place.text.strip("'\"")


@lru_cache(maxsize=8)
def named_kernels(file: SourceFile) -> tuple[NamedKernel, ...]:
    """The kernels that the entries of a library file name, in its order; none while its YAML is not complete.

    >>> text = "- func: f(Tensor x) -> Tensor\\n  dispatch: {CPU: [{kernel: fast, when: x.dim() == 2}, slow]}\\n"
    >>> [(own.operator, own.keys, own.name, own.when) for own in named_kernels(SourceFile("a.yaml", text))]
    [('f', 'CPU', 'fast', 'x.dim() == 2'), ('f', 'CPU', 'slow', '')]
    """
    try:
        entries = read_head(load_yaml(file), Diagnostics())[1]
    except (Fault, FaultsFound):
        return ()
    return tuple([kernel for entry in entries if isinstance(entry, MappingNode) for kernel in _kernels(entry)])


def _kernels(entry: MappingNode) -> Iterator[NamedKernel]:
    func, dispatch = entry.get("func"), entry.get("dispatch")
    if isinstance(func, Scalar) and isinstance(dispatch, MappingNode):
        operator = func.value.partition("(")[0].strip()
        for keys, value in dispatch.entries:
            for item in value.items if isinstance(value, Sequence) else (value,):
                yield from _kernel(operator, keys.value, item)


def _kernel(operator: str, keys: str, item: Node) -> Iterator[NamedKernel]:
    if isinstance(item, Scalar):
        yield NamedKernel(operator, keys, item.span, is_python=False)
    elif isinstance(item, MappingNode):
        when = item.get("when")
        for field, is_python in (("kernel", False), ("python", True)):
            name = item.get(field)
            if isinstance(name, Scalar):
                condition = when.value if isinstance(when, Scalar) else ""
                yield NamedKernel(operator, keys, name.span, is_python, condition)


def kernel_at(file: SourceFile, offset: int) -> NamedKernel | None:
    """The kernel whose name is at an offset of a library file."""
    for kernel in named_kernels(file):
        if kernel.place.start <= offset <= kernel.place.end:
            return kernel
    return None


def derivatives_path(file: SourceFile) -> str:
    """The path of the file with the derivatives of a library; empty if its head names none. Raises Fault."""
    head, _ = read_head(load_yaml(file), Diagnostics())
    return os.path.normpath(os.path.join(os.path.dirname(file.path), head.derivatives)) if head.derivatives else ""


def load_library(
    project: Project, file: SourceFile, inputs: Inputs, sink: Diagnostics, changed: Mapping[str, SourceFile]
) -> Job:
    """The operators of a library file, with the open texts of its files, or changed ones by their paths.

    Faults go to `sink`. Raises Fault and FaultsFound.
    """
    path = derivatives_path(file)
    derivatives = project.read(path) if path else None

    def read(named: str) -> SourceFile:
        is_derivatives = derivatives is not None and os.path.normpath(named) == path
        return changed.get(path, derivatives) if is_derivatives and derivatives else SourceFile.read(named)

    libraries, allowed = (changed.get(file.path, file),), project.allowed_paths
    request = Request(inputs, {}, ("library",), libraries=libraries, read_file=read, allowed_paths=allowed)
    return load_job(request, rules_of(inputs), sink, {})


def operator_text(project: Project, file: SourceFile, inputs: Inputs, name: str) -> list[str]:
    """The dispatch table of an operator of a library as `opwright explain` prints it; nothing if it has mistakes."""
    loaded = _loaded(project, file, inputs, name)
    if loaded is None:
        return []
    explanation = explain(loaded[0], Explained(loaded[1], ("library",)), ("dispatch",))
    tables = (
        dispatch_lines(explanation.dispatch or (), PLAIN),
        implementation_lines(explanation.implementations, PLAIN),
    )
    return [text for lines in tables if (text := "\n".join(lines))]


def kernel_text(project: Project, file: SourceFile, inputs: Inputs, kernel: NamedKernel) -> list[str]:
    """What a kernel serves, its C++ signature, and the kernels beside it in the order in which they are tried."""
    language = "Python function" if kernel.is_python else "kernel"
    texts = [f"{language} of `{kernel.operator}` for {kernel.keys}{f', when `{kernel.when}`' if kernel.when else ''}"]
    loaded = _loaded(project, file, inputs, kernel.operator)
    if loaded is None:
        return texts
    function, job = loaded
    explanation = explain(function, Explained(job, ("library",)), ("dispatch", "signatures"))
    pattern = re.compile(rf"(?<!\w){re.escape(kernel.name)}\(")
    shown = (record.text for record in explanation.signatures or () if pattern.search(record.text))
    texts += [f"```cpp\n{text}\n```" for text in list(shown)[:1] if not kernel.is_python]
    keys = [key.strip() for key in kernel.keys.split(",")]
    beside = [record for record in explanation.implementations if record.key in keys]
    lines = "\n".join(implementation_lines(beside, PLAIN))
    return [*texts, *([f"```\n{lines}\n```"] if lines else [])]


def _loaded(project: Project, file: SourceFile, inputs: Inputs, name: str) -> tuple[NativeFunction, Job] | None:
    """An operator of a library, with the job that has it; None if the library has mistakes, or no such operator."""
    sink = Diagnostics()
    with suppress(Fault, FaultsFound):
        job = load_library(project, file, inputs, sink, {})
        for function in job.catalog.functions:
            if function.name.text == name.rpartition("::")[2] and not sink.has_errors:
                return function, job
    return None


def kernel_functions(project: Project, file: SourceFile, kernel: NamedKernel) -> list[Span]:
    """Where the sources of a library define the function of a kernel; where they declare it if nowhere."""
    if kernel.is_python:
        return list(_python_functions(project, file, kernel.name))
    wanted = kernel.name.split("::")
    declared: list[Span] = []
    defined: list[Span] = []
    for path in _sources(file, CPP_SUFFIXES):
        source = project.read(path)
        if source is None or wanted[-1] not in source.text:
            continue
        for statement in statements(read_cpp(path, source.text)):
            function = function_of(statement, path)
            if function is not None and function.name.split("::")[-len(wanted) :] == wanted:
                name = next(pair[0] for pair in pairwise(statement.head) if pair[1].text == "(")
                (defined if statement.body else declared).append(source.span(name.start, name.end))
    return defined or declared


def _python_functions(project: Project, file: SourceFile, name: str) -> Iterator[Span]:
    """Where `module:function` is defined, in a package or a module below the top of the project."""
    module, _, function = name.partition(":")
    path = module.replace(".", os.sep)
    pattern = re.compile(rf"(?m)^(?:def +({re.escape(function)})\b|({re.escape(function)}) *=)")
    for source_path in _sources(file, (f"{os.sep}{path}.py", os.path.join(f"{os.sep}{path}", "__init__.py"))):
        source = project.read(source_path)
        if source is not None:
            yield from [source.span(*match.span(match.lastindex or 0)) for match in pattern.finditer(source.text)]


def _sources(file: SourceFile, endings: tuple[str, ...]) -> Iterator[str]:
    """The files with these endings in the project that has a library file."""
    folder = os.path.dirname(os.path.abspath(file.path))
    tops = (above for above in folders_above(folder) if _is_top(above))
    return files_below(next(tops, folder), endings, skipped=_SKIPPED, most=_MOST_FILES)


def _is_top(folder: str) -> bool:
    return any(os.path.exists(os.path.join(folder, name)) for name in _TOP_FILES)
