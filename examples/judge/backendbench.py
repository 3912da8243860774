"""Judges a kernel for an operator of PyTorch, in the folder of an operator of BackendBench.

The operator itself is the reference. Without `--fields`, all tensors have the same sizes, and floating-point numbers.
"""

import torch
from judging import arguments_of, finish, judge

REFERENCE = """
import torch

def task(*given, **named):
    return torch.ops.aten.{operator}(*given, **named)
"""
CANDIDATE = """
{solution}

task = {function}
"""


def main():
    """Judge the first implementation of a folder."""
    given = arguments_of(__doc__, "operator", "folder")
    name, _, overload = given.operator.partition(".")
    schema = getattr(getattr(torch.ops.aten, name), overload or "default")._schema
    tensors = [argument.name for argument in schema.arguments if str(argument.type) == "Tensor"]
    entry = {
        "func": f"task{str(schema)[str(schema).index('(') :]}",
        "dims": dict.fromkeys([*tensors, "return"], "*b"),
        "dtypes": {tensors[0]: "float32, float16, bfloat16", **dict.fromkeys(tensors[1:], tensors[0])},
        "reference": "task_reference:task",
        **given.fields,
    }
    path = min(given.folder.glob(f"{given.folder.name}_implementation*.py"))
    reference = REFERENCE.format(operator=f"{name}.{overload or 'default'}")
    solution, function = path.read_text(encoding="utf-8"), f"{given.folder.name}_kernel_impl"
    finish(judge(entry, reference, CANDIDATE.format(solution=solution, function=function), given.seed))


if __name__ == "__main__":
    main()
