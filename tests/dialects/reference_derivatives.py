"""A program for the reference's interpreter: prints the derivatives that it loads, as JSON, to compare ours with.

Arguments: the paths of native_functions.yaml, tags.yaml and derivatives.yaml.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from torchgen.api import cpp
from torchgen.api.autograd import (
    DifferentiabilityInfo,
    ForwardDerivative,
    SavedAttribute,
    match_differentiability_info,
)
from torchgen.gen import parse_native_yaml
from torchgen.packaged.autograd.load_derivatives import load_derivatives


def saved(attributes: Sequence[SavedAttribute]) -> list[list[str]]:
    """Name and expression of saved attributes; the reference keeps some in a set, so in an order of ours."""
    return sorted(
        [str(getattr(attribute.nctype.name, "name", attribute.nctype.name)), attribute.expr] for attribute in attributes
    )


def forward(derivatives: Sequence[ForwardDerivative]) -> list[object]:
    """Forward derivatives as plain values."""
    return [
        [
            derivative.formula,
            derivative.var_names,
            [str(type) for type in derivative.var_types],
            sorted(derivative.required_inputs_fw_grad or ()),
            sorted(set(derivative.required_inputs_primal or ())),
            derivative.required_original_self_value,
            derivative.is_reusing_outplace_formula,
        ]
        for derivative in derivatives
    ]


def described(info: DifferentiabilityInfo) -> dict[str, object]:
    """All facts of an info."""
    return {
        "name": info.name,
        "function": str(info.func.func),
        "node": info.op,
        "derivatives": [
            [
                derivative.formula,
                derivative.original_formula,
                derivative.var_names,
                saved(derivative.saved_inputs),
                saved(derivative.saved_outputs),
                sorted(derivative.named_gradients),
            ]
            for derivative in info.derivatives
        ],
        "forward": forward(info.forward_derivatives),
        "saved_inputs": saved(info.all_saved_inputs),
        "saved_outputs": saved(info.all_saved_outputs),
        "available_gradients": list(info.available_named_gradients),
        "used_gradients": sorted(info.used_named_gradients),
        "arguments": [derivative.name for derivative in info.args_with_derivatives],
        "non_differentiable": list(info.non_differentiable_arg_names),
        "outputs": info.output_differentiability,
        "condition": (info.output_differentiability_conditions or [None])[0],
    }


def main(native: str, tags: str, derivatives: str) -> None:
    """Print everything."""
    infos, keys = load_derivatives(derivatives, native, tags)
    loaded = {str(schema): {key: described(info) for key, info in by_key.items()} for schema, by_key in infos.items()}
    functions = sorted(parse_native_yaml(native, tags).native_functions, key=lambda function: cpp.name(function.func))
    matched = [
        [
            str(match.func.func),
            None if match.info is None else {key: described(info) for key, info in match.info.items()},
            None if match.fw_derivatives is None else {key: forward(all) for key, all in match.fw_derivatives.items()},
        ]
        for match in match_differentiability_info(functions, infos)
    ]
    made = [str(schema) for schema in infos]
    json.dump({"infos": loaded, "keys": sorted(keys), "matched": matched, "all": made}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
