"""Declared outputs: size, dtype and device of each result of an operator, as typed expressions over its arguments.

The dialect of operator libraries parses and checks them; emitters print them as C++.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final, TypeAlias

from opwright.source.records import NamedTuple
from opwright.source.span import Span

#: The least integer of 64 bits.
LEAST_INTEGER: Final = str(-(1 << 63))


class ValueKind(enum.Enum):
    """What an expression gives; the value is its name in messages.

    An `integer` has a value whenever the operator is called; a `size` may be symbolic while PyTorch traces. Every
    integer can be used as a size. The same holds for `integers` and `sizes`, which are lists.
    """

    integer = "an integer"
    size = "a size"
    integers = "a list of integers"
    sizes = "a list of sizes"
    tensor = "a tensor"
    tensors = "a list of tensors"
    dtype = "a dtype"
    device = "a device"
    boolean = "a boolean"
    number = "a number"
    none = "None"
    items = "a list"
    """A list of which only the length can be used."""
    other = "a value that declared outputs cannot use"


class ValueType(NamedTuple):
    """Type of an expression: its kind, and whether it may be None."""

    kind: ValueKind
    is_optional: bool = False

    def __str__(self) -> str:
        return f"{self.kind.value} or None" if self.is_optional else self.kind.value


class OutputOperation(enum.Enum):
    """What an expression does with its operands."""

    argument = enum.auto()
    literal = enum.auto()
    """An integer, a number or a boolean, in C++."""
    dtype = enum.auto()
    """A dtype by its C++ name."""
    value = enum.auto()
    """An optional argument where it is known not to be None."""

    add = enum.auto()
    subtract = enum.auto()
    multiply = enum.auto()
    floor_divide = enum.auto()
    modulo = enum.auto()
    negate = enum.auto()
    maximum = enum.auto()
    minimum = enum.auto()

    equal = enum.auto()
    same_lists = enum.auto()
    """Whether two lists of sizes are equal."""
    unequal = enum.auto()
    less = enum.auto()
    less_equal = enum.auto()
    greater = enum.auto()
    greater_equal = enum.auto()
    both = enum.auto()
    either = enum.auto()
    negation = enum.auto()
    is_given = enum.auto()
    """Whether an optional argument is not None."""
    value_or = enum.auto()
    """The first operand, or the second one if the first is None."""
    conditional = enum.auto()
    """The second operand if the first is true, else the third."""

    size = enum.auto()
    sizes = enum.auto()
    dim = enum.auto()
    numel = enum.auto()
    dtype_of = enum.auto()
    device_of = enum.auto()
    length = enum.auto()
    item = enum.auto()
    slice = enum.auto()
    """A part of a list: the list, and the two limits, each an expression or None."""
    make_list = enum.auto()
    concatenate = enum.auto()
    """The items of all operands, each an item or a list."""

    broadcast = enum.auto()
    reduce = enum.auto()
    cat = enum.auto()
    promote = enum.auto()

    dynamic = enum.auto()
    """A size that depends on the values of tensors: its upper limit, or None, and its lower one."""

    text_in = enum.auto()
    """Whether a text is one of the lines of the text."""
    power_of_two = enum.auto()
    """Whether an integer is a power of two."""
    dtype_in = enum.auto()
    """Whether a dtype is one of those that the text names, see `dtype_codes`."""
    is_on_cpu = enum.auto()
    """Whether a tensor is on the CPU."""
    has_layout = enum.auto()
    """Whether a tensor has the layout that the text names."""
    same_sizes = enum.auto()
    """Whether parts of the sizes of two tensors are equal: each tensor with the numbers of dimensions before and after
    the part."""
    broadcasts = enum.auto()
    """Whether such a part of the first tensor broadcasts to that of the second one."""
    broadcasts_together = enum.auto()
    """Whether such parts of two tensors broadcast."""

    default_dtype = enum.auto()
    """The dtype that PyTorch gives tensors of unknown dtype."""
    cpu = enum.auto()
    """The device of results of operators that take neither a tensor nor a device."""


class OutputExpression(NamedTuple):
    """A checked expression: an operation with operands, the type of its value, and the text of a leaf.

    An operand is None where an optional part is missing, such as the end of a slice.
    """

    operation: OutputOperation
    type: ValueType
    operands: tuple[OutputExpression | None, ...] = ()
    text: str = ""

    @property
    def kind(self) -> ValueKind:
        """Kind of the value."""
        return self.type.kind


class DeclaredOutput(NamedTuple):
    """One result: expressions for its size, dtype and device.

    `like` is the tensor whose memory format the result has, or None for a contiguous result. `name` is that of the
    result in the schema, if it has one.
    """

    size: OutputExpression
    dtype: OutputExpression
    device: OutputExpression
    like: OutputExpression | None
    name: str | None
    span: Span


def depends_on_values(outputs: DeclaredOutputs) -> bool:
    """Whether a size of some outputs is known only when the operator has run."""
    return any(_has_dynamic_size(output.size) for output in outputs)


def _has_dynamic_size(expression: OutputExpression | None) -> bool:
    if expression is None:
        return False
    return expression.operation is OutputOperation.dynamic or any(map(_has_dynamic_size, expression.operands))


#: All results of an operator that are new tensors, or the out arguments, in the order of the schema.
DeclaredOutputs: TypeAlias = tuple[DeclaredOutput, ...]

#: The code of each dtype, which is the same in all releases, its name in C++, and its names in `torch`.
_DTYPE_NAMES: Final = """
6 Float float32 float
7 Double float64 double
5 Half float16 half
15 BFloat16 bfloat16
1 Char int8
2 Short int16 short
3 Int int32 int
4 Long int64 long
0 Byte uint8
27 UInt16 uint16
28 UInt32 uint32
29 UInt64 uint64
11 Bool bool
8 ComplexHalf complex32 chalf
9 ComplexFloat complex64 cfloat
10 ComplexDouble complex128 cdouble
24 Float8_e4m3fn float8_e4m3fn
26 Float8_e4m3fnuz float8_e4m3fnuz
23 Float8_e5m2 float8_e5m2
25 Float8_e5m2fnuz float8_e5m2fnuz
44 Float8_e8m0fnu float8_e8m0fnu
"""

#: The names of dtypes in expressions, which are those of `torch`, and their names in C++.
DTYPES: Final[Mapping[str, str]] = {
    name: words[1] for line in _DTYPE_NAMES.split("\n") for words in [line.split()] for name in words[2:]
}

#: The name of a dtype in C++ -> the first of its names in `torch`.
TORCH_DTYPES: Final = {cpp: name for name, cpp in reversed(list(DTYPES.items()))}

_CODES: Final = {words[1]: int(words[0]) for line in _DTYPE_NAMES.split("\n") if (words := line.split())}

#: The classes of dtypes, each with the codes of its dtypes.
DTYPE_CLASSES: Final[Mapping[str, tuple[int, ...]]] = {
    "floating": (5, 6, 7, 15, 23, 24, 25, 26, 44, 45),
    "integral": (0, 1, 2, 3, 4, 27, 28, 29),
    "complex": (8, 9, 10),
    "quantized": (12, 13, 14, 16, 17),
}


def dtype_codes(names: str) -> tuple[int, ...]:
    """Codes of the dtypes that a text names: classes, and dtypes by their C++ names.

    >>> dtype_codes("complex Bool")
    (8, 9, 10, 11)
    """
    codes = [code for name in names.split() for code in DTYPE_CLASSES.get(name) or (_CODES[name],)]
    return tuple(sorted(set(codes)))


def dtype_names(codes: tuple[int, ...]) -> tuple[str, ...]:
    """The C++ names of dtypes that expressions can name."""
    return tuple([name for name, code in _CODES.items() if code in codes])
