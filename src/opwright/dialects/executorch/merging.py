"""Joins the operators of ExecuTorch's two files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opwright.model.executorch import ExecutorchKernel, ExecutorchOperator
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Label

__all__ = ["merge"]


def merge(
    operators: Sequence[ExecutorchOperator],
    custom: Sequence[ExecutorchOperator],
    sink: Diagnostics,
    *,
    as_reference: bool,
) -> tuple[ExecutorchOperator, ...]:
    """The operators of both files; a custom kernel replaces the kernel of the same operator and key.

    Each operator is in the result once. With `as_reference`, operators of both files are there twice unless they have
    several kernels, with which ExecuTorch's own program fails, and operators of all namespaces share kernels by name.
    """
    if as_reference:
        _report(operators, custom, sink)
        return _merge_as_reference(operators, custom)
    kernels = _kernels_by_name(operators, custom, lambda operator: operator.name)
    replaced = {operator.name for operator in custom}
    others = [operator for operator in operators if operator.name not in replaced]
    return tuple([operator._replace(kernels=kernels[operator.name]) for operator in (*others, *custom)])


def _merge_as_reference(
    operators: Sequence[ExecutorchOperator], custom: Sequence[ExecutorchOperator]
) -> tuple[ExecutorchOperator, ...]:
    kernels = _kernels_by_name(operators, custom, lambda operator: operator.function.name.text)
    several = {operator.name for operator in custom if len(kernels[operator.function.name.text]) > 1}
    others = [operator for operator in operators if operator.name not in several]
    return tuple([operator._replace(kernels=kernels[operator.function.name.text]) for operator in (*others, *custom)])


def _kernels_by_name(
    operators: Sequence[ExecutorchOperator],
    custom: Sequence[ExecutorchOperator],
    name: Callable[[ExecutorchOperator], str],
) -> dict[str, tuple[ExecutorchKernel, ...]]:
    """The kernels of the operators by name. A later kernel of the same key takes the place of an earlier one."""
    kernels: dict[str, dict[str, ExecutorchKernel]] = {}
    for operator in (*operators, *custom):
        kernels.setdefault(name(operator), {}).update({kernel.key: kernel for kernel in operator.kernels})
    return {operator: tuple(own.values()) for operator, own in kernels.items()}


def _report(operators: Sequence[ExecutorchOperator], custom: Sequence[ExecutorchOperator], sink: Diagnostics) -> None:
    """Report operators whose kernels a custom operator of the same name replaces."""
    by_name = {operator.function.name.text: operator for operator in operators}
    for operator in custom:
        other = by_name.get(operator.function.name.text)
        if other is None:
            continue
        also = (Label(other.function.entry, "the other entry", primary=False),)
        if other.name == operator.name:
            message = f"`{operator.name}` is in both files, and is written twice"
            sink.warning(codes.OVERRIDDEN, message, operator.function.entry, also=also)
        else:
            message = f"the kernel of `{operator.name}` is registered for `{other.name}` too"
            sink.warning(codes.SAME_NAME, message, operator.function.entry, also=also)
