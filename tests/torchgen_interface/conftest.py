"""The functions of the installed release, as PyTorch's generator and as Opwright's interface give them."""

from __future__ import annotations

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


def side(package: str, aten: Path) -> Side:
    """The package with the functions of the release."""
    native = aten / "native"
    parse = import_module(f"{package}.gen").parse_native_yaml
    return Side(package, parse(str(native / "native_functions.yaml"), str(native / "tags.yaml")))


@pytest.fixture(scope="session")
def reference(reference_inputs: Path) -> Side:
    """PyTorch's generator."""
    return side("torchgen", reference_inputs)


@pytest.fixture(scope="session")
def own(reference_inputs: Path) -> Side:
    """Opwright's interface."""
    return side("opwright.torchgen", reference_inputs)


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
