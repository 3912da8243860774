"""Texts with faults, from the cases of other tests and from `own_cases.yaml`, and what is found in them."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from opwright.cli.main import main
from opwright.source.diagnostic import Diagnostic, Diagnostics, Edit, Fault, FaultsFound, Label, Severity
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from tests.dialects import (
    test_backend_dialect,
    test_cases,
    test_declared_outputs,
    test_derivative_cases,
    test_library,
    test_library_derivatives,
)
from tests.dialects.cases import without_marks
from tests.dialects.loading import load_text
from tests.dialects.mistakes import all_found, kind_of, load_mistakes
from tests.source import test_yaml_faults
from tests.tools.check import cases as check_cases

__all__ = ["HintCase", "load_cases"]

FaultList = tuple[Diagnostic, ...]
_OWN = Path(__file__).with_name("own_cases.yaml")


class HintCase(NamedTuple):
    """A text with faults: its name, and what finds them in this text or another in its place."""

    name: str
    text: str
    check: Callable[[str], FaultList]


def load_cases() -> Iterator[HintCase]:
    """All cases."""
    catalog = test_derivative_cases.load_operators()
    backends = [case for cases in test_backend_dialect.CASES.values() for case in cases]
    for kind, cases, check in (
        ("native", test_cases.ENTRY_CASES, lambda text: load_text(text)[1]),
        ("tags", test_cases.TAG_CASES, lambda text: load_text("[]", text)[1]),
        ("library", test_library.CASES, lambda text: test_library.loaded(text)[1]),
        ("library derivatives", test_library_derivatives.CASES, lambda text: test_library_derivatives.loaded(text)[1]),
        ("outputs", test_declared_outputs.CASES, lambda text: test_declared_outputs.loaded(_with_outputs(text))[1]),
        ("derivatives", test_derivative_cases.CASES, lambda text: test_derivative_cases.loaded(text, catalog)),
        ("backend", backends, lambda text: test_backend_dialect.loaded(text)[1]),
    ):
        for case in cases:
            yield HintCase(f"{kind} {case.name}", without_marks(case.text), partial(_faults, check))
    for mistake in load_mistakes():
        kind = kind_of(mistake)
        yield HintCase(f"mistake {mistake['what']}", mistake[kind], partial(_faults, partial(all_found, kind)))
    for number, (_, text) in enumerate(test_yaml_faults.CASES, 1):
        plain = text.replace("«", "").replace("»", "")
        yield HintCase(f"yaml {number}", plain, partial(_faults, _yaml_faults))
    for kind, texts in yaml.load(_OWN.read_text(encoding="utf-8"), yaml.CSafeLoader).items():
        for number, text in enumerate(texts, 1):
            yield HintCase(f"own {kind} {number}", text, partial(_check, f"{kind}.yaml", []))
    for checked in check_cases.load_cases():
        arguments = checked.settings.get("arguments", "").split()
        if len(checked.files) == 1 and "release" not in checked.settings and "--fix" not in arguments:
            for name, text in checked.files.items():
                yield HintCase(f"check {checked.name}", text, partial(_check, name, arguments))


def _faults(check: Callable[[str], Diagnostics], text: str) -> FaultList:
    try:
        return check(text).sorted()
    except Fault as fault:
        return (fault.diagnostic,)
    except FaultsFound as faults:
        return faults.diagnostics


def _with_outputs(text: str) -> str:
    """The entries of a text that declare outputs."""
    head, *entries = text.split("- func:")
    return "- func:".join([head, *[entry for entry in entries if "  outputs:" in entry]])


def _yaml_faults(text: str) -> Diagnostics:
    load_yaml(SourceFile("file.yaml", text))
    return Diagnostics()


def _check(name: str, arguments: list[str], text: str) -> FaultList:
    """What `opwright check` finds in a file."""
    output = io.StringIO()
    release = ["--source-path", str(check_cases.RELEASE), "--release", "2.13.0"]
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        path = Path(folder, name)
        path.write_bytes(text.encode())
        with contextlib.redirect_stdout(output):
            main(["check", *arguments, "--format", "json", *release, str(path)])
        found = json.loads(output.getvalue())["diagnostics"]
    file = SourceFile(name, text)
    return tuple([_diagnostic(row, file) for row in found])


def _diagnostic(row: dict[str, Any], file: SourceFile) -> Diagnostic:
    """A diagnostic from its JSON, with its place in the file."""

    def span(place: dict[str, Any]) -> Span:
        return file.span(place["start"]["offset"], place["end"]["offset"])

    place, fix = row["place"], row["fix"]
    return Diagnostic(
        row["code"],
        Severity(row["severity"]),
        row["message"],
        (Label(span(place)),) if place is not None and place["path"].endswith(file.path) else (),
        help=row["help"] or "",
        edits=tuple([Edit(span(edit), edit["text"]) for edit in fix["edits"]]) if fix else (),
    )
