"""Reading `derivatives.yaml`: the names of `torchgen.packaged.autograd.load_derivatives`."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from opwright.torchgen.interface.matching import Infos, read_derivatives

DerivativeRet = tuple[Infos, set[str]]


@cache
def load_derivatives(derivatives_yaml_path: str, native_yaml_path: str, tags_yaml_path: str) -> DerivativeRet:
    """Derivatives of a file, and the dispatch keys that it names; the same ones for the same paths.

    Raises RuntimeError with all mistakes.
    """
    # Programs replace this function to add operators of their own.
    parse_native_yaml = import_module("opwright.torchgen.gen").parse_native_yaml
    return read_derivatives(derivatives_yaml_path, parse_native_yaml(native_yaml_path, tags_yaml_path).native_functions)
