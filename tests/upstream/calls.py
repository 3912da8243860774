"""Runs calls of a library when it is asked to: `python calls.py MODULE`.

It prints the names of the calls, one a line, and an empty line. Then it reads lines with the number of a call and a
count, and answers each with the seconds of processors that so many of these calls took: other programs change those
less than they change what a clock says. It imports nothing of the project, since the package of the library is what
`PYTHONPATH` names.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType

import torch

Calls = dict[str, Callable[[], object]]


def with_gradient(function: Callable[..., torch.Tensor], leaf: torch.Tensor, *others: object) -> Callable[[], object]:
    """A call with its gradient."""
    leaf = leaf.clone().requires_grad_()

    def run() -> object:
        return torch.autograd.grad(function(leaf, *others).sum(), leaf)

    return run


def scatter_calls(package: ModuleType) -> Iterator[tuple[str, Callable[[], object]]]:
    """Calls of torch-scatter with a few numbers each, so that what a call costs shows."""
    src, index, indptr = torch.randn(8), torch.tensor([0, 0, 1, 1, 1, 2, 3, 3]), torch.tensor([0, 2, 5, 6, 8])
    for name in ("scatter_mul", "scatter_min"):
        yield name, partial(getattr(package, name), src, index)
    yield "segment_coo", lambda: package.segment_coo(src, index)
    yield "segment_csr", lambda: package.segment_csr(src, indptr)
    yield "segment_csr, gradient", with_gradient(package.segment_csr, src, indptr)
    yield "gather_csr, gradient", with_gradient(package.gather_csr, src[:4], indptr)


def sparse_calls(package: ModuleType) -> Iterator[tuple[str, Callable[[], object]]]:
    """Calls of torch-sparse on a small matrix."""
    operators = torch.ops.torch_sparse
    row, col = torch.tensor([0, 0, 1, 2, 2]), torch.tensor([0, 2, 1, 0, 1])
    rowptr, value, mat = operators.ind2ptr(row, 3), torch.randn(5), torch.randn(3, 4)
    colptr, order = torch.tensor([0, 2, 4, 5]), torch.tensor([0, 3, 2, 4, 1])
    yield "ind2ptr", lambda: operators.ind2ptr(row, 3)
    yield "non_diag_mask", lambda: operators.non_diag_mask(row, col, 3, 3, 0)
    yield "spmm_sum", lambda: operators.spmm_sum(row, rowptr, col, value, colptr, order, mat)
    yield "spmm_max", lambda: operators.spmm_max(rowptr, col, value, mat)
    of_value = with_gradient(lambda leaf: operators.spmm_sum(row, rowptr, col, leaf, colptr, order, mat), value)
    yield "spmm_sum, gradient", of_value


def vision_calls(package: ModuleType) -> Iterator[tuple[str, Callable[[], object]]]:
    """Calls of torchvision's operators on small images."""
    image, rois = torch.randn(1, 4, 8, 8), torch.tensor([[0.0, 0.0, 0.0, 4.0, 4.0]])
    boxes, scores = torch.tensor([[0.0, 0.0, 2.0, 2.0], [0.5, 0.5, 2.0, 2.0]]), torch.tensor([0.5, 0.6])
    weight, offset = torch.randn(4, 4, 3, 3), torch.zeros(1, 18, 6, 6)
    operators = package.ops
    yield "nms", lambda: operators.nms(boxes, scores, 0.5)
    for name in ("roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool"):
        function = getattr(operators, name)
        yield name, partial(function, image, rois, 2)
        yield f"{name}, gradient", with_gradient(function, image, rois, 2)
    yield "deform_conv2d", lambda: operators.deform_conv2d(image, offset, weight)
    yield "deform_conv2d, gradient", with_gradient(operators.deform_conv2d, image, offset, weight)


CALLS = {"torch_scatter": scatter_calls, "torch_sparse": sparse_calls, "torchvision": vision_calls}


def main() -> None:
    """Answer until the input ends."""
    torch.set_num_threads(1)
    calls = dict(CALLS[sys.argv[1]](importlib.import_module(sys.argv[1])))
    print("\n".join([*calls, ""]), flush=True)
    functions = list(calls.values())
    for line in sys.stdin:
        number, count = map(int, line.split())
        function = functions[number]
        start = time.process_time()
        for _ in range(count):
            function()
        print(time.process_time() - start, flush=True)


if __name__ == "__main__":
    main()
