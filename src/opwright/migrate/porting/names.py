"""Names of types, values, functions and macros, as the stable headers have them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from opwright.migrate.porting.stable_api import MACROS, NAMES, NEVER, StableName
from opwright.migrate.porting.state import FileState, node_text
from opwright.migrate.porting.values import CppValue
from opwright.source.records import NamedTuple
from opwright.syntax.cpp_functions import DISPATCH_TYPES

if TYPE_CHECKING:
    from tree_sitter import Node

_SPACES: Final = ("at", "c10", "torch")
_STABLE: Final = ("stable", "headeronly")
_DISPATCH: Final = re.compile(r"AT_DISPATCH_(\w+?)(?:_AND(\d?))?")
_COMPARISONS: Final = {
    f"TORCH_CHECK_{name}": operator
    for name, operator in (("EQ", "=="), ("NE", "!="), ("LE", "<="), ("LT", "<"), ("GE", ">="), ("GT", ">"))
}
_MACRO: Final = re.compile(r"(?:TORCH_(?:WARN|CHECK)|AT_DISPATCH|RECORD_FUNCTION|AT_WARN|AT_ERROR)\w*")


class DispatchedTypes(NamedTuple):
    """The types of a dispatch macro: lists of the stable headers, dtypes, and how many more the call names."""

    lists: tuple[str, ...]
    dtypes: tuple[str, ...]
    named: int


def name_within(text: str) -> str | None:
    """A name without the namespace of PyTorch; None if it is not in one, or is one of the stable API.

    >>> name_within("::at::cuda::getCurrentCUDAStream"), name_within("torch::stable::Tensor"), name_within("std::tuple")
    ('cuda::getCurrentCUDAStream', None, None)
    """
    space, _, rest = text.removeprefix("::").partition("::")
    if space not in _SPACES or not rest or rest.partition("::")[0] in _STABLE:
        return None
    return rest


class NamePorter:
    """Ports the names of one file."""

    def __init__(self, state: FileState) -> None:
        self._state: Final = state

    def known(self, name: str, node: Node) -> CppValue | None:
        """The stable name in place of a name of PyTorch without namespace; None if there is none for the target."""
        head = name
        while head and head not in NAMES:
            head = head.rpartition("::")[0]
        row, rest = NAMES.get(head), name[len(head) :]
        if row is None or (rest and not row.type and head not in ("DeviceType", "Tensor")):
            return None
        return self._taken(row, node, rest)

    def known_macro(self, name: str, node: Node) -> CppValue | None:
        """The stable macro in place of one of PyTorch."""
        return self._taken(MACROS[name], node) if name in MACROS else None

    def _taken(self, row: StableName, node: Node, rest: str = "") -> CppValue | None:
        return CppValue(row.text + rest, row.type, is_plain=True) if self._state.take(row, node) else None

    def plain(self, node: Node, name: str) -> CppValue:
        """A name without namespace, which is no variable."""
        if name not in self._state.facts.macros:
            if name in MACROS:
                return self.known_macro(name, node) or CppValue(name)
            if _MACRO.fullmatch(name):
                self._leave(node, name)
        if self._state.has_open_namespace and name in NAMES and name not in self._state.facts.results:
            return self.known(name, node) or CppValue(name)
        return CppValue(name)

    def qualified(self, node: Node) -> CppValue | None:
        """A name with a namespace, without the arguments of its template; None if it stays or is none of PyTorch's."""
        name = name_within(node_text(node).partition("<")[0].strip())
        if name is None:
            return None
        missing = len(self._state.left)
        ported = self.known(name, node)
        if ported is None and len(self._state.left) == missing:
            self._leave(node, name)
        return ported

    def _leave(self, node: Node, name: str) -> None:
        reason = next((reason for pattern, reason in NEVER if re.fullmatch(pattern, name)), "")
        self._state.leave(node, reason or "the stable API has nothing in its place")

    def is_check(self, name: str) -> bool:
        """Whether a name is that of a macro for checks."""
        row = MACROS.get(name)
        return name not in self._state.facts.macros and row is not None and row.text == "STD_TORCH_CHECK"

    def comparison(self, name: str, values: Sequence[CppValue], node: Node) -> CppValue | None:
        """A check that compares two values, such as `TORCH_CHECK_EQ`; None for other names."""
        operator = _COMPARISONS.get(name)
        check = None if operator is None or len(values) != 2 else self.known_macro("TORCH_CHECK", node)
        if check is None:
            return None
        return CppValue(f"{check.text}(({values[0].text}) {operator} ({values[1].text}))")

    def dispatch_types(self, name: str) -> DispatchedTypes | None:
        """The types of a dispatch macro by its name; None for other names, and for macros of the project."""
        if name in self._state.facts.macros:
            return None
        if name.removeprefix("AT_DISPATCH_") in DISPATCH_TYPES:
            return DispatchedTypes(*DISPATCH_TYPES[name.removeprefix("AT_DISPATCH_")], 0)
        match = _DISPATCH.fullmatch(name)
        if match is None or match[1] not in DISPATCH_TYPES or match[2] is None:
            return None
        return DispatchedTypes(*DISPATCH_TYPES[match[1]], int(match[2] or 1))

    def dispatch(self, node: Node, types: DispatchedTypes, values: Sequence[CppValue]) -> CppValue | None:
        """The call of a dispatch macro; None if it stays."""
        macro = self.known_macro("AT_DISPATCH_V2", node)
        dtypes = [self.known(f"ScalarType::{dtype}", node) for dtype in types.dtypes]
        if macro is None or len(values) < types.named + 3 or None in dtypes:
            return None
        named, (type, name, *body) = values[: types.named], values[types.named :]
        lists = [f"AT_EXPAND({list_type})" for list_type in types.lists]
        cases = [*lists, *[value.text for value in (*named, *dtypes) if value is not None]]
        # Between parentheses, because `THO_DISPATCH_V2` divides a body in `AT_WRAP` at its commas.
        wrapped = ", ".join([value.text for value in body])
        wrapped = wrapped if wrapped.startswith("(") else f"({wrapped})"
        return CppValue(f"{macro.text}({', '.join([type.text, name.text, wrapped, *cases])})")
