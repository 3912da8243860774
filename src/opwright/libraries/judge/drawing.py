"""Calls that a judge draws: sizes, dtypes, layouts and kinds of values, from a seed."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from math import ceil, floor, isfinite, isinf, prod
from random import Random
from typing import Final

from opwright.libraries.declared_outputs import DTYPE_CLASSES, TORCH_DTYPES, dtype_names
from opwright.libraries.dialect.sample_sizes import SizeValue, Unknown, chosen_sizes, value_of
from opwright.libraries.emit.drawn_samples import AllowedDtypes
from opwright.libraries.emit.drawn_values import Limits, limits_of
from opwright.libraries.entry_fields import library_fields, requirements_of
from opwright.libraries.judge.entry import JudgedEntry
from opwright.libraries.judge.worker.protocol import JsonMessage
from opwright.libraries.requirements import DimKind, Requirements, item_name
from opwright.schema.function import Argument
from opwright.source.records import NamedTuple

#: Kinds of floating-point values. The last ones are left out where an entry says which values a tensor has.
FILLS: Final = (
    *("normal", "positive", "large", "small", "tiny", "denormal", "scales", "ties", "constant", "zeros"),
    *("nan", "infinite"),
)
#: Layouts of tensors. Entries refuse some, or have them copied.
LAYOUTS: Final = ("spread", "swapped", "with_gaps", "exchanged", "moved", "expanded", "channels_last")

#: Dtypes that a judge draws where an entry allows more.
_FLOATING: Final = ("float32", "bfloat16", "float16", "float64", "complex64", "complex128")
#: How many elements a drawn tensor has at most, and how many a drawn call may combine.
_MOST_ELEMENTS: Final = 1 << 19
_MOST_WORK: Final = 1 << 22
_LARGE: Final = 1 << 16


class Recipe(NamedTuple):
    """What is drawn: how sizes are chosen, the dtype of floating-point tensors, values, and a layout.

    `special` is the name whose size is long, large, 1 or 0; without it, one is drawn. `only` is the tensor that has
    such values, and others have usual ones; without it, all have.
    """

    profile: str = "middle"
    dtype: str = ""
    fill: str = "normal"
    layout: str = ""
    batch: tuple[int, ...] | None = None
    special: str = ""
    only: str = ""

    def __str__(self) -> str:
        parts = [self.profile, self.dtype, self.fill, self.layout]
        return " ".join(filter(None, parts))


class Case(NamedTuple):
    """A call that the oracle knows: its number there, what was drawn, and texts for reports.

    `elements` are those of its largest tensor; it is full if all tensors have some.
    """

    number: int
    recipe: str
    text: str
    script: str
    message: JsonMessage
    elements: int
    is_full: bool


class Drawer:
    """Draws calls of an entry. The same random numbers give the same calls."""

    def __init__(self, entry: JudgedEntry) -> None:
        self._entry: Final = entry
        self._random = Random()
        requirements = requirements_of(entry.function) or Requirements()
        self._dims: Final = dict(requirements.dims)
        self._allowed: Final = AllowedDtypes(requirements)
        self._conditions: Final = requirements.values_by_tensor()

    @property
    def can_draw(self) -> bool:
        """Whether the entry says enough: the sizes of all tensors, and what integers mean."""
        tensors = [argument for argument in self._entry.arguments if argument.type.is_tensor_like]
        are_sized = all(argument.name in self._dims for argument in tensors if argument.default is None)
        fields = library_fields(self._entry.function)
        if not fields.draws_samples:
            return False
        if fields.samples or fields.sample_generator:
            are_sized &= not any(self._is_index(argument.name) for argument in tensors)
        return bool(tensors) and are_sized

    def _is_index(self, name: str) -> bool:
        """Whether integers of a tensor may be anything, such as places in another one."""
        codes = self._allowed.of(name)
        if not self._allowed.are_integers(name) or name in self._conditions:
            return False
        return codes is None or not {TORCH_DTYPES[text] for text in dtype_names(codes)} <= {"int8", "uint8"}

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The dtypes that tensors of floating-point numbers may have; the first one is the usual one."""
        allowed: list[str] = []
        for name in self._dims:
            codes = self._allowed.of(name)
            if codes is not None and self._allowed.can_be_floating(name):
                allowed += [TORCH_DTYPES[text] for text in dtype_names(codes) if text in TORCH_DTYPES]
        return tuple([name for name in _FLOATING if name in allowed]) or ("float32",)

    @property
    def floating(self) -> tuple[str, ...]:
        """The names of tensors that may have floating-point numbers."""
        return tuple([name for name in self._dims if self._allowed.can_be_floating(name)])

    @property
    def names(self) -> tuple[str, ...]:
        """The names of sizes."""
        items = [item for dims in self._dims.values() for item in dims.items]
        return tuple(dict.fromkeys([item.text for item in items if item.kind in (DimKind.named, DimKind.pack)]))

    def draw(self, recipe: Recipe, random: Random) -> JsonMessage | None:
        """The message for an oracle that makes a call; None if the recipe gave none that the entry takes."""
        self._random = random
        for _ in range(60):
            values = self._try(recipe)
            if values is not None:
                return values
        return None

    def _try(self, recipe: Recipe) -> JsonMessage | None:
        random = self._random
        sizes = self._sizes(recipe)
        values_of: dict[str, SizeValue] = {**sizes}
        specs: dict[str, JsonMessage] = {}
        for argument in self._entry.arguments:
            if argument.name in self._dims:
                values_of[argument.name] = None
                continue
            spec = self._number(argument)
            if spec is None:
                return None
            specs[argument.name] = spec
            values_of[argument.name] = spec.get("value")
        ordered = sorted(self._dims, key=lambda name: any(item.kind is DimKind.size for item in self._dims[name].items))
        by_name = {argument.name: argument for argument in self._entry.arguments}
        count = random.choice((1, 2, 3))
        integers = random.choice(("int64", "int32"))
        for name in ordered:
            argument = by_name[name]
            if argument.default == "None" and random.random() < 0.3:
                specs[name] = {"value": None}
                continue
            try:
                own = chosen_sizes(name, self._dims[name], sizes, values_of)
            except Unknown:
                return None
            if not all(isinstance(size, int) and size >= 0 for size in own) or prod(own) > _MOST_ELEMENTS:
                return None
            is_list = "[" in argument.type.text
            shapes = [self._with_any(name, own) for _ in range(count if is_list else 1)]
            values_of[name] = tuple(shapes) if is_list else shapes[0]
            tensors = [self._tensor(name, shape, recipe, sizes, integers) for shape in shapes]
            specs[name] = {"tensors": tensors} if is_list else tensors[0]
        requirements = requirements_of(self._entry.function)
        for requirement in () if requirements is None else requirements.checks:
            try:
                if not value_of(requirement.condition, values_of):
                    return None
            except Unknown:
                pass
        tensors = [tensor for name in ordered for tensor in specs[name].get("tensors", [specs[name]])]
        if not all(self._keep_to_values(name, specs[name], values_of) for name in ordered):
            return None
        if recipe.profile == "large" and max([prod(tensor.get("shape", ())) for tensor in tensors]) <= _LARGE:
            return None
        layouts = self._layouts(recipe, by_name)
        return {"do": "draw", "values": specs, "layouts": layouts}

    def _layouts(self, recipe: Recipe, arguments: Mapping[str, Argument]) -> dict[str, str]:
        if not recipe.layout:
            return {}
        names = [name for name in self._dims if recipe.layout != "expanded" or not arguments[name].is_write]
        chosen = [name for name in names if arguments[name].is_write or self._random.random() < 0.6]
        return dict.fromkeys(chosen or names[:1], recipe.layout)

    def _sizes(self, recipe: Recipe) -> dict[str, int | tuple[int, ...]]:
        named = [item for dims in self._dims.values() for item in dims.items]
        singles = list(dict.fromkeys([item.text for item in named if item.kind is DimKind.named]))
        packs = list(dict.fromkeys([item.text for item in named if item.kind is DimKind.pack]))
        random, profile = self._random, recipe.profile
        special = recipe.special or (random.choice([*singles, *packs]) if singles or packs else "")
        sizes: dict[str, int | tuple[int, ...]] = {name: self._size(profile, name == special) for name in singles}
        # Sizes that conditions compare with each other are often the same, or powers of two.
        if len(singles) > 1 and random.random() < 0.2:
            first, second = random.sample(singles, 2)
            if second == special:
                first, second = second, first
            sizes[second] = sizes[first]
        for name in packs:
            sizes[name] = self._pack(profile, name == special) if recipe.batch is None else recipe.batch
        while prod(self._flat(sizes)) > _MOST_WORK:
            largest = max(singles, key=lambda name: sizes[name] if name != special else 0) if singles else ""
            if not largest or largest == special or int(str(sizes[largest])) <= 2:
                break
            sizes[largest] = int(str(sizes[largest])) // 2
        return sizes

    @staticmethod
    def _flat(sizes: Mapping[str, int | tuple[int, ...]]) -> list[int]:
        return [max(size, 1) for value in sizes.values() for size in (value if isinstance(value, tuple) else (value,))]

    def _size(self, profile: str, is_special: bool) -> int:
        random = self._random
        match profile:
            case "small":
                return random.randint(1, 4)
            case "odd":
                return random.choice((3, 5, 7, 9, 11, 13, 17))
            case "middle":
                return random.choice((2, 4, 6, 8, 12, 16, 20, 24, 31, 32, 33, 48, 64))
            case "long":
                return random.choice((127, 128, 129, 255, 256, 257, 258, 300)) if is_special else random.randint(1, 8)
            case "ones":
                return 1
            case "one":
                return 1 if is_special else random.randint(2, 9)
            case "empty":
                return 0 if is_special else random.randint(1, 6)
            case "large":
                if is_special:
                    return random.choice((4097, 9001, 16384, 33333, 40000, 70001))
                return random.choice((1, 2, 3, 8, 16, 17, 32, 64))
            case "lean":
                return random.choice((1025, 2000, 4097)) if is_special else 1
            case "huge":
                # More than 65,535 are more than some grids have.
                return random.choice((65537, 70001)) if is_special else random.randint(1, 4)
            case _:
                return round(2 ** random.uniform(0, 7))

    def _pack(self, profile: str, is_special: bool) -> tuple[int, ...]:
        random = self._random
        match profile:
            case "ones":
                return random.choice(((), (1,), (1, 1)))
            case "one":
                return (1, random.randint(1, 3)) if is_special else (random.randint(2, 4),)
            case "empty":
                return random.choice(((0,), (2, 0))) if is_special else (random.randint(1, 3),)
            case "long":
                return (random.choice((257, 300)),) if is_special else (random.randint(1, 4),)
            case "large":
                return (random.choice((1025, 2000, 4099)),) if is_special else random.choice(((), (3,), (70,)))
            case "lean":
                return (random.choice((1025, 2000, 4099)),) if is_special else ()
            case "huge":
                return (random.choice((65537, 70001)),) if is_special else ()
            case _:
                return random.choice(((), (2,), (3,), (5,), (7,), (2, 3), (3, 1, 2), (4, 5)))

    def _number(self, argument: Argument) -> JsonMessage | None:
        """The value of an argument that has no sizes; None if nothing is known of it."""
        random, text = self._random, argument.type.text
        default = argument.default_value
        if argument.default is not None and random.random() < 0.6:
            return {"value": list(default) if isinstance(default, tuple) else _plain(default)}
        match text:
            case "int" | "SymInt":
                near = [] if not isinstance(default, int) else [default, default + 1, default - 1]
                return {"value": random.choice([*near, 0, 1, 2, 3, 4])}
            case "float" | "Scalar":
                # Numbers such as thresholds are between 0 and 1 most often.
                usual = round(random.random(), 3)
                return {"value": random.choice((1e-6, 1e-5, 1e-3, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, *[usual] * 6))}
            case "bool":
                return {"value": random.random() < 0.5}
        if argument.default is not None:
            return {"value": list(default) if isinstance(default, tuple) else _plain(default)}
        return None

    def _tensor(
        self,
        name: str,
        shape: tuple[int, ...],
        recipe: Recipe,
        sizes: Mapping[str, int | tuple[int, ...]],
        integers: str,
    ) -> JsonMessage:
        random = self._random
        codes = self._allowed.of(name)
        names = [TORCH_DTYPES[text] for text in dtype_names(codes or (6,)) if text in TORCH_DTYPES] or ["float32"]
        wanted = recipe.dtype or self.dtypes[0]
        dtype = wanted if wanted in names else integers if integers in names else names[0]
        if codes is not None and len(codes) == len(DTYPE_CLASSES["floating"]) and wanted not in names:
            dtype = "float32"
        fill = recipe.fill if recipe.only in ("", name) else FILLS[0]
        spec: JsonMessage = {"shape": list(shape), "dtype": dtype, "fill": fill, "seed": random.getrandbits(48)}
        if dtype in ("int8", "uint8"):
            spec["range"] = (-128, 127) if dtype == "int8" else (0, 255)
        elif dtype.startswith(("int", "uint")):
            counts = [size for size in sizes.values() if isinstance(size, int)]
            spec["range"] = (0, min([3, *counts]) - 1)
        return spec

    def _with_any(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The sizes, with other ones where the pattern takes any."""
        dims = self._dims[name]
        if dims.open_place is not None:
            return shape
        return tuple(
            [
                self._random.choice((1, 2, 3, 5, 8)) if item.kind is DimKind.any else size
                for item, size in zip(dims.items, shape, strict=True)
            ]
        )

    # Values

    def _keep_to_values(self, name: str, spec: JsonMessage, values_of: dict[str, SizeValue]) -> bool:
        """Let the tensors of an argument have the values that the entry allows. False if there are none."""
        for tensor in spec.get("tensors", [spec]):
            if "shape" not in tensor:
                continue
            try:
                item = {item_name(name): tuple(tensor["shape"])}
                limits = limits_of(self._conditions.get(name, ()), ChainMap(item, values_of))
            except Unknown:
                return False
            if limits.is_limited and not _limit(tensor, limits):
                return False
        return True


def _limit(tensor: JsonMessage, limits: Limits) -> bool:
    """Let a tensor have values within limits. False if there are none."""
    if limits.is_finite and tensor["fill"] in NOT_FINITE:
        tensor["fill"] = "normal"
    tensor["order"] = limits.order
    ends = {str(place): value for place, value in ((0, limits.first), (-1, limits.last)) if value is not None}
    is_integer = "range" in tensor
    if not prod(tensor["shape"]):
        return not ends
    if len(ends) == 2 and tensor["shape"][-1] == 1 and limits.first != limits.last:
        return False
    tensor["fixed"] = {place: int(value) if is_integer else value for place, value in ends.items()}
    if all(isinf(end) for pair in limits.ranges for end in pair):
        return True
    if is_integer:
        least, most = tensor["range"]
        pairs = [
            (ceil(low) if isfinite(low) else min(least, floor(high)), floor(high) if isfinite(high) else max(most, low))
            for low, high in limits.ranges
        ]
        widest = max(pairs, key=lambda pair: pair[1] - pair[0])
        tensor["range"] = tuple(map(int, widest))
        # What stands apart, such as a mark for elements that do not count, is drawn now and then.
        apart = [low for low, _ in pairs if not widest[0] <= low <= widest[1]]
        tensor["sometimes"] = [int(value) for value in apart]
    else:
        low, high = max(limits.ranges, key=lambda pair: pair[1] - pair[0])
        tensor["range"] = (low if isfinite(low) else min(-4.0, high - 4), high if isfinite(high) else max(4.0, low + 4))
    return bool(tensor["range"][0] <= tensor["range"][1])


#: The kinds of values that are not finite.
NOT_FINITE: Final = ("nan", "infinite")


def _plain(value: object) -> object:
    return value if isinstance(value, (bool, int, float, str)) else None
