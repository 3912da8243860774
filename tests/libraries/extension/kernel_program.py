"""Loads two builds of a kernel in one process with Hugging Face's `kernels`, and uses both."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch.library import opcheck


def main(folders: list[str]) -> None:
    """Load the builds in these folders, and print the namespace of each."""
    from kernels import get_local_kernel  # type: ignore[import-not-found, unused-ignore] # few environments have it

    modules = [get_local_kernel(Path(folder), backend="cpu") for folder in folders]
    values = torch.randn(3, 4, dtype=torch.double, requires_grad=True)
    for module in modules:
        # One build computes twice what the other one does.
        factor = module.soft_clip(torch.tensor([1e9])).item()
        expected = factor * values.tanh()
        torch.testing.assert_close(module.soft_clip(values), expected)
        torch.testing.assert_close(
            torch.compile(module.soft_clip, fullgraph=True, backend="aot_eager")(values), expected
        )
        assert torch.autograd.gradcheck(module.soft_clip, values, check_forward_ad=True)
        operator = module._ops.ops.soft_clip.default
        opcheck(operator, (values,))
        print(operator.namespace, factor)


if __name__ == "__main__":
    main(sys.argv[1:])
