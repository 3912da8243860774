"""Runs beside PyTorch: prints the defaults of every registered operator as JSON, by operator, overload and argument."""

from __future__ import annotations

import json

import torch

found = {
    f"{schema.name}.{schema.overload_name}": {
        argument.name: argument.default_value for argument in schema.arguments if argument.has_default_value()
    }
    for schema in torch._C._jit_get_all_schemas()
}
print(json.dumps(found))
