"""What users read about the faults of all cases: messages, labels and help, as a text for each kind of file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from opwright.model.catalog import Catalog
from opwright.source.diagnostic import Diagnostic, Diagnostics
from tests.dialects import (
    test_backend_dialect,
    test_declared_outputs,
    test_deprecated,
    test_derivative_cases,
    test_library,
    test_library_derivatives,
)
from tests.dialects.cases import FOLDER, load_cases
from tests.dialects.loading import load_text

HERE = Path(__file__).parent
MESSAGES = HERE / "expected_messages"

_operators: Callable[[], Catalog] = cache(test_derivative_cases.load_operators)

#: The files of cases below this folder, each with what loads a document of it.
LOADERS: dict[str, Callable[[str], Diagnostics]] = {
    **{
        f"cases/{path.name}": lambda text: load_text(text)[1]
        for path in sorted(FOLDER.glob("*.yaml"))
        if path.name != "tags_file.yaml"
    },
    "cases/tags_file.yaml": lambda text: load_text("[]", text)[1],
    **{
        f"derivative_cases/{name}.yaml": lambda text: test_derivative_cases.loaded(text, _operators())
        for name in ("entries", "formulas", "forward")
    },
    "deprecated_cases.yaml": lambda text: test_deprecated.loaded(text)[1],
    **{
        f"library_cases/{name}.yaml": lambda text: test_library.loaded(text)[1]
        for name in ("fields", "heads", "implementations", "requirements")
    },
    "library_cases/outputs.yaml": lambda text: test_declared_outputs.loaded(text)[1],
    "library_cases/derivatives.yaml": lambda text: test_library_derivatives.loaded(text)[1],
    **{
        f"backend_cases/{name}.yaml": lambda text: test_backend_dialect.loaded(text)[1] for name in ("entries", "heads")
    },
}


def expected_file(cases: str) -> Path:
    """The file that has what users read about the cases of a file."""
    return MESSAGES / f"{cases.removesuffix('.yaml').replace('/', '-')}.txt"


def messages_of(cases: str) -> str:
    """What users read about the cases of a file, each under the sentence that it begins with."""
    documents = load_cases(cases, HERE)
    return "\n".join([line for case in documents for line in _lines(case.title, LOADERS[cases](case.text))]) + "\n"


def _lines(title: str, sink: Diagnostics) -> Iterator[str]:
    if len(sink):
        yield f"# {title}"
    for diagnostic in sink.sorted():
        yield from _shown(diagnostic)


def _shown(diagnostic: Diagnostic) -> Iterator[str]:
    yield f"{diagnostic.code} {diagnostic.message}"
    for span, text, primary in diagnostic.labels:
        if text or not primary:
            yield f"    {'at' if primary else 'also at'} {span.line}:{span.column}: {text}"
    yield from (f"    note: {note}" for note in diagnostic.notes)
    if diagnostic.help:
        yield f"    help: {diagnostic.help}"
    yield from (f"    edit: {edit.span.line}:{edit.span.column} `{edit.text}`" for edit in diagnostic.edits)


def update() -> None:
    """Write what users read now."""
    for cases in LOADERS:
        expected_file(cases).write_text(messages_of(cases), encoding="utf-8")
