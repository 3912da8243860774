"""The operators that write to arguments undeclared are those of which PyTorch's own samples show it."""

from __future__ import annotations

import contextlib
from itertools import islice
from typing import Any

import pytest

from opwright.backends.operator_names import UNDECLARED_WRITES
from opwright.release.inputs import from_installed
from opwright.release.rules import Rules
from opwright.release.version import version_of

torch = pytest.importorskip("torch")

#: The kernel uses it as memory for intermediate results. It is one of the CPU alone.
SCRATCH = ("mkldnn_rnn_layer_backward", "workspace")


def content(tensor: Any) -> bytes:  # noqa: ANN401
    """The bytes of a tensor of the CPU."""
    return bytes(tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8).numpy())


Mode: Any = pytest.importorskip("torch.utils._python_dispatch").TorchDispatchMode


class Watch(Mode):  # type: ignore[misc]
    """Notes the arguments that a call changed, though its schema does not mark them as written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: set[tuple[str, str]] = set()

    def __torch_dispatch__(self, function: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401
        """Call an operator, and compare its arguments before and after."""
        schema = function._schema
        given = {argument.name: value for argument, value in zip(schema.arguments, args, strict=False)}
        given.update(kwargs or {})
        marked = {a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write}
        leaves = [
            (name, leaf)
            for name, value in given.items()
            for leaf in torch.utils._pytree.tree_leaves(value)
            if isinstance(leaf, torch.Tensor) and leaf.layout is torch.strided and leaf.device.type == "cpu"
        ]
        shared = {leaf.untyped_storage().data_ptr() for name, leaf in leaves if name in marked}
        kept = [(name, leaf) for name, leaf in leaves if leaf.untyped_storage().data_ptr() not in shared]
        before = [content(leaf) for _, leaf in kept]
        result = function(*args, **(kwargs or {}))
        for (name, leaf), old in zip(kept, before, strict=True):
            # Views such as `resize_` of another argument change what a tensor shows, not what it holds.
            if content(leaf) != old:
                self.written.add((function._schema.name.partition("::")[2], name))
        return result


def listed() -> set[tuple[str, str]]:
    """The operators of the installed PyTorch and their arguments."""
    rows = UNDECLARED_WRITES.in_release(Rules(version_of(from_installed()))).items()
    return {(name.partition(".")[0], argument) for name, arguments in rows for argument in arguments.split()}


@pytest.mark.thorough
def test_the_listed_operators_write() -> None:
    """Each operator of the list changes each argument that the list names, and its schema marks none of them."""
    values, watch = torch.randn(4, 3), Watch()
    with watch:
        torch.ops.aten.batch_norm_update_stats(values, torch.zeros(3), torch.ones(3), 0.1)
        torch.ops.aten.native_batch_norm(values, None, None, torch.zeros(3), torch.ones(3), True, 0.1, 1e-5)
    assert watch.written == listed()


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")
def test_no_other_operator_writes() -> None:
    """Samples of all operators, and of all modules in training, change no other argument undeclared."""
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_modules import module_db

    watch, calls = Watch(), 0
    with torch.random.fork_rng():
        for operator in op_db:
            if not operator.supports_dtype(torch.float32, "cpu"):
                continue
            for sample in islice(operator.sample_inputs("cpu", torch.float32, requires_grad=False), 4):
                with contextlib.suppress(Exception), watch:
                    operator.op(sample.input, *sample.args, **sample.kwargs)
                    calls += 1
        for info in module_db:
            inputs = info.module_inputs_func(info, "cpu", torch.float32, requires_grad=True, training=True)
            for sample in inputs[:4]:
                module = info.module_cls(*sample.constructor_input.args, **sample.constructor_input.kwargs)
                with contextlib.suppress(Exception), watch:
                    result = module(*sample.forward_input.args, **sample.forward_input.kwargs)
                    leaves = torch.utils._pytree.tree_leaves(result)
                    sum(leaf.sum() for leaf in leaves if leaf.requires_grad).backward()
                    calls += 1
    assert calls > 2000
    assert watch.written - {SCRATCH} <= listed()
    assert ("native_batch_norm", "running_mean") in watch.written
