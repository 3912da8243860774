"""Runs that write a few files without emitters, and leave a manifest so that the same run need not happen again."""

from __future__ import annotations

from collections.abc import Mapping

from opwright.files.plain_files import real_path
from opwright.files.writer import Writer, final_statuses
from opwright.incremental.identity import tool_identity
from opwright.incremental.manifest import Manifest, write_manifest
from opwright.run.session import Session
from opwright.source.diagnostic import Diagnostics

__all__ = ["write_files"]


def write_files(session: Session, outputs: Mapping[str, str], facts: Mapping[str, str | int], sink: Diagnostics) -> int:
    """Write files by path, in the output folders of a session's run, and count those that differed.

    The manifest keeps the facts and what the sink has to say. Without stamps of the inputs there is no manifest.
    """
    with session.turn() as journal:
        with Writer(journal) as writer:
            written = sum([writer.write(real_path(path), text.encode()) for path, text in outputs.items()])
        stamps = session.stamps
        if stamps is not None:
            stamps.distrust_changed()
            manifest = Manifest(
                session.run.kind,
                session.run.request,
                tool_identity(),
                stamps,
                final_statuses(writer.statuses),
                {**facts, "messages": _messages(sink)},
                others={},
            )
            write_manifest(session.run, manifest)
    return written


def _messages(sink: Diagnostics) -> str:
    """What the sink has to say, in colours."""
    if not len(sink):
        return ""
    from opwright.source.render import render_report

    return render_report(sink.sorted(), color=True)
