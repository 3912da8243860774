"""A line above each entry: how many kernels it has and whether it has a derivative, and what explains it."""

from __future__ import annotations

from typing import Final

from lsprotocol import types as lsp

from opwright.dialects.table import NATIVE_FUNCTIONS
from opwright.libraries.kernels import implementations_of
from opwright.libraries.rows import LIBRARY
from opwright.source.text import SourceFile
from opwright.tools.explain.explanation import explain
from opwright.tools.explain.loading import Explained
from opwright.tools.explain.text import PLAIN, render
from opwright.tools.lsp.library import loaded_operator
from opwright.tools.lsp.operators import entries_of
from opwright.tools.lsp.project import Project, kind_of
from opwright.tools.lsp.protocol import EXPLAIN
from opwright.tools.lsp.server import OperatorServer

#: The sections that an entry alone is enough for.
_SECTIONS: Final = ("schema", "operation", "dispatch", "signatures", "derivative", "python")


def answer(server: OperatorServer, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    """Two lenses for each entry. The editor asks for the text of the first when it is to be shown."""
    uri = params.text_document.uri
    file = server.file(uri)
    lenses = []
    for entry in () if file is None or kind_of(file) not in (NATIVE_FUNCTIONS, LIBRARY) else entries_of(file):
        place, data = server.range(entry.place), [uri, entry.name]
        lenses.append(lsp.CodeLens(place, data=data))
        lenses.append(lsp.CodeLens(place, lsp.Command("explain", EXPLAIN, arguments=data)))
    return lenses


def resolve(server: OperatorServer, lens: lsp.CodeLens) -> lsp.CodeLens:
    """The lens with its text."""
    match lens.data:
        case [str(uri), str(name)]:
            file = server.file(uri)
            text = None if file is None else summary_of(server.project, file, name)
            lens.command = lsp.Command(text or "has mistakes", EXPLAIN, arguments=[uri, name])
    return lens


def summary_of(project: Project, file: SourceFile, name: str) -> str | None:
    """How many kernels serve an operator, and whether it has a derivative; None if it has mistakes."""
    loaded = loaded_operator(project, file, project.inputs_of(file), name)
    if loaded is None:
        return None
    function, job = loaded
    group = function.group
    owner = group.out if function.structured_delegate is not None and group is not None else function
    count = sum(len(implementations_of(kernel)) or 1 for kernel in owner.kernels.values())
    derivative = explain(function, Explained(job, ()), ("derivative",)).derivative
    kernels = f"{count} kernel{'' if count == 1 else 's'}"
    return f"{kernels}, {'derivative' if derivative is not None and derivative.gradients else 'no derivative'}"


def explanation_of(project: Project, file: SourceFile, name: str) -> str | None:
    """What `opwright explain` prints of an operator; None if it has mistakes."""
    loaded = loaded_operator(project, file, project.inputs_of(file), name)
    return None if loaded is None else render(explain(loaded[0], Explained(loaded[1], ()), _SECTIONS), PLAIN)


def explain_operator(server: OperatorServer, uri: str, name: str) -> str | None:
    """The explanation of an operator, which the editor also shows as a document, or in a message if it has none."""
    file = server.file(uri)
    text = None if file is None else explanation_of(server.project, file, name)
    if text is None:
        return None
    window = server.client_capabilities.window
    if window is None or window.show_document is None or not window.show_document.support:
        server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Info, text))
        return text
    path = server.write_document(f"{name.replace('::', '.')}.txt", text)
    server.window_show_document(lsp.ShowDocumentParams(server.uri(path), take_focus=True))
    return text
