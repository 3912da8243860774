"""The operators of a release for the site: what `opwright explain` says of each, in files that a page loads by name."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import Final

import opwright
from opwright.emit.registry import DEFAULT_FAMILIES
from opwright.model.native_function import NativeFunction
from opwright.release.tree import rules_of
from opwright.source.diagnostic import Diagnostics
from opwright.tools.diff.compare import compare
from opwright.tools.diff.diffing import load_side
from opwright.tools.diff.records import ChangeKind
from opwright.tools.diff.reports import shown_reasons
from opwright.tools.explain.explanation import explain
from opwright.tools.explain.loading import Explained, ExplainRequest, load_pytorch
from opwright.tools.explain.records import SECTIONS
from opwright.tools.explain.text import Painter, render

__all__ = ["operator_files"]

_HERE: Final = Path(__file__).resolve().parent
_NATIVE: Final = "native/native_functions.yaml"
#: The names of generated symbols take ten times as long as all else, and their lines depend on a build.
_SECTIONS: Final = tuple([name for name in SECTIONS if name != "symbols"])
_COLUMNS: Final = 84
#: How many operations a file has. A visitor loads one file for an operator, of a hundred kilobytes.
_PER_FILE: Final = 12
#: The styles of terminals, each as one letter: title, key, note, end.
_STYLES: Final = {"1": "\x01", "1;34": "\x02", "2": "\x03", "0": "\x04"}
_STYLE: Final = re.compile(r"\x1b\[([\d;]+)m")


def operator_files(torch: str, since: Sequence[str] = ()) -> dict[str, str]:
    """The files below the folder of the site: all overloads, their texts, and the pages that name the release.

    The texts have the differences between releases from those of `since`, oldest first, to the one shown.
    """
    sink = Diagnostics()
    inputs = opwright.open_inputs(torch=torch, sink=sink)
    request = ExplainRequest((), inputs)
    job = load_pytorch(request, inputs, rules_of(inputs, None, sink), sink)
    explained = Explained(job, DEFAULT_FAMILIES)
    functions = sorted(job.catalog.functions, key=lambda function: (operation_name(function), function.name.text))
    operations = [(name, list(members)) for name, members in groupby(functions, operation_name)]
    history = _history([*since, torch]) if since else {}
    files: dict[str, str] = {}
    index: list[tuple[str, str, int]] = []
    for number, start in enumerate(range(0, len(operations), _PER_FILE)):
        members = [function for _, group in operations[start : start + _PER_FILE] for function in group]
        texts = {function.name.text: _explanation(function, explained) for function in members}
        if history:
            texts = {name: text + _history_text(history.get(name, []), since[0]) for name, text in texts.items()}
        files[f"assets/operators/{number}.json"] = json.dumps(texts, ensure_ascii=False)
        index += [(function.name.text, str(function.schema), number) for function in members]
    files["assets/operators/index.json"] = json.dumps(index, ensure_ascii=False)
    files |= _name_pages(functions)
    for page in ("operators.md", "playground.md"):
        text = (_HERE / page).read_text(encoding="utf-8").replace("${count}", f"{len(functions):,}")
        files[page] = text.replace("${series}", job.rules.version.series)
    return files


def _name_pages(functions: Sequence[NativeFunction]) -> dict[str, str]:
    """Pages with a section for each operation, by first letters: the search of the site knows sections, not files.

    The headings have no names: the search puts these before what the guide says of the same word, such as `dims`.
    """
    lines: dict[str, list[str]] = {}
    for operation, members in groupby(functions, operation_name):
        letter = operation.lstrip("_")[0].lower()
        section = lines.setdefault(letter, ["---", "hide: [toc]", "---", "", f"# Operators with {letter.upper()}", ""])
        section += ["## Overloads", ""]
        for function in members:
            # The page of operators reads the name behind `#`, which is no anchor.
            link = f'<a href="../#{function.name.text}"><code>{function.name.text}</code></a>'
            section += [f"{link} `{function.schema}`", ""]
    return {f"operators/{letter}.md": "\n".join(section) for letter, section in lines.items()}


def operation_name(function: NativeFunction) -> str:
    """The name that the overloads of an operation share: that of the operator, in place or not.

    >>> catalog = opwright.load("auto")
    >>> operation_name(catalog["add_.Tensor"]), operation_name(catalog["__iand__.Scalar"])
    ('add', '__iand__')
    """
    name = function.name.text.partition(".")[0]
    return name if name.endswith("__") else name.removesuffix("_")


def _explanation(function: NativeFunction, explained: Explained) -> str:
    """The text of `opwright explain` with its styles, and with paths below the folder of the inputs."""
    home = function.entry.file.path.removesuffix(_NATIVE)
    text = render(explain(function, explained, _SECTIONS), Painter(color=True, columns=_COLUMNS, home=home.rstrip("/")))
    return _STYLE.sub(lambda match: _STYLES[match[1]], text)


def _history(releases: Sequence[str]) -> dict[str, list[str]]:
    """The lines on what differs between each release and the next one, by the names of overloads, newest first."""
    sides = [load_side(release, None, Diagnostics()).side for release in releases]
    lines: dict[str, list[str]] = {}
    for old, new in reversed(list(pairwise(sides))):
        for change in compare(old, new).changes:
            told = [change.kind.value] if change.kind is ChangeKind.added else [*shown_reasons(change, every=True)]
            if change.schema_changed:
                told.insert(0, f"the schema was {change.old}")
            wrapped = [line for text in told for line in Painter(columns=_COLUMNS).wrap("    ", text, indent=6)]
            lines.setdefault(change.name, []).extend([f"  \x02{new.label}\x04, after {old.label}", *wrapped])
    return lines


def _history_text(lines: Sequence[str], oldest: str) -> str:
    return "\n".join([f"\n\x01Since {oldest}\x04", *(lines or ["  nothing differs"]), ""])
