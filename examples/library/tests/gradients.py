"""The gradients of all operators of acme: `gradients.py FILE` writes them, or compares them with those of the file."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from cases import CASES, overload


def gradients(name: str) -> list[torch.Tensor | None]:
    """The gradients of the case of a name, for a gradient of its results that is not uniform."""
    case = CASES[name]
    args, kwargs = case.args(), case.kwargs()
    if name == "sprinkle":
        # The two interfaces draw random numbers in different ways; its gradient is the mask of the call.
        results = overload(name)(*args, **kwargs)
        (grad,) = torch.autograd.grad(results[0].sum(), args[0])
        torch.testing.assert_close(grad, results[1])
        return []
    results = torch.utils._pytree.tree_leaves(overload(name)(*args, **kwargs))
    total = sum(result.mul(torch.arange(result.numel()).reshape(result.shape) + 1).sum() for result in results)
    leaves = [leaf for leaf in torch.utils._pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    return list(torch.autograd.grad(total, leaves, allow_unused=True))


found = {name: gradients(name) for name, case in CASES.items() if case.is_differentiable and name != "weave_backward"}
file = Path(sys.argv[1])
if file.exists():
    torch.testing.assert_close(found, torch.load(file))
    print(f"{len(found)} operators have the gradients of {file.name}")
else:
    torch.save(found, file)
