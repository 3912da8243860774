"""Inputs of a selection: selection files, lists of names, models, and names on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from opwright.mobile.selective.files import Files
from opwright.mobile.selective.graph import Graph, base_name, closure
from opwright.mobile.selective.model_operators import ModelRequest, check_models, model_selection
from opwright.mobile.selective.program_file import IDENTIFIER, operators_of
from opwright.mobile.selective.shapes import MODELS, NAMES
from opwright.model.selection import SelectedOperator, Selection, merge
from opwright.source.nodes import MappingNode, Scalar, SequenceNode
from opwright.source.records import NamedTuple
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml

#: The source of operators that the command line names.
COMMAND_LINE: Final = "the command line"


class SelectionInput(NamedTuple):
    """An input: where it comes from, what it is in a few words, and what it selects."""

    source: str
    kind: str
    selection: Selection


def selection_of_roots(names: Mapping[str, Span | None], source: str, *, training: bool) -> Selection:
    """Selection of root operators, each with its place; a name without overload stands for all of them."""
    operators = {
        name: SelectedOperator(
            name,
            for_training=training,
            all_overloads="." not in name,
            debug_info=(source,),
            span=span,
        )
        for name, span in names.items()
    }
    return Selection(everything=False, operators=operators)


def read_input(path: str, files: Files, graph: Graph, *, training: bool) -> SelectionInput:
    """Input at a path: a file of one of the kinds of YAML, a list of names as text (`.txt`), or a model.

    Mistakes go to the sink of the files. The graph says what the root operators of models need that were not traced.
    """
    data = files.data(path)
    if data[4:8] == IDENTIFIER or path.endswith(".pte"):
        keys = operators_of(data, path, files)
        roots = selection_of_roots(dict.fromkeys(keys), path, training=training)
        edge_kernels = {name: tuple(key) for name, key in keys.items() if key}
        return SelectionInput(path, "ExecuTorch program", roots._replace(edge_kernels=edge_kernels))
    if path.endswith(".txt"):
        names = _names_in_text(SourceFile.read(path))
        return SelectionInput(path, "list of names", selection_of_roots(names, path, training=training))
    root = load_yaml(SourceFile.read(path))
    if isinstance(root, SequenceNode) and all(isinstance(item, Scalar) for item in root.items):
        values = files.value(path, NAMES, "a list of operators")
        assert isinstance(values, list)
        names = {str(name): files.span(path, str(name)) for name in values}
        return SelectionInput(path, "list of names", selection_of_roots(names, path, training=training))
    if isinstance(root, SequenceNode) or (isinstance(root, MappingNode) and root.get("model") is not None):
        return SelectionInput(path, "file of models", _model_file(path, files, graph))
    return SelectionInput(path, "selection", files.selection(path))


def _names_in_text(file: SourceFile) -> dict[str, Span | None]:
    """Names in a text, one on each line, with their places; `#` begins a comment."""
    names: dict[str, Span | None] = {}
    offset = 0
    for line in file.text.splitlines(keepends=True):
        name = line.partition("#")[0].strip()
        if name:
            start = offset + line.index(name)
            names.setdefault(name, file.span(start, start + len(name)))
        offset += len(line)
    return names


def _model_file(path: str, files: Files, graph: Graph) -> Selection:
    value = files.value(path, MODELS, "a file of models")
    selection = Selection(everything=False)
    for model in value if isinstance(value, list) else [value]:
        assert isinstance(model, dict)
        model_name = model["model"]
        request = ModelRequest(f"{model_name['name']}@{model_name['version']}", (str(model_name["version"]),), None)
        check_models([model], request, path, files)
        selection = merge(selection, model_selection([model], request, graph))
    operators = {name: operator._replace(span=files.span(path, name)) for name, operator in selection.operators.items()}
    return selection._replace(operators=operators)


def close(selection: Selection, graph: Graph, path: str, files: Files) -> tuple[Selection, dict[str, str]]:
    """A selection with all that its root operators need, and for each operator in it the one that needs it.

    Nothing needs a root, in whose place there is an empty text. The operators that are added stand for all their
    overloads, because a graph knows none; `path` is its file.
    """
    roots = [operator for operator in selection.operators.values() if operator.is_root]
    if not roots:
        return selection, {}
    training = any(operator.for_training for operator in roots)
    needed_by = closure(graph, [base_name(operator.name) for operator in roots], training=training)
    covered = {base_name(operator.name) for operator in roots}
    operators = {
        name: SelectedOperator(name, is_root=False, for_training=training, span=files.span(path, name))
        for name in needed_by
        if name not in covered
    }
    return merge(selection, Selection(everything=False, operators=operators)), needed_by
