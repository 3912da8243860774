"""Judges a solution in Python of a definition of FlashInfer-Bench: both are JSON documents.

Axes become sizes with names, and the definition's function `run` is the reference. Integers such as page tables need
`--fields '{"values": {"kv_indices": "0 <= kv_indices < num_pages"}}'`.
"""

import json

from judging import arguments_of, finish, judge

SCALARS = {"float32": "float", "float16": "float", "bfloat16": "float", "int32": "int", "int64": "int", "bool": "bool"}
REFERENCE = """
{reference}

def task(*given):
    results = run(*given)
    results = list(results.values()) if isinstance(results, dict) else results
    return tuple(results) if isinstance(results, list) else results
"""
# Solutions return their results, or write them into more arguments.
CANDIDATE = """
import torch

{solution}

def task(*given):
    sizes = dict({constants!r})
    for axes, value in zip({inputs!r}, given):
        sizes.update(zip(axes, value.shape) if axes else ())
    if not {is_writing!r}:
        results = {function}(*given)
        results = list(results.values()) if isinstance(results, dict) else results
        return tuple(results) if isinstance(results, list) else results
    results = [torch.empty([sizes[axis] for axis in axes], dtype=getattr(torch, dtype)) for axes, dtype in {outputs!r}]
    {function}(*given, *results)
    return tuple(results) if len(results) > 1 else results[0]
"""


def main():
    """Judge a solution."""
    given = arguments_of(__doc__, "definition", "solution")
    definition, solution = (json.loads(path.read_text(encoding="utf-8")) for path in (given.definition, given.solution))
    constants = {name: axis["value"] for name, axis in definition["axes"].items() if axis["type"] == "const"}

    def pattern(shape):
        return " ".join([str(constants.get(axis, axis)) for axis in shape])

    inputs, outputs = definition["inputs"], definition["outputs"]
    tensors = {name: value for name, value in inputs.items() if value["shape"] is not None}
    arguments = [f"{'Tensor' if name in tensors else SCALARS[value['dtype']]} {name}" for name, value in inputs.items()]
    results = [f"Tensor {name}" for name in outputs] if len(outputs) > 1 else ["Tensor"]
    results_text = f"({', '.join(results)})" if len(results) > 1 else "Tensor"
    names = list(outputs) if len(outputs) > 1 else ["return"]
    dtypes = {name: value["dtype"] for name, value in tensors.items()}
    entry = {
        "func": f"task({', '.join(arguments)}) -> {results_text}",
        "dims": {name: pattern(value["shape"]) for name, value in tensors.items()}
        | {name: pattern(value["shape"]) for name, value in zip(names, outputs.values())},
        "dtypes": dtypes | {name: value["dtype"] for name, value in zip(names, outputs.values())},
        "requires": definition.get("constraints") or [],
        "reference": "task_reference:task",
        **given.fields,
    }
    spec = solution["spec"]
    path, _, function = spec["entry_point"].partition("::")
    source = next(source["content"] for source in solution["sources"] if source["path"] == path)
    candidate = CANDIDATE.format(
        solution=source,
        constants=constants,
        inputs=[value["shape"] for value in inputs.values()],
        outputs=[(value["shape"], value["dtype"]) for value in outputs.values()],
        function=function,
        is_writing=bool(spec.get("destination_passing_style")),
    )
    finish(judge(entry, REFERENCE.format(reference=definition["reference"]), candidate, given.seed))


if __name__ == "__main__":
    main()
