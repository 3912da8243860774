"""Operators that a backend file can name: PyTorch's, those of other libraries, and the backend's own."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from opwright.dialects.dialect import LoadContext
from opwright.model.library import PYTORCH
from opwright.model.native_function import NativeFunction
from opwright.source import codes
from opwright.source.diagnostic import Suggestion, did_you_mean
from opwright.source.nodes import Scalar


class OperatorIndex:
    """Finds the operators of a backend file by name.

    `foreign` has those of other libraries whose schemas stand in the file, None for faulty ones, and `own` the names of
    those that the file defines; all names there have their namespaces. The catalog of the context has the others.
    """

    __slots__ = ("_catalog", "_foreign", "_namespaced", "_sink")

    def __init__(
        self, context: LoadContext, foreign: Mapping[str, NativeFunction | None], namespaced: Collection[str]
    ) -> None:
        self._catalog: Final = context.operators
        self._sink: Final = context.sink
        self._foreign: Final = foreign
        self._namespaced: Final = namespaced

    @property
    def functions(self) -> tuple[NativeFunction, ...]:
        """Operators of PyTorch and of the files that the run names. Raises PartialCatalog."""
        self._catalog.require_all()
        return self._catalog.functions

    def find(self, name: Scalar) -> NativeFunction | None:
        """Operator of a name. Unknown ones go to the sink, unless the entry of the operator has a fault."""
        text, catalog = name.value, self._catalog
        namespace, colons, _ = text.partition("::")
        is_foreign = bool(colons) and namespace != PYTORCH.namespace
        if text in self._foreign:
            return self._foreign[text]
        if text in catalog and (is_foreign or (not colons and catalog[text].namespace == PYTORCH.namespace)):
            return catalog[text]
        if text in self._namespaced:
            message = f"`{text}` is one of the file's operators"
            self._sink.error(codes.OWN_OPERATOR, message, name.span, help="write its kernels in its `dispatch`")
        elif not catalog.may_lack(text):
            help = self._foreign_help(text) if is_foreign else self._help(text)
            self._sink.error(codes.BACKEND_UNKNOWN_OPERATOR, f"there is no operator `{text}`", name.span, help=help)
        return None

    def _foreign_help(self, name: str) -> str | Suggestion:
        """Operators of other libraries that a wrong name may stand for."""
        names = [f"{function.namespace}::{function.name.text}" for function in self._catalog.functions]
        others = [*self._foreign, *self._namespaced, *[other for other in names if not other.startswith("aten::")]]
        return did_you_mean(name, others, "write its schema as `func`, or name a file that has it with `--operators`")

    def _help(self, name: str) -> str | Suggestion:
        """Operators of PyTorch that a wrong name may stand for."""
        bare = name.partition("(")[0].removeprefix("aten::").removesuffix(".")
        if bare != name and bare in self._catalog:
            return f"write `{bare}`"
        functions = self._catalog.functions
        names = [function.name.text for function in functions if function.namespace == PYTORCH.namespace]
        overloads = [f"`{operator_name}`" for operator_name in names if operator_name.startswith(f"{name}.")]
        return f"write one of its overloads: {', '.join(overloads)}" if overloads else did_you_mean(name, names)
