"""What gradients of drawn operators are, beside differences of results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from tests.second_gradients.drawing import DrawnOperator

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Value: TypeAlias = Any

__all__ = ["differences"]


def _outcome(check: Callable[[], object]) -> str:
    """`right`, the message of an error of the operator, or what is wrong."""
    from torch.autograd.gradcheck import GradcheckError

    try:
        check()
    except GradcheckError as error:
        return f"wrong: {error}"
    except NotImplementedError as error:
        return f"refused: {error}"
    except Exception as error:
        return f"failed: {type(error).__name__}: {error}"
    return "right"


def differences(operators: Sequence[DrawnOperator], namespace: Value) -> Iterator[str]:
    """What is not as it should be: both gradients are right, or the second one names a result that formulas read."""
    import torch

    for operator in operators:
        call = getattr(namespace, operator.name)
        numbers = {"by": 0.75}
        leaves = [
            torch.linspace(0.3 + 0.1 * place, 0.9, 2, dtype=torch.float64, requires_grad=name in "xy")
            for place, name in enumerate(operator.arguments)
        ]
        arguments = [numbers.get(name, leaf) for name, leaf in zip(operator.arguments, leaves, strict=True)]

        def function(*given: Value) -> Value:
            return call(*given)  # noqa: B023

        first = _outcome(lambda: torch.autograd.gradcheck(function, arguments))  # noqa: B023
        second = _outcome(lambda: torch.autograd.gradgradcheck(function, arguments))  # noqa: B023
        start = f"refused: the derivative for {namespace.name}::{operator.name} is not implemented"
        named = tuple([f"{start} with respect to its result '{name}'" for name in operator.unknown])
        is_right = second.startswith(named) if named else second == "right"
        if first != "right" or not is_right:
            yield "\n".join(
                (
                    f"{namespace.name}: first: {first}; second: {second}; unknown: {sorted(operator.unknown)}",
                    operator.entry(),
                    operator.derivatives(),
                )
            )
