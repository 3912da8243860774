"""What library files have that PyTorch's own lack: a catalog, and kernels that are functions of the author."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

from opwright.backends.rows import BACKEND
from opwright.dialects.dialect import Dialect
from opwright.dialects.table import NATIVE_FUNCTIONS
from opwright.emit.emitter import Job
from opwright.libraries.dialect.head import read_head
from opwright.libraries.rows import LIBRARY
from opwright.model.native_function import NativeFunction
from opwright.release.inputs import Inputs
from opwright.release.tree import rules_of
from opwright.run.loading import load_job
from opwright.run.request import Request
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound
from opwright.source.nodes import MappingNode, Scalar, SequenceNode
from opwright.source.records import NamedTuple
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from opwright.tools.explain.explanation import explain
from opwright.tools.explain.loading import Explained, ExplainRequest, load_part
from opwright.tools.explain.signatures import kernel_definition
from opwright.tools.explain.text import PLAIN, dispatch_lines, implementation_lines, requirement_lines
from opwright.tools.lsp.cursor import Cursor
from opwright.tools.lsp.operators import plain_name
from opwright.tools.lsp.project import Project, kind_of


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
            for item in value.items if isinstance(value, SequenceNode) else (value,):
                if isinstance(item, Scalar):
                    yield NamedKernel(operator, keys.value, item.span, is_python=False)
                    continue
                when, *names = [
                    item.get(field) if isinstance(item, MappingNode) else None for field in ("when", "kernel", "python")
                ]
                condition = when.value if isinstance(when, Scalar) else ""
                for name, is_python in zip(names, (False, True), strict=True):
                    if isinstance(name, Scalar):
                        yield NamedKernel(operator, keys.value, name.span, is_python, condition)


def kernel_at(file: SourceFile, offset: int) -> NamedKernel | None:
    """The kernel whose name is at an offset of a library file."""
    for kernel in named_kernels(file):
        if kernel.place.start <= offset <= kernel.place.end:
            return kernel
    return None


def names_kernel(kind: Dialect[Any] | None, cursor: Cursor) -> bool:
    """Whether the word at a position is a kernel, or the beginning of one, in any kind of operator file."""
    if cursor.in_key:
        return False
    if kind is BACKEND:
        return cursor.key in ("kernel", "kernel_name")
    is_item = kind is LIBRARY and cursor.path[-3:-2] == ("dispatch",) and cursor.key == "kernel"
    return is_item or (kind in (NATIVE_FUNCTIONS, LIBRARY) and cursor.path[-2:-1] == ("dispatch",))


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
    """What `opwright explain` prints of the requirements and the kernels of an operator; nothing if it has mistakes."""
    loaded = loaded_operator(project, file, inputs, name)
    if loaded is None:
        return []
    explanation = explain(loaded[0], Explained(loaded[1], ()), ("dispatch", "requirements"))
    required = explanation.requirements
    tables = (
        () if required is None else requirement_lines(required, PLAIN),
        dispatch_lines(explanation.dispatch or (), PLAIN),
        implementation_lines(explanation.implementations, PLAIN),
    )
    return [text for lines in tables if (text := "\n".join(lines))]


def kernel_text(project: Project, file: SourceFile, inputs: Inputs, kernel: NamedKernel) -> list[str]:
    """What a kernel serves, its C++ signature, and the kernels beside it in the order in which they are tried."""
    language = "Python function" if kernel.is_python else "kernel"
    texts = [f"{language} of `{kernel.operator}` for {kernel.keys}{f', when `{kernel.when}`' if kernel.when else ''}"]
    loaded = loaded_operator(project, file, inputs, kernel.operator)
    if loaded is None:
        return texts
    function, job = loaded
    explanation = explain(function, Explained(job, ()), ("dispatch", "signatures"))
    pattern = re.compile(rf"(?<!\w){re.escape(kernel.name)}\(")
    # The function for callers may have the same name.
    records = [record for record in explanation.signatures or () if pattern.search(record.text)]
    kernels_first = sorted(records, key=lambda record: record.convention.startswith(("C++", "dispatcher")))
    for record in kernels_first[:1] if not kernel.is_python else ():
        written = kernel_definition(function, kernel.name) if record.convention == "native" else ""
        texts.append(f"```cpp\n{written or record.text}\n```")
    keys = [key.strip() for key in kernel.keys.split(",")]
    beside = [record for record in explanation.implementations if record.key in keys]
    lines = "\n".join(implementation_lines(beside, PLAIN))
    return [*texts, *([f"```\n{lines}\n```"] if lines else [])]


def loaded_operator(
    project: Project, file: SourceFile, inputs: Inputs | None, name: str
) -> tuple[NativeFunction, Job] | None:
    """An operator that a file names, with the job that has it; None if there is none, or no inputs, or mistakes.

    An operator of a library is loaded with the whole library, one of PyTorch with its operation.
    """
    if inputs is None:
        return None
    is_library = kind_of(file) is LIBRARY
    own = name.rpartition("::")[2] if is_library else plain_name(name)
    job = loaded_library(project, file, inputs) if is_library else loaded_part(inputs, own)
    functions = () if job is None else job.catalog.functions
    return next(((function, job) for function in functions if job is not None and function.name.text == own), None)


def loaded_library(project: Project, file: SourceFile, inputs: Inputs) -> Job | None:
    """The operators of a library; None if it has mistakes."""
    with suppress(Fault, FaultsFound):
        path = derivatives_path(file)
        derivatives = project.read(path) if path else None
        return _loaded_library(project, file, inputs, "" if derivatives is None else derivatives.text)
    return None


@lru_cache(maxsize=2)
def _loaded_library(project: Project, file: SourceFile, inputs: Inputs, _derivatives: str) -> Job | None:
    """Loads the library of a file, and keeps it as long as the texts are these. Raises Fault and FaultsFound."""
    sink = Diagnostics()
    job = load_library(project, file, inputs, sink, {})
    return None if sink.has_errors else job


@lru_cache(maxsize=64)
def loaded_part(inputs: Inputs, name: str) -> Job | None:
    """The operation of an operator of PyTorch; None if it has no entry, or mistakes."""
    return load_part(ExplainRequest((name,), inputs), rules_of(inputs))
