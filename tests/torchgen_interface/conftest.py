"""The functions of the installed release, as PyTorch's generator and as Opwright's interface give them.

Thorough tests compare all of them; others compare operations that between them have all kinds of arguments, defaults,
results, kernels, flags and tags.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

# Programs of their own, whose imports of torchgen are for the hook.
collect_ignore = ["torch_program.py", "autograd_program.py"]


class Side(NamedTuple):
    """What one of the two gives: the package of its modules, and the functions of the release."""

    package: str
    parsed: Any

    def module(self, name: str) -> Any:
        """One of its modules."""
        return import_module(f"{self.package}.{name}")


#: Operations that tests name.
_NAMED = ("_foreach_add", "erf", "flatten", "neg", "sum")


def facts(function: Any, parsed: Any) -> Iterator[Any]:
    """What makes a function of another kind than others."""
    schema = function.func
    yield schema.kind(), function.structured, function.structured_delegate is None, function.structured_inherits
    yield function.manual_cpp_binding, function.manual_kernel_registration, function.device_check
    yield function.device_guard, function.category_override, function.python_module, frozenset(function.variants)
    yield tuple(f"{result.type}{result.annotation}" for result in schema.returns)
    yield from function.tags
    for argument in schema.arguments.flat_all:
        yield str(argument.type), str(argument.annotation), argument.default
    for argument in schema.arguments.flat_kwarg_only:
        yield str(argument.type)
    for key, index in parsed.backend_indices.items():
        kernel = index.get_kernel(function)
        if kernel is not None:
            yield key, kernel.structured, schema.kind()


@pytest.fixture(scope="session", params=["kinds", pytest.param("all", marks=pytest.mark.thorough)])
def sides(request: pytest.FixtureRequest, reference_inputs: Path) -> tuple[Side, Side]:
    """PyTorch's generator and Opwright's interface, with functions of each kind or with all."""
    native = reference_inputs / "native"
    paths = str(native / "native_functions.yaml"), str(native / "tags.yaml")
    own, reference = (
        Side(package, import_module(f"{package}.gen").parse_native_yaml(*paths))
        for package in ("opwright.torchgen", "torchgen")
    )
    if request.param == "all":
        return reference, own
    reached: set[Any] = set()
    operations = set(_NAMED)
    for function in own.parsed.native_functions:
        if not reached.issuperset(of_function := set(facts(function, own.parsed))):
            reached |= of_function
            operations |= {function.func.name.name.base, f"{function.func.name.name.base}_copy"}
    return chosen(reference, operations), chosen(own, operations)


def chosen(side: Side, operations: set[str]) -> Side:
    """A side with some operations, each with all its overloads."""
    functions = [row for row in side.parsed.native_functions if row.func.name.name.base in operations]
    return side._replace(parsed=side.parsed._replace(native_functions=functions))


@pytest.fixture(scope="session")
def reference(sides: tuple[Side, Side]) -> Side:
    """PyTorch's generator."""
    return sides[0]


@pytest.fixture(scope="session")
def own(sides: tuple[Side, Side]) -> Side:
    """Opwright's interface."""
    return sides[1]


class Loaded(NamedTuple):
    """The derivatives of the release, and its functions with those that they use."""

    infos: dict[Any, Any]
    keys: set[str]
    functions: list[Any]


def load(side: Side, aten: Path) -> Loaded:
    """What one of the two loads and matches."""
    native, file = aten / "native", aten.parent / "autograd" / "derivatives.yaml"
    module = side.module("packaged.autograd.load_derivatives")
    paths = (str(file), str(native / "native_functions.yaml"), str(native / "tags.yaml"))
    infos, keys = module.load_derivatives(*paths)
    infos = dict(infos)
    functions = side.module("api.autograd").match_differentiability_info(side.parsed.native_functions, infos)
    return Loaded(infos, keys, functions)


@pytest.fixture(scope="session")
def loaded(reference: Side, own: Side, reference_inputs: Path) -> tuple[Loaded, Loaded]:
    """What PyTorch's generator loads, and what Opwright's interface does."""
    return load(reference, reference_inputs), load(own, reference_inputs)
