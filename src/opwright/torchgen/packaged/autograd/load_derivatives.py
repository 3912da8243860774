"""Reading `derivatives.yaml`: the names of `torchgen.packaged.autograd.load_derivatives`."""

from __future__ import annotations

from opwright.torchgen.interface.matching import Infos, load_derivatives

__all__ = ["DerivativeRet", "load_derivatives"]

DerivativeRet = tuple[Infos, set[str]]
