"""Declared outputs as Python, for libraries whose C++ interface has no symbolic sizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from opwright.emit.library.declared_outputs import SHARED_OPERATORS
from opwright.model.declared_outputs import (
    TORCH_DTYPES,
    DeclaredOutput,
    OutputExpression,
    OutputOperation,
    ValueKind,
)
from opwright.syntax.python import variable_name

#: The functions that the text calls. They take what the arguments of a traced call are: tensors, symbols, numbers.
HELPERS: Final = '''\
def _sizes(shape):
    """The sizes of a tensor, or a list of sizes as it is."""
    return list(shape.shape if isinstance(shape, _torch.Tensor) else shape)


def _reduced(shape, dims, keepdim=False):
    """The sizes without some dimensions, or with 1 in their place; of all dimensions if none is named."""
    sizes = _sizes(shape)
    dims = [] if dims is None else [dims] if isinstance(dims, int) else list(dims)
    removed = {range(len(sizes))[dim] for dim in dims} or set(range(len(sizes)))
    return [1 if index in removed else size for index, size in enumerate(sizes) if keepdim or index not in removed]


def _joined(tensors, dim=0):
    """The sizes of tensors that are joined along a dimension."""
    kept = [tensor for tensor in tensors if tuple(tensor.shape) != (0,)] or list(tensors)
    sizes = _sizes(kept[0])
    sizes[dim] = sum(tensor.shape[dim] for tensor in kept)
    return sizes


def _dynamic(most, least):
    """A size that depends on the values of tensors, between two limits."""
    context = _torch.library.get_ctx()
    if most is None or isinstance(most, int):
        return context.new_dynamic_size(min=least, max=most)
    size = context.new_dynamic_size(min=least)
    _torch._check(size <= most)
    return size


def _promoted(*values):
    """The dtype to which tensors, lists of tensors, dtypes and numbers promote."""
    flat = [item for value in values for item in (value if isinstance(value, (list, tuple)) else [value])]
    operands = [_torch.empty(1, dtype=item, device="meta") if isinstance(item, _torch.dtype) else item for item in flat]
    return _common.elementwise_dtypes(*operands, type_promotion_kind=_KIND.NO_OPMATH)[1]
'''

#: The text of operations that only has the texts of the operands.
_TEMPLATES: Final[Mapping[OutputOperation, str]] = {
    **SHARED_OPERATORS,
    OutputOperation.value: "{0}",
    OutputOperation.floor_divide: "({0} // {1})",
    OutputOperation.modulo: "({0} % {1})",
    OutputOperation.negation: "(not {0})",
    OutputOperation.is_given: "({0} is not None)",
    OutputOperation.value_or: "({0} if {0} is not None else {1})",
    OutputOperation.conditional: "({1} if {0} else {2})",
    OutputOperation.size: "{0}.shape[{1}]",
    OutputOperation.sizes: "_sizes({0})",
    OutputOperation.dim: "{0}.dim()",
    OutputOperation.numel: "{0}.numel()",
    OutputOperation.dtype_of: "{0}.dtype",
    OutputOperation.device_of: "{0}.device",
    OutputOperation.length: "len({0})",
    OutputOperation.item: "{0}[{1}]",
    OutputOperation.reduce: "_reduced({0}, {1}, {2})",
    OutputOperation.cat: "_joined({0}, {1})",
    OutputOperation.dynamic: "_dynamic({0}, {1})",
    OutputOperation.default_dtype: "_torch.get_default_dtype()",
    OutputOperation.cpu: '_torch.device("cpu")',
}

_WORDS: Final = {"true": "True", "false": "False"}


def allocation(output: DeclaredOutput) -> str:
    """Expression that makes a result."""
    options = f"dtype={_text(output.dtype)}, device={_text(output.device)}"
    if output.like is not None:
        return f"_torch.empty_like({_text(output.like)}, {options})"
    return f"_torch.empty({_text(output.size)}, {options})"


def wanted_output(output: DeclaredOutput, written: str) -> str:
    """Arguments of a check that a tensor can hold a result: its variable, and the size, dtype and device."""
    return f"{written}, {_text(output.size)}, {_text(output.dtype)}, {_text(output.device)}"


#: The names of helpers, and what documentation calls them.
_HELPER: Final = re.compile(r"\b_(torch|sizes|reduced|joined|dynamic|promoted)\b")
_SIZES: Final = re.compile(r"\b_sizes\((\w+)\)")
_DESCRIBED: Final = {"reduced": "reduce", "joined": "cat", "promoted": "promote"}


def described_output(output: DeclaredOutput) -> str:
    """What documentation says of a result: its size and dtype, as expressions over the arguments."""
    size, dtype = [
        _HELPER.sub(lambda name: _DESCRIBED.get(name[1], name[1]), _SIZES.sub(r"\1.shape", _text(expression)))
        for expression in (output.size, output.dtype)
    ]
    return f"a tensor of size `{size}` and dtype `{dtype}`"


def _text(expression: OutputExpression) -> str:
    """The Python text of an expression."""
    template = _TEMPLATES.get(expression.operation)
    if template is not None:
        return template.format(*_texts(expression))
    return _PRINTERS[expression.operation](expression)


def _texts(expression: OutputExpression) -> list[str]:
    return ["None" if operand is None else _text(operand) for operand in expression.operands]


def _print_argument(expression: OutputExpression) -> str:
    return "None" if expression.kind is ValueKind.none else variable_name(expression.text)


def _print_literal(expression: OutputExpression) -> str:
    return _WORDS.get(expression.text, expression.text)


def _print_dtype(expression: OutputExpression) -> str:
    return f"_torch.{TORCH_DTYPES[expression.text]}"


def _print_slice(expression: OutputExpression) -> str:
    values, *limits = expression.operands
    assert values is not None
    first, last = ["" if limit is None else _text(limit) for limit in limits]
    return f"{_text(values)}[{first}:{last}]"


def _print_operator(word: str) -> Callable[[OutputExpression], str]:
    return lambda expression: f"({f' {word} '.join(_texts(expression))})"


def _print_folded(function: str) -> Callable[[OutputExpression], str]:
    """Printer of calls of a function of two operands, one in the other."""

    def print_calls(expression: OutputExpression) -> str:
        first, *others = _texts(expression)
        for other in others:
            first = f"{function}({first}, {other})"
        return first

    return print_calls


def _print_list(expression: OutputExpression) -> str:
    return f"[{', '.join(_texts(expression))}]"


def _print_concatenation(expression: OutputExpression) -> str:
    return f"[{', '.join([f'*{text}' for text in _texts(expression)])}]"


def _print_broadcast(expression: OutputExpression) -> str:
    shapes = ", ".join([f"_sizes({text})" for text in _texts(expression)])
    return f"_torch.broadcast_shapes({shapes})"


def _print_promotion(expression: OutputExpression) -> str:
    return f"_promoted({', '.join(_texts(expression))})"


_PRINTERS: Final[Mapping[OutputOperation, Callable[[OutputExpression], str]]] = {
    OutputOperation.argument: _print_argument,
    OutputOperation.literal: _print_literal,
    OutputOperation.dtype: _print_dtype,
    OutputOperation.slice: _print_slice,
    OutputOperation.both: _print_operator("and"),
    OutputOperation.either: _print_operator("or"),
    OutputOperation.maximum: _print_folded("_torch.sym_max"),
    OutputOperation.minimum: _print_folded("_torch.sym_min"),
    OutputOperation.make_list: _print_list,
    OutputOperation.concatenate: _print_concatenation,
    OutputOperation.broadcast: _print_broadcast,
    OutputOperation.promote: _print_promotion,
}
