"""Declared outputs as Python, for libraries whose C++ interface has no symbolic sizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from opwright.libraries.emit.declared_outputs import COMPARISONS, compares_numbers, output_subject
from opwright.libraries.emit.requirements import has_checks, message_parts, operator_name
from opwright.model.declared_outputs import (
    TORCH_DTYPES,
    DeclaredOutput,
    OutputExpression,
    OutputOperation,
    ValueKind,
)
from opwright.model.native_function import NativeFunction
from opwright.model.requirements import index_name, item_name
from opwright.schema.function import SchemaKind
from opwright.source.records import NamedTuple
from opwright.syntax.python import string_literal, variable_name

#: How dtypes promote, for the functions. The module imports `torch._prims_common` as `_common`.
KIND: Final = "_KIND = _common.ELEMENTWISE_TYPE_PROMOTION_KIND"

#: The functions that the text calls. They take what the arguments of a traced call are: tensors, symbols, numbers.
HELPERS: Final = '''\
def _sizes(shape):
    """The sizes of a tensor, or a list of sizes as it is."""
    return list(shape.shape if isinstance(shape, _torch.Tensor) else shape)


def _fail(where, reason):
    raise RuntimeError(f"{where} cannot be computed: {reason}")


def _bounded(value, where, *parts):
    """An integer, which has at most 64 bits. Symbols stay symbols."""
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        _fail(where, f"{''.join(map(str, parts))} has more than 64 bits")
    return value


def _added(left, right, where):
    return _bounded(left + right, where, left, " + ", right)


def _subtracted(left, right, where):
    return _bounded(left - right, where, left, " - ", right)


def _multiplied(left, right, where):
    return _bounded(left * right, where, left, " * ", right)


def _divided(number, by, where):
    try:
        return _bounded(number // by, where, number, " // ", by)
    except ZeroDivisionError:
        _fail(where, f"{number} // 0 divides by zero")


def _remainder(number, by, where):
    try:
        return number % by
    except ZeroDivisionError:
        _fail(where, f"{number} % 0 divides by zero")


def _negated(number, where):
    return _bounded(-_real(number, where), where, "-(", number, ")")


def _real(number, where):
    """A number that comparisons know."""
    if isinstance(number, complex):
        _fail(where, f"{_shown(number)} is complex")
    if isinstance(number, int) and not -(1 << 63) <= number < 1 << 63:
        _fail(where, "a number has more than 64 bits")
    return number


def _compared(compare, left, right, where):
    numbers = (_real(left, where), _real(right, where))
    for number in numbers:
        if isinstance(number, float) and number != number:
            # PyTorch does not compare symbols with NaN.
            return compare(number, number)
    return compare(*numbers)


def _folded(function, *numbers):
    return _functools.reduce(function, numbers)


def _dimension(dim, rank, where):
    if not -rank <= dim < rank:
        _fail(where, f"dimension {dim} is out of range for a tensor of rank {rank}")
    return dim % rank


def _size(tensor, dim, where):
    return tensor.shape[_dimension(dim, tensor.dim(), where)]


def _item(values, index, where):
    if not -len(values) <= index < len(values):
        _fail(where, f"index {index} is out of range for a list of {len(values)}")
    return values[index]


def _broadcast(where, *shapes):
    """The sizes to which all shapes broadcast."""
    common = []
    for sizes in map(_sizes, shapes):
        longer, shorter = (sizes, common) if len(common) < len(sizes) else (common, sizes)
        joined = list(longer)
        for place in range(-1, -len(shorter) - 1, -1):
            size, other = joined[place], shorter[place]
            if _is_one(size):
                joined[place] = other
            elif not _is_one(other) and not _all_equal([(size, other)]):
                _fail(where, f"sizes {_shown(common)} and {_shown(sizes)} do not broadcast")
        common = joined
    return common


def _reduced(shape, dims, keepdim, where):
    """The sizes without some dimensions, or with 1 in their place; of all dimensions if none is named."""
    sizes = _sizes(shape)
    dims = [] if dims is None else [dims] if isinstance(dims, int) else list(dims)
    removed = set() if dims else set(range(len(sizes)))
    for dim in dims:
        # A tensor without dimensions can be reduced over dimension 0.
        place = _dimension(dim, max(len(sizes), 1), where)
        if sizes and place in removed:
            _fail(where, f"dimension {place} is named twice")
        removed.add(place)
    return [1 if index in removed else size for index, size in enumerate(sizes) if keepdim or index not in removed]


def _joined(tensors, dim, where):
    """The sizes of tensors that are joined along a dimension. A tensor of size 0 alone has no say."""
    if not tensors:
        _fail(where, "there are no tensors to join")
    joined = None
    for sizes in map(_sizes, tensors):
        if len(sizes) == 1 and _is_zero(sizes[0]):
            continue
        if joined is None:
            joined = sizes
            continue
        place = _dimension(dim, len(joined), where)
        pairs = [pair for index, pair in enumerate(zip(joined, sizes)) if index != place]
        if len(sizes) != len(joined) or not _all_equal(pairs):
            _fail(where, f"sizes {_shown(joined)} and {_shown(sizes)} do not join")
        joined[place] = _added(joined[place], sizes[place], where)
    joined = _sizes(tensors[0]) if joined is None else joined
    _dimension(dim, len(joined), where)
    return joined


def _dynamic(most, least):
    """A size that depends on the values of tensors, between two limits."""
    context = _torch.library.get_ctx()
    if most is None or isinstance(most, int):
        return context.new_dynamic_size(min=least, max=most)
    size = context.new_dynamic_size(min=least)
    _torch._check(size <= most)
    return size


def _text(*parts):
    """The message of a refused call: texts, and values as Python shows them."""
    return "".join([part if isinstance(part, str) else _shown(part) for part in parts])


def _shown(value):
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, complex):
        return f"({value.real:g}{value.imag:+g}j)"
    return f"{value:g}" if isinstance(value, float) else str(value).removeprefix("torch.")


def _is_power_of_two(number):
    """A trace that asks this of a symbol holds for its size alone."""
    number = int(number)
    return number > 0 and number & (number - 1) == 0


def _is_one_of(dtype, names):
    """Whether a dtype has one of some names, or is in a class of one."""
    quantized = ("qint8", "quint8", "qint32", "quint4x2", "quint2x4")
    name = _shown(dtype)
    classes = {"floating": dtype.is_floating_point, "complex": dtype.is_complex, "quantized": name in quantized}
    is_integral = name.removeprefix("u") in ("int8", "int16", "int32", "int64")
    return name in names or any(holds for each, holds in {**classes, "integral": is_integral}.items() if each in names)


def _inner(tensor, before, after):
    return list(tensor.shape)[before : tensor.dim() - after]


def _all_equal(pairs):
    """Whether the sizes of each pair are equal, which a trace expects of symbols that are unknown."""
    for size, other in pairs:
        equal = size == other
        if not isinstance(equal, bool) and _is_unknown(equal):
            _torch._check(equal)
        elif not equal:
            return False
    return True


def _is_unknown(condition):
    return getattr(condition.node, "hint", None) is None


def _is_one(size):
    return _is_known(size == 1)


def _is_zero(size):
    return _is_known(size == 0)


def _is_known(equal):
    return equal if isinstance(equal, bool) else not _is_unknown(equal) and bool(equal)


def _same_sizes(*sides):
    return _same_list(_inner(*sides[:3]), _inner(*sides[3:]))


def _same_list(sizes, others):
    return len(sizes) == len(others) and _all_equal(zip(sizes, others))


def _broadcasts(*sides):
    sizes, others = _inner(*sides[:3]), _inner(*sides[3:])
    return len(sizes) <= len(others) and _all_equal(
        (size, other) for size, other in zip(reversed(sizes), reversed(others)) if not _is_one(size)
    )


def _broadcasts_together(*sides):
    pairs = zip(reversed(_inner(*sides[:3])), reversed(_inner(*sides[3:])))
    return _all_equal((size, other) for size, other in pairs if not _is_one(size) and not _is_one(other))


def _has_layout(tensor, layout):
    if layout == "last_contiguous":
        # Tensors without elements have any layout; a symbol stands for a size above 1.
        is_empty = any(isinstance(size, int) and size == 0 for size in tensor.shape)
        return is_empty or tensor.dim() == 0 or bool(tensor.stride(-1) == 1) or bool(tensor.shape[-1] == 1)
    if layout in ("contiguous", "aligned"):
        return tensor.is_contiguous()
    format = _torch.channels_last_3d if tensor.dim() == 5 else _torch.channels_last
    return tensor.is_contiguous(memory_format=format)


def _fit(kind, tensor, dtype, device):
    """Checks that a tensor can hold a result."""
    if tensor.dtype != dtype:
        raise RuntimeError(f"Expected {kind} to have dtype {dtype}, but got {tensor.dtype} instead")
    if tensor.device != device:
        raise RuntimeError(f"Expected {kind} to have device {device}, but got {tensor.device} instead")


def _resized(out, size, dtype, device):
    """Checks an out argument, and gives it the sizes of the result."""
    _fit("out tensor", out, dtype, device)
    _maybe_resize_out(out, tuple(size))


def _in_place(tensor, size, dtype, device):
    """Checks an argument that is overwritten with the result."""
    _fit("in-place operand", tensor, dtype, device)
    if list(tensor.shape) != list(size):
        sizes = f"input tensor size {list(tensor.shape)} and output tensor size {list(size)}"
        raise RuntimeError(f"Bad in-place call: {sizes} should match")


def _promoted(where, *values):
    """The dtype to which tensors, lists of tensors, dtypes and numbers promote."""
    flat = [item for value in values for item in (value if isinstance(value, (list, tuple)) else [value])]
    if not flat:
        _fail(where, "there are no values to promote")
    operands = [_torch.empty(1, dtype=item, device="meta") if isinstance(item, _torch.dtype) else item for item in flat]
    return _common.elementwise_dtypes(*operands, type_promotion_kind=_KIND.NO_OPMATH)[1]
'''

#: The text of operations that only has the texts of the operands. `{where}` is what errors say that cannot be computed.
_TEMPLATES: Final[Mapping[OutputOperation, str]] = {
    OutputOperation.add: "_added({0}, {1}, {where})",
    OutputOperation.subtract: "_subtracted({0}, {1}, {where})",
    OutputOperation.multiply: "_multiplied({0}, {1}, {where})",
    OutputOperation.value: "{0}",
    OutputOperation.floor_divide: "_divided({0}, {1}, {where})",
    OutputOperation.modulo: "_remainder({0}, {1}, {where})",
    OutputOperation.negation: "(not {0})",
    OutputOperation.is_given: "({0} is not None)",
    OutputOperation.value_or: "({0} if {0} is not None else {1})",
    OutputOperation.conditional: "({1} if {0} else {2})",
    OutputOperation.size: "_size({0}, {1}, {where})",
    OutputOperation.sizes: "_sizes({0})",
    OutputOperation.dim: "{0}.dim()",
    OutputOperation.numel: "{0}.numel()",
    OutputOperation.dtype_of: "{0}.dtype",
    OutputOperation.device_of: "{0}.device",
    OutputOperation.length: "len({0})",
    OutputOperation.item: "_item({0}, {1}, {where})",
    OutputOperation.reduce: "_reduced({0}, {1}, {2}, {where})",
    OutputOperation.cat: "_joined({0}, {1}, {where})",
    OutputOperation.dynamic: "_dynamic({0}, {1})",
    OutputOperation.same_lists: "_same_list({0}, {1})",
    OutputOperation.same_sizes: "_same_sizes({0}, {1}, {2}, {3}, {4}, {5})",
    OutputOperation.broadcasts: "_broadcasts({0}, {1}, {2}, {3}, {4}, {5})",
    OutputOperation.broadcasts_together: "_broadcasts_together({0}, {1}, {2}, {3}, {4}, {5})",
    OutputOperation.is_on_cpu: '({0}.device.type == "cpu")',
    OutputOperation.power_of_two: "_is_power_of_two({0})",
    OutputOperation.default_dtype: "_torch.get_default_dtype()",
    OutputOperation.cpu: '_torch.device("cpu")',
}

#: The same in documentation, which says nothing of errors.
_DESCRIBED_TEMPLATES: Final[Mapping[OutputOperation, str]] = {
    **_TEMPLATES,
    OutputOperation.add: "({0} + {1})",
    OutputOperation.subtract: "({0} - {1})",
    OutputOperation.multiply: "({0} * {1})",
    OutputOperation.floor_divide: "({0} // {1})",
    OutputOperation.modulo: "({0} % {1})",
    OutputOperation.negate: "(-{0})",
    OutputOperation.power_of_two: "power_of_two({0})",
    OutputOperation.size: "{0}.shape[{1}]",
    OutputOperation.item: "{0}[{1}]",
    OutputOperation.reduce: "reduce({0}, {1}, {2})",
    OutputOperation.cat: "cat({0}, {1})",
    **{operation: f"({{0}} {sign} {{1}})" for operation, sign in COMPARISONS.items()},
}

_WORDS: Final = {"true": "True", "false": "False"}


def allocation(output: DeclaredOutput, operator: str) -> str:
    """Expression that makes a result of an operator."""
    printer = _Printer(output_subject(output, operator))
    options = f"dtype={printer.text(output.dtype)}, device={printer.text(output.device)}"
    if output.like is not None:
        return f"_torch.empty_like({printer.text(output.like)}, {options})"
    return f"_torch.empty({printer.text(output.size)}, {options})"


def written_check(function: NativeFunction, output: DeclaredOutput, name: str) -> str:
    """Statement that checks that an argument can hold a result, and resizes it if it is an out argument."""
    check = "_in_place" if function.kind is SchemaKind.inplace else "_resized"
    printer = _Printer(output_subject(output, operator_name(function)))
    wanted = ", ".join(map(printer.text, (output.size, output.dtype, output.device)))
    return f"{check}({variable_name(name)}, {wanted})"


#: The names of helpers, which documentation writes without the underscore.
_HELPER: Final = re.compile(r"\b_(torch|sizes|dynamic)\b")
_SIZES: Final = re.compile(r"\b_sizes\((\w+)\)")
_NEGATIVE: Final = re.compile(r"\((-\d+)\)")


def described_output(output: DeclaredOutput, pattern: str = "") -> str:
    """What documentation says of a result: its size, as a pattern if there is one, and its dtype, as expressions."""
    size, dtype = map(described_expression, (output.size, output.dtype))
    return f"a tensor of size `{pattern or size}` and dtype `{dtype}`"


def described_expression(expression: OutputExpression) -> str:
    """What documentation says of an expression."""
    text = _NEGATIVE.sub(r"\1", _SIZES.sub(r"\1.shape", _Printer().text(expression)))
    return _HELPER.sub(r"\1", text)


class _Printer(NamedTuple):
    """Prints expressions, of which an error says by what text it calls them. Without a text it is for documentation."""

    subject: str = ""

    def text(self, expression: OutputExpression) -> str:
        """The Python text of an expression."""
        template = (_TEMPLATES if self.subject else _DESCRIBED_TEMPLATES).get(expression.operation)
        if template is not None:
            return template.format(*self.texts(expression), where=self.where)
        return _PRINTERS[expression.operation](self, expression)

    def texts(self, expression: OutputExpression) -> list[str]:
        """Texts of the operands."""
        return ["None" if operand is None else self.text(operand) for operand in expression.operands]

    @property
    def where(self) -> str:
        """The text of the subject."""
        return string_literal(self.subject)


def _print_argument(printer: _Printer, expression: OutputExpression) -> str:
    return "None" if expression.kind is ValueKind.none else variable_name(expression.text)


def _print_literal(printer: _Printer, expression: OutputExpression) -> str:
    return _WORDS.get(expression.text, expression.text)


def _print_negation(printer: _Printer, expression: OutputExpression) -> str:
    [operand], [text] = expression.operands, printer.texts(expression)
    is_literal = operand is not None and operand.operation is OutputOperation.literal
    return f"(-{text})" if is_literal else f"_negated({text}, {printer.where})"


def _print_comparison(printer: _Printer, expression: OutputExpression) -> str:
    left, right = printer.texts(expression)
    if compares_numbers(expression):
        return f"_compared(_operator.{_OPERATORS[expression.operation]}, {left}, {right}, {printer.where})"
    if printer.subject and all(side is not None and side.kind is ValueKind.boolean for side in expression.operands):
        # PyTorch cannot decide whether two conditions of symbols are equal; `not` decides each.
        return f"((not {left}) {COMPARISONS[expression.operation]} (not {right}))"
    return f"({left} {COMPARISONS[expression.operation]} {right})"


def _print_dtype(printer: _Printer, expression: OutputExpression) -> str:
    return f"_torch.{TORCH_DTYPES[expression.text]}"


def _print_dtype_in(printer: _Printer, expression: OutputExpression) -> str:
    names = tuple([TORCH_DTYPES.get(name, name) for name in expression.text.split()])
    return f"_is_one_of({printer.texts(expression)[0]}, {names!r})"


def _print_text_in(printer: _Printer, expression: OutputExpression) -> str:
    return f"({printer.texts(expression)[0]} in {tuple(expression.text.split(chr(10)))!r})"


def _print_has_layout(printer: _Printer, expression: OutputExpression) -> str:
    return f"_has_layout({printer.texts(expression)[0]}, {expression.text!r})"


def _print_slice(printer: _Printer, expression: OutputExpression) -> str:
    values, *limits = expression.operands
    assert values is not None
    first, last = ["" if limit is None else printer.text(limit) for limit in limits]
    return f"{printer.text(values)}[{first}:{last}]"


def _print_operator(word: str) -> Callable[[_Printer, OutputExpression], str]:
    return lambda printer, expression: f"({f' {word} '.join(printer.texts(expression))})"


def _print_folded(function: str, word: str) -> Callable[[_Printer, OutputExpression], str]:
    """Printer of a function of any number of integers."""
    return lambda printer, expression: (
        f"{f'_folded({function}, ' if printer.subject else f'{word}('}{', '.join(printer.texts(expression))})"
    )


def _print_list(printer: _Printer, expression: OutputExpression) -> str:
    return f"[{', '.join(printer.texts(expression))}]"


def _print_concatenation(printer: _Printer, expression: OutputExpression) -> str:
    return f"[{', '.join([f'*{text}' for text in printer.texts(expression)])}]"


def _print_broadcast(printer: _Printer, expression: OutputExpression) -> str:
    shapes = printer.texts(expression)
    if printer.subject:
        return f"_broadcast({', '.join([printer.where, *shapes])})"
    return f"broadcast({', '.join([f'_sizes({text})' for text in shapes])})"


def _print_promotion(printer: _Printer, expression: OutputExpression) -> str:
    values = printer.texts(expression)
    if printer.subject:
        return f"_promoted({', '.join([printer.where, *values])})"
    return f"promote({', '.join(values)})"


#: The functions of the module `operator` for comparisons.
_OPERATORS: Final = {
    OutputOperation.equal: "eq",
    OutputOperation.unequal: "ne",
    OutputOperation.less: "lt",
    OutputOperation.less_equal: "le",
    OutputOperation.greater: "gt",
    OutputOperation.greater_equal: "ge",
}

_PRINTERS: Final[Mapping[OutputOperation, Callable[[_Printer, OutputExpression], str]]] = {
    OutputOperation.argument: _print_argument,
    OutputOperation.literal: _print_literal,
    OutputOperation.negate: _print_negation,
    **dict.fromkeys(COMPARISONS, _print_comparison),
    OutputOperation.dtype: _print_dtype,
    OutputOperation.dtype_in: _print_dtype_in,
    OutputOperation.text_in: _print_text_in,
    OutputOperation.has_layout: _print_has_layout,
    OutputOperation.slice: _print_slice,
    OutputOperation.both: _print_operator("and"),
    OutputOperation.either: _print_operator("or"),
    OutputOperation.maximum: _print_folded("_torch.sym_max", "max"),
    OutputOperation.minimum: _print_folded("_torch.sym_min", "min"),
    OutputOperation.make_list: _print_list,
    OutputOperation.concatenate: _print_concatenation,
    OutputOperation.broadcast: _print_broadcast,
    OutputOperation.promote: _print_promotion,
}


def check_statements(function: NativeFunction) -> list[str]:
    """Statements that check the arguments of a call, in the order and with the messages of those in C++."""
    requirements = function.requirements
    if requirements is None or not has_checks(function):
        return []
    operator = operator_name(function)
    statements = []
    for requirement in requirements.checks:
        printer = _Printer(f"{operator}: {requirement.subject}")
        parts = [
            repr(part) if isinstance(part, str) else printer.text(part) for part in message_parts(operator, requirement)
        ]
        text = f"_torch._check({printer.text(requirement.condition)}, lambda: _text({', '.join(parts)}))"
        given = " and ".join([f"{printer.text(argument)} is not None" for argument in requirement.given])
        if requirement.each:
            item, index = map(variable_name, (item_name(requirement.each), index_name(requirement.each)))
            tensors = variable_name(requirement.each)
            text = f"for {index}, {item} in enumerate({f'{tensors} if {given} else ()' if given else tensors}): {text}"
        elif given:
            text = f"if {given}: {text}"
        statements.append(text)
    return statements
