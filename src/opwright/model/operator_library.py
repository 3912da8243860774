"""Operator libraries: what a library file says of the operators of one namespace."""

from __future__ import annotations

from typing import Final

from opwright.model.catalog import Catalog
from opwright.model.derivatives import NO_DERIVATIVES, MatchedDerivatives
from opwright.model.frozen import Frozen
from opwright.model.library import Library


class OperatorLibrary(Frozen):
    """The operators of one namespace.

    `library` has the names of the C++ code around them. `catalog` has its operators alone. `includes` are the headers
    that declare the author's kernels, as `#include` directives name them; if there are none, the kernels are declared
    by generated code. `derivatives` are those of the operators.
    """

    __slots__ = ("catalog", "derivatives", "includes", "library")

    def __init__(
        self,
        library: Library,
        catalog: Catalog,
        *,
        includes: tuple[str, ...] = (),
        derivatives: MatchedDerivatives = NO_DERIVATIVES,
    ) -> None:
        self.library: Final = library
        self.catalog: Final = catalog
        self.includes: Final = includes
        self.derivatives: Final = derivatives

    def __repr__(self) -> str:
        return f"<operator library {self.library.namespace}>"
