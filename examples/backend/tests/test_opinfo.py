"""PyTorch's lists of operators and of modules, with its samples: the device gives what the CPU gives.

`pytest -m opinfo --dtypes all` compares samples of all types, which takes long; build/opinfo.html is its report.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest
import torch
from skips import SKIPS, TOLERANCES
from torch.utils._pytree import tree_leaves, tree_map, tree_map_only

pytest.importorskip("expecttest", reason="PyTorch's tests need expecttest")

from torch.nn.modules.lazy import LazyModuleMixin
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import ModuleInfo, module_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

# How many samples of an operator are compared.
SAMPLES = 5

# How much results of small types may differ: the CPU rounds once where the device computes in two steps, or reverse.
ROUNDING = {torch.float16: 1e-2, torch.bfloat16: 5e-2}

# The operators are small, and PyTorch's threads would wait for each other most of the time.
torch.set_num_threads(1)

OPERATORS = {f"{op.name}.{op.variant_test_name}".rstrip("."): op for op in op_db if op.dtypes}

#: The modules by their names.
MODULES: dict[str, ModuleInfo] = {info.name: info for info in module_db}

Property = Callable[[str, object], None]

pytestmark = pytest.mark.opinfo


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test for each module, or for each operator that has its form and each type that is asked for."""
    if metafunc.function is test_module:
        metafunc.parametrize(("name", "dtype"), [(name, torch.float32) for name in MODULES], ids=[*MODULES])
        return
    has_form = FORMS[metafunc.function.__name__]
    words = metafunc.config.getoption("dtypes")
    pairs = [
        (name, dtype)
        for name, op in OPERATORS.items()
        if has_form(op)
        for dtype in sorted(op.dtypes if words == "all" else _chosen(op, words.split(",")), key=str)
    ]
    metafunc.parametrize(("name", "dtype"), pairs, ids=[f"{name}-{str(dtype)[6:]}" for name, dtype in pairs])


def _chosen(op: OpInfo, words: list[str]) -> set[torch.dtype]:
    """The types of an operator that are asked for; another one where it takes no float32, which is the default."""
    found = {dtype for dtype in op.dtypes if str(dtype)[6:] in words}
    return found or ({min(op.dtypes, key=str)} if words == ["float32"] else set())


#: Which operators have a form, by the name of its test.
FORMS: dict[str, Callable[[OpInfo], bool]] = {
    "test_operator": lambda _: True,
    "test_in_place": lambda op: op.inplace_variant is not None,
    "test_out": lambda op: op.supports_out,
}


@pytest.fixture
def record(name: str, dtype: torch.dtype, record_property: Property, request: pytest.FixtureRequest) -> Property:
    """Keep for the report what a test compares. Operators with a reason not to be compared are skipped."""
    form = request.function.__name__.removeprefix("test_").replace("_", " ")
    record_property("operator", name)
    record_property("dtype", str(dtype)[6:])
    record_property("form", form)
    if name in SKIPS:
        pytest.skip(SKIPS[name])
    return record_property


def samples(op: OpInfo, dtype: torch.dtype, *, requires_grad: bool) -> Iterator[SampleInput]:
    """Some samples of an operator, on the CPU."""
    requires_grad = requires_grad and op.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
    torch.manual_seed(0)
    yield from islice(op.sample_inputs("cpu", dtype, requires_grad=requires_grad), SAMPLES)


def on_device(values: Any) -> Any:  # noqa: ANN401
    """A copy of arguments on the device, with the same strides."""

    def copy(value: Any) -> Any:  # noqa: ANN401
        if isinstance(value, torch.Tensor) and value.layout == torch.strided:
            base = value.detach().resolve_conj().resolve_neg()
            storage = base.untyped_storage().acme()
            made = torch.empty(0, dtype=base.dtype, device="acme")
            made.set_(storage, base.storage_offset(), base.size(), base.stride())
            return made.requires_grad_(value.requires_grad)
        if isinstance(value, torch.Tensor):
            return value.detach().to("acme", copy=True).requires_grad_(value.requires_grad)
        return "acme" if value in ("cpu", torch.device("cpu")) else value

    return tree_map(copy, values)


def result_and_gradients(op: OpInfo, sample: SampleInput, arguments: Any) -> Any:  # noqa: ANN401
    """What an operator returns for a sample with other arguments, and the gradients of these."""
    torch.manual_seed(1)
    arguments, options = arguments
    result = op.op(*arguments, **options)
    # What of the result has a gradient that does not depend on how it is computed.
    outputs = tree_leaves(sample.output_process_fn_grad(result))
    outputs = [value for value in outputs if isinstance(value, torch.Tensor) and value.requires_grad]
    inputs = [value for value in tree_leaves((arguments, options)) if isinstance(value, torch.Tensor)]
    inputs = [value for value in inputs if value.requires_grad]
    total = sum((value * value.conj()).real.sum() for value in outputs)
    return result, torch.autograd.grad(total, inputs, allow_unused=True) if outputs and inputs else ()


def tolerance(name: str, dtype: torch.dtype) -> float:
    """How much results and gradients of an operator may differ, relative and absolute."""
    return TOLERANCES.get(f"{name}, {str(dtype)[6:]}", TOLERANCES.get(name, 1e-4))


def check(actual: Any, expected: Any, tolerance: float = 1e-4) -> None:  # noqa: ANN401
    """Compare results of the device with those of the CPU."""
    actual, expected = tree_leaves(actual), tree_leaves(expected)
    assert len(actual) == len(expected)
    for value, right in zip(actual, expected, strict=True):
        if not isinstance(right, torch.Tensor):
            assert value == right or (value != value and right != right)
            continue
        assert value.device.type == "acme"
        allowed = 0 if right.dtype.itemsize == 1 else max(tolerance, ROUNDING.get(right.dtype, 0))
        torch.testing.assert_close(value.cpu(), right, equal_nan=True, rtol=allowed, atol=allowed)


def strided(values: Any) -> list[torch.Tensor]:  # noqa: ANN401
    """The tensors with strides among some arguments."""
    return [value for value in tree_leaves(values) if isinstance(value, torch.Tensor) and value.layout == torch.strided]


def test_operator(name: str, dtype: torch.dtype, record: Property) -> None:
    """An operator gives the results and the gradients of the CPU, and leaves in its arguments what the CPU leaves."""
    op = OPERATORS[name]
    count = 0
    for sample in samples(op, dtype, requires_grad=True):
        arguments = (sample.input, *sample.args), sample.kwargs
        copies = on_device(arguments)
        try:
            expected = result_and_gradients(op, sample, arguments)
        except NotImplementedError:
            # The CPU computes no results for this type, or no gradients.
            continue
        check(result_and_gradients(op, sample, copies), expected, tolerance(name, dtype))
        check(strided(copies), strided(arguments), tolerance(name, dtype))
        count += 1
    if not count:
        pytest.skip("the CPU has no results and gradients for its samples")
    record("calls", count)


def after_training(module: torch.nn.Module, arguments: Any, options: Any) -> Any:  # noqa: ANN401
    """What a module returns in training, its gradients, and what is in its buffers and its arguments afterwards."""
    torch.manual_seed(1)
    result = module(*arguments, **options)
    outputs = [value for value in tree_leaves(result) if isinstance(value, torch.Tensor) and value.requires_grad]
    inputs = [value for value in (*module.parameters(), *strided((arguments, options))) if value.requires_grad]
    total = sum(value.square().sum() for value in outputs)
    gradients = torch.autograd.grad(total, inputs, allow_unused=True) if outputs and inputs else ()
    return result, gradients, list(module.buffers()), strided((arguments, options))


def test_module(name: str, dtype: torch.dtype, record: Property) -> None:
    """A module in training gives the results and gradients of the CPU, and leaves the same in buffers and arguments."""
    info, count = MODULES[name], 0
    torch.manual_seed(0)
    inputs = info.module_inputs_func(info, "cpu", dtype, requires_grad=True, training=True)
    for sample in [sample for sample in inputs if sample.forward_input is not None][:SAMPLES]:
        torch.manual_seed(0)
        module = info.module_cls(*sample.constructor_input.args, **sample.constructor_input.kwargs).train()
        call = sample.forward_input.args, sample.forward_input.kwargs
        if isinstance(module, LazyModuleMixin):
            # PyTorch moves parameters without sizes to devices in its tree alone.
            module(*call[0], **call[1])
        copies = copy.deepcopy(module).to("acme"), on_device(call)
        expected = after_training(module, *call)
        check(after_training(copies[0], *copies[1]), expected, tolerance(name, dtype))
        count += 1
    record("calls", count)


def test_in_place(name: str, dtype: torch.dtype, record: Property) -> None:
    """An operator that works in place leaves in its argument what it leaves on the CPU."""
    op = OPERATORS[name]
    count = 0
    for sample in samples(op, dtype, requires_grad=False):
        if sample.broadcasts_input:
            continue
        arguments, options = (sample.input, *sample.args), sample.kwargs
        copies = on_device((arguments, options))
        try:
            torch.manual_seed(1)
            op.inplace_variant(*arguments, **options)
        except RuntimeError:
            # Samples are for the functional operator: some results do not fit into the argument.
            continue
        torch.manual_seed(1)
        assert op.inplace_variant(*copies[0], **copies[1]) is copies[0][0]
        check(copies[0][0], arguments[0])
        count += 1
    record("calls", count)


def layouts(tensors: Any) -> list[list[int]]:  # noqa: ANN401
    """The strides of the dimensions that have more than one element, for each of some tensors."""
    return [
        [stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size > 1]
        for tensor in tree_leaves(tensors)
        if tensor.numel()
    ]


def transposed(tensor: torch.Tensor) -> torch.Tensor:
    """Zeros of the size of a tensor, with other strides."""
    return torch.zeros_like(tensor.transpose(0, -1), memory_format=torch.contiguous_format).transpose(0, -1)


def test_out(name: str, dtype: torch.dtype, record: Property) -> None:
    """An operator writes to `out`, which may have any strides, what it writes on the CPU."""
    op = OPERATORS[name]
    count = 0
    for sample in samples(op, dtype, requires_grad=False):
        arguments, options = (sample.input, *sample.args), sample.kwargs
        copies = on_device((arguments, options))
        try:
            out = tree_map_only(
                torch.Tensor, lambda value: transposed(value) if value.dim() else value, op.op(*arguments, **options)
            )
            out_on_device = on_device(out)
            torch.manual_seed(1)
            op.op(*arguments, **options, out=out)
        except (RuntimeError, TypeError):
            # The operator has no `out` for this sample.
            continue
        torch.manual_seed(1)
        op.op(*copies[0], **copies[1], out=out_on_device)
        check(out_on_device, out)
        assert layouts(out_on_device) == layouts(out)
        count += 1
    record("calls", count)
