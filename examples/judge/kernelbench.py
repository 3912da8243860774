"""Judges a solution of a KernelBench task: a class `ModelNew` beside the task's `Model`.

Both get the same weights from the same seed. Calls have the sizes of the task, and other batches.
"""

import importlib.util

from judging import arguments_of, finish, judge

# Weights follow from a seed, as in KernelBench. The reference computes in the precision of its arguments.
REFERENCE = """
import torch

{task}

def task(*inputs):
    torch.manual_seed(42)
    model = Model(*get_init_inputs())
    dtype = next((value.dtype for value in inputs if value.is_floating_point()), torch.float32)
    with torch.no_grad():
        return model.to(dtype)(*inputs)
"""
CANDIDATE = """
import torch

{solution}

_generator = torch.get_rng_state()
torch.manual_seed(42)
_model = ModelNew(*{initial!r})
torch.set_rng_state(_generator)

def task(*inputs):
    with torch.no_grad():
        return _model(*inputs)
"""
KINDS = ("torch.randn({})", "torch.rand({})", "torch.randn({}) * 100", "torch.randn({}) * 1e-3", "-torch.rand({})")


def main():
    """Judge a solution."""
    given = arguments_of(__doc__, "task", "solution")
    spec = importlib.util.spec_from_file_location("task", given.task)
    task = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(task)
    inputs = task.get_inputs()
    names = [f"x{place}" for place in range(len(inputs))]
    samples = []
    for batch in dict.fromkeys((1, 2, 3, inputs[0].shape[0])):
        sizes = [(batch, *value.shape[1:]) for value in inputs]
        samples += [", ".join([kind.format(", ".join(map(str, size))) for size in sizes]) for kind in KINDS]
    schema = ", ".join([f"Tensor {name}" for name in names])
    entry = {"func": f"task({schema}) -> Tensor", "dtypes": dict.fromkeys(names, "float32"), "samples": samples}
    entry |= {"reference": "task_reference:task", **given.fields}
    reference = REFERENCE.format(task=given.task.read_text(encoding="utf-8"))
    solution = given.solution.read_text(encoding="utf-8")
    candidate = CANDIDATE.format(solution=solution, initial=task.get_init_inputs())
    finish(judge(entry, reference, candidate, given.seed))


if __name__ == "__main__":
    main()
