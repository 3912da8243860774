"""Random signatures: arguments of all types with their defaults, returns, and the forms of one operation."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

#: Types of arguments with their weight and the defaults that they may have.
TYPES: Final[dict[str, tuple[int, tuple[str, ...]]]] = {
    "Tensor": (20, ()),
    "Tensor?": (6, ("None", "None", "{}")),
    "Tensor[]": (4, ()),
    "Tensor?[]": (2, ()),
    "int": (6, ("0", "-1", "9223372036854775807", "Mean")),
    "int?": (3, ("None", "2")),
    "int[]": (3, ("[]", "[0,1]")),
    "int[2]": (3, ("0", "[1,1]", "1")),
    "int[1]?": (2, ("None", "1")),
    "int[]?": (2, ("None",)),
    "SymInt": (5, ("0", "-1")),
    "SymInt?": (3, ("None", "1")),
    "SymInt[]": (3, ("[]", "[0,-1]")),
    "SymInt[2]": (3, ("0", "[1,1]")),
    "SymInt[]?": (2, ("None",)),
    "SymInt[1]?": (2, ("None",)),
    "float": (4, ("0.5", "1e-05", "inf", "1")),
    "float?": (3, ("None", "1.0")),
    "float[]?": (2, ("None",)),
    "float[]": (1, ()),
    "bool": (6, ("True", "False")),
    "bool?": (3, ("None", "False")),
    "bool[3]": (1, ()),
    "str": (2, ('"mean"', "'sum'")),
    "str?": (3, ("None", "'it'")),
    "Scalar": (6, ("1", "0.5", "True")),
    "Scalar?": (3, ("None", "2")),
    "Scalar[]": (2, ()),
    "ScalarType": (2, ("long",)),
    "ScalarType?": (4, ("None",)),
    "Layout": (1, ("strided",)),
    "Layout?": (1, ("None",)),
    "Device": (1, ()),
    "Device?": (1, ("None",)),
    "MemoryFormat": (1, ("contiguous_format",)),
    "MemoryFormat?": (2, ("None",)),
    "Generator?": (2, ("None",)),
    "Storage": (1, ()),
    "Stream": (1, ()),
    "DimVector": (1, ()),
    "DeviceIndex": (1, ("0",)),
    "SymBool": (1, ("True",)),
    "QScheme": (1, ()),
    "Tensor[2]": (1, ()),
    "int[3]": (1, ("0",)),
    "Tensor[]?": (1, ("None",)),
    "Scalar[]?": (1, ("None",)),
    "str[]?": (1, ("None",)),
    "Dimname": (1, ()),
    "bool[]": (1, ()),
    "Generator": (1, ()),
    "SymInt?[]": (1, ()),
    "int?[]": (1, ()),
    "__torch__.torch.classes.grove.Tree": (1, ()),
}
#: Types that need no tensor, for factories.
PLAIN_TYPES: Final = ("int[]", "SymInt[]", "int", "float", "Scalar", "int?", "SymInt", "bool", "str?", "Generator?")
NAMES: Final = ("other", "dim", "input", "weight", "n", "eps", "mode", "values", "grad_output", "p1", "A", "k")

#: What functions return, the usual ones more often.
RETURNS: Final = (
    *(("Tensor",),) * 12,
    *(("Tensor", "Tensor"), ("Tensor values", "Tensor indices"), ("Tensor", "Tensor", "Tensor")) * 2,
    ("Tensor[]",),
    ("Tensor", "Tensor[]"),
    *((), ("int",), ("bool",), ("float",), ("Scalar",), ("SymInt",), ("ScalarType",), ("Tensor", "int")),
    *(("int", "float"), ("Tensor", "Scalar"), ("Tensor result",), ("SymInt[]",), ("Tensor?",), ("str",)),
)


@dataclass(frozen=True)
class Argument:
    """An argument: type, name, default or an empty text, and whether it stands behind the `*`."""

    type: str
    name: str
    default: str = ""
    keyword: bool = False

    @property
    def text(self) -> str:
        """The argument as a schema spells it."""
        return f"{self.type} {self.name}" + (f"={self.default}" if self.default else "")


@dataclass(frozen=True)
class Signature:
    """The functional form of an operation, `self` apart, and the other forms as schemas."""

    name: str
    arguments: tuple[Argument, ...]
    returns: tuple[str, ...]
    has_self: bool = False
    self_type: str = "Tensor"

    @property
    def all_arguments(self) -> tuple[Argument, ...]:
        """The arguments with `self`."""
        return (Argument(self.self_type, "self"), *self.arguments) if self.has_self else self.arguments

    @property
    def schema(self) -> str:
        """The functional form, or the one that writes where arguments say so."""
        return f"{self.name}({listed(self.all_arguments)}) -> {returned(self.returns)}"

    @property
    def has_symint(self) -> bool:
        """Whether an argument is a symbolic integer."""
        return any("SymInt" in argument.type for argument in self.arguments)

    @property
    def is_random(self) -> bool:
        """Whether the function draws random numbers, as PyTorch tells."""
        return any("Generator" in argument.type for argument in self.arguments)

    @property
    def writes(self) -> bool:
        """Whether an argument is written to."""
        return any("!" in argument.type for argument in self.arguments)

    @property
    def returns_tensors(self) -> bool:
        """Whether out arguments can take all that the function returns."""
        return bool(self.returns) and all(result.split()[0] == "Tensor" for result in self.returns)

    @property
    def can_be_inplace(self) -> bool:
        """Whether the function has an in-place form."""
        return self.has_self and len(self.returns) == 1 and self.returns[0].split()[0].startswith("Tensor")

    @property
    def base(self) -> tuple[str, str]:
        """The name without overload, and the overload behind a dot."""
        name, dot, overload = self.name.partition(".")
        return name, dot + overload

    @property
    def inplace(self) -> str:
        """The in-place form."""
        name, overload = self.base
        return self._written(f"{name}_{overload}")

    @property
    def inplace_alone(self) -> str:
        """The in-place form of a name that has its underscore already."""
        return self._written(self.name)

    @property
    def renamed_inplace(self) -> Signature:
        """The same with `self` as an in-place function has it."""
        return replace(self, self_type="Tensor(a!)", returns=("Tensor(a!)",))

    def _written(self, name: str) -> str:
        arguments = (Argument("Tensor(a!)", "self"), *self.arguments)
        return f"{name}({listed(arguments)}) -> Tensor(a!)"

    def out(self, name: str) -> str:
        """The form with out arguments."""
        names = ["out"] if len(self.returns) == 1 else [f"out{place}" for place in range(len(self.returns))]
        outs = [
            Argument(f"Tensor({letter}!)", name, keyword=True) for letter, name in zip("abcdefg", names, strict=False)
        ]
        returns = tuple([out.type for out in outs])
        return f"{name}({listed((*self.all_arguments, *outs))}) -> {returned(returns)}"

    @property
    def copying(self) -> str:
        """The copying form of a view."""
        plain = tuple([result.replace("(a)", "") for result in self.returns])
        return replace(self, name=f"{self.name}_copy", self_type="Tensor", returns=plain).schema


def listed(arguments: Iterable[Argument]) -> str:
    """Arguments as a schema lists them."""
    positional = [argument.text for argument in arguments if not argument.keyword]
    keyword = [argument.text for argument in arguments if argument.keyword]
    return ", ".join([*positional, *(["*", *keyword] if keyword else [])])


def returned(returns: Sequence[str]) -> str:
    """Returns as a schema has them."""
    return returns[0] if len(returns) == 1 else f"({', '.join(returns)})"


def arguments(draw: random.Random, count: int, *, plain: bool = False, usual: bool = False) -> tuple[Argument, ...]:
    """So many arguments; `usual` types are those of at least some weight, which most programs take."""
    chosen = {type: row for type, row in TYPES.items() if type in PLAIN_TYPES} if plain else TYPES
    if usual:
        chosen = {type: row for type, row in chosen.items() if row[0] > 1}
    types = draw.choices(list(chosen), [weight for weight, _ in chosen.values()], k=count)
    names = draw.sample(NAMES, count)
    split = draw.randint(0, count) if draw.random() < 0.5 else count
    made: list[Argument] = []
    with_defaults = False
    for place, (type, name) in enumerate(zip(types, names, strict=True)):
        keyword = place >= split
        if place == split:
            with_defaults = False
        defaults = chosen[type][1]
        default = draw.choice(defaults) if defaults and (with_defaults or draw.random() < 0.5) else ""
        if with_defaults and not default and not keyword:
            keyword, split = True, place
        with_defaults = bool(default)
        made.append(Argument(type, name, default, keyword))
    return tuple(made)


def draw_signature(
    draw: random.Random,
    name: str,
    *,
    structured: bool = False,
    written: bool = False,
    takes_self: bool = False,
    returns: tuple[str, ...] | None = None,
) -> Signature:
    """A signature for that name.

    `structured`: of tensors to tensors. `written`: some arguments are written to.
    """
    drawn = arguments(draw, draw.choice((0, 1, 1, 2, 2, 3, 4)), usual=draw.random() < 0.9)
    if returns is None:
        returns = draw.choice(RETURNS[:18] if structured else RETURNS)
    has_self = takes_self or structured or draw.random() < 0.85
    if written:
        letters = iter("abc")
        writable = ("Tensor", "Tensor?", "Tensor[]")
        extra = Argument("Tensor", "state")
        drawn = tuple(
            [
                replace(argument, type=argument.type.replace("Tensor", f"Tensor({next(letters)}!)"), default="")
                if argument.type in writable[: draw.choice((1, 1, 2, 3))] and not argument.keyword and place < 2
                else argument
                for place, argument in enumerate((extra, *drawn))
            ]
        )
    return Signature(name, drawn, returns, has_self=has_self)


def draw_view(draw: random.Random, name: str) -> Signature:
    """The signature of a view."""
    drawn = arguments(draw, draw.choice((0, 1, 1, 2, 3)), usual=True)
    drawn = tuple(
        [argument for argument in drawn if "Tensor" not in argument.type and "Generator" not in argument.type]
    )
    if draw.random() < 0.3:
        return Signature(name, drawn, ("Tensor(a)[]",), has_self=True, self_type="Tensor(a -> *)")
    return Signature(name, drawn, ("Tensor(a)",), has_self=True, self_type="Tensor(a)")
