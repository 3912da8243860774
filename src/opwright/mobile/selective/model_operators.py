"""Selection of a model: its root operators, what they need, and what runs of the model called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from json import dumps
from typing import Any, TypeAlias

from opwright.mobile.mobile_codes import FIELDS_MISSING, VERSION_MISSING
from opwright.mobile.selective.files import Files
from opwright.mobile.selective.graph import Graph, base_name, closure
from opwright.model.selection import SelectedOperator, Selection, merge
from opwright.source.records import NamedTuple

ModelEntry: TypeAlias = Mapping[str, Any]
"""An entry of a file of models, in the shape `MODELS`."""


class ModelRequest(NamedTuple):
    """What is asked of a model: its name, versions and assets (None: all), and root operators of its own.

    The flags tell whether root operators, and what they need, stand for all their overloads.
    """

    name: str
    versions: tuple[str, ...] | None
    assets: tuple[str, ...] | None
    roots: tuple[str, ...] = ()
    training_roots: tuple[str, ...] = ()
    roots_have_all_overloads: bool = True
    closure_has_all_overloads: bool = True


def chosen_models(models: Iterable[ModelEntry], request: ModelRequest) -> list[ModelEntry]:
    """Models of a request; without versions there are none, because roots then stand for themselves."""
    return [
        model
        for model in models
        if model["model"]["name"] == request.name
        and str(model["model"]["version"]) in (request.versions or ())
        and (request.assets is None or model["model"]["asset"] in request.assets)
    ]


def check_models(models: list[ModelEntry], request: ModelRequest, rule: str, files: Files) -> None:
    """Report each version and asset of a request that no chosen model has, and traced models without `train`."""
    for model in models:
        if "traced_operators" in model and "train" not in model:
            asset = model["model"]["asset"]
            message = f"the model `{request.name}`, asset `{asset}`, has traced operators and no field `train`"
            files.refuse(FIELDS_MISSING, message, help="write `train: false`, or `train: true` for training")
    if request.versions is None:
        return
    help = f"no model is named `{request.name}`, or no file of models was given" if not models else ""
    for field, wanted in (("version", request.versions), ("asset", request.assets or ())):
        present = {str(model["model"][field]) for model in models}
        for name in wanted:
            if name not in present:
                message = f"`{rule}`: no chosen model `{request.name}` has the {field} `{name}`"
                files.refuse(VERSION_MISSING, message, help=help)


def provenance(models: Iterable[ModelEntry], request: ModelRequest) -> str:
    """What a selection says about its models: the digests of each asset, as JSON."""
    assets: dict[str, dict[str, list[object]]] = {}
    for model in models:
        digests = assets.setdefault(model["model"]["asset"], {}).setdefault("md5_hash", [])
        digests.append(model["model"]["md5_hash"])
    return dumps({"asset_info": assets, "is_new_style_rule": request.versions is not None})


def model_selection(models: list[ModelEntry], request: ModelRequest, graph: Graph) -> Selection:
    """Selection of models.

    A model with traced operators runs just these, with the overloads that it calls. One without them, like root
    operators of the request, needs whatever its root operators may call.
    """
    static = {*request.roots, *request.training_roots}
    for model in models:
        if "traced_operators" not in model:
            static.update(model["root_operators"])
    everywhere, in_closure = request.roots_have_all_overloads, request.closure_has_all_overloads
    selection = Selection(everything=False)
    for names, is_root, for_training, all_overloads in (
        (static, True, False, everywhere),
        (_needs(graph, static, training=False), False, False, in_closure),
        (request.training_roots, True, True, True),
        (_needs(graph, request.training_roots, training=True), False, True, True),
    ):
        selection = _with(selection, names, request, SelectedOperator("", is_root, for_training, all_overloads))
    for model in models:
        if "traced_operators" in model:
            for_training = model.get("train", False)
            for field, is_root in (("root_operators", True), ("traced_operators", False)):
                flags = SelectedOperator("", is_root, for_training, all_overloads=False)
                selection = _with(selection, model[field], request, flags)
        selection = merge(selection, _what_else(model))
    return selection._replace(everything_else=any(operator.all_overloads for operator in selection.operators.values()))


def _needs(graph: Graph, roots: Iterable[str], *, training: bool) -> list[str]:
    """Operators that roots need; without roots none, although a graph has operators for every build."""
    names = [base_name(name) for name in roots]
    return list(closure(graph, names, training=training)) if names else []


def _with(selection: Selection, names: Iterable[str], request: ModelRequest, flags: SelectedOperator) -> Selection:
    """A selection with more operators, which have the flags of one."""
    info = (request.name,)
    operators = {name: flags._replace(name=name, debug_info=info) for name in names}
    return merge(selection, Selection(everything=False, operators=operators))


def _what_else(model: ModelEntry) -> Selection:
    return Selection(
        everything=False,
        kernel_dtypes={tag: tuple(dtypes) for tag, dtypes in model.get("kernel_metadata", {}).items()},
        custom_classes=frozenset(model.get("custom_classes", ())),
        build_features=frozenset(model.get("build_features", ())),
    )
