"""The playground's engine: what Opwright generates from a text, and what is wrong with it.

It runs in the browser, where Pyodide loads it, and in tests. Nothing here needs PyTorch: the inputs of a release are in
a folder.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from functools import cache
from typing import Final

import opwright
from opwright.backends.dispatch.resolution import ENTRY_NAME
from opwright.dialects.table import DEPRECATED, DERIVATIVES, NATIVE_FUNCTIONS
from opwright.emit.registry import build_folders, chosen_families
from opwright.release.inputs import Inputs
from opwright.source.codes import INPUT_MISSING, UNKNOWN_FUNCTION
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound, Severity, did_you_mean
from opwright.source.items import split_items
from opwright.source.text import SourceFile
from opwright.tools.check.checking import CheckRequest, check
from opwright.tools.check.formats import render_json
from opwright.tools.explain.loading import ExplainRequest, narrowed_inputs
from opwright.workspace.overlay import narrow_text, with_texts

__all__ = ["FILES", "answer"]

#: The files that a visitor edits, by kind: the entries, and the formulas of their derivatives.
FILES: Final = {
    "library": ("acme.yaml", "derivatives.yaml"),
    "backend": ("npu.yaml", "derivatives.yaml"),
    "pytorch": ("native_functions.yaml", "derivatives.yaml"),
}
_NATIVE: Final = NATIVE_FUNCTIONS.inputs[0]
_DERIVATIVES: Final = DERIVATIVES.inputs[0]
_DEPRECATED: Final = DEPRECATED.inputs[0]
#: Families whose files have something of each operator. Stubs of all of PyTorch and the like say nothing more.
_PYTORCH_FAMILIES: Final = ("headers", "sources", "autograd", "python")
#: How many of PyTorch's entries are generated from whether they are edited or not.
_MANY: Final = 50
_OPERATOR: Final = re.compile(r"(?m)^\s*-\s+[\"']?(?:func:\s*[\"']?)?(\w+(?:\.\w+)?)")


def answer(kind: str, text: str, formulas: str, folder: str) -> str:
    """The diagnostics and the generated files as JSON, for the inputs in a folder.

    The diagnostics have the form of `opwright check --format json`.
    """
    name, formula_name = FILES[kind]
    more = _known_formulas(formulas, text, folder) if kind == "pytorch" else ""
    source, formula_file = SourceFile(name, text), SourceFile(formula_name, formulas + more)

    def read_file(path: str) -> SourceFile:
        if os.path.basename(path) == formula_name and formulas.strip():
            return formula_file
        raise Fault.at(INPUT_MISSING, f"the playground has no file `{path}`", help=f"write the text of {formula_name}")

    inputs = _inputs(kind, source, formula_file, len(formulas), folder)
    request = _request(kind, inputs, source)._replace(read_file=read_file)
    sink = Diagnostics(keeps_all_remarks=True)
    files: dict[str, str] = {}
    try:
        files = _generated(request, sink)
    except (Fault, FaultsFound) as raised:
        sink.take(raised)
    checked = CheckRequest(
        inputs,
        checks_pytorch=kind == "pytorch",
        libraries=request.libraries,
        backends=request.backends,
        read_file=read_file,
    )
    rows = check(checked)
    told = {(row.code, str(row.span)) for row in rows}
    rows += [row for row in sink.sorted() if (row.code, str(row.span)) not in told]
    if kind == "pytorch":
        # Formulas may call operators that the text leaves out.
        known = {known.partition(".")[0] for known in _operator_names(folder)}
        called = re.compile(r"`(\w+)`")
        rows = [row for row in rows if row.code != UNKNOWN_FUNCTION or not known & set(called.findall(row.message))]
    # What is wrong elsewhere follows from a mistake that is shown; if none is, it is all there is to say.
    own = [
        row
        for row in rows
        if row.span is None
        or row.span.file.path == name
        or (row.span.file.path == formula_name and row.span.start <= len(formulas))
    ]
    found = own if files or any(row.severity is Severity.ERROR for row in own) else rows
    if kind == "pytorch":
        # A build has either the parts of a large file or all of it as one.
        parts = {path: text for path, text in files.items() if not path.endswith("Everything.cpp")}
        shown = "".join([f"- {entry}" for entry in _edited(text, folder)])
        files = {path: text for path, text in parts.items() if _names_any(text, shown)}
    return json.dumps({"files": files, "diagnostics": json.loads(render_json(found))["diagnostics"]})


def _inputs(kind: str, source: SourceFile, formulas: SourceFile, length: int, folder: str) -> Inputs:
    """What a run reads besides: of PyTorch's operators, those that a backend names, or those of the text in place.

    The visitor's own formulas have that length.
    """
    inputs = _opened(folder)
    if kind == "pytorch":
        # Deprecated signatures call operators that are not there.
        own = {_NATIVE: source, _DERIVATIVES: formulas, _DEPRECATED: SourceFile(_DEPRECATED, "[]\n")}
        return _of_edited_entries(with_texts(inputs, own), formulas.text[:length], folder)
    if kind == "backend":
        names = tuple(dict.fromkeys([_nearest(name, folder) for name in _OPERATOR.findall(source.text)]))
        return narrowed_inputs(ExplainRequest(names, inputs, backends=(source,))) or inputs
    return inputs


def _known_formulas(formulas: str, text: str, folder: str) -> str:
    """What follows formulas of a visitor: the release's, for entries of the text that it has and that have none."""
    entries = {match[1] for match in re.finditer(r"(?m)^- func: *(.*?) *$", text)}
    entries -= {match[1] for match in re.finditer(r"(?m)^- name: *(.*?) *$", formulas)}
    known = _opened(folder).read_text(_DERIVATIVES)
    rows = [row for _, row in split_items(known.text) if row.partition("\n")[0].removeprefix("name: ") in entries]
    return "".join([f"\n- {row}" for row in rows]) or ("" if formulas.strip() else "[]\n")


def _edited(text: str, folder: str) -> list[str]:
    """Entries of a text whose files are shown: of many those that the release has otherwise, or the first one."""
    entries = [entry for _, entry in split_items(text)]
    if len(entries) <= _MANY:
        return entries
    known = _entries(_opened(folder), _NATIVE)
    return [entry for entry in entries if entry.rstrip() not in known] or entries[:1]


def _of_edited_entries(inputs: Inputs, own: str, folder: str) -> Inputs:
    """Inputs whose entries are many with those alone that are shown and what belongs to them, and own formulas."""
    source, formulas = inputs.read_text(_NATIVE), inputs.read_text(_DERIVATIVES)
    edited = _edited(source.text, folder)
    if len(split_items(source.text)) <= _MANY:
        return inputs
    names = [match[1] + match[2] for text in edited if (match := ENTRY_NAME.match(text))]
    narrowed = narrowed_inputs(ExplainRequest(tuple(names), inputs)) or inputs
    # Entries without a name are wrong, and so are formulas of no operator.
    wanted = _entries(narrowed, _NATIVE) | {text.rstrip() for text in edited}
    used = _entries(narrowed, _DERIVATIVES) | {text.rstrip() for _, text in split_items(own)}
    return with_texts(
        narrowed,
        {
            _NATIVE: narrow_text(source, lambda text: text.rstrip() in wanted),
            _DERIVATIVES: narrow_text(formulas, lambda text: text.rstrip() in used),
        },
    )


def _entries(inputs: Inputs, name: str) -> set[str]:
    return {text.rstrip() for _, text in split_items(inputs.read_text(name).text)}


@cache
def _opened(folder: str) -> Inputs:
    return opwright.open_inputs(source_path=folder)


@cache
def _nearest(name: str, folder: str) -> str:
    """The operator of a name, or what a message about the name may suggest."""
    names = _operator_names(folder)
    if name in names:
        return name
    match = re.search(r"`([\w.]+)`", str(did_you_mean(name, names)))
    return match[1] if match else name


@cache
def _operator_names(folder: str) -> frozenset[str]:
    text = _opened(folder).read_text(_NATIVE).text
    return frozenset(re.findall(r"(?m)^- func: ([\w.]+)\(", text))


def _request(kind: str, inputs: Inputs, source: SourceFile) -> opwright.Request:
    if kind == "pytorch":
        return opwright.Request(inputs, {}, _PYTORCH_FAMILIES)
    return opwright.Request(
        inputs,
        {},
        chosen_families([kind]),
        libraries=(source,) if kind == "library" else (),
        backends=(source,) if kind == "backend" else (),
    )


def _generated(request: opwright.Request, sink: Diagnostics) -> dict[str, str]:
    """The files of a run by their paths. Raises Fault or FaultsFound."""
    files: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as out:
        folders = build_folders(out, request.families)
        opwright.Generation(request._replace(folders=folders), sink).write()
        for folder, _, names in os.walk(out):
            for name in sorted(names):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    files[os.path.relpath(path, out)] = file.read()
    return files


def _names_any(text: str, source: str) -> bool:
    """Whether a file of PyTorch has something of the operators of a text, besides headers that it includes.

    >>> _names_any("#include <ATen/ops/soft_clip.h>", "- func: soft_clip(Tensor self) -> Tensor")
    False
    >>> _names_any("struct SoftClipBackward0", "- func: soft_clip(Tensor self) -> Tensor")
    True
    """
    bases = {name.partition(".")[0].strip("_") for name in _OPERATOR.findall(source)}
    # Nodes of autograd have the names of operators in another form.
    names = sorted({*bases, *(base.title().replace("_", "") for base in bases)} - {""})
    body = re.sub(r"(?m)^#include.*", "", text)
    return bool(names) and re.search("|".join(map(re.escape, names)), body) is not None
