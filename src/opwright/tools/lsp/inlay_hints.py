"""Hints behind the lines of a file: the C++ signature of an entry, and the kernels that it has from another entry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from lsprotocol import types as lsp

from opwright.convention import dispatcher
from opwright.dialects.table import NATIVE_FUNCTIONS
from opwright.libraries.rows import LIBRARY
from opwright.model.dispatch_key import COMPOSITE_IMPLICIT
from opwright.model.native_function import NativeFunction
from opwright.release.inputs import Inputs
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound
from opwright.source.text import SourceFile
from opwright.tools.lsp.library import loaded_library
from opwright.tools.lsp.operators import entries_of, load_in_scope
from opwright.tools.lsp.project import Project, kind_of
from opwright.tools.lsp.server import OperatorServer

#: More entries than a screen shows would keep the editor waiting.
_MOST_ENTRIES: Final = 100


def answer(server: OperatorServer, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
    """The hints of a part of a file."""
    uri = params.text_document.uri
    first, last = (server.place(uri, position) for position in (params.range.start, params.range.end))
    if first is None or last is None:
        return []
    hints = hints_between(server.project, first[0], first[1], last[1])
    return [
        lsp.InlayHint(server.position(first[0], offset), text, padding_left=True, tooltip=tooltip)
        for offset, text, tooltip in hints
    ]


def hints_between(project: Project, file: SourceFile, start: int, end: int) -> Iterator[tuple[int, str, str]]:
    """Where each hint between two offsets stands, its text, and what it is; none where entries have mistakes."""
    if kind_of(file) not in (NATIVE_FUNCTIONS, LIBRARY):
        return
    shown = [entry for entry in entries_of(file) if start <= entry.place.end and entry.place.start <= end]
    inputs = project.inputs_of(file)
    names = [entry.name for entry in shown[:_MOST_ENTRIES]]
    functions = {} if inputs is None or not names else _functions(project, file, inputs, names)
    for entry in shown[:_MOST_ENTRIES]:
        function = functions.get(entry.name.rpartition("::")[2])
        if function is not None:
            line_end = file.text.find("\n", entry.place.end)
            offset = len(file.text) if line_end < 0 else line_end
            yield offset, dispatcher.signature(function).declaration(), "the C++ signature in the dispatcher"
            inherited = _inherited(function)
            if inherited:
                yield offset, f"({inherited})", "the kernels of this entry, which another place names"


def _functions(project: Project, file: SourceFile, inputs: Inputs, names: list[str]) -> dict[str, NativeFunction]:
    """The operators of these names, those of PyTorch with their operations alone."""
    functions: Iterable[NativeFunction] = ()
    if kind_of(file) is LIBRARY:
        job = loaded_library(project, file, inputs)
        functions = () if job is None else job.catalog.functions
    else:
        with suppress(Fault, FaultsFound):
            functions = load_in_scope(file, inputs, [name.partition(".")[0] for name in names], Diagnostics()).functions
    return {function.name.text: function for function in functions}


def _inherited(function: NativeFunction) -> str:
    """The kernels that an entry has without naming them; empty if it names its own."""
    if function.structured_delegate is not None and function.group is not None:
        return f"{_kernels_text(function.group.out)}, of {function.structured_delegate}"
    kernel = function.kernels.get(COMPOSITE_IMPLICIT)
    is_named = re.search(r"\n\s*dispatch\s*:", function.entry.text) is not None
    return "" if kernel is None or is_named else f"{COMPOSITE_IMPLICIT.name}: {kernel.name}"


def _kernels_text(function: NativeFunction) -> str:
    """The kernels of an overload on one line, each with its keys."""
    keys: dict[str, list[str]] = {}
    for key, kernel in function.kernels.items():
        keys.setdefault(kernel.name, []).append(key.name)
    return "; ".join([f"{', '.join(names)}: {name}" for name, names in keys.items()])
