"""The fixes that an editor offers, those of a whole file, and its formatting, which `opwright format` does too."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types as lsp

from opwright.tools.check.suppressions import FORMATTING
from opwright.tools.lsp.documents import path_of
from opwright.tools.lsp.reports import fixes_at
from opwright.tools.lsp.server import OperatorServer
from opwright.workspace.edits import line_edits


async def code_actions(server: OperatorServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """The fixes of the diagnostics in a range; those of the whole file if an editor asks for them."""
    wanted = params.context.only
    actions = _fixes(server, params) if wanted is None or _includes(wanted, lsp.CodeActionKind.QuickFix) else []
    if wanted is not None and _includes(wanted, lsp.CodeActionKind.SourceFixAll):
        actions += await _all_fixes(server, params.text_document.uri)
    return actions


def _includes(wanted: Sequence[lsp.CodeActionKind | str], kind: lsp.CodeActionKind) -> bool:
    """Whether kinds of actions include one, whose name begins with theirs; an editor may append a server's name."""
    return any(f"{kind.value}.opwright.".startswith(f"{include}.") for include in map(_text, wanted))


def _text(kind: lsp.CodeActionKind | str) -> str:
    return kind.value if isinstance(kind, lsp.CodeActionKind) else kind


async def _all_fixes(server: OperatorServer, uri: str) -> list[lsp.CodeAction]:
    """What `opwright check --fix` does."""
    file = server.file(uri)
    text = None if file is None else await server.fixed_text(file)
    if file is None or text is None:
        return []
    edit = server.workspace_edit(list(line_edits(file, text)))
    return [lsp.CodeAction("Fix all that has only one fix", kind=lsp.CodeActionKind.SourceFixAll, edit=edit)]


def _fixes(server: OperatorServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """The fixes of the diagnostics in a range."""
    uri = params.text_document.uri
    report = server.reports.get(path_of(uri) or "")
    places = [server.place(uri, position) for position in (params.range.start, params.range.end)]
    if report is None or None in places:
        return []
    start, end = [place[1] for place in places if place is not None]
    return [
        lsp.CodeAction(
            fix.title,
            kind=lsp.CodeActionKind.QuickFix,
            edit=server.workspace_edit(fix.edits),
            is_preferred=fix.is_certain,
        )
        for fix in fixes_at(report, start, end)
    ]


async def format_file(server: OperatorServer, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
    """What `opwright format` does."""
    file = server.file(params.text_document.uri)
    text = None if file is None else await server.fixed_text(file, FORMATTING)
    if file is None or text is None:
        return []
    return [lsp.TextEdit(server.range(edit.span), edit.text) for edit in line_edits(file, text)]
