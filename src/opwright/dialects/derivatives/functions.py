"""Finds the functions that entries of `derivatives.yaml` name by their schemas, and reports faults at their spans."""

from __future__ import annotations

from typing import Final

from opwright.dialects.derivatives.entry import NOTHING_SAID, Differentiability
from opwright.dialects.nearest import schema_span
from opwright.model.catalog import Catalog
from opwright.model.native_function import NativeFunction, ViewGroup
from opwright.schema.function import FunctionSchema
from opwright.schema.signature import signature_key
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Label, did_you_mean
from opwright.source.nodes import Scalar
from opwright.source.span import Span

#: Names that have another meaning in formulas.
_RESERVED: Final = ("grad_input_mask", "result")


class FunctionIndex:
    """All functions of a catalog by name, in the order of its view groups.

    Entries may name functions with the namespace `own`, which a library's functions have. `place` is where messages
    say that functions are.
    """

    def __init__(self, catalog: Catalog, *, namespace: str = "", place: str = "native_functions.yaml") -> None:
        self._prefix: Final = f"{namespace}::" if namespace else ""
        self._place: Final = place
        self.may_lack: Final = catalog.may_lack
        self._by_name: Final[dict[str, NativeFunction]] = {}
        self._by_root: Final[dict[str, list[NativeFunction]]] = {}
        for group in catalog.view_groups:
            for function in group.functions() if isinstance(group, ViewGroup) else (group,):
                self._by_root.setdefault(function.root_name, []).append(function)
                if (written := self.written_schema(function)) is not None:
                    self._by_name[written.name.text] = function

    def written_schema(self, function: NativeFunction) -> FunctionSchema | None:
        """The schema by which entries name a function; None for one that they do not name."""
        return function.schema

    def unstated(self, _function: NativeFunction) -> Differentiability:
        """What holds for the outputs of a function where an entry says nothing of them."""
        return NOTHING_SAID

    def find(self, scalar: Scalar, report: Diagnostics) -> NativeFunction | None:
        """Function whose schema is the text of a scalar; None if there is none, which is reported."""
        text = scalar.value
        start = len(self._prefix) if self._prefix and text.startswith(self._prefix) else 0
        text = text[start:]
        end = text.find("(")
        name = text if end < 0 else text[:end]
        function = self._by_name.get(name)
        # The author of a library may copy a schema that is not in its normal form.
        if function is not None and text in (str(self.written_schema(function)), function.schema.written_text):
            return function
        if function is None and self.may_lack(name):
            # The fault follows from that of the function's entry, which is reported.
            return None
        at = scalar.span_of(start, start + len(name))
        namespace, separator, plain = name.rpartition("::")
        without = self._by_name.get(plain)
        if separator and without is not None and without.namespace == namespace:
            report.error(codes.SCHEMA_DIFFERS, "a function is named without its namespace", at, help=f"write `{plain}`")
        elif separator:
            loaded = sorted({overload.namespace for overload in self._by_name.values()})
            report.error(
                codes.DERIVATIVES_NAMESPACE,
                f"`{name}` is in namespace `{namespace}`, where no such function is loaded",
                at,
                help=f"functions are loaded from {', '.join(f'`{namespace}`' for namespace in loaded)}",
            )
        elif function is None:
            self._report_unknown(name, at, report)
        else:
            self._report_difference(function, scalar, report)
        return None

    def _report_unknown(self, name: str, at: Span, report: Diagnostics) -> None:
        base = name.partition(".")[0]
        overloads = [overload for overload in self._by_name if overload == base or overload.startswith(base + ".")]
        listed = f"`{base}` has {', '.join(f'`{overload}`' for overload in overloads[:6])}" if overloads else ""
        help = did_you_mean(name, overloads or self._by_name, listed)
        report.error(codes.DERIVATIVES_UNKNOWN_OPERATOR, f"no function `{name}` in {self._place}", at, help=help)

    def _report_difference(self, function: NativeFunction, scalar: Scalar, report: Diagnostics) -> None:
        message = f"the schema of `{function.name}` differs from the one in {self._place}"
        prefix = self._prefix if self._prefix and scalar.value.startswith(self._prefix) else ""
        report.error(
            codes.SCHEMA_DIFFERS,
            message,
            scalar.span,
            label="here",
            help=f"write `{prefix}{self.written_schema(function)}`",
            also=(Label(schema_span(function), f"in {self._place}", primary=False),),
        )

    def canonical(self, named: NativeFunction) -> NativeFunction | None:
        """Function to which the derivatives of an operation belong.

        It is the first of this name that is neither an out overload nor a synthesized functional form. If the entry has
        the schema of such an overload, it can be the in-place function of the operation too.
        """
        key = None
        for function in self._by_root[named.root_name]:
            if (
                function.arguments.out
                or ("functional" in function.name.overload and function.library.known_by_name)
                or function.name.name != named.name.name
            ):
                continue
            if function is named:
                return function
            key = key or signature_key(named.schema)
            if signature_key(function.schema) == key:
                return function
        key = key or signature_key(named.schema)
        first = next(overload for overload in self._by_root[named.root_name] if signature_key(overload.schema) == key)
        return first if first.name.name == f"{named.name.name}_" and not first.arguments.out else None

    def check_reserved(self, function: NativeFunction, scalar: Scalar, report: Diagnostics) -> None:
        """Reports arguments whose names have another meaning in formulas."""
        for argument in function.arguments.all:
            if argument.name in _RESERVED:
                report.error(
                    codes.DERIVATIVES_RESERVED_ARGUMENT,
                    f"`{function.name}` has an argument `{argument.name}`, a name that has another meaning in formulas",
                    scalar.span,
                    also=(Label(schema_span(function), "declared here", primary=False),),
                )
