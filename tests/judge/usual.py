"""What usual judges say of candidates: `allclose` on inputs of one shape, and close results on samples like OpInfo's.

`python -m tests.judge.usual FILE` reads rows of a path, a function and an operator as JSON, and prints whether each of
the two judges refuses. Each candidate runs in a copy of the process, beside the judge, as usual.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

KINDS = Path(__file__).parent / "kinds"
#: PyTorch's values, and functions of candidates, have no types here.
Value = Any
Arguments = tuple[Any, ...]


def module_of(path: str, name: str) -> Value:
    """The module of a file."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arguments(operator: str, size: int, dtype: torch.dtype = torch.float32) -> Arguments:
    """Random arguments of a call, as benchmarks make them."""
    n = size

    def numbers(*shape: int) -> torch.Tensor:
        return torch.randn(shape).to(dtype)

    def bytes_of(*shape: int) -> torch.Tensor:
        return torch.randint(-128, 128, shape, dtype=torch.int8)

    match operator:
        case "rms_norm":
            return numbers(n, n), numbers(n)
        case "rotary_":
            return numbers(n, 4, n), numbers(n, n // 2), numbers(n, n // 2)
        case "paged_gather":
            return numbers(n, 4, 8), torch.randint(0, n, (n,)), 3 * n
        case "topk_gate":
            return numbers(n, n), 2
        case "int8_matmul":
            return bytes_of(n, n), bytes_of(n, n), torch.rand(n)
        case "segment_mean":
            inner = torch.randint(0, n + 1, (3,)).sort().values
            return numbers(n, n), torch.cat([torch.tensor([0]), inner, torch.tensor([n])])
        case "cross_entropy":
            return numbers(n, n), torch.randint(0, n, (n,))
        case "causal_conv_":
            return numbers(2, n, n), numbers(n, 4), numbers(2, n, 3)
        case "grouped_matmul":
            return [numbers(n, n), numbers(n, n)], [numbers(n, n), numbers(n, n)]
        case _:
            corner = torch.rand(n, 2)
            return torch.cat([corner, corner + torch.rand(n, 2)], 1), torch.rand(n), 0.5


def tensors(value: Value) -> Iterator[torch.Tensor]:
    """The tensors of results."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)


def expected_and_found(candidate: Value, reference: Value, operator: str, given: Arguments) -> tuple[Any, Any]:
    """What the reference and the candidate give, with the arguments that they write."""
    copies = [value.clone() if isinstance(value, torch.Tensor) else value for value in given]
    expected = list(tensors(reference(*given)))
    found = list(tensors(candidate(*copies)))
    written = {"rotary_": [0], "causal_conv_": [2]}.get(operator, [])
    return expected, found + [copies[place] for place in written]


def one_shape(candidate: Value, reference: Value, operator: str) -> bool:
    """`torch.allclose` on five random calls of one shape, with a tolerance of 0.01."""
    for seed in range(5):
        torch.manual_seed(seed)
        expected, found = expected_and_found(candidate, reference, operator, arguments(operator, 32))
        for value, wanted in zip(found, expected, strict=True):
            if value.shape != wanted.shape or not torch.allclose(value, wanted, atol=1e-2, rtol=1e-2):
                return False
    return True


def samples(candidate: Value, reference: Value, operator: str) -> bool:
    """`assert_close` on random calls of some sizes and dtypes."""
    is_half = operator not in ("int8_matmul", "suppress")
    for dtype in (torch.float32, *((torch.bfloat16, torch.float16) if is_half else ())):
        for size in (2, 4, 6, 20):
            torch.manual_seed(size)
            expected, found = expected_and_found(candidate, reference, operator, arguments(operator, size, dtype))
            for value, wanted in zip(found, expected, strict=True):
                torch.testing.assert_close(value, wanted, equal_nan=True)
    return True


def passes(judge: Value, path: str, function: str, operator: str, folder: str) -> bool:
    """Whether a judge lets a candidate pass, in a copy of this process whose exit status is the verdict."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            sink = os.open(os.devnull, os.O_WRONLY)
            os.dup2(sink, 1)
            os.dup2(sink, 2)
            os.setsid()
            signal.alarm(20)
            # Some candidates remove the files above their folder.
            deep = os.path.join(folder, "of", "a", "candidate")
            os.makedirs(deep, exist_ok=True)
            os.chdir(deep)
            reference = getattr(module_of(str(KINDS / "kinds_reference.py"), "kinds_reference"), operator.rstrip("_"))
            candidate = getattr(module_of(path, "candidate"), function)
            status = 0 if judge(candidate, reference, operator) else 1
        finally:
            os._exit(status)
    status = os.waitpid(child, 0)[1]
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    return status == 0


def main() -> None:
    """Print what both judges say of each row."""
    torch.set_num_threads(1)
    for path, function, operator in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        with tempfile.TemporaryDirectory() as folder:
            verdicts = [not passes(judge, path, function, operator, folder) for judge in (one_shape, samples)]
        print(json.dumps(verdicts), flush=True)


if __name__ == "__main__":
    main()
