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
    return sorted([str(getattr(one.nctype.name, "name", one.nctype.name)), one.expr] for one in attributes)


def forward(derivatives: Sequence[ForwardDerivative]) -> list[object]:
    """Forward derivatives as plain values."""
    return [
        [
            one.formula,
            one.var_names,
            [str(type) for type in one.var_types],
            sorted(one.required_inputs_fw_grad or ()),
            sorted(set(one.required_inputs_primal or ())),
            one.required_original_self_value,
            one.is_reusing_outplace_formula,
        ]
        for one in derivatives
    ]


def described(info: DifferentiabilityInfo) -> dict[str, object]:
    """All facts of an info."""
    return {
        "name": info.name,
        "function": str(info.func.func),
        "node": info.op,
        "derivatives": [
            [
                one.formula,
                one.original_formula,
                one.var_names,
                saved(one.saved_inputs),
                saved(one.saved_outputs),
                sorted(one.named_gradients),
            ]
            for one in info.derivatives
        ],
        "forward": forward(info.forward_derivatives),
        "saved_inputs": saved(info.all_saved_inputs),
        "saved_outputs": saved(info.all_saved_outputs),
        "available_gradients": list(info.available_named_gradients),
        "used_gradients": sorted(info.used_named_gradients),
        "arguments": [one.name for one in info.args_with_derivatives],
        "non_differentiable": list(info.non_differentiable_arg_names),
        "outputs": info.output_differentiability,
        "condition": (info.output_differentiability_conditions or [None])[0],
    }


def main(native: str, tags: str, derivatives: str) -> None:
    """Print everything."""
    infos, keys = load_derivatives(derivatives, native, tags)
    loaded = {str(schema): {key: described(one) for key, one in by_key.items()} for schema, by_key in infos.items()}
    functions = sorted(parse_native_yaml(native, tags).native_functions, key=lambda one: cpp.name(one.func))
    matched = [
        [
            str(one.func.func),
            None if one.info is None else {key: described(info) for key, info in one.info.items()},
            None if one.fw_derivatives is None else {key: forward(all) for key, all in one.fw_derivatives.items()},
        ]
        for one in match_differentiability_info(functions, infos)
    ]
    made = [str(schema) for schema in infos]
    json.dump({"infos": loaded, "keys": sorted(keys), "matched": matched, "all": made}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
