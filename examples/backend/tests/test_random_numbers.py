"""Every operator that draws random numbers draws them from the generator of the device, with a kernel and without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import checkpoint


def drawing() -> dict[str, torch._ops.OpOverload]:
    """The operators of PyTorch that draw random numbers, as PyTorch says, by their names."""
    found = {}
    for name in torch._C._dispatch_get_all_op_names():
        namespace, _, rest = name.partition("::")
        root, _, overload = rest.partition(".")
        if namespace == "aten":
            operator = getattr(getattr(torch.ops.aten, root), overload or "default")
            if torch.Tag.nondeterministic_seeded in operator.tags:
                found[rest] = operator
    return found


OPERATORS = drawing()

#: Arguments of operators that need more than what their types say, by the names of the operators.
SQUARE = torch.arange(16.0).reshape(1, 1, 4, 4) / 16
CELL = [torch.ones(8, 4) / 4, torch.ones(8, 2) / 4]
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
ATTENTION = """
_scaled_dot_product_attention_math _scaled_dot_product_flash_attention_for_cpu scaled_dot_product_attention
_scaled_dot_product_fused_attention_overrideable
""".split()


def arguments(operator: torch._ops.OpOverload) -> tuple[list[Any], dict[str, Any]]:
    """Arguments for an operator, on the CPU."""
    root = operator._schema.name.removeprefix("aten::")
    if root in ATTENTION:
        # The CPU's kernel knows no dropout.
        return [SQUARE, SQUARE, SQUARE, *([] if root.endswith(("_cpu", "_overrideable")) else [None, 0.5])], {}
    if root in GATES:
        rows = GATES[root] * 2
        weights = [torch.ones(rows, 2) / 4, torch.ones(rows, 2) / 4] * 2
        state = torch.zeros(2, 3, 2)
        states = [state, state] if root == "lstm" else state
        if operator._overloadname == "input":
            return [torch.ones(3, 5, 2), states, weights, False, 2, 0.5, True, False, True], {}
        return [torch.ones(15, 2), torch.tensor([3] * 5), states, weights, False, 2, 0.5, True, False], {}
    if operator.name().removeprefix("aten::") in BY_OPERATOR:
        return BY_OPERATOR[operator.name().removeprefix("aten::")]
    positional, named = [], {}
    for argument in operator._schema.arguments:
        value = of_type(argument.name, str(argument.type))
        if argument.kwarg_only:
            named[argument.name] = value
        else:
            positional.append(value)
    return positional, named


#: Arguments of operators that take none of these values.
BY_OPERATOR: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "bernoulli": ([torch.full((4, 4), 0.5)], {}),
    "bernoulli.out": ([torch.full((4, 4), 0.5)], {"out": torch.zeros(4, 4)}),
    "multinomial.out": ([torch.full((4, 4), 0.5), 8, True], {"out": torch.zeros(4, 8, dtype=torch.int64)}),
    "native_dropout.out": (
        [torch.ones(4, 4), 0.5, True],
        {"out0": torch.zeros(4, 4), "out1": torch.zeros(4, 4, dtype=torch.bool)},
    ),
    "_fused_dropout.out": (
        [torch.ones(4, 4), 0.5],
        {"out0": torch.zeros(4, 4), "out1": torch.zeros(4, 4, dtype=torch.uint8)},
    ),
    **{
        f"randint_like.{overload}": ([torch.ones(4, 4), torch.tensor(8)], options)
        for overload, options in (
            ("Tensor", {}),
            ("Tensor_out", {"out": torch.zeros(4, 4)}),
            ("Tensor_generator", {"generator": None}),
            ("Tensor_generator_out", {"generator": None, "out": torch.zeros(4, 4)}),
        )
    },
}

#: Values for arguments, by their names, and by their types.
BY_NAME: dict[str, Any] = {
    "from": 0, "low": 0, "to": 8, "high": 8, "p": 0.5, "n": 16, "num_samples": 8, "replacement": True, "train": True,
    "training": True, "lower": 0.1, "upper": 0.9, "std": 1.0, "mean": 0.5, "median": 0.0, "sigma": 1.0, "lambd": 1.0,
    "size": [4, 4], "device": torch.device("cpu"),
}  # fmt: skip
BY_TYPE: dict[str, Any] = {"Tensor": torch.full((4, 4), 0.5), "float": 0.5, "int": 8, "bool": False, "List[int]": [4]}


def of_type(name: str, type: str) -> Any:  # noqa: ANN401
    """A value for an argument of a name and a type."""
    if type == "Tensor":
        # What is written, or counts trials, has other values than probabilities.
        return torch.full((4, 4), 4.0) if name in ("count", "self") else BY_TYPE["Tensor"]
    return BY_NAME[name] if name in BY_NAME else BY_TYPE.get(type)


def on_device(values: Any) -> Any:  # noqa: ANN401
    """Copies of arguments on the device. The sizes of batches stay on the CPU, where PyTorch wants them."""
    if isinstance(values, torch.Tensor):
        return values.acme() if values.dtype != torch.int64 or values.dim() > 1 else values.clone()
    if isinstance(values, (list, tuple)):
        return [on_device(value) for value in values]
    if isinstance(values, dict):
        return {name: on_device(value) for name, value in values.items()}
    return torch.device("acme") if values == torch.device("cpu") else values


def draw(call: Callable[[], Any]) -> list[Any]:
    """What a call gives, as lists of numbers."""
    return [leaf.cpu().tolist() if isinstance(leaf, torch.Tensor) else leaf for leaf in tree_leaves(call())]


def check(call: Callable[[], Any]) -> None:
    """The same state of the device's generator gives the same numbers, and the CPU's generator is left alone."""
    torch.acme.manual_seed(7)
    host, state = torch.get_rng_state(), torch.acme.get_rng_state()
    first = draw(call)
    after = torch.acme.get_rng_state()
    torch.rand(3)
    torch.acme.set_rng_state(state)
    assert str(draw(call)) == str(first)
    assert torch.acme.get_rng_state().equal(after)
    torch.acme.manual_seed(7)
    assert str(draw(call)) == str(first)
    torch.set_rng_state(host)
    draw(call)
    assert torch.get_rng_state().equal(host)


def said_by(operator: torch._ops.OpOverload, positional: list[Any], named: dict[str, Any]) -> str:
    """The error of an operator on the CPU."""
    with pytest.raises(RuntimeError) as error:
        operator(*positional, **named)
    return str(error.value)


@pytest.mark.parametrize("name", OPERATORS)
def test_operator(name: str) -> None:
    """An operator draws the same numbers again after `set_rng_state` and `manual_seed` of the device."""
    operator = OPERATORS[name]
    positional, named = arguments(operator)

    def call() -> Any:  # noqa: ANN401
        return operator(*on_device(positional), **on_device(named))

    try:
        call()
    except NotImplementedError:
        assert not torch._C._dispatch_has_kernel_for_dispatch_key(operator.name(), "CPU")
        pytest.skip("neither the device nor the CPU has a kernel")
    except RuntimeError as error:
        # Composite operators of other libraries do not run on any device.
        assert said_by(operator, positional, named)[:40] == str(error)[:40]  # noqa: PT017
        pytest.skip(str(error).splitlines()[0])
    check(call)


def checkpointed() -> torch.Tensor:
    """Gradients through dropout that is computed again in the backward pass."""
    values = torch.ones(8, 8, device="acme", requires_grad=True)
    result = checkpoint(lambda tensor: functional.dropout(tensor, 0.5) * tensor, values, use_reentrant=False)
    result.sum().backward()
    # The gradient is twice the mask times the values, so that another mask in the backward pass would show.
    assert values.grad.equal(2 * result.detach())
    return values.grad


CALLS: dict[str, Callable[[], Any]] = {
    "dropout": lambda: functional.dropout(torch.ones(64, device="acme")),
    "dropout in place": lambda: functional.dropout(torch.ones(64, device="acme"), inplace=True),
    "dropout of channels": lambda: functional.dropout2d(torch.ones(1, 8, 2, 2, device="acme")),
    "alpha dropout": lambda: functional.alpha_dropout(torch.ones(64, device="acme"), training=True),
    "rrelu": lambda: functional.rrelu(-torch.ones(64, device="acme"), training=True),
    "attention": lambda: functional.scaled_dot_product_attention(*[SQUARE.acme()] * 3, dropout_p=0.5),
    "lstm": lambda: nn.LSTM(2, 2, 2, dropout=0.5).acme()(torch.ones(3, 2, device="acme")),
    "transformer": lambda: nn.TransformerEncoderLayer(4, 2, 8, 0.5).acme()(torch.ones(3, 4, device="acme")),
    "gumbel": lambda: functional.gumbel_softmax(torch.ones(8, device="acme")),
    "checkpoint": checkpointed,
    "distribution": lambda: torch.distributions.Normal(torch.zeros(4, device="acme"), 1).sample(),
    "initialization": lambda: nn.init.trunc_normal_(torch.empty(8, device="acme")),
    "fused dropout": lambda: torch._fused_dropout(torch.ones(64, device="acme"), 0.5),
    "permutation": lambda: torch.randperm(16, device="acme"),
}


@pytest.mark.parametrize("name", CALLS)
def test_module(name: str) -> None:
    """What is made of such operators draws the same numbers again too."""

    def call() -> Any:  # noqa: ANN401
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)  # The parameters of modules are the same.
            torch.acme.set_rng_state(state[0])
            result = CALLS[name]()
            state[0] = torch.acme.get_rng_state()
            return result

    state = [torch.acme.get_rng_state()]
    first, second = draw(call), draw(call)
    assert str(first) != str(second)
    state[0] = torch.acme.get_rng_state()
    before = state[0]
    third = draw(call)
    state[0] = before
    assert str(draw(call)) == str(third)


def test_dropout_is_that_of_the_cpu() -> None:
    """With the same seed, dropout of the device is that of the CPU's kernel, and its gradient is that of the mask."""
    torch.manual_seed(3)
    expected, mask = torch.native_dropout(torch.ones(64), 0.25, True)
    torch.manual_seed(3)
    values = torch.ones(64, device="acme", requires_grad=True)
    result = functional.dropout(values, 0.25)
    result.sum().backward()
    assert result.tolist() == expected.tolist()
    assert (values.grad != 0).tolist() == mask.tolist()
    assert functional.dropout(values, 1.0).tolist() == [0] * 64
    assert functional.dropout(values, 0.0).tolist() == [1] * 64
    assert functional.dropout(torch.ones(0, device="acme")).tolist() == []


def test_operator_of_a_library() -> None:
    """An operator that says that it draws random numbers, and takes no generator, draws those of the device."""
    with torch.library._scoped_library("random_numbers", "FRAGMENT") as library:
        library.define("noise(Tensor x) -> Tensor", tags=[torch.Tag.nondeterministic_seeded])
        library.impl("noise", lambda x: x + torch.rand(x.shape), "CPU")
        check(lambda: torch.ops.random_numbers.noise(torch.zeros(8, device="acme")))
