"""Imports the library that was built into a folder, and compares its operators with PyTorch's on the CPU."""

from __future__ import annotations

import os
import sys

import torch

sys.path.insert(0, sys.argv[1])
import acme_cuda._ops as ops  # type: ignore[import-not-found]

values = torch.randn(3, 4)
torch.testing.assert_close(ops.scale(values, 2.5), values * 2.5)
dump = torch._C._dispatch_dump
names = ["scale"]
if os.environ["ABI"] == "native":
    torch.testing.assert_close(ops.twice(values), values * 2)
    torch.testing.assert_close(ops.steps(4), torch.arange(4))
    names += ["steps", "twice", "twice.out"]
for name in names:
    assert "CUDA: registered" in dump(f"acme_cuda::{name}"), name
