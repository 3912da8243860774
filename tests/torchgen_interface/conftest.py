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
