"""The derivatives that are loaded are those that the reference loads, down to every saved attribute."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from opwright.convention import public_api
from opwright.dialects.derivatives.loader import load_derivatives
from opwright.dialects.derivatives.matching import match_derivatives
from opwright.dialects.native_functions.loader import load_catalog
from opwright.model.derivatives import (
    Derivatives,
    DifferentiabilityInfo,
    ForwardDerivative,
    MatchedDerivatives,
    SavedAttribute,
)
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from tests.conformance.inputs import input_folder

PROGRAM = Path(__file__).with_name("reference_derivatives.py")


@pytest.fixture(scope="module")
def paths() -> list[str]:
    """The paths of the three YAML files of the installed PyTorch."""
    packaged = input_folder("pytorch") / "torchgen" / "packaged"
    names = ("ATen/native/native_functions.yaml", "ATen/native/tags.yaml", "autograd/derivatives.yaml")
    return [str(packaged / name) for name in names]


@pytest.fixture(scope="module")
def reference(paths: list[str]) -> dict[str, Any]:
    """What the reference loads."""
    done = subprocess.run([sys.executable, str(PROGRAM), *paths], capture_output=True, text=True, check=True)
    loaded: dict[str, Any] = json.loads(done.stdout)
    return loaded


@pytest.fixture(scope="module")
def ours(paths: list[str]) -> tuple[Derivatives, MatchedDerivatives]:
    """What we load, in the order in which the reference matches functions."""
    sink = Diagnostics()
    native, tags, derivatives = map(SourceFile.read, paths)
    catalog = load_catalog(native, tags, sink)
    loaded = load_derivatives(derivatives, catalog, sink)
    functions = sorted(catalog.functions, key=lambda function: public_api.name(function.schema))
    matched = match_derivatives(loaded, functions, sink)
    assert not len(sink), [str(diagnostic) for diagnostic in sink]
    return loaded, matched


def saved(attributes: Sequence[SavedAttribute]) -> list[list[str]]:
    """Name and expression of saved attributes, ordered."""
    return sorted([attribute.name, attribute.expression] for attribute in attributes)


def forward(derivatives: Sequence[ForwardDerivative]) -> list[object]:
    """Forward derivatives as plain values."""
    return [
        [
            derivative.formula,
            list(derivative.var_names),
            [type.text for type in derivative.var_types],
            sorted(derivative.tangents),
            sorted(set(derivative.primals)),
            derivative.needs_original_self,
            derivative.from_functional,
        ]
        for derivative in derivatives
    ]


def described(info: DifferentiabilityInfo) -> dict[str, object]:
    """All facts of an info."""
    return {
        "name": info.name,
        "function": str(info.function.schema),
        "node": info.node_name,
        "derivatives": [
            [
                derivative.formula,
                derivative.original_formula,
                list(derivative.var_names),
                saved(derivative.saved_inputs),
                saved(derivative.saved_outputs),
                sorted(derivative.named_gradients),
            ]
            for derivative in info.derivatives
        ],
        "forward": forward(info.forward_derivatives),
        "saved_inputs": saved(info.saved_inputs),
        "saved_outputs": saved(info.saved_outputs),
        "available_gradients": list(info.available_gradients),
        "used_gradients": sorted(info.used_gradients),
        "arguments": [argument.name for argument in info.differentiable_arguments],
        "non_differentiable": list(info.non_differentiable),
        "outputs": None if info.output_differentiability is None else list(info.output_differentiability),
        "condition": info.output_condition,
    }


def test_infos_are_those_of_the_reference(
    reference: dict[str, Any], ours: tuple[Derivatives, MatchedDerivatives]
) -> None:
    """Every entry gives the same info, in the same order, and the same dispatch keys are named."""
    loaded, _ = ours
    mine = {
        str(function.schema): {key: described(info) for key, info in by_key.items()}
        for function, by_key in loaded.infos.items()
    }
    assert list(mine) == list(reference["infos"])
    for schema, by_key in mine.items():
        assert by_key == reference["infos"][schema], schema
    assert sorted(loaded.keys) == reference["keys"]


def test_matches_are_those_of_the_reference(
    reference: dict[str, Any], ours: tuple[Derivatives, MatchedDerivatives]
) -> None:
    """Every function takes the same infos and forward formulas, and the same infos are made for lists."""
    _, matched = ours
    assert len(matched.functions) == len(reference["matched"])
    for mine, (schema, infos, forwards) in zip(matched.functions, reference["matched"], strict=True):
        assert str(mine.function.schema) == schema
        assert {key: described(info) for key, info in mine.infos.items()} == (infos or {}), schema
        assert {key: forward(all) for key, all in mine.forward.items()} == (forwards or {}), schema
    made = list(dict.fromkeys(str(info.function.schema) for info in matched.infos + matched.made))
    assert made == reference["all"]
