"""Write the selection of one model; takes the flags of PyTorch's `gen_operators_yaml.py`.

The operators are the roots that the command line names, those of the model's files, and all that they need by the
dependency graph. Models with traced operators keep just these."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from json import dumps

import yaml

from opwright.cli.arguments import spellings
from opwright.cli.streams import leave
from opwright.mobile.selective.files import Files
from opwright.mobile.selective.graph import graph_of
from opwright.mobile.selective.model_operators import (
    ModelEntry,
    ModelRequest,
    check_models,
    chosen_models,
    model_selection,
    provenance,
)
from opwright.mobile.selective.shapes import GRAPH, MODELS
from opwright.mobile.selective.writer import operator_fields
from opwright.model.selection import Selection
from opwright.torchgen.selective_program import Program, Result


def _declare(add: Callable[..., object]) -> None:
    add(*spellings("root-ops"), metavar="NAMES", help="operators that the model calls, with commas between them")
    add(
        *spellings("training-root-ops"),
        metavar="NAMES",
        help="operators that training the model calls, with commas between them",
    )
    add(*spellings("output-path"), metavar="FILE", help="the file to write", required=True)
    add(*spellings("dep-graph-yaml-path"), metavar="FILE", help="the dependency graph of all operators", required=True)
    add(*spellings("model-name"), metavar="NAME", help="the name of the model", required=True)
    add(*spellings("model-versions"), metavar="VERSIONS", help="its versions, with commas between them")
    add(*spellings("model-assets"), metavar="NAMES", help="its assets, with commas between them (default: all of them)")
    add(*spellings("model-backends"), metavar="NAMES", help="has no effect, as in PyTorch's program")
    add(*spellings("models-yaml-path"), metavar="FILE", help="files of models", nargs="+")
    add(*spellings("include-all-operators"), action="store_true", help="keep all operators")
    add(*spellings("rule-name"), metavar="NAME", help="the name of the build rule, for messages", required=True)
    add(
        *spellings("not-include-all-overloads-static-root-ops"),
        action="store_true",
        help="keep only the overloads that --root-ops names",
    )
    add(
        *spellings("not-include-all-overloads-closure-ops"),
        action="store_true",
        help="keep only the overloads without a name of what the root operators need",
    )


def _work(arguments: argparse.Namespace, files: Files) -> Result:
    data = _everything(arguments.model_name) if arguments.include_all_operators else _selection_fields(arguments, files)
    return Result({arguments.output_path: yaml.safe_dump(data, default_flow_style=False)})


def _everything(name: str) -> dict[str, object]:
    source = dumps({"model_name": name, "asset_info": {}, "is_new_style_rule": False})
    return {"debug_info": [source], "include_all_operators": True, "operators": {}, "kernel_metadata": {}}


def _selection_fields(arguments: argparse.Namespace, files: Files) -> dict[str, object]:
    request = _request(arguments)
    graph = graph_of(files.value(arguments.dep_graph_yaml_path, GRAPH, "a dependency graph"))
    models = chosen_models(_models(arguments, files), request)
    check_models(models, request, arguments.rule_name, files)
    selection = model_selection(models, request, graph)
    has_dtypes = any("kernel_metadata" in model for model in models)
    return {"debug_info": [provenance(models, request)], **_fields(selection, has_dtypes)}


def _request(arguments: argparse.Namespace) -> ModelRequest:
    return ModelRequest(
        arguments.model_name,
        _parts(arguments.model_versions),
        _parts(arguments.model_assets),
        tuple(filter(None, _parts(arguments.root_ops) or ())),
        tuple(filter(None, _parts(arguments.training_root_ops) or ())),
        roots_have_all_overloads=not arguments.not_include_all_overloads_static_root_ops,
        closure_has_all_overloads=not arguments.not_include_all_overloads_closure_ops,
    )


def _parts(value: str | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(value.split(","))


def _models(arguments: argparse.Namespace, files: Files) -> list[ModelEntry]:
    """Models of all files; a file has one model or a list of them."""
    models: list[ModelEntry] = []
    for path in arguments.models_yaml_path or []:
        value = files.value(path, MODELS, "a file of models")
        models += value if isinstance(value, list) else [value]  # type: ignore[list-item]
    return models


def _fields(selection: Selection, has_dtypes: bool) -> dict[str, object]:
    """Fields of a selection as this program writes them: sets as sets, dtypes only if models name some."""
    fields: dict[str, object] = {
        "operators": {name: operator_fields(operator) for name, operator in selection.operators.items()},
        "custom_classes": set(selection.custom_classes),
        "build_features": set(selection.build_features),
        "include_all_non_op_selectives": selection.everything_else,
    }
    if has_dtypes:
        fields["kernel_metadata"] = {tag: sorted(dtypes) for tag, dtypes in selection.kernel_dtypes.items()}
    return fields


main = Program("gen_operators_yaml", __doc__, _declare, _work)


if __name__ == "__main__":
    leave(main)
