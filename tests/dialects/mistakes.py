"""Mistakes that authors make in entries and formulas: what Opwright finds of each, and what the reference says.

`python -m tests.dialects.mistakes` prints a table; `--update` writes what is found into `mistakes.yaml`. Look at the
difference before you commit it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from opwright.dialects.derivatives.formula_helpers import helpers_of
from opwright.dialects.derivatives.loader import load_derivatives
from opwright.dialects.derivatives.matching import match_derivatives
from opwright.model.catalog import Catalog
from opwright.plugins.lint import EntryNodes, Operators
from opwright.source.diagnostic import Diagnostic, Diagnostics
from opwright.source.text import SourceFile
from opwright.tools.check.lints import OPERATOR_LINTS
from opwright.tools.tool_codes import CPP_KEYWORD
from tests.conformance.inputs import reference_package
from tests.conformance.mutate import base_name, split_entries
from tests.dialects.loading import TAGS, load_text

FILE = Path(__file__).with_name("mistakes.yaml")
HEAD = """\
# Mistakes that authors make in entries (`native`) and formulas (`derivatives`): the text that is underlined, the code,
# and the hint. `reference` has the last line of what PyTorch's generator says, and is empty where it takes the mistake.
# `python -m tests.dialects.mistakes --update` writes what is found.
"""
#: The operators that formulas of mistakes belong to or call.
OPERATORS = (
    "sinh", "cosh", "expand", "expand_copy", "mm", "mul", "pow", "reshape", "sum", "sum_to_size", "t", "t_copy",
    "view", "view_copy",
)  # fmt: skip


class Found(NamedTuple):
    """The first finding of a mistake: the text that is underlined, its code, and its hint."""

    at: str
    code: str
    hint: str


def load_mistakes() -> list[dict[str, Any]]:
    """The mistakes, as the file has them."""
    items: list[dict[str, Any]] = yaml.load(FILE.read_text("utf-8"), yaml.CSafeLoader)
    return items


@cache
def native_text() -> str:
    """The entries of PyTorch's that formulas of mistakes need."""
    path = reference_package() / "packaged/ATen/native/native_functions.yaml"
    _, entries = split_entries(path.read_text("utf-8"))
    return "".join([entry for entry in entries if base_name(entry) in OPERATORS])


@cache
def _catalog() -> Catalog:
    catalog, sink = load_text(
        native_text(), (reference_package() / "packaged/ATen/native/tags.yaml").read_text("utf-8")
    )
    assert not sink.has_errors, [str(diagnostic) for diagnostic in sink]
    return catalog


def found(mistake: dict[str, Any]) -> Found | None:
    """The first finding of a mistake; None if nothing is found."""
    kind = kind_of(mistake)
    return next(map(_found, all_found(kind, mistake[kind]).sorted()), None)


def kind_of(mistake: dict[str, Any]) -> str:
    """`native` for a mistake in entries, `derivatives` for one in formulas."""
    return "native" if "native" in mistake else "derivatives"


def all_found(kind: str, text: str) -> Diagnostics:
    """What is found in a text of a kind."""
    if kind == "native":
        catalog, sink = load_text(text, TAGS)
        if not sink.has_errors:
            _check_names(catalog, sink)
    else:
        sink = Diagnostics()
        loaded = load_derivatives(SourceFile("derivatives.yaml", text), _catalog(), sink, helpers=helpers_of())
        if not sink.has_errors:
            match_derivatives(loaded, _catalog().functions, sink)
    return sink


def _check_names(catalog: Catalog, sink: Diagnostics) -> None:
    """What `opwright check` finds in names besides."""
    lint = next(row for row in OPERATOR_LINTS if row.lint.code == CPP_KEYWORD)
    lint.check(Operators(tuple(catalog.functions), EntryNodes()), sink)


def _found(diagnostic: Diagnostic) -> Found:
    assert diagnostic.span is not None
    return Found(diagnostic.span.text.partition("\n")[0], diagnostic.code, str(diagnostic.help))


def reference_answers(mistakes: list[dict[str, Any]]) -> list[str]:
    """The last line of what the reference says to each mistake; empty where it takes it."""
    entries = [mistake["native"] for mistake in mistakes if "native" in mistake]
    formulas = [mistake["derivatives"] for mistake in mistakes if "native" not in mistake]
    of_entries = iter(_ask("reference_refusals.py", entries, TAGS))
    with tempfile.TemporaryDirectory() as folder:
        native = Path(folder) / "native_functions.yaml"
        native.write_text(native_text(), "utf-8")
        tags = reference_package() / "packaged/ATen/native/tags.yaml"
        of_formulas = iter(_ask("reference_derivative_refusals.py", formulas, str(native), str(tags)))
    answers = [next(of_entries if "native" in mistake else of_formulas) for mistake in mistakes]
    return [(answer or "").strip().rpartition("\n")[2] for answer in answers]


def _ask(program: str, texts: list[str], *arguments: str) -> list[str | None]:
    command = [sys.executable, str(Path(__file__).with_name(program)), *arguments]
    run = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=True)
    answers: list[str | None] = json.loads(run.stdout)
    return answers


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as they stand."""


def _text(dumper: _Dumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def main() -> None:
    """Print the table, or update the file."""
    mistakes = load_mistakes()
    for mistake, answer in zip(mistakes, reference_answers(mistakes), strict=True):
        finding = found(mistake)
        mistake.update((finding or Found("", "", ""))._asdict(), reference=answer)
    if "--update" in sys.argv:
        dumped = yaml.dump(mistakes, Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)
        FILE.write_text(HEAD + dumped, "utf-8")
    for mistake in mistakes:
        print(
            f"{mistake['what']:52} {mistake['code'] or '-':6} {mistake['at']:28.28} {mistake['hint'] or '-':60.60}",
            end="",
        )
        print(f" | {mistake['reference'] or 'takes it':.60}")
    hints = sum(bool(mistake["hint"]) for mistake in mistakes)
    told = sum(bool(mistake["code"]) for mistake in mistakes)
    refused = sum(bool(mistake["reference"]) for mistake in mistakes)
    print(f"{len(mistakes)} mistakes: {told} found, {hints} with a hint; the reference refuses {refused}")


if __name__ == "__main__":
    main()
