"""The audit of kernels that do what their entries do not say, and of honest ones."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from tests.library.conftest import operators_of_abi

OWN = Path(__file__).parent

#: What the audit says of each operator that is not honest: the overload, and the argument or the result.
_FOUND = """
strides_transposed: result 0 has the strides
strides_of_argument: result 0 has the strides
dtype_wider: the dtype of result 0 is torch.float64, and torch.float32 in traces
dtype_declared: the dtype of result 0 is torch.float32, and torch.float64 in traces
shape_longer: the shape of result 0 is
shape_swapped: the shape of result 0 is
shape_of_second: the shape of result `second` is
rank_higher: the shape of result 0 is
writes_first: writes to `x`, and its schema does not say so
writes_second: writes to `weight`, and its schema does not say so
writes_item: writes to `tensors[1]`, and its schema does not say so
writes_optional: writes to `bias`, and its schema does not say so
writes_outside: writes to memory of `out` outside of its elements
alias_of_argument: result 0 shares memory with `x`, and its schema does not say so
alias_of_part: result 0 shares memory with `x`, and its schema does not say so
alias_of_results: result `second` shares memory with result `first`, and its schema does not say so
unwritten_result: result 0 depends on memory that nothing wrote
unwritten_tensor: result 0 depends on memory that nothing wrote
unwritten_heap: result 0 depends on memory that nothing wrote
counts_threads: result 0 depends on the number or the order of threads
counts_calls: result 0 differs from call to call
stops_gradients: changes the grad mode of the thread
adds_to_out: `out` depends on what it had before
"""
FOUND = dict(line.split(": ", 1) for line in _FOUND.split("\n") if line)


@pytest.mark.thorough
@pytest.mark.parametrize("abi", ["stable", "native"])
def test_each_lie_is_found_and_nothing_else(
    abi: str, program: str, torch: ModuleType, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Generated tests name operator and argument of each lie, from the entry alone, and no honest kernel."""
    operators = operators_of_abi(abi, OWN, program, torch, tmp_path_factory)
    name = str(operators.__name__).removeprefix("torch.ops.")
    (package,) = [Path(path) for path in sys.path if (Path(path) / name).is_dir()]
    spec = spec_from_file_location(f"test_{name}", package.parent / "tests" / f"test_{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found = {
        operator: {text for sample in tested.samples for text in module.audit(operator, sample)}
        for operator, tested in module.OPERATORS.items()
    }
    assert {operator for operator, texts in found.items() if texts} == set(FOUND), found
    for operator, expected in FOUND.items():
        overload = "out" if operator == "adds_to_out" else "default"
        prefix = f"{name}.{operator}.{overload}: {expected}"
        # A kernel that tells a lie of one kind is accused of no other.
        assert {text for text in found[operator] if not text.startswith(prefix)} == set(), found[operator]
    assert len(FOUND) >= 20
