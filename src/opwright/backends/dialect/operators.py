"""Operators that a backend file can name: PyTorch's, those of other libraries, and the backend's own."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from opwright.backends import backend_codes
from opwright.dialects.dialect import LoadContext
from opwright.model.library import PYTORCH
from opwright.model.native_function import NativeFunction
from opwright.source.diagnostic import Suggestion, did_you_mean
from opwright.source.nodes import Scalar
from opwright.source.records import NamedTuple


class OperatorIndex(NamedTuple):
    """Finds the operators of a backend file by name.

    `foreign` has those of other libraries whose schemas stand in the file, None for faulty ones, and `own` the names of
    those that the file defines; all names there have their namespaces. The catalog of the context has the others.
    """

    context: LoadContext
    foreign: Mapping[str, NativeFunction | None]
    own: Collection[str]

    @property
    def functions(self) -> tuple[NativeFunction, ...]:
        """Operators of PyTorch and of the files that the run names. Raises PartialCatalog."""
        self.context.operators.require_all()
        return self.context.operators.functions

    def find(self, name: Scalar) -> NativeFunction | None:
        """Operator of a name. Unknown ones go to the sink, unless the entry of the operator has a fault."""
        text, catalog, sink = name.value, self.context.operators, self.context.sink
        namespace, colons, _ = text.partition("::")
        is_foreign = bool(colons) and namespace != PYTORCH.namespace
        if text in self.foreign:
            return self.foreign[text]
        if text in catalog and (is_foreign or (not colons and catalog[text].namespace == PYTORCH.namespace)):
            return catalog[text]
        if text in self.own:
            message = f"`{text}` is one of the file's operators"
            sink.error(backend_codes.OWN_OPERATOR, message, name.span, help="write its kernels in its `dispatch`")
        elif not catalog.may_lack(text):
            help = self._foreign_help(text) if is_foreign else self._help(text)
            sink.error(backend_codes.BACKEND_UNKNOWN_OPERATOR, f"there is no operator `{text}`", name.span, help=help)
        return None

    def _foreign_help(self, name: str) -> str | Suggestion:
        """Operators of other libraries that a wrong name may stand for."""
        names = [f"{function.namespace}::{function.name.text}" for function in self.context.operators.functions]
        others = [*self.foreign, *self.own, *[other for other in names if not other.startswith("aten::")]]
        return did_you_mean(name, others, "write its schema as `func`, or name a file that has it with `--operators`")

    def _help(self, name: str) -> str | Suggestion:
        """Operators of PyTorch that a wrong name may stand for."""
        bare = name.partition("(")[0].removeprefix("aten::").removesuffix(".")
        if bare != name and bare in self.context.operators:
            return f"write `{bare}`"
        functions = self.context.operators.functions
        names = [function.name.text for function in functions if function.namespace == PYTORCH.namespace]
        overloads = [f"`{operator_name}`" for operator_name in names if operator_name.startswith(f"{name}.")]
        return f"write one of its overloads: {', '.join(overloads)}" if overloads else did_you_mean(name, names)
