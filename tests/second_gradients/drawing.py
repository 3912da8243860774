"""Random operators with results that formulas read: their entries, their kernels and their formulas."""

from __future__ import annotations

import random
from functools import cached_property
from typing import Final

from tests.second_gradients.expressions import (
    Expression,
    derivative,
    drawn,
    folded,
    of_tensors,
    replaced,
    text,
    variable,
)

__all__ = ["DrawnOperator"]

#: Arguments that have gradients.
_DIFFERENTIATED: Final = ("x", "y")


class DrawnOperator:
    """An operator of tensors `x`, `y` and `w`, and a number `by`, some of which it lacks.

    Its results are functions of these and of each other. Formulas are the exact derivatives: they read a result, or
    compute it again from what it is a function of, or call `detach` on what depends on no gradient.
    """

    def __init__(self, number: int, chance: random.Random) -> None:
        self.name: Final = f"op_{number}"
        self._chance: Final = chance
        others = [name for name in ("y", "w", "by") if chance.random() < 0.5]
        self.arguments: Final = ["x", *others]
        count = chance.randint(1, 3)
        computed = [f"r{index}" for index in range(count)]
        #: What each result is, in an order in which a kernel can compute them.
        self.values: Final[dict[str, Expression]] = {}
        for name in computed:
            self.values[name] = self._value()
        #: The results in the order of the schema.
        self.results: Final = chance.sample(computed, count)
        self.is_stated: Final = chance.random() < 0.6
        self._draw_gradients()
        self.reads: Final = {name: self._way(name) for name in computed}

    def _value(self) -> Expression:
        chance = self._chance
        while True:
            value = drawn(chance, [*self.arguments, *self.values], 2)
            if self.values and chance.random() < 0.8:
                # The derivative of a product reads its factors.
                value = Expression("multiply", (variable(chance.choice(list(self.values))), value))
            if not of_tensors(value):
                continue
            # The derivative of this function reads its own value.
            return Expression("tanh", (value,)) if chance.random() < 0.2 else value

    def _draw_gradients(self) -> None:
        """Which results are returned, which have gradients, and how formulas call these."""
        chance, results = self._chance, self.results
        while True:
            has_gradient = [chance.random() < 0.6 for _ in results]
            style = chance.choice(("grad", "grads", "named"))
            saved = [name for name in results if chance.random() < 0.4]
            if not self.is_stated:
                # What callers get has gradients then, or the first of them alone if formulas read `grad`.
                first = next((name for name in results if name not in saved), "")
                has_gradient = [name == first if style == "grad" else name not in saved for name in results]
            chosen = [name for name, has in zip(results, has_gradient, strict=True) if has]
            stated = list(chosen)
            if style == "grad":
                chosen = chosen[:1]
            # `grad` is the gradient of the first result that has one, `grads` are those of several.
            is_one = len(chosen) == 1
            if set(chosen).issubset(saved) or (style == "grads" and is_one):
                continue
            if all("x" not in self._whole(name).names for name in chosen if name not in saved):
                self.values[next(name for name in chosen if name not in saved)] = Expression("sin", (variable("x"),))
                continue
            self.differentiable, self.saved, self._style, self._stated = chosen, saved, style, stated
            return

    def _whole(self, name: str) -> Expression:
        return replaced(self.values[name], self.values)

    def _way(self, name: str) -> str:
        is_constant = self._whole(name).names.isdisjoint(_DIFFERENTIATED)
        return self._chance.choice(("read", "again", *(["detached"] if is_constant else [])))

    def _partial(self, name: str, argument: str) -> Expression:
        """The derivative of a result with respect to an argument, with the results that formulas read in it."""
        inner: dict[str, Expression] = {}
        for earlier, value in self.values.items():
            inner[earlier] = derivative(value, argument, inner)
        again = {other: self.values[other] for other, way in self.reads.items() if way == "again"}
        values = {self.values[other]: other for other, way in self.reads.items() if way != "again"}
        return folded(replaced(inner[name], again), values)

    def _gradient(self, name: str) -> str:
        """How formulas call the gradient of a result."""
        index = self.differentiable.index(name)
        return {"grad": "grad", "grads": f"grads[{index}]", "named": f"grad_{name}"}[self._style]

    @cached_property
    def formulas(self) -> dict[str, str]:
        """The formula of each argument that has one."""
        written = {name: f"{name}.detach()" for name, way in self.reads.items() if way == "detached"}
        formulas = {}
        for argument in [name for name in self.arguments if name in _DIFFERENTIATED]:
            terms = []
            for name in self.differentiable:
                gradient = self._gradient(name)
                term = f"{gradient} * {text(self._partial(name, argument), False, written)}"
                if len(self.differentiable) > 1:
                    term = f"({gradient}.defined() ? {term} : zeros_like({argument}))"
                terms.append(term)
            formulas[argument] = " + ".join(terms)
        return formulas

    @cached_property
    def unknown(self) -> set[str]:
        """Results without a gradient that formulas read, so second gradients raise.

        The gradients of saved results are undefined until second ones are asked for, and so what is multiplied by them.
        """
        read = set[str]().union(
            *[
                self._partial(name, argument).names
                for name in self.differentiable
                for argument in self.arguments
                if argument in _DIFFERENTIATED and name not in self.saved
            ]
        )
        return {name for name in read & set(self.results) - set(self.differentiable) if self.reads[name] == "read"}

    @property
    def schema(self) -> str:
        """The schema, with all results."""
        types = {"by": "float by"}
        arguments = ", ".join([types.get(name, f"Tensor {name}") for name in self.arguments])
        results = ", ".join([f"Tensor {name}" for name in self.results])
        return f"{self.name}({arguments}) -> {results if len(self.results) == 1 else f'({results})'}"

    def entry(self) -> str:
        """The entry of a library file."""
        outputs = ", ".join([f"{name}: like(x)" for name in self.results])
        lines = [f"- func: {self.schema}", f"  outputs: {{{outputs}}}", f"  dispatch: {{CPU: {self.name}}}"]
        if self.saved:
            lines.append(f"  saved: [{', '.join(self.saved)}]")
        return "\n".join(lines) + "\n"

    def derivatives(self) -> str:
        """The entry of a file with derivatives."""
        lines = [f"- name: {self.schema}"]
        if self.is_stated:
            stated = ["True" if name in self._stated else "False" for name in self.results]
            lines.append(f"  output_differentiability: [{', '.join(stated)}]")
        lines += [f'  {argument}: "{formula}"' for argument, formula in self.formulas.items()]
        if "w" in self.arguments:
            lines.append("  w: non_differentiable")
        return "\n".join(lines) + "\n"

    def kernel(self) -> str:
        """The kernel in C++, of `Tensor` and `numbers`, which both interfaces define."""
        tensors = [name for name in self.arguments if name != "by"]
        parameters = ", ".join(["double by" if name == "by" else f"const Tensor& {name}_" for name in self.arguments])
        is_single = len(self.results) == 1
        result = "Tensor" if is_single else f"std::tuple<{', '.join(['Tensor'] * len(self.results))}>"
        made = ", ".join([f"{name}_ = empty_of(x_)" for name in self.results])
        lines = [f"{result} {self.name}({parameters}) {{", f"  Tensor {made};"]
        lines.append("  for (int64_t i = 0; i < x_.numel(); ++i) {")
        lines += [f"    const double {name} = numbers({name}_)[i];" for name in tensors]
        for name, value in self.values.items():
            lines.append(f"    const double {name} = {text(value, True)};")
            lines.append(f"    numbers({name}_)[i] = {name};")
        returned = ", ".join([f"{name}_" for name in self.results])
        lines += ["  }", f"  return {returned if is_single else f'{{{returned}}}'};", "}"]
        return "\n".join(lines) + "\n"
