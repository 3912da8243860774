"""The forms of a comparison of operators: text, Markdown, JSON and counts."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path

import pytest

from opwright.tools.diff import reports
from opwright.tools.diff.backend import BackendTask, TaskKind
from opwright.tools.diff.records import Comparison
from tests.text_files import write_texts
from tests.tools.diff.test_compare import HEAD, changes_of

OLD = f"""\
- func: gone(Tensor self, int a) -> Tensor
{HEAD}- func: f(Tensor self, Tensor w) -> Tensor
{HEAD}- func: many(Tensor self, Tensor first_of_the_arguments, Tensor second_of_the_arguments, Tensor third) -> Tensor
{HEAD}- func: quiet(Tensor self) -> Tensor
{HEAD}- func: free(Tensor self) -> Tensor
{HEAD}"""
NEW = f"""\
- func: gone_v2(Tensor self, int a) -> Tensor
{HEAD}- func: f(Tensor self, Tensor(a|b)? w=None) -> Tensor
{HEAD}- func: many(Tensor self, Tensor first_of_the_arguments, Tensor second_of_the_arguments, int third) -> Tensor
{HEAD}- func: quiet(Tensor self) -> Tensor
  dispatch:
    CPU: other
- func: free(Tensor self, *, int n=1) -> Tensor
{HEAD}- func: _new(Tensor self) -> Tensor
{HEAD}"""
TASKS = [
    BackendTask(TaskKind.entry, "gone", "there is no operator `gone`", "did you mean `gone_v2`?", 7),
    BackendTask(TaskKind.kernel, "f", "`f` is another function"),
]


FOLDER = Path(__file__).with_name("reports")


@cache
def comparison() -> Comparison:
    """A comparison with each kind of change."""
    with tempfile.TemporaryDirectory() as folder:
        return Comparison("1.0", "2.0", changes_of(OLD, NEW, Path(folder)))


def texts() -> dict[str, str]:
    """The comparison in each form, by the names of files."""
    whole, changes = comparison(), comparison().changes
    empty = Comparison("1.0", "1.0", ())
    return {
        "all.txt": reports.render_text(whole, changes, TASKS, every=True),
        "breaking.txt": reports.render_text(whole, changes, None, every=False),
        "nothing.txt": reports.render_text(empty, (), [], every=True),
        "all.md": reports.render_markdown(whole, changes, TASKS, every=True),
        "breaking.md": reports.render_markdown(whole, changes, None, every=False),
        "nothing.md": reports.render_markdown(empty, (), [], every=False),
        "all.json": reports.render_json(whole, changes, TASKS),
        "counts.txt": reports.render_statistics(whole, changes),
    }


def update() -> None:
    """Write the files."""
    write_texts(FOLDER, texts())


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.iterdir()))
def test_reports_are_those_of_the_files(name: str) -> None:
    """Each form shows what its file shows; `make cases` writes the files."""
    assert texts()[name] == (FOLDER / name).read_text(encoding="utf-8")


def test_json_fits_its_schema() -> None:
    """The schema allows what is printed, with and without a backend, and no other values and fields."""
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(reports.json_schema())
    for tasks in (None, [], TASKS):
        document = json.loads(reports.render_json(comparison(), comparison().changes, tasks))
        assert validator.is_valid(document)
        assert ("backend" in document) == (tasks is not None)
    change = document["changes"][0]
    for wrong in ({**change, "kind": "renamed"}, {**change, "breaks": ["nobody"]}, {**change, "more": 1}):
        assert not validator.is_valid({**document, "changes": [wrong]})
    for field in document:
        rest = {name: value for name, value in document.items() if name != field}
        assert validator.is_valid(rest) == (field == "backend")
    for field in change:
        rest = {name: value for name, value in change.items() if name != field}
        assert not validator.is_valid({**document, "changes": [rest]})
