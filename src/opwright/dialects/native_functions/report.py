"""Reports faults between entries, at the spans of the entries' parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from opwright.dialects.native_functions.entry_builder import argument_span, dispatch_key_span, item_span, name_span
from opwright.dialects.nearest import Difference, OverloadIndex
from opwright.model.native_function import UnlinkedFunction
from opwright.release.operator_names.loading import WITHOUT_TENSOR_RESULT
from opwright.release.rules import Rules
from opwright.schema.signature import base_of_operation, view_base_name
from opwright.source.diagnostic import Diagnostics, Label, Suggestion
from opwright.source.lazy import lazy_pattern
from opwright.source.nodes import MappingNode, Scalar, SequenceNode
from opwright.source.span import Span
from opwright.source.yaml import load_yaml

_OPERATOR: Final = lazy_pattern(r"\s*((?:\w+::)*\w+)")


def _by_start(entries: Iterable[MappingNode]) -> dict[tuple[str, int], MappingNode]:
    """Entries by the paths of their files and their offsets."""
    return {(entry.file.path, entry.start): entry for entry in entries}


class CrossReport:
    """Sink of a file's faults, with the spans of its entries' parts.

    Nodes are not kept while a file is loaded, because they take much memory and few runs have such a fault. The file is
    read again for the first span, unless the `entries` are given. The report also knows the entries left out because
    of their own faults, so that rules do not report what follows from their absence. Its `without_tensor` are the
    overloads that may return none although they are no composites. `functions` are the loaded ones,
    and `faulty_delegates` those whose structured delegate has been reported. `doubles` are functions with the signature
    and kind of an earlier one, by that one.
    """

    __slots__ = (
        "_absent", "_entries", "_has_nameless", "_index", "_sink", "doubles", "faulty_delegates", "functions",
        "without_tensor",
    )  # fmt: skip

    def __init__(
        self, sink: Diagnostics, entries: Iterable[MappingNode] | None = None, rules: Rules | None = None
    ) -> None:
        self._sink: Final = sink
        self._entries = None if entries is None else _by_start(entries)
        names = WITHOUT_TENSOR_RESULT
        self.without_tensor: Final = names.in_any_release if rules is None else names.in_release(rules)
        self._absent: Final[set[str]] = set()
        self._has_nameless = False
        self.functions: Sequence[UnlinkedFunction] = ()
        self._index: OverloadIndex | None = None
        self.faulty_delegates: Final[set[UnlinkedFunction]] = set()
        self.doubles: Final[dict[UnlinkedFunction, UnlinkedFunction]] = {}

    @property
    def index(self) -> OverloadIndex:
        """Functions by what they have in common."""
        self._index = self._index or OverloadIndex(self.functions)
        return self._index

    def leave_out(self, node: MappingNode) -> None:
        """Records that an entry has a fault and is not loaded."""
        func = node.get("func")
        match = _OPERATOR.match(func.value) if isinstance(func, Scalar) else None
        if match is not None:
            self._absent.add(base_of_operation(match.group(1)))
        else:
            self._has_nameless = True

    def repeat(self, function: UnlinkedFunction) -> None:
        """Records that a function has two entries, either of which may be the right one."""
        self._absent.add(view_base_name(function.name.base))

    @property
    def absent(self) -> frozenset[str] | None:
        """Base names of the operators whose entries are left out; None if one of these entries has no name."""
        return None if self._has_nameless else frozenset(self._absent)

    def concerns_absent(self, base: str) -> bool:
        """Whether an entry with this base name, or a copying form of it, is left out."""
        return bool(self._absent) and view_base_name(base) in self._absent

    def _entry(self, function: UnlinkedFunction) -> MappingNode:
        """Node of a function's entry."""
        if self._entries is None:
            root = load_yaml(function.entry.file)
            items = root.items if isinstance(root, SequenceNode) else []
            self._entries = _by_start([item for item in items if isinstance(item, MappingNode)])
        return self._entries[function.entry.file.path, function.entry.start]

    def name(self, function: UnlinkedFunction) -> Span:
        """Span of a function's name."""
        return name_span(self._entry(function))

    def key(self, function: UnlinkedFunction, field: str) -> Span:
        """Span of a field's name; that of the function's name if the field is missing."""
        entry = self._entry(function).entry(field)
        return self.name(function) if entry is None else entry[0].span

    def value(self, function: UnlinkedFunction, field: str) -> Span:
        """Span of a field's value; that of the function's name if the field is missing."""
        node = self._entry(function).get(field)
        return self.name(function) if node is None else node.span

    def word(self, function: UnlinkedFunction, field: str, word: str) -> Span:
        """Span of a word in the value of a field that is a text or a list of texts."""
        return item_span(self._entry(function), field, word)

    def dispatch_key(self, function: UnlinkedFunction, name: str) -> Span:
        """Span of a key in a function's dispatch table."""
        return dispatch_key_span(self._entry(function), name)

    def kernel(self, function: UnlinkedFunction, name: str) -> Span:
        """Span of a kernel in a function's dispatch table; the name may lack the namespace."""
        table = self._entry(function).get("dispatch")
        for _, value in table.entries if isinstance(table, MappingNode) else ():
            for item in value.items if isinstance(value, SequenceNode) else [value]:
                named = item.get("kernel") if isinstance(item, MappingNode) else item
                if isinstance(named, Scalar) and name in (named.value, named.value.rpartition("::")[2]):
                    return named.span
        return self.name(function)

    def returns(self, function: UnlinkedFunction) -> Span:
        """Span of a function's returns."""
        func = self._entry(function).get("func")
        if not isinstance(func, Scalar):
            return self.name(function)
        arrow = func.value.rfind(") -> ")
        return func.span_of(arrow + 5, len(func.value)) if arrow >= 0 else func.span

    def argument(self, function: UnlinkedFunction, text: str) -> Span:
        """Span of an argument of a function."""
        return argument_span(self._entry(function), text)

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
        """Reports a fault."""
        self._sink.error(code, message, at, label=label, help=help, also=also)

    def warning(self, code: str, message: str, at: Span, *, help: str) -> None:
        """Reports what is allowed and probably wrong."""
        self._sink.warning(code, message, at, help=help)

    def difference(self, code: str, subject: str, difference: Difference, *, help: str) -> None:
        """Reports that two overloads do not match, at both spans; `subject` says what follows.

        Of two other overloads with one signature, either may be meant: the later one, which is reported, stands first.
        """
        earlier, double = difference.other, self.doubles.get(difference.other)
        if double is not None:
            difference = difference._replace(other=double)
        message = f"{subject}: {difference.words}"
        if double is not None:
            message += f" (`{earlier.name}` has the same signature)"
        self._sink.error(code, message, difference.span, help=help, also=(difference.other_label,))

    def report_renamed(self, code: str, message: str, function: UnlinkedFunction, other: UnlinkedFunction) -> None:
        """Reports that an overload lacks another one, which exists under a similar name."""
        also = self.other(other, "the same arguments")
        help = f"one of the two names may be misspelt: `{function.name.base}`, `{other.name.base}`"
        self._sink.error(code, message, self.name(function), help=help, also=also)

    def other(self, function: UnlinkedFunction, text: str) -> tuple[Label, ...]:
        """A secondary label at the name of another function."""
        return (Label(self.name(function), text, primary=False),)
