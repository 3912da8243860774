"""Finds the functions that entries of `derivatives.yaml` name by their schemas, and reports faults at their spans."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from opwright.dialects.nearest import schema_span
from opwright.model.catalog import Catalog
from opwright.model.native_function import NativeFunction, ViewGroup
from opwright.schema.signature import signature_key
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Label, Suggestion, did_you_mean
from opwright.source.nodes import MappingNode, Scalar
from opwright.source.span import Span

#: Names that have another meaning in formulas.
_RESERVED: Final = ("grad_input_mask", "result")


class FunctionIndex:
    """All functions of a catalog by name, in the order of its view groups.

    Entries may name functions with the namespace `own`, which a library's functions have. `place` is where messages
    say that functions are.
    """

    __slots__ = ("_by_name", "_by_root", "_place", "_prefix", "_written", "may_lack")

    def __init__(self, catalog: Catalog, *, namespace: str = "", place: str = "native_functions.yaml") -> None:
        self._prefix: Final = f"{namespace}::" if namespace else ""
        self._place: Final = place
        self.may_lack: Final = catalog.may_lack
        self._by_name: Final[dict[str, NativeFunction]] = {}
        #: The schemas of the entries of functions that have another one.
        self._written: Final[dict[NativeFunction, str]] = {}
        self._by_root: Final[dict[str, list[NativeFunction]]] = {}
        for group in catalog.view_groups:
            for function in group.functions() if isinstance(group, ViewGroup) else (group,):
                self._by_root.setdefault(function.root_name, []).append(function)
                written = function.library_fields.written
                if written is not None:
                    self._written[function] = str(written)
                if function.library_fields.returned_from is None:
                    self._by_name[(written or function.schema).name.text] = function

    def find(self, scalar: Scalar, report: EntryReport) -> NativeFunction | None:
        """Function whose schema is the text of a scalar; None if there is none, which is reported."""
        text = scalar.value
        start = len(self._prefix) if self._prefix and text.startswith(self._prefix) else 0
        text = text[start:]
        end = text.find("(")
        name = text if end < 0 else text[:end]
        function = self._by_name.get(name)
        # The author of a library may copy a schema that is not in its normal form.
        if function is not None and text in (self._written_schema(function), function.schema.written_text):
            return function
        if function is None and self.may_lack(name):
            # The fault follows from that of the function's entry, which is reported.
            report.failed = True
            return None
        at = scalar.span_of(start, start + len(name))
        namespace, separator, plain = name.rpartition("::")
        if separator and self._in_namespace(namespace, plain):
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

    def _written_schema(self, function: NativeFunction) -> str:
        return self._written.get(function) or str(function.schema)

    def _in_namespace(self, namespace: str, name: str) -> bool:
        function = self._by_name.get(name)
        return function is not None and function.namespace == namespace

    def _report_unknown(self, name: str, at: Span, report: EntryReport) -> None:
        base = name.partition(".")[0]
        overloads = [overload for overload in self._by_name if overload == base or overload.startswith(base + ".")]
        listed = f"`{base}` has {', '.join(f'`{overload}`' for overload in overloads[:6])}" if overloads else ""
        help = did_you_mean(name, overloads or self._by_name, listed)
        report.error(codes.DERIVATIVES_UNKNOWN_OPERATOR, f"no function `{name}` in {self._place}", at, help=help)

    def _report_difference(self, function: NativeFunction, scalar: Scalar, report: EntryReport) -> None:
        message = f"the schema of `{function.name}` differs from the one in {self._place}"
        prefix = self._prefix if self._prefix and scalar.value.startswith(self._prefix) else ""
        report.error(
            codes.SCHEMA_DIFFERS,
            message,
            scalar.span,
            label="here",
            help=f"write `{prefix}{self._written_schema(function)}`",
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

    def check_reserved(self, function: NativeFunction, scalar: Scalar, report: EntryReport) -> None:
        """Reports arguments whose names have another meaning in formulas."""
        for argument in function.arguments.all:
            if argument.name in _RESERVED:
                report.error(
                    codes.DERIVATIVES_RESERVED_ARGUMENT,
                    f"`{function.name}` has an argument `{argument.name}`, a name that has another meaning in formulas",
                    scalar.span,
                    also=(Label(schema_span(function), "declared here", primary=False),),
                )


class FormulaReport:
    """Sink of one formula's faults, which records whether there was any."""

    __slots__ = ("_scalar", "_sink", "failed")

    def __init__(self, scalar: Scalar, sink: Diagnostics) -> None:
        self._scalar: Final = scalar
        self._sink: Final = sink
        self.failed = False

    def error(self, code: str, message: str, part: str = "", *, label: str = "", help: str | Suggestion = "") -> None:
        """Reports a fault at the first occurrence of a part of the formula, or at all of it."""
        self.failed = True
        self._sink.error(code, message, part_span(self._scalar, part), label=label, help=help)


class EntryReport:
    """Sink of one entry's faults, which records whether there was any."""

    __slots__ = ("_is_strict", "_sink", "failed", "node")

    def __init__(self, node: MappingNode, sink: Diagnostics, *, strict: bool) -> None:
        self.node: Final = node
        self._sink: Final = sink
        self._is_strict: Final = strict
        self.failed = False

    def error(
        self,
        code: str,
        message: str,
        at: Span,
        *,
        label: str = "",
        help: str | Suggestion = "",
        also: Sequence[Label] = (),
    ) -> None:
        """Reports a fault; the entry is then left out."""
        self.failed = True
        self._sink.error(code, message, at, label=label, help=help, also=also)

    def doubt(
        self, code: str, message: str, at: Span, *, help: str | Suggestion = "", also: Sequence[Label] = ()
    ) -> None:
        """Reports what has no effect as a warning, or as an error in a strict run, and keeps the entry."""
        tell = self._sink.error if self._is_strict else self._sink.warning
        tell(code, message, at, help=help, also=also)

    def formula(self, scalar: Scalar) -> FormulaReport:
        """Sink for the faults of one formula."""
        return FormulaReport(scalar, self._sink)

    @property
    def sink(self) -> Diagnostics:
        """Where the faults go."""
        return self._sink


def part_span(scalar: Scalar, part: str) -> Span:
    """Span of a part of a scalar's value, preferably as a whole word; the whole scalar if it does not occur."""
    if not part:
        return scalar.span
    edge = r"\b" if part.isidentifier() else ""
    match = re.search(edge + re.escape(part) + edge, scalar.value)
    return scalar.span if match is None else scalar.span_of(match.start(), match.end())
