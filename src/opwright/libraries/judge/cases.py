"""The calls of one judgement: which are drawn, and others that are like them.

What is drawn for a call follows from the seed and from what the call is for, and not from what was drawn before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain, zip_longest
from random import Random
from typing import Final

from opwright.libraries.entry_fields import library_fields
from opwright.libraries.judge.drawing import FILLS, LAYOUTS, NOT_FINITE, Case, Drawer, Recipe
from opwright.libraries.judge.entry import JudgedEntry
from opwright.libraries.judge.processes import Desk
from opwright.libraries.judge.worker.protocol import JsonMessage

#: How many calls the function of an author makes.
_GENERATED: Final = 16
#: How many names of sizes are long, 0, 1 and large once.
_NAMES: Final = 6


class DrawnCases:
    """Calls that the oracle knows. `all` are those whose results are compared first, in the order of the drawing.

    `left_out` says what could not be drawn, and why. Large calls have fewer elements once `is_lean` is set.
    """

    def __init__(self, entry: JudgedEntry, desk: Desk, seed: int, left_out: dict[str, str]) -> None:
        self._entry: Final = entry
        self._desk: Final = desk
        self._seed: Final = f"{seed} {entry.operator}"
        self._left_out: Final = left_out
        self._drawer: Final = Drawer(entry)
        self._is_slow = False
        self.all: Final[list[Case]] = []
        #: What the oracle has to know of the candidate: whether it is a function or an operator.
        self.form = ""
        #: Why the last call that could not be drawn is none.
        self.why = "the entry says too little about its arguments"
        self.is_lean = False

    def random(self, purpose: str) -> Random:
        """Random numbers for a purpose."""
        return Random(f"{self._seed} {purpose}")

    @property
    def can_draw(self) -> bool:
        """Whether calls can be drawn; the author's are used else."""
        return self._drawer.can_draw

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The dtypes that tensors of floating-point numbers may have."""
        return self._drawer.dtypes

    # Drawing

    def drawn(self) -> Iterator[Case]:
        """Draw the calls one after the other."""
        alike = Counter[Recipe]()
        for recipe in self._recipes():
            case = self.draw(recipe, f"sample {alike[recipe]} {tuple(recipe)}")
            alike[recipe] += 1
            # Where the reference is slow, so it is for other large sizes.
            self.is_lean |= self._is_slow
            if case is not None:
                self.all.append(case)
                yield case
        fields, random = library_fields(self._entry.function), self.random("author")
        messages: list[tuple[JsonMessage, str]] = [
            ({"do": "draw", "author": text, "seed": random.getrandbits(31), "dtype": dtype}, f"of the author, {dtype}")
            for text in fields.samples
            for dtype in self.dtypes
        ]
        generator = fields.sample_generator
        for _ in range(_GENERATED if generator else 0):
            message = {"do": "draw", "generator": generator, "seed": random.getrandbits(31)}
            messages.append((message, "of the generator"))
        for message, text in messages:
            case = self._add(message, text)
            if case is not None:
                self.all.append(case)
                yield case

    def _recipes(self) -> Iterator[Recipe]:
        """Usual calls first, then those of each kind by turns, so that each has some among the first ones."""
        if not self.can_draw:
            self._left_out["sizes"] = "the entry does not say the sizes and values of all tensors: its samples are used"
            return
        dtypes, choice = self.dtypes, self.random("recipes").choice
        names = self._drawer.names[:_NAMES]
        for profile in ("middle", "small", "odd", "ones", "any", "any", "any"):
            yield Recipe(profile, dtypes[0])
        # Each size is long, 0, 1 and large once.
        profiles = ("long", "empty", "one", "large")
        special = [Recipe(profile, dtypes[0], special=name) for name in names for profile in profiles]
        others = [Recipe(profile, dtype) for dtype in dtypes[1:] for profile in ("any", "odd", "long", "middle")]
        filled = [
            Recipe(choice(("odd", "middle", "any")), dtype, fill)
            for fill in FILLS[1:]
            for dtype in dict.fromkeys((dtypes[0], choice(dtypes)))
        ]
        # NaN in one tensor may reach all results.
        filled += [
            Recipe(choice(("odd", "middle")), choice(dtypes), fill, only=name)
            for fill in NOT_FINITE
            for name in self._drawer.floating[:_NAMES]
            if len(self._drawer.floating) > 1
        ]
        # Dimensions of size 1 have no strides.
        laid_out = [
            Recipe(choice(("odd", "middle")), choice(dtypes), "normal", layout) for layout in LAYOUTS for _ in range(2)
        ]
        for recipe in filter(None, chain(*zip_longest(special, others, filled, laid_out))):
            yield recipe._replace(profile="lean") if self.is_lean and recipe.profile == "large" else recipe
        if not self.is_lean:
            yield from (Recipe("huge", dtypes[0], special=name) for name in names)

    def draw(self, recipe: Recipe, purpose: str) -> Case | None:
        """Draw a call; None if there is none like that."""
        self._is_slow = False
        random = self.random(purpose)
        for attempt in range(8):
            message = self._drawer.draw(recipe, random)
            if message is None and recipe.profile == "odd":
                # Some entries take no odd sizes.
                recipe = recipe._replace(profile="middle")
                message = self._drawer.draw(recipe, random)
            if message is None:
                break
            case = self._add(message, str(recipe), needs=recipe if attempt < 6 else None)
            if case is not None or self._is_slow:
                # Where the reference takes too long, it does for other numbers too.
                return case
        return None

    def _add(self, message: JsonMessage, recipe: str, *, needs: Recipe | None = None) -> Case | None:
        answer = self._desk.oracle.ask({**message, "form": self.form})
        self._is_slow = "is_slow" in answer
        # Calls without results show little, and NaN that reach none.
        if needs is not None and needs.profile != "empty" and answer.get("results") == 0:
            return None
        if needs is not None and needs.fill in NOT_FINITE and answer.get("is_finite"):
            return None
        if "case" not in answer:
            self.why = str(answer.get("refused") or answer.get("unusable"))
            if self._is_slow:
                self._left_out["some large sizes"] = self.why
            return None
        facts = answer["elements"], answer["is_full"]
        return Case(answer["case"], recipe, answer["text"], answer["script"], message, *facts)

    # Some of those that were drawn, and others like them

    def small(self, count: int) -> list[Case]:
        """Some of the smaller cases with usual numbers."""
        full = [case for case in self.all if case.is_full] or self.all
        usual = [case for case in full if " normal" in f" {case.recipe}"] or full
        ordered = sorted(usual, key=lambda case: abs(case.elements - 64))
        return ordered[:count]

    def medium(self) -> list[Case]:
        """A case with some thousands of usual numbers, if there is one."""
        sized = [case for case in self.small(len(self.all)) if 1000 <= case.elements <= 20_000]
        return sized[:1]

    def again(self, case: Case) -> Case | None:
        """A call with the sizes of another one and other numbers."""
        message, random = case.message, self.random(f"again {case.script}")
        if "values" not in message:
            message = {**message, "seed": random.getrandbits(31)}
        else:
            message = {**message, "values": {name: _other(spec, random) for name, spec in message["values"].items()}}
        return self._add(message, case.recipe)

    def nearly(self, case: Case) -> Iterator[Case]:
        """Calls with all arguments of another one but a tensor, or but an element."""
        values, random = case.message.get("values", {}), self.random(f"nearly {case.script}")
        names = [name for name, spec in values.items() if "shape" in spec and 0 not in spec["shape"]]
        for name in names[:3]:
            changed = [_other(values[name], random)]
            if "range" not in values[name] and values[name]["shape"]:
                changed.append({**values[name], "poked": {str(random.getrandbits(20)): 1.75}})
            for spec in changed:
                other = self._add({**case.message, "values": {**values, name: spec}}, case.recipe)
                if other is not None:
                    yield other


def _other(spec: JsonMessage, random: Random) -> JsonMessage:
    if "tensors" in spec:
        return {"tensors": [_other(item, random) for item in spec["tensors"]]}
    return {**spec, "seed": random.getrandbits(48)} if "seed" in spec else spec
