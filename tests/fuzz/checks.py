"""What `opwright check` makes of damaged files: reports in every form, and fixes that leave YAML behind."""

from __future__ import annotations

import json
from functools import cache

from opwright.release.inputs import Inputs, from_source_path
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from opwright.tools.check.findings import CheckedFiles, Findings, find
from opwright.tools.check.fixing import fix_files
from opwright.tools.check.formats import render_github, render_json, render_sarif
from opwright.tools.check.settings import load_settings
from opwright.tools.check.suppressions import ALL, CodeFilter
from opwright.workspace.overlay import with_texts
from tests.tools.check.cases import RELEASE, load_cases

#: The files of the cases, which have something to fix.
FILES = [case.files[name] for case in load_cases() if "installed" not in case.head for name in case.files]


@cache
def release() -> Inputs:
    """The small release of the cases."""
    return with_texts(from_source_path(RELEASE), {"version.txt": SourceFile("version.txt", "2.13.0")})


def check_text(text: str, sink: Diagnostics) -> object:
    """Check a text under the names that it may have, fix it, and print the report in every form."""
    name = ("native_functions.yaml", "acme.yaml", "tags.yaml")[len(text) % 3]
    file = SourceFile(name, text)
    files = CheckedFiles((name,), texts=(file,), release="2.13.0", tolerant=len(text) % 2 == 0)

    def findings(own: CheckedFiles) -> Findings:
        return find(own, CodeFilter(select=(ALL,)), release)

    outcome = fix_files(files, findings)
    diagnostics = [*findings(files).diagnostics, *outcome.findings.diagnostics]
    json.loads(render_json(diagnostics))
    json.loads(render_sarif(diagnostics, "0"))
    render_github(diagnostics)
    before = {diagnostic.code for diagnostic in diagnostics if diagnostic.code.startswith("E01")}
    for change in outcome.changes:
        assert change.diff
        after = {own.code for own in outcome.findings.diagnostics if own.code.startswith("E01")}
        assert after <= before, "a fix damages the file"
    sink.extend(diagnostics)
    return outcome.fix_count


def check_settings(text: str, sink: Diagnostics) -> object:
    """Read a text as settings."""
    return load_settings(SourceFile("pyproject.toml", text), sink)
