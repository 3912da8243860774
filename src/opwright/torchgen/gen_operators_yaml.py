"""Write the selection of one model; takes the flags of PyTorch's `gen_operators_yaml.py`.

The operators are the roots that the command line names, those of the model's files, and all that they need by the
dependency graph. Models with traced operators keep just these."""

from __future__ import annotations

from opwright.cli.plain_words import switch, text, texts
from opwright.cli.streams import leave
from opwright.source.yaml_writer import write_mapping
from opwright.torchgen.quick_program import QuickProgram, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.cli.plain_words import Values
    from opwright.model.selection import Selection
    from opwright.selective.files import Files
    from opwright.selective.model_operators import Model, ModelRequest

_OPTIONS = (
    text("root-ops", metavar="NAMES", help="operators that the model calls, with commas between them"),
    text(
        "training-root-ops", metavar="NAMES", help="operators that training the model calls, with commas between them"
    ),
    text("output-path", metavar="FILE", help="the file to write", is_required=True),
    text("dep-graph-yaml-path", metavar="FILE", help="the dependency graph of all operators", is_required=True),
    text("model-name", metavar="NAME", help="the name of the model", is_required=True),
    text("model-versions", metavar="VERSIONS", help="its versions, with commas between them"),
    text("model-assets", metavar="NAMES", help="its assets, with commas between them (default: all of them)"),
    text("model-backends", metavar="NAMES", help="has no effect, as in PyTorch's own program"),
    texts("models-yaml-path", metavar="FILE", help="files of models", kind="several"),
    switch("include-all-operators", help="keep all operators"),
    text("rule-name", metavar="NAME", help="the name of the build rule, for messages", is_required=True),
    switch("not-include-all-overloads-static-root-ops", help="keep only the overloads that --root-ops names"),
    switch(
        "not-include-all-overloads-closure-ops",
        help="keep only the overloads without a name of what the root operators need",
    ),
)


def _work(values: Values, files: Files) -> Result:
    data = (
        _everything(str(values["model_name"])) if values["include_all_operators"] else _selection_fields(values, files)
    )
    return Result({str(values["output_path"]): write_mapping(data)})


def _everything(name: str) -> dict[str, object]:
    from json import dumps

    provenance = dumps({"model_name": name, "asset_info": {}, "is_new_style_rule": False})
    return {"debug_info": [provenance], "include_all_operators": True, "operators": {}, "kernel_metadata": {}}


def _selection_fields(values: Values, files: Files) -> dict[str, object]:
    from opwright.selective.graph import graph_of
    from opwright.selective.model_operators import check_models, chosen_models, model_selection, provenance
    from opwright.selective.shapes import GRAPH

    request = _request(values)
    graph = graph_of(files.value(str(values["dep_graph_yaml_path"]), GRAPH, "a dependency graph"))
    models = chosen_models(_models(values, files), request)
    check_models(models, request, str(values["rule_name"]), files)
    selection = model_selection(models, request, graph)
    has_dtypes = any("kernel_metadata" in model for model in models)
    return {"debug_info": [provenance(models, request)], **_fields(selection, has_dtypes)}


def _request(values: Values) -> ModelRequest:
    from opwright.selective.model_operators import ModelRequest

    return ModelRequest(
        str(values["model_name"]),
        _parts(values["model_versions"]),
        _parts(values["model_assets"]),
        tuple(filter(None, _parts(values["root_ops"]) or ())),
        tuple(filter(None, _parts(values["training_root_ops"]) or ())),
        roots_have_all_overloads=not values["not_include_all_overloads_static_root_ops"],
        closure_has_all_overloads=not values["not_include_all_overloads_closure_ops"],
    )


def _parts(value: object) -> tuple[str, ...] | None:
    return tuple(value.split(",")) if isinstance(value, str) else None


def _models(values: Values, files: Files) -> list[Model]:
    """The models of all files; a file has one model or a list of them."""
    from opwright.selective.shapes import MODELS

    paths = values["models_yaml_path"]
    models: list[Model] = []
    for path in paths if isinstance(paths, list) else []:
        value = files.value(path, MODELS, "a file of models")
        models += value if isinstance(value, list) else [value]  # type: ignore[list-item]
    return models


def _fields(selection: Selection, has_dtypes: bool) -> dict[str, object]:
    """The fields of a selection as this program writes them: sets as sets, dtypes only if models name some."""
    from opwright.dialects.selection.quick import operator_fields

    fields: dict[str, object] = {
        "operators": {name: operator_fields(operator) for name, operator in selection.operators.items()},
        "custom_classes": set(selection.custom_classes),
        "build_features": set(selection.build_features),
        "include_all_non_op_selectives": selection.everything_else,
    }
    if has_dtypes:
        fields["kernel_metadata"] = {tag: sorted(dtypes) for tag, dtypes in selection.kernel_dtypes.items()}
    return fields


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    return QuickProgram("gen_operators_yaml", __doc__ or "", _OPTIONS, _work).run(argv)


if __name__ == "__main__":
    leave(main)
