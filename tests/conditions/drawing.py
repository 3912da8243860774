"""Draws operators with a condition or a computed size, and the arguments of their calls."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tests.conditions.oracle import Shape

if TYPE_CHECKING:
    from typing import TypeAlias

    Value: TypeAlias = Any

__all__ = ["DrawnOperator", "arguments", "drawn_operator"]

_LEAST, _MOST = -(2**63), 2**63 - 1
#: Integers at the limits of what 64 bits, 32 bits and floating-point numbers hold.
INTEGERS: Final = (
    *(_LEAST, _LEAST + 1, -(2**62) - 1, -(2**32), -(2**31) - 1, -7, -3, -2, -1, 0, 1, 2, 3, 4, 5, 7, 2**31, 2**32),
    *(2**53, 2**53 + 1, 3037000500, 2**62, 2**62 + 1, _MOST - 1, _MOST),
)
#: Numbers beside which such integers lie, those without a value, and the zeros.
NUMBERS: Final = (
    *(float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 0.5, -0.5, 1.0, 3.0, 2.0**53, 2.0**53 + 2),
    *(2.0**62, 2.0**63, -(2.0**63), -(2.0**63) - 2048.0, 2.0**63 - 1024.0, 1e300, -1e300, 5e-324),
)
SIZES: Final = (0, 1, 1, 2, 3, 4)
DTYPES: Final = (
    *("float32", "float32", "float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool"),
    "complex64",
)

#: Names that arguments of each type have: plain ones, of Python's builtins, and of what generated code names.
_NAMES: Final = (
    *("n", "m", "k", "len", "enumerate", "max", "min", "list", "range", "tuple", "isinstance", "RuntimeError", "len_"),
    *("_torch", "_text", "_add", "_size", "_operator", "_functools", "_bounded", "Sizes", "Type0", "Type1", "where"),
    *("opwright_xs_item", "opwright_xs_index", "opwright_0", "opwright_1", "shown", "known", "facts", "sizes"),
    *("number", "input", "dict", "print", "shape", "_opwright", "self_", "value", "size"),
)
#: The types of arguments, and how often they are drawn.
_TYPES: Final = {
    "int": 6, "SymInt": 3, "float": 3, "bool": 1, "int?": 2, "SymInt?": 1, "float?": 1, "int[]": 2, "SymInt[]": 1,
    "int[]?": 1, "Tensor": 2, "Tensor?": 1, "Tensor[]": 1, "Scalar": 2,
}  # fmt: skip


class DrawnOperator(NamedTuple):
    """An operator: its name, the types of its arguments, its condition, and the size of its result, if it has one."""

    name: str
    types: Mapping[str, str]
    condition: str
    size: str
    has_scalar: bool

    def entry(self) -> str:
        """The entry of a library file."""
        arguments = ", ".join([f"{type} {name}" for name, type in self.types.items()])
        lines = [f'- func: "{self.name}({arguments}) -> Tensor"', f"  dispatch: {{CPU: {self.name}}}"]
        lines += [f'  dims: {{return: "{{{self.size}}}"}}'] if self.size else ["  outputs: like(x)"]
        lines += [f'  requires: "{self.condition}"'] if self.condition else []
        return "\n".join(lines) + "\n"


class _Expressions:
    """Draws expressions over arguments."""

    def __init__(self, chance: random.Random, types: Mapping[str, str]) -> None:
        self._chance: Final = chance
        self._types: Final = types

    def _named(self, *types: str) -> str | None:
        names = [name for name, type in self._types.items() if type in types]
        return self._chance.choice(names) if names else None

    def integer(self, depth: int, *, known: bool = False) -> str:
        """An integer; one that is `known` is no size."""
        chance = self._chance
        kind = chance.randrange(15) if depth > 0 else chance.randrange(4)

        def part() -> str:
            return self.integer(depth - 1, known=known)

        if kind < 3 and (name := self._named("int", *([] if known else ["SymInt"]))):
            return name
        if kind < 4:
            literals = [0, 1, 2, 3, 7, 2**31, 2**32, 2**62, _MOST]
            text = str(chance.choice(literals))
            return chance.choice([text, text, f"(-{text})", "(-9223372036854775808)"])
        if kind < 9:
            return f"({part()} {chance.choice(['+', '-', '*', '//', '%'])} {part()})"
        if kind == 9:
            return f"{chance.choice(['max', 'min'])}({part()}, {part()}, {part()})"
        if kind == 10:
            return f"(-{part()})"
        if kind == 11:
            return f"({part()} if {self.boolean(depth - 1)} else {part()})"
        if kind == 12 and (name := self._named("int?", *([] if known else ["SymInt?"]))):
            return f"({name} or {part()})"
        if kind == 13 and (name := self._named("int[]", "Tensor[]", *([] if known else ["SymInt[]"]))):
            is_item = self._types[name] != "Tensor[]" and chance.random() < 0.6
            return f"{name}[{self.integer(1, known=True)}]" if is_item else f"len({name})"
        tensor = self._named("Tensor") or "x"
        if known:
            return f"{tensor}.dim()"
        dim = chance.choice(["0", "-1", self.integer(0, known=True)])
        return chance.choice([f"{tensor}.size({dim})", f"{tensor}.size({dim})", f"{tensor}.numel()"])

    def number(self, depth: int) -> str:
        """A number that may be no integer."""
        chance = self._chance
        if name := self._named("float", "Scalar"):
            return chance.choice([name, name, f"(-{name})"])
        if name := self._named("float?"):
            return f"({name} or 0.5)"
        return chance.choice(["0.5", "1e3", "9007199254740993.0", "-0.0", "9.3e18"])

    def sizes(self, depth: int) -> str:
        """A list of sizes."""
        chance = self._chance
        tensor = self._named("Tensor") or "x"
        match chance.randrange(8):
            case 0 if name := self._named("int[]", "SymInt[]"):
                return name
            case 1:
                return f"broadcast({tensor}, {self._named('Tensor', 'int[]') or 'x'})"
            case 2:
                return f"reduce({tensor}, {self.integer(0, known=True)}, {chance.choice(['True', 'False'])})"
            case 3 if name := self._named("Tensor[]"):
                return f"cat({name}, {self.integer(0, known=True)})"
            case 4:
                return f"{tensor}.sizes()[{self.integer(0, known=True)}:{self.integer(0, known=True)}]"
            case 5:
                return f"[{self.integer(depth - 1)}, *{tensor}.shape]"
            case 6 if name := self._named("int[]?"):
                return f"({name} or [1, 2])"
        return f"({tensor}.shape + [{self.integer(depth - 1)}])"

    def dtype(self) -> str:
        """A dtype: that of a tensor, a name, or what values promote to."""
        chance = self._chance
        plain = [chance.choice(DTYPES), f"{self._named('Tensor')}.dtype"]
        if chance.random() < 0.3:
            return chance.choice(plain)
        kinds = ("Tensor", "Tensor[]", "Scalar", "int", "float", "bool")
        values = [chance.choice([*plain, "2", "0.5", self._named(*kinds) or "x"]) for _ in range(chance.randint(1, 3))]
        return f"promote({', '.join(values)})"

    def boolean(self, depth: int) -> str:
        """A condition."""
        chance = self._chance
        sign = chance.choice(["==", "!=", "<", "<=", ">", ">="])
        kind = chance.randrange(13) if depth > 0 else chance.randrange(6)
        if kind < 4:
            return f"{self.integer(depth)} {sign} {self.integer(depth)}"
        if kind == 4:
            sides = [self.number(depth), chance.choice([self.integer(depth), self.number(depth)])]
            chance.shuffle(sides)
            return f"{sides[0]} {sign} {sides[1]}"
        if kind == 5:
            name = self._named("bool")
            return name or f"{self.sizes(depth)} == {self.sizes(depth)}"
        if kind == 6:
            return f"not ({self.boolean(depth - 1)})"
        if kind < 9:
            word = chance.choice([" and ", " or "])
            return f"({word.join([self.boolean(depth - 1) for _ in range(chance.choice([2, 2, 3]))])})"
        if kind == 9 and (name := self._named("int?", "float?", "Tensor?")):
            value = f"{name}.dim()" if self._types[name] == "Tensor?" else name
            return f"({name} is None or {value} {sign} {self.integer(depth - 1)})"
        if kind == 12:
            return f"{self.dtype()} {chance.choice(['==', '!='])} {self.dtype()}"
        if kind == 10:
            return f"({self.boolean(depth - 1)}) == ({self.boolean(depth - 1)})"
        return f"len({self.sizes(depth)}) {sign} {self.integer(depth - 1)}"


def drawn_operator(number: int, chance: random.Random) -> DrawnOperator:
    """An operator with random arguments, and a condition or a size of its result over them."""
    names = chance.sample(_NAMES, chance.randint(2, 5))
    kinds = list(_TYPES)
    types = {"x": "Tensor"}
    for name in names:
        types[name] = chance.choices(kinds, list(_TYPES.values()))[0]
    expressions = _Expressions(chance, types)
    condition = size = ""
    while not any(re.search(rf"\b{name}\b", condition or size) for name in types):
        condition = size = ""
        if chance.random() < 0.15:
            size = expressions.integer(2)
        else:
            condition = expressions.boolean(chance.choice([1, 2, 3]))
    return DrawnOperator(f"f{number}", types, condition, size, "Scalar" in types.values())


def arguments(operator: DrawnOperator, chance: random.Random) -> dict[str, Value]:
    """Arguments of a call; tensors are their sizes."""
    return {name: _value(type, chance) for name, type in operator.types.items()}


def _value(type: str, chance: random.Random) -> Value:
    if type.endswith("?"):
        return None if chance.random() < 0.3 else _value(type[:-1], chance)
    if type == "SymInt[]":
        # PyTorch reads no lists of symbols with lesser integers before it calls a kernel.
        return [chance.choice([size for size in INTEGERS if size >= -(2**62)]) for _ in range(chance.randrange(4))]
    if type.endswith("[]"):
        return [_value(type[:-2], chance) for _ in range(chance.randrange(4))]
    match type:
        case "int" | "SymInt":
            return chance.choice(INTEGERS)
        case "float":
            return chance.choice(NUMBERS)
        case "bool":
            return chance.random() < 0.5
        case "Scalar":
            return chance.choice([chance.choice(INTEGERS), chance.choice(NUMBERS), chance.random() < 0.5, 1 + 2j])
    return Shape(_shape(chance)).with_dtype(chance.choice(DTYPES))


def _shape(chance: random.Random) -> Sequence[int]:
    sizes = [chance.choice(SIZES) for _ in range(chance.choice([0, 1, 1, 2, 3]))]
    if chance.random() < 0.1:
        # A tensor without elements can have any other size.
        return [0, chance.choice([2**31, 2**32, 2**62, _MOST])]
    return sizes
