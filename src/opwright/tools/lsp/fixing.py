"""The fixes that an editor offers, those of a whole file, and its formatting, which `opwright format` does too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lsprotocol import types as lsp

from opwright.source.diagnostic import Edit
from opwright.source.text import SourceFile
from opwright.tools.check.suppressions import FORMATTING
from opwright.tools.lsp.documents import path_of
from opwright.tools.lsp.server import OperatorServer
from opwright.workspace.edits import line_edits


async def code_actions(server: OperatorServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """The fixes of the diagnostics in a range; those of the whole file if an editor asks for them."""
    wanted = params.context.only
    are_wanted = wanted is None or _includes(wanted, lsp.CodeActionKind.QuickFix)
    actions = list(_fixes(server, params)) if are_wanted else []
    if wanted is not None and _includes(wanted, lsp.CodeActionKind.SourceFixAll):
        actions += await _all_fixes(server, params.text_document.uri)
    return actions


def _includes(wanted: Sequence[lsp.CodeActionKind | str], kind: lsp.CodeActionKind) -> bool:
    """Whether kinds of actions include one, whose name begins with theirs; an editor may append a server's name."""
    names = [included.value if isinstance(included, lsp.CodeActionKind) else included for included in wanted]
    return any(f"{kind.value}.opwright.".startswith(f"{name}.") for name in names)


async def _all_fixes(server: OperatorServer, uri: str) -> list[lsp.CodeAction]:
    """What `opwright check --fix` does."""
    file = server.file(uri)
    text = None if file is None else await server.fixed_text(file)
    if file is None or text is None:
        return []
    edit = server.workspace_edit(list(line_edits(file, text)))
    return [lsp.CodeAction("Fix all that has only one fix", kind=lsp.CodeActionKind.SourceFixAll, edit=edit)]


def _fixes(server: OperatorServer, params: lsp.CodeActionParams) -> Iterator[lsp.CodeAction]:
    """The fixes of the diagnostics in a range. One that is not certain is a suggestion."""
    uri = params.text_document.uri
    report = server.reports.get(path_of(uri) or "")
    first, last = (server.place(uri, position) for position in (params.range.start, params.range.end))
    if report is None or first is None or last is None:
        return
    for row in report.rows:
        place = row["place"]
        is_here = place and place["path"] == report.file.path
        if is_here and place["start"]["offset"] <= last[1] and first[1] <= place["end"]["offset"]:
            for offered, is_certain in ((row["fix"], True), (row["suggestion"], False)):
                if offered:
                    edits = [_edit(edit, report.file) for edit in offered["edits"]]
                    title = f"Fix {row['code']}: {row['message']}" if is_certain else f"Change to `{edits[0].text}`"
                    edit = server.workspace_edit(edits)
                    yield lsp.CodeAction(title, kind=lsp.CodeActionKind.QuickFix, edit=edit, is_preferred=is_certain)


def _edit(row: Mapping[str, Any], file: SourceFile) -> Edit:
    return Edit(file.span(row["start"]["offset"], row["end"]["offset"]), row["text"])


async def format_file(server: OperatorServer, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
    """What `opwright format` does."""
    file = server.file(params.text_document.uri)
    text = None if file is None else await server.fixed_text(file, FORMATTING)
    if file is None or text is None:
        return []
    return [lsp.TextEdit(server.range(edit.span), edit.text) for edit in line_edits(file, text)]
