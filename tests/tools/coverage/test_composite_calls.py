"""The operator that each composite kernel of the table calls is the one that PyTorch calls, as its profiler shows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
import torch
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerActivity, profile

from opwright.backends.operator_names import CALLED_BY_COMPOSITES
from opwright.backends.operator_records import OperatorStatus
from tests.tools.coverage.reports import record_of, report_of

CALLED = CALLED_BY_COMPOSITES.in_any_release
#: Values of required arguments by the types of schemas, as `torch.jit` names them; None for those that may be None.
VALUES: dict[str, object] = {"number": 2, "float": 0.5, "bool": False, "str": "mean", "List[int]": [1]}


def sample(schema: torch.FunctionSchema, dtype: torch.dtype) -> Iterator[tuple[str, object]]:
    """Values for the required arguments of an operator."""
    for place, argument in enumerate(schema.arguments):
        kind = str(argument.type)
        if argument.has_default_value():
            continue
        tensor = torch.ones(3 if argument.name == "vec" else (3, 3), dtype=dtype)
        if kind == "Tensor":
            yield argument.name, tensor
        elif kind == "List[Tensor]":
            yield argument.name, [tensor, tensor]
        elif kind == "int":
            # A range has a beginning below its end.
            yield argument.name, 0 if argument.name == "dim" else place + 1
        else:
            yield argument.name, VALUES.get(kind)


def called_directly(name: str) -> list[str]:
    """The operators that the kernel of one calls, for tensors with numbers of a kind that it takes."""
    operator, _, overload = name.partition(".")
    function = getattr(getattr(torch.ops.aten, operator), overload or "default")
    error: Exception | None = None
    for dtype in (torch.float32, torch.int64):
        arguments = dict(sample(function._schema, dtype))
        options = _ExperimentalConfig(capture_overload_names=True)
        try:
            with (
                warnings.catch_warnings(),
                profile(activities=[ProfilerActivity.CPU], experimental_config=options) as run,
            ):
                warnings.simplefilter("ignore")
                function(**arguments)
        except (RuntimeError, NotImplementedError) as raised:
            error = raised
            continue
        (call,) = [event for event in run.events() if event.cpu_parent is None and event.name == f"aten::{operator}"]
        names = [(event.name.removeprefix("aten::"), event.overload_name) for event in call.cpu_children]
        return [".".join(filter(None, own)) for own in names]
    raise AssertionError(f"{name}: {error}")


@pytest.mark.parametrize("name", sorted(CALLED))
def test_the_kernel_calls_the_operator(name: str) -> None:
    """PyTorch's kernel calls the operator of the table once."""
    assert called_directly(name).count(CALLED[name]) == 1


def test_a_composite_is_missing_with_what_it_calls() -> None:
    """`abs` runs where `abs.out` does, and is missing where that is."""
    missing = record_of(report_of("relu"), "abs")
    assert (missing.status, missing.reach.lacks) == (OperatorStatus.missing, "abs.out")
    assert record_of(report_of("abs.out"), "abs").status is OperatorStatus.composite
