"""Reports faults between entries, at the spans of the entries' parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final

from opwright.dialects.native_functions.entry_builder import name_span
from opwright.dialects.nearest import SAME_ARGUMENTS, Difference, OverloadIndex, renamed_overload
from opwright.model.native_function import UnlinkedFunction
from opwright.release.operator_names.loading import WITHOUT_TENSOR_RESULT
from opwright.release.rules import Rules
from opwright.schema.signature import base_of_operation, view_base_name
from opwright.source.diagnostic import Diagnostics, Label
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

    def __init__(
        self, sink: Diagnostics, entries: Iterable[MappingNode] | None = None, rules: Rules | None = None
    ) -> None:
        self.error: Final = sink.error
        self.warning: Final = sink.warning
        self._entries = None if entries is None else _by_start(entries)
        names = WITHOUT_TENSOR_RESULT
        self.without_tensor: Final = names.in_any_release if rules is None else names.in_release(rules)
        self._absent: Final[set[str]] = set()
        self._has_nameless = False
        self.functions: Sequence[UnlinkedFunction] = ()
        self.faulty_delegates: Final[set[UnlinkedFunction]] = set()
        self.doubles: Final[dict[UnlinkedFunction, UnlinkedFunction]] = {}

    @cached_property
    def index(self) -> OverloadIndex:
        """Functions by what they have in common."""
        return OverloadIndex(self.functions)

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

    def node(self, function: UnlinkedFunction) -> MappingNode:
        """Node of a function's entry."""
        if self._entries is None:
            root = load_yaml(function.entry.file)
            items = root.items if isinstance(root, SequenceNode) else []
            self._entries = _by_start([item for item in items if isinstance(item, MappingNode)])
        return self._entries[function.entry.file.path, function.entry.start]

    def name(self, function: UnlinkedFunction) -> Span:
        """Span of a function's name."""
        return name_span(self.node(function))

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
        self.error(code, message, difference.span, help=help, also=(difference.other_label,))

    def report_alone(
        self, code: str, message: str, function: UnlinkedFunction, near: Difference | None, otherwise: str
    ) -> bool:
        """Reports that an overload lacks another one: beside the nearest one, or beside one of a similar name.

        Where there is neither, the help is `otherwise`. If that is empty, nothing is reported, and it returns False.
        """
        renamed = renamed_overload(function, self.index)
        if near is not None:
            self.difference(code, message, near, help=SAME_ARGUMENTS)
        elif renamed is not None:
            also = self.other(renamed, "the same arguments")
            help = f"one of the two names may be misspelt: `{function.name.base}`, `{renamed.name.base}`"
            self.error(code, message, self.name(function), help=help, also=also)
        elif otherwise:
            self.error(code, message, self.name(function), help=otherwise)
        return near is not None or renamed is not None or bool(otherwise)

    def other(self, function: UnlinkedFunction, text: str) -> tuple[Label, ...]:
        """A secondary label at the name of another function."""
        return (Label(self.name(function), text, primary=False),)
